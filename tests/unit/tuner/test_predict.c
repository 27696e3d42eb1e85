// SPDX-License-Identifier: Apache-2.0
// Predictions: the model's directions, which of the predicted is taken, a device left out that is not looked at, rows in
// the store. Compiling for an arch is in tests/emulated/test_predict.py.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/faults.h"
#include "tuner/base/json.h"
#include "tuner/base/memory.h"
#include "tuner/gpu/compile.h"
#include "tuner/gpu/device_class.h"
#include "tuner/predict_internal.h"
#include "tuner/publish.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static st_template *reduce;
static st_device_facts h200, a100;

static int begin(void **state)
{
    (void)state;
    st_error error;
    return st_template_load(SIMTUNE_SOURCE_FOLDER "/templates/reduce.cu", &reduce, &error) ||
           predict_facts(&(st_device_class){90, 132}, (int64_t)141 << 30, &h200, &error) ||
           predict_facts(&(st_device_class){80, 108}, -1, &a100, &error);
}

static int end(void **state)
{
    (void)state;
    st_template_free(reduce);
    return 0;
}

static st_problem problem_of(const char *text)
{
    st_problem problem;
    st_error error;
    if (st_problem_parse(reduce, text, &problem, &error))
        fail_msg("%s", error.what);
    return problem;
}

static st_config config_of(int block, int vec, int unroll, const char *finish)
{
    st_config config;
    st_error error;
    char *text = st_format("BLOCK=%d VEC=%d UNROLL=%d ACC=1 LOAD=plain ORDER=batched MIN_BLOCKS=1 WAVES=1 MAP=strided "
                           "WARP=shuffle BLOCK_STEP=shuffle FINISH=%s CLUSTER=%d",
                           block, vec, unroll, finish, strcmp(finish, "cluster") == 0 ? 8 : 1);
    if (st_config_parse(reduce, text, &config, &error))
        fail_msg("%s", error.what);
    st_free(text);
    return config;
}

static double model(const st_device_facts *device, const char *problem, st_config config, int blocks)
{
    const st_problem asked = problem_of(problem);
    const st_static_facts facts = {64, blocks,
                                   predict_bandwidth(&(st_device_class){(int)device->cc, (int)device->sm_count},
                                                     device->memory_bytes)};
    double ns = NAN;
    st_error error;
    if (st_predict_ns(reduce, &asked, &config, device, &facts, &ns, &error) != ST_OK)
        fail_msg("%s", error.what);
    assert_true(ns > 0);
    return ns;
}

static void the_model_knows_directions(void **state)
{
    (void)state;
    static const char large[] = "T=f32 op=sum n=268435456", small[] = "T=f32 op=sum n=65536";
    // Bytes in flight: one load a thread does not fill the memory.
    assert_true(model(&h200, large, config_of(256, 1, 1, "two_pass"), 4) >
                1.2 * model(&h200, large, config_of(256, 4, 8, "two_pass"), 4));
    assert_true(model(&h200, large, config_of(256, 4, 2, "two_pass"), 1) >
                model(&h200, large, config_of(256, 4, 2, "two_pass"), 4));
    // Never faster than the memory, never far from it when enough is in flight.
    double best = model(&h200, large, config_of(256, 4, 8, "two_pass"), 4), wall = 268435456.0 * 4 / 4800;
    assert_true(best > wall && best < 1.2 * wall);
    // A smaller memory takes longer, in proportion.
    double other = model(&a100, large, config_of(256, 4, 8, "two_pass"), 4);
    assert_true(other > 2 * best && other < 3 * best);
    // Small: launches count; a dependent one less than a plain one, one less than two.
    assert_true(model(&h200, small, config_of(256, 4, 4, "cluster"), 2) <
                model(&h200, small, config_of(256, 4, 4, "dependent"), 2));
    assert_true(model(&h200, small, config_of(256, 4, 4, "dependent"), 2) <
                model(&h200, small, config_of(256, 4, 4, "two_pass"), 2));
}

