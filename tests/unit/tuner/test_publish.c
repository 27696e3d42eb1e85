// SPDX-License-Identifier: Apache-2.0
// From the store to a header on disk (publish.h): rows of another template version and of the emulated device are
// left out and counted, the newest of a device class and problem is taken, other classes of an existing header stay,
// and whatever fails leaves the header that was there.
// cmocka.h wants these before it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "db/store.h"
#include "tuner/base/json.h"
#include "tuner/base/memory.h"
#include "tuner/publish.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char template_path[] = SIMTUNE_SOURCE_FOLDER "/tests/cli/data/scale.cu";
static char folder[] = "/tmp/simtune-test-publish-XXXXXX";
static st_template *tmpl;
static st_store *store;

static void need(st_code code, const st_error *error)
{
    if (code != ST_OK)
        fail_msg("%s (%s)", error->what, error->remedy);
}

typedef struct tuned {
    const char *uuid, *backend;
    int cc, sm_count;
    const char *hash;    // NULL: the template's
    const char *problem; // "n=65536"
    int64_t n;
    const char *configuration;
    const char *cache;
    double ns;
} tuned;

static const tuned h200 = {"GPU-1", "cuda", 90, 132, NULL, "n=65536", 65536, "BLOCK=256 ITEMS=4",
                           "cold",  6000};

// One finished session with one winner.
static void put(const tuned *what)
{
    st_error error = {0};
    st_device_row device = {.cc = what->cc,
                            .sm_count = what->sm_count,
                            .memory_bytes = 150754820096,
                            .l2_bytes = -1,
                            .read_gbs = NAN,
                            .copy_gbs = NAN};
    snprintf(device.uuid, sizeof device.uuid, "%s", what->uuid);
    snprintf(device.name, sizeof device.name, "NVIDIA %s", what->uuid);
    snprintf(device.backend, sizeof device.backend, "%s", what->backend);
    st_toolchain_row toolchain = {
        .driver_cuda = 13000, .driver = "580.1", .compiler = "nvrtc 13.0", .tool = "0.1.0"};
    st_session_row session = {.command = (char *)(uintptr_t) "simtune tune",
                              .options_json = (char *)(uintptr_t) "{}",
                              .finished_ms = -1,
                              .family = "scale",
                              .resume_key = "key"};
    st_candidate_row candidate = {.outcome = "correct",
                                  .registers = 20,
                                  .local_bytes = 0,
                                  .static_smem = 0,
                                  .dynamic_smem = 0,
                                  .blocks_per_sm = 4,
                                  .occupancy = 1,
                                  .deterministic = 1,
                                  .compile_seconds = 0.1};
    const double samples[] = {what->ns, what->ns, what->ns};
    st_measurement_row measured = {.phase = "finals",
                                   .samples_ns = samples,
                                   .sample_count = 3,
                                   .median_ns = what->ns,
                                   .sm_clock_mhz = -1,
                                   .memory_clock_mhz = -1,
                                   .temperature_c = -1,
                                   .power_mw = -1,
                                   .throttle_reasons = -1,
                                   .batch = 1,
                                   .tick_ns = 32,
                                   .taken_ms = 1790000000000};
    snprintf(measured.cache, sizeof measured.cache, "%s", what->cache);
    need(st_store_device(store, &device, &session.device_key, &error), &error);
    need(st_store_toolchain(store, &toolchain, &session.toolchain_key, &error), &error);
    need(st_store_template(store, "scale", what->hash ? what->hash : tmpl->hash, "{}",
                           &session.template_key, &error),
         &error);
    need(st_store_session_begin(store, &session, &error), &error);
    candidate.session_key = session.key;
    need(st_store_problem(store, "scale", what->problem, NULL, NULL, what->n,
                          &candidate.problem_key, &error),
         &error);
    need(st_store_configuration(store, "scale", what->configuration, &candidate.configuration_key,
                                &error),
         &error);
    need(st_store_candidate(store, &candidate, &error), &error);
    measured.candidate_key = candidate.key;
    need(st_store_measurement(store, &measured, &error), &error);
    st_winner_row winner = {.session_key = session.key,
                            .problem_key = candidate.problem_key,
                            .winner_key = candidate.key,
                            .default_key = candidate.key,
                            .winner_ns = what->ns,
                            .default_ns = what->ns,
                            .speedup = 1,
                            .speedup_low = 1,
                            .speedup_high = 1,
                            .tied = 1,
                            .ties_json = (char *)(uintptr_t) "[]",
                            .bytes = (double)what->n * 8};
    snprintf(winner.cache, sizeof winner.cache, "%s", what->cache);
    need(st_store_winner(store, &winner, &error), &error);
    need(st_store_session_end(store, session.key, ST_SESSION_FINISHED, "{}", &error), &error);
}

static st_publish anything(void)
{
    return (st_publish){.cc = -1, .sm_count = -1, .cache = "cold"};
}