static void one_alone_at_the_top_is_not_taken(void **state)
{
    (void)state;
    st_config alone = config_of(128, 1, 1, "ticket"), first = config_of(256, 4, 4, "two_pass"),
              second = config_of(512, 4, 4, "two_pass"), third = config_of(256, 4, 8, "two_pass"),
              far = config_of(1024, 4, 4, "two_pass");
    predict_entry entries[] = {{&alone, 20, 1000}, {&second, 40, 1030}, {&first, 40, 1020}, {&third, 40, 1040}, {&far, 20, 5000}};
    assert_int_equal(predict_pick(reduce, entries, 5, false), 2); // like all others of the four that are near
    predict_entry turned[] = {entries[4], entries[3], entries[2], entries[1], entries[0]};
    assert_ptr_equal(turned[predict_pick(reduce, turned, 5, false)].config, &first); // whatever the order
    assert_int_equal(predict_pick(reduce, entries, 5, true), 0); // measured elsewhere: the fastest, and what is very near
    for (int i = 0; i < 5; i++)
        entries[i].ns = NAN;
    assert_int_equal(predict_pick(reduce, entries, 5, false), SIZE_MAX);
    assert_int_equal(predict_pick(reduce, entries, 0, false), SIZE_MAX);
    entries[4].ns = 5000;
    assert_int_equal(predict_pick(reduce, entries, 5, false), 4);
}

// --- a device left out ---------------------------------------------------------------------------------------------------

typedef struct seen {
    size_t count;
    st_config chosen;
    double chosen_ns, best_ns, default_ns;
    bool has_neighbour;
    size_t device;
} seen;

static st_code see(void *context, const st_left_out *row, st_error *error)
{
    seen *to = context;
    (void)error;
    to->count++;
    if (row->device->device_class.cc != 90)
        return ST_OK;
    to->chosen = *row->chosen;
    to->chosen_ns = row->chosen_ns;
    to->best_ns = row->best_ns;
    to->default_ns = row->default_ns;
    to->has_neighbour = row->by != NULL;
    return ST_OK;
}

enum { CONFIGS = 24 };

// The times of `turned` are those of the model's order backwards.
static st_measured make_measured(bool turned, bool with_a100)
{
    static const char problem[] = "T=f32 op=sum n=268435456";
    st_measured made = {.device_count = with_a100 ? 2 : 1};
    made.devices = st_calloc(2, sizeof *made.devices);
    made.rows = st_calloc(2 * CONFIGS, sizeof *made.rows);
    made.devices[0] = (st_measured_device){.name = "NVIDIA H200", .device_class = {90, 132}, .memory_bytes = (int64_t)141 << 30};
    made.devices[1] = (st_measured_device){.name = "NVIDIA A100", .device_class = {80, 108}, .memory_bytes = (int64_t)80 << 30};
    for (size_t device = 0; device < made.device_count; device++)
        for (int i = 0; i < CONFIGS; i++) {
            st_config config = config_of(128 << i % 4, 1 << i / 4 % 3, 1 << i / 12 % 2, "two_pass");
            made.rows[made.count] = (st_measured_row){
                .device = device, .problem = problem_of(problem), .config = config, .registers = 40, .blocks_per_sm = 4,
                .ns = device == 0 ? (turned ? 900000 - 1000 * i : 300000 + 1000 * i)
                                  : (i == 5 ? 500000 : 800000 + 1000 * i)};
            made.count++;
        }
    return made;
}

static void its_own_times_are_not_looked_at(void **state)
{
    (void)state;
    st_error error;
    st_measured straight = make_measured(false, false), turned = make_measured(true, false);
    seen a = {0}, b = {0};
    assert_int_equal(st_predict_left_out(reduce, &straight, 10, see, &a, &error), ST_OK);
    assert_int_equal(st_predict_left_out(reduce, &turned, 10, see, &b, &error), ST_OK);
    assert_true(a.count == 1 && b.count == 1 && !a.has_neighbour);
    assert_true(st_config_equal(reduce, &a.chosen, &b.chosen));
    assert_true(a.best_ns == 300000 && a.chosen_ns >= a.best_ns);
    // Neither is the order in which the rows stand.
    for (size_t i = 0; i < turned.count / 2; i++) {
        st_measured_row row = turned.rows[i];
        turned.rows[i] = turned.rows[turned.count - 1 - i];
        turned.rows[turned.count - 1 - i] = row;
    }
    b = (seen){0};
    assert_int_equal(st_predict_left_out(reduce, &turned, 10, see, &b, &error), ST_OK);
    assert_true(st_config_equal(reduce, &a.chosen, &b.chosen));
    b = (seen){0};
    assert_int_equal(st_predict_left_out(reduce, &turned, CONFIGS + 1, see, &b, &error), ST_OK);
    assert_int_equal(b.count, 0);
    st_measured_release(&straight);
    st_measured_release(&turned);
}

static void a_neighbour_ranks(void **state)
{
    (void)state;
    st_error error;
    st_measured measured = make_measured(false, true);
    seen all = {0};
    assert_int_equal(st_predict_left_out(reduce, &measured, 10, see, &all, &error), ST_OK);
    assert_int_equal(all.count, 2);
    assert_true(all.has_neighbour);
    const st_problem problem = problem_of("T=f32 op=sum n=268435456");
    assert_int_equal(predict_neighbour(reduce, &measured, &(st_device_class){86, 82}, SIZE_MAX, &problem), 1);
    assert_int_equal(predict_neighbour(reduce, &measured, &(st_device_class){90, 114}, SIZE_MAX, &problem), 0);
    const st_problem other = problem_of("T=f64 op=sum n=268435456");
    assert_int_equal(predict_neighbour(reduce, &measured, &(st_device_class){90, 114}, SIZE_MAX, &other), SIZE_MAX);
    // What is left out is a class: another card of it does not count as a neighbour.
    const st_device_class own = measured.devices[0].device_class;
    assert_int_equal(predict_neighbour(reduce, &measured, &own, SIZE_MAX, &problem), 0);
    assert_int_equal(predict_neighbour(reduce, &measured, &own, 1, &problem), SIZE_MAX);
    // Twice as fast there is twice as fast here, as far as the model sees no difference.
    const st_config *config = &measured.rows[CONFIGS + 5].config;
    double here = predict_by_neighbour(reduce, &measured, 1, &problem, config, 1000);
    double slower = predict_by_neighbour(reduce, &measured, 1, &problem, &measured.rows[CONFIGS + 6].config, 1000);
    assert_true(here > 0 && slower > here);
    const st_config unknown = config_of(256, 4, 16, "two_pass");
    assert_true(isnan(predict_by_neighbour(reduce, &measured, 1, &problem, &unknown, 1000)));
    st_measured_release(&measured);
}

// --- rows --------------------------------------------------------------------------------------------------------------

static st_prediction prediction_of(const char *problem, st_config config)
{
    st_prediction made = {.bytes = 4096, .registers = 40, .static_smem = 128, .occupancy = 0.5, .compiled = 48};
    made.choice = (st_choice){.problem = problem_of(problem), .config = config, .device_class = {80, 108}, .blocks_per_sm = 4,
                              .memory_bytes = (int64_t)80 << 30, .measured_ms = -1, .median_ns = NAN, .speedup = NAN,
                              .speedup_low = NAN, .speedup_high = NAN, .gbs = NAN, .tied = 1, .deterministic = true,
                              .predicted = true};
    snprintf(made.choice.device_name, sizeof made.choice.device_name, "NVIDIA A100-SXM4-80GB");
    snprintf(made.compiler, sizeof made.compiler, "nvrtc 13.0");
    return made;
}