static st_code publish(const st_publish *wanted, const char *place, st_text *path, bool *changed,
                       st_error *error)
{
    st_choice *choices = NULL;
    size_t count = 0;
    st_emit_options options = {.cache = wanted->cache, .command = "simtune emit scale.cu"};
    st_code code = st_choices_from_store(store, tmpl, wanted, &choices, &count, NULL, NULL, error);
    if (code == ST_OK)
        code = st_header_publish(tmpl, choices, count, &options, place, path, changed, error);
    st_free(choices);
    return code;
}

static char *content(const char *path)
{
    st_text text;
    st_error error = {0};
    st_text_init(&text);
    need(st_text_read_file(&text, path, &error), &error);
    return st_text_take(&text);
}

// --- choosing ------------------------------------------------------------------------------------------------

static void test_choices(void **state)
{
    (void)state;
    st_error error = {0};
    st_choice *choices = NULL;
    size_t count = 9, stale = 9, emulated = 9;
    st_publish wanted = anything();
    assert_int_equal(
        st_choices_from_store(store, tmpl, &wanted, &choices, &count, &stale, &emulated, &error),
        ST_NOTHING);
    assert_non_null(strstr(error.what, "knows no winner"));
    tuned old = h200, emu = h200, other = h200, warm = h200;
    old.hash = "0123456789abcdef0123456789abcdef";
    put(&old);
    assert_int_equal(
        st_choices_from_store(store, tmpl, &wanted, &choices, &count, &stale, &emulated, &error),
        ST_NOTHING);
    assert_non_null(strstr(error.what, "another version"));
    assert_int_equal(stale, 1);
    emu.uuid = "EMU-1", emu.backend = "emu", emu.sm_count = 4;
    put(&emu);
    put(&h200);
    other.uuid = "GPU-2", other.cc = 80, other.sm_count = 108,
    other.configuration = "BLOCK=128 ITEMS=2";
    put(&other);
    warm.cache = "warm";
    put(&warm);
    need(st_choices_from_store(store, tmpl, &wanted, &choices, &count, &stale, &emulated, &error),
         &error);
    assert_int_equal(count, 2);
    assert_int_equal(emulated, 1);
    assert_null(choices[0].emulated ? &choices[0] : NULL);
    st_free(choices);
    wanted.allow_emulated = true;
    need(st_choices_from_store(store, tmpl, &wanted, &choices, &count, NULL, NULL, &error), &error);
    assert_int_equal(count, 3);
    st_free(choices);
    // Rows that nobody ran are left out even then.
    tuned made_up = h200;
    made_up.uuid = "GEN-1", made_up.backend = "generated", made_up.cc = 75, made_up.sm_count = 40;
    put(&made_up);
    need(st_choices_from_store(store, tmpl, &wanted, &choices, &count, NULL, NULL, &error), &error);
    assert_int_equal(count, 3);
    st_free(choices);
    wanted.cc = 75;
    assert_int_equal(st_choices_from_store(store, tmpl, &wanted, &choices, &count, NULL, NULL, &error), ST_NOTHING);
    assert_non_null(strstr(error.what, "generated, not measured"));
    // So is what other tools measured.
    tuned others = h200;
    others.uuid = "imported-1", others.backend = "imported", others.cc = 70, others.sm_count = 84;
    put(&others);
    wanted.cc = -1;
    need(st_choices_from_store(store, tmpl, &wanted, &choices, &count, NULL, NULL, &error), &error);
    assert_int_equal(count, 3);
    st_free(choices);
    wanted.cc = 70;
    assert_int_equal(st_choices_from_store(store, tmpl, &wanted, &choices, &count, NULL, NULL, &error), ST_NOTHING);
    assert_non_null(strstr(error.what, "imported from other tools"));
    wanted = anything();
    wanted.cc = 80;
    need(st_choices_from_store(store, tmpl, &wanted, &choices, &count, NULL, NULL, &error), &error);
    assert_int_equal(count, 1);
    assert_int_equal(choices[0].device_class.sm_count, 108);
    st_free(choices);
    wanted.cc = 70;
    assert_int_equal(
        st_choices_from_store(store, tmpl, &wanted, &choices, &count, NULL, NULL, &error),
        ST_NOTHING);
    assert_null(choices);
    const char *types[] = {"f64"};
    wanted = anything();
    wanted.types = types;
    wanted.type_count = 1;
    assert_int_equal(
        st_choices_from_store(store, tmpl, &wanted, &choices, &count, NULL, NULL, &error),
        ST_NOTHING);
}

static void test_newest_of_a_problem(void **state)
{
    (void)state;
    st_error error = {0};
    st_choice *choices = NULL;
    size_t count = 0;
    tuned later = h200;
    later.configuration = "BLOCK=128 ITEMS=1";
    put(&h200);
    put(&later);
    st_publish wanted = anything();
    need(st_choices_from_store(store, tmpl, &wanted, &choices, &count, NULL, NULL, &error), &error);
    assert_int_equal(count, 1);
    st_config expected;
    need(st_config_parse(tmpl, later.configuration, &expected, &error), &error);
    assert_true(st_config_equal(tmpl, &choices[0].config, &expected));
    st_free(choices);
}