static void rows_are_marked_and_make_headers(void **state)
{
    (void)state;
    st_store *store = NULL;
    st_error error;
    char session[ST_HASH_TEXT];
    st_choice *choices = NULL;
    size_t count = 0;
    const st_prediction made[] = {prediction_of("T=f32 op=sum n=65536", config_of(256, 4, 4, "two_pass")),
                                  prediction_of("T=f32 op=sum n=1048576", config_of(256, 4, 8, "two_pass"))};
    assert_int_equal(st_store_open(":memory:", ST_STORE_WRITE, &store, &error), ST_OK);
    if (st_predict_store(store, reduce, made, 2, "simtune predict", session, &error) != ST_OK)
        fail_msg("%s", error.what);
    assert_int_equal(strlen(session), ST_HASH_TEXT - 1);
    const st_publish wanted = {.cc = 80, .sm_count = 108, .cache = "cold"};
    assert_int_equal(st_choices_from_store(store, reduce, &wanted, &choices, &count, NULL, NULL, &error), ST_OK);
    assert_int_equal(count, 2);
    for (size_t i = 0; i < count; i++) {
        assert_true(choices[i].predicted && !choices[i].emulated && isnan(choices[i].median_ns));
        assert_int_equal(choices[i].blocks_per_sm, 4);
        assert_true(choices[i].deterministic);
    }
    st_text header;
    st_text_init(&header);
    const st_emit_options options = {.cache = "cold"};
    assert_int_equal(st_emit_header(reduce, choices, count, &options, &header, &error), ST_OK);
    assert_true(strncmp(header.data, "// PREDICTED, not measured, for NVIDIA A100-SXM4-80GB (sm_80, 108 SMs)", 70) == 0);
    st_text_release(&header);
    st_free(choices);
    st_measured measured;
    assert_int_equal(st_measured_load(store, reduce, &measured, &error), ST_OK);
    assert_int_equal(measured.count, 0); // nothing of it is taken for measured
    st_measured_release(&measured);
    st_store_close(store);
}

// The same class, measured by somebody.
static void add_measured(st_store *store, const char *problem, const char *config)
{
    st_error error;
    st_device_row device = {.cc = 80, .sm_count = 108, .memory_bytes = -1, .l2_bytes = -1, .read_gbs = NAN, .copy_gbs = NAN,
                            .uuid = "GPU-1", .name = "NVIDIA A100", .backend = "cuda", .facts_json = (char *)(uintptr_t) "{}"};
    st_toolchain_row toolchain = {.driver = "580.1", .driver_cuda = -1, .compiler = "nvrtc 13.0", .tool = "0.1"};
    st_session_row session = {.started_ms = 1, .finished_ms = -1, .resume_key = "k", .family = "reduce",
                              .command = (char *)(uintptr_t) "", .options_json = (char *)(uintptr_t) "{}"};
    st_candidate_row row = {.registers = 40, .local_bytes = 0, .static_smem = 0, .dynamic_smem = 0, .blocks_per_sm = 3,
                            .occupancy = 0.5, .deterministic = 1, .compile_seconds = NAN, .outcome = "correct"};
    st_winner_row winner = {.cache = "cold", .default_key = -1, .winner_ns = 5000, .default_ns = NAN, .speedup = NAN,
                            .speedup_low = NAN, .speedup_high = NAN, .tied = 1, .bytes = NAN};
    const double samples[] = {5000};
    st_measurement_row measured = {.phase = "finals", .cache = "cold", .samples_ns = samples, .sample_count = 1,
                                   .median_ns = 5000, .taken_ms = 1790000000000};
    assert_true(!st_store_device(store, &device, &session.device_key, &error) &&
                !st_store_toolchain(store, &toolchain, &session.toolchain_key, &error) &&
                !st_store_template(store, "reduce", reduce->hash, "{}", &session.template_key, &error) &&
                !st_store_session_begin(store, &session, &error) &&
                !st_store_problem(store, "reduce", problem, "f32", "sum", 65536, &row.problem_key, &error) &&
                !st_store_configuration(store, "reduce", config, &row.configuration_key, &error));
    row.session_key = winner.session_key = session.key;
    winner.problem_key = row.problem_key;
    assert_int_equal(st_store_candidate(store, &row, &error), ST_OK);
    measured.candidate_key = winner.winner_key = row.key;
    assert_true(!st_store_measurement(store, &measured, &error) && !st_store_winner(store, &winner, &error) &&
                !st_store_session_end(store, session.key, ST_SESSION_FINISHED, "{}", &error));
}