// --- the file ------------------------------------------------------------------------------------------------

static void test_places(void **state)
{
    (void)state;
    st_error error = {0};
    st_publish wanted = anything();
    put(&h200);
    char place[128], file[160];
    const char *const places[] = {"", "/", "/below", "/named.h"};
    const char *const files[] = {"/simtune_scale.h", "/simtune_scale.h", "/below/simtune_scale.h",
                                 "/named.h"};
    for (size_t i = 0; i < 4; i++) {
        st_text path;
        bool changed = false;
        st_text_init(&path);
        snprintf(place, sizeof place, "%s%s", folder, places[i]);
        snprintf(file, sizeof file, "%s%s", folder, files[i]);
        need(publish(&wanted, place, &path, &changed, &error), &error);
        assert_string_equal(st_text_string(&path), file);
        assert_int_equal(access(file, R_OK), 0);
        assert_int_equal(changed, i != 1); // the same bytes are left alone
        st_text_release(&path);
    }
}

static void test_other_classes_stay(void **state)
{
    (void)state;
    st_error error = {0};
    bool changed;
    st_text path;
    st_text_init(&path);
    st_publish wanted = anything();
    tuned other = h200;
    other.uuid = "GPU-2", other.cc = 80, other.sm_count = 108;
    put(&h200);
    put(&other);
    char file[96];
    snprintf(file, sizeof file, "%s/both.h", folder);
    wanted.cc = 80;
    need(publish(&wanted, file, &path, &changed, &error), &error);
    st_text_clear(&path);
    wanted.cc = 90;
    need(publish(&wanted, file, &path, &changed, &error), &error);
    assert_true(changed);
    char *both = content(file);
    assert_non_null(strstr(both, "GPU-1"));
    assert_non_null(strstr(both, "GPU-2"));
    assert_non_null(strstr(both, "140 GiB")); // for people
    assert_non_null(strstr(both, "\"memory_bytes\":150754820096"));
    // A file that is not ours is not overwritten.
    FILE *foreign = fopen(file, "w");
    fputs("int precious;\n", foreign);
    fclose(foreign);
    st_text_clear(&path);
    assert_int_equal(publish(&wanted, file, &path, &changed, &error), ST_FAILED);
    char *kept = content(file);
    assert_string_equal(kept, "int precious;\n");
    st_free(kept);
    st_free(both);
    st_text_release(&path);
}

// Each allocation, system call and SQLite step fails once: the header is the right one, or the one that was there.
static void test_faults(void **state)
{
    (void)state;
    static const st_fault kinds[] = {ST_FAULT_ALLOCATION, ST_FAULT_SYSTEM, ST_FAULT_SQLITE};
    st_error error = {0};
    bool changed;
    st_text path;
    st_text_init(&path);
    char file[96];
    snprintf(file, sizeof file, "%s/faults.h", folder);
    st_publish wanted = anything();
    tuned other = h200;
    other.uuid = "GPU-2", other.cc = 80, other.sm_count = 108;
    put(&h200);
    need(publish(&wanted, file, &path, &changed, &error), &error);
    char *before = content(file);
    put(&other);
    st_text_clear(&path);
    need(publish(&wanted, file, &path, &changed, &error), &error);
    char *after = content(file);
    assert_string_not_equal(before, after);
    for (int k = 0; k < 3; k++) {
        bool injected = true;
        for (unsigned long n = 1; injected; n++) {
            need(st_text_write_file(file, before, strlen(before), NULL, &error), &error);
            st_text_clear(&path);
            error = (st_error){0};
            st_fault_arm(kinds[k], n);
            st_code code = publish(&wanted, file, &path, &changed, &error);
            injected = st_fault_injected(kinds[k]);
            st_fault_arm(kinds[k], 0);
            char *now = content(file);
            assert_string_equal(now, code == ST_OK ? after : before);
            assert_true(code == ST_OK || (injected && error.what[0]));
            st_free(now);
        }
    }
    st_free(before);
    st_free(after);
    st_text_release(&path);
}

static int open_store(void **state)
{
    (void)state;
    return st_store_open(":memory:", ST_STORE_WRITE, &store, NULL);
}

static int close_store(void **state)
{
    (void)state;
    st_store_close(store);
    return 0;
}

static int set_up(void **state)
{
    (void)state;
    return mkdtemp(folder) && st_template_load(template_path, &tmpl, NULL) == ST_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    char command[96];
    snprintf(command, sizeof command, "rm -r %s", folder);
    st_template_free(tmpl);
    return system(command);
}

int main(void)
{
    st_json_setup();
#define WITH_STORE(test) cmocka_unit_test_setup_teardown(test, open_store, close_store)
    const struct CMUnitTest tests[] = {
        WITH_STORE(test_choices), WITH_STORE(test_newest_of_a_problem),
        WITH_STORE(test_places),  WITH_STORE(test_other_classes_stay),
        WITH_STORE(test_faults),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