static void a_measurement_takes_the_place_of_a_prediction(void **state)
{
    (void)state;
    for (int order = 0; order < 2; order++) {
        st_store *store = NULL;
        st_error error;
        char session[ST_HASH_TEXT];
        st_choice *choices = NULL;
        size_t count = 0;
        st_text config;
        st_text_init(&config);
        const st_config measured = config_of(512, 4, 4, "two_pass");
        st_config_text(reduce, &measured, &config);
        const st_prediction made[] = {prediction_of("T=f32 op=sum n=65536", config_of(256, 4, 4, "two_pass")),
                                      prediction_of("T=f32 op=sum n=1048576", config_of(256, 4, 8, "two_pass"))};
        assert_int_equal(st_store_open(":memory:", ST_STORE_WRITE, &store, &error), ST_OK);
        if (order)
            add_measured(store, "T=f32 op=sum n=65536", config.data);
        assert_int_equal(st_predict_store(store, reduce, made, 2, "", session, &error), ST_OK);
        if (!order)
            add_measured(store, "T=f32 op=sum n=65536", config.data);
        const st_publish wanted = {.cc = 80, .sm_count = 108, .cache = "cold"};
        assert_int_equal(st_choices_from_store(store, reduce, &wanted, &choices, &count, NULL, NULL, &error), ST_OK);
        assert_int_equal(count, 2);
        for (size_t i = 0; i < count; i++) {
            bool small = choices[i].problem.value[st_template_axis(reduce, "n")] == 65536;
            assert_int_equal(choices[i].predicted, !small);
            assert_true(!small || (st_config_equal(reduce, &choices[i].config, &measured) && choices[i].median_ns == 5000));
        }
        st_free(choices);
        st_text_release(&config);
        st_store_close(store);
    }
}

static void faults_leave_no_half_session(void **state)
{
    (void)state;
    static const st_fault kinds[] = {ST_FAULT_ALLOCATION, ST_FAULT_SQLITE};
    const st_prediction made[] = {prediction_of("T=f32 op=sum n=65536", config_of(256, 4, 4, "two_pass"))};
    for (int k = 0; k < 2; k++)
        for (unsigned long n = 1;; n = next_fault(n)) {
            st_store *store = NULL;
            st_error error = {0};
            char session[ST_HASH_TEXT];
            st_choice *choices = NULL;
            size_t count = 0;
            assert_int_equal(st_store_open(":memory:", ST_STORE_WRITE, &store, &error), ST_OK);
            st_fault_arm(kinds[k], n);
            st_code code = st_predict_store(store, reduce, made, 1, "simtune predict", session, &error);
            bool hit = st_fault_injected(kinds[k]);
            st_fault_arm(kinds[k], 0);
            const st_publish wanted = {.cc = -1, .sm_count = -1, .cache = "cold"};
            st_code found = st_choices_from_store(store, reduce, &wanted, &choices, &count, NULL, NULL, &error);
            assert_true(code == ST_OK ? found == ST_OK && count == 1 : hit && found == ST_NOTHING);
            st_free(choices);
            st_store_close(store);
            if (!hit)
                break;
        }
}

int main(void)
{
    st_json_setup();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_model_knows_directions),      cmocka_unit_test(one_alone_at_the_top_is_not_taken),
        cmocka_unit_test(its_own_times_are_not_looked_at), cmocka_unit_test(a_neighbour_ranks),
        cmocka_unit_test(rows_are_marked_and_make_headers),
        cmocka_unit_test(a_measurement_takes_the_place_of_a_prediction), cmocka_unit_test(faults_leave_no_half_session),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
