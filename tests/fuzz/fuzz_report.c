// SPDX-License-Identifier: Apache-2.0
// Reports of sessions whose texts are from anyone: the store holds what other tools and other people wrote. The lines of
// the input are the texts: family, device, driver, problem, three configurations, source file, source, log, note, command,
// the name of a counter, the file of a stall line. Each form of the report must stay what it is whatever they hold: a page
// of well-formed HTML whose data are those of --format json, Markdown without foreign markup, text that steers no terminal.
#include "tests/fuzz/fuzz.h"

#include "reports/format.h"
#include "reports/report_text.h"
#include "tests/fuzz/html_checks.h"
#include "tuner/base/hash.h"
#include "tuner/base/json.h"
#include "tuner/base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FAMILY, DEVICE, DRIVER, PROBLEM, FIRST, SECOND, THIRD, FILE_NAME, SOURCE, LOG, NOTE, COMMAND, COUNTER, LINE_FILE, TEXTS };

static st_store *store;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    st_error error = {0};
    (void)argc, (void)argv;
    st_json_setup();
    FUZZ_MUST(st_store_open(":memory:", ST_STORE_WRITE, &store, &error) == ST_OK, "%s", error.what);
    return 0;
}

static char *plain(const char *text)
{
    return (char *)(uintptr_t)text;
}

static st_code begin(char *const *texts, st_session_row *row, st_error *error)
{
    st_device_row device = {.cc = 90, .sm_count = 132, .memory_bytes = 1 << 30, .l2_bytes = 1 << 20, .read_gbs = 4000,
                            .copy_gbs = NAN, .uuid = "GPU-1", .backend = "cuda"};
    st_toolchain_row toolchain = {.driver_cuda = -1, .compiler = "nvrtc 13.0", .tool = "0.1.0"};
    st_text files;
    char hash[ST_HASH_TEXT];
    st_text_init(&files);
    st_text_add(&files, "{");
    st_json_add_string(&files, texts[FILE_NAME]);
    st_text_add(&files, ":");
    st_json_add_string(&files, texts[SOURCE]);
    st_text_add(&files, "}");
    st_hash *hashing = st_hash_new();
    for (int i = 0; i < TEXTS; i++)
        st_hash_field(hashing, texts[i]);
    st_hash_text(hashing, hash);
    st_hash_free(hashing);
    snprintf(device.name, sizeof device.name, "%s", texts[DEVICE]);
    snprintf(device.uuid, sizeof device.uuid, "GPU-%s", hash); // each its own
    snprintf(toolchain.driver, sizeof toolchain.driver, "%s", texts[DRIVER]);
    *row = (st_session_row){.started_ms = 1790000000000, .finished_ms = -1, .command = texts[COMMAND],
                            .options_json = plain("{\"strategy\":\"exhaustive\"}")};
    snprintf(row->family, sizeof row->family, "%s", texts[FAMILY][0] ? texts[FAMILY] : "f");
    snprintf(row->resume_key, sizeof row->resume_key, "%s", hash);
    st_code code = st_store_device(store, &device, &row->device_key, error);
    if (code == ST_OK)
        code = st_store_toolchain(store, &toolchain, &row->toolchain_key, error);
    if (code == ST_OK)
        code = st_store_template(store, row->family, hash, st_text_string(&files), &row->template_key, error);
    if (code == ST_OK)
        code = st_store_session_begin(store, row, error);
    st_text_release(&files);
    return code;
}

static st_code add_candidate(char *const *texts, const st_session_row *session, int64_t problem, int which, int64_t *key,
                             st_error *error)
{
    st_candidate_row row = {.session_key = session->key, .problem_key = problem, .registers = 32, .local_bytes = -1,
                            .static_smem = 0, .dynamic_smem = -1, .blocks_per_sm = 2, .occupancy = 0.5, .deterministic = 1,
                            .compile_seconds = NAN};
    snprintf(row.outcome, sizeof row.outcome, "%s", which == 2 ? "wrong" : "correct");
    row.detail = which == 2 ? texts[LOG] : NULL;
    st_code code = st_store_configuration(store, session->family, texts[FIRST + which], &row.configuration_key, error);
    if (code == ST_OK)
        code = st_store_candidate(store, &row, error);
    *key = row.key;
    double samples[] = {9000 - 3000 * which, 9010 - 3000 * which, 9020 - 3000 * which};
    st_measurement_row taken = {.candidate_key = row.key, .samples_ns = samples, .sample_count = 3,
                                .median_ns = samples[1], .sm_clock_mhz = -1, .memory_clock_mhz = -1, .temperature_c = -1,
                                .power_mw = -1, .throttle_reasons = -1, .batch = 1, .tick_ns = 32, .taken_ms = 1790000000000,
                                .phase = "finals", .cache = "cold"};
    return code == ST_OK && which < 2 ? st_store_measurement(store, &taken, error) : code;
}

static st_code add_results(char *const *texts, const st_session_row *session, int64_t problem, const int64_t *keys,
                           st_error *error)
{
    const char *const names[] = {"stall.long_scoreboard", texts[COUNTER][0] ? texts[COUNTER] : "c", "stall_samples"};
    const double values[] = {0.5, 0.25, 4000};
    st_text lines;
    st_winner_row row = {.session_key = session->key, .problem_key = problem, .winner_key = keys[1], .default_key = keys[0],
                         .winner_ns = 6010, .default_ns = 9010, .speedup = 1.5, .speedup_low = 1.4, .speedup_high = 1.6,
                         .tied = 2, .bytes = 1e6, .note = texts[NOTE], .ties_json = NULL, .cache = "cold"};
    st_text_init(&lines);
    st_text_add(&lines, "[{\"file\":");
    st_json_add_string(&lines, texts[LINE_FILE]);
    st_text_add(&lines, ",\"function\":");
    st_json_add_string(&lines, texts[LOG]);
    st_text_add(&lines, ",\"line\":1,\"pc\":16,\"samples\":100,\"stall\":\"wait\"}]");
    st_code code = st_store_counters(store, keys[1], "pc", names, values, 3, 0.01, error);
    if (code == ST_OK)
        code = st_store_counters(store, keys[0], "range", names + 1, values + 1, 1, 0.01, error);
    if (code == ST_OK)
        code = st_store_stall_lines(store, keys[1], st_text_string(&lines), error);
    if (code == ST_OK)
        code = st_store_winner(store, &row, error);
    if (code == ST_OK)
        code = st_store_session_end(store, session->key, ST_SESSION_FINISHED, "{\"counters\":\"allowed\"}", error);
    st_text_release(&lines);
    return code;
}

// What the store does not take (a configuration that is none) is no session to report on.
static st_code make_session(char *const *texts, st_session_row *row, st_error *error)
{
    int64_t problem = 0, keys[3] = {0};
    st_code code = begin(texts, row, error);
    if (code == ST_OK)
        code = st_store_problem(store, row->family, texts[PROBLEM], NULL, texts[NOTE], 64, &problem, error);
    for (int i = 0; i < 3 && code == ST_OK; i++)
        code = add_candidate(texts, row, problem, i, &keys[i], error);
    bool apart = keys[0] != keys[1] && keys[1] != keys[2] && keys[0] != keys[2];
    if (code == ST_OK && !apart)
        code = ST_NOTHING;
    return code == ST_OK ? add_results(texts, row, problem, keys, error) : code;
}

static void check_json_forms(const char *page_data, size_t page_length, const st_text *json)
{
    json_t *of_page = NULL, *alone = NULL;
    st_error error = {0};
    FUZZ_MUST(page_data && st_json_parse(page_data, page_length, "the page's data", &of_page, &error) == ST_OK, "%s",
              error.what);
    FUZZ_MUST(st_json_parse(st_text_string(json), json->length, "--format json", &alone, &error) == ST_OK, "%s", error.what);
    FUZZ_MUST(json_equal(of_page, alone), "the page has other data than --format json");
    json_decref(of_page);
    json_decref(alone);
}

static void check_forms(const st_report *report)
{
    st_error error = {0};
    st_text page, again, json, markdown, text;
    st_text_init(&page);
    st_text_init(&again);
    st_text_init(&json);
    st_text_init(&markdown);
    st_text_init(&text);
    const char *data = NULL;
    size_t length = 0;
    FUZZ_MUST(st_report_html(report, NULL, &page, &error) == ST_OK, "%s", error.what);
    check_html(st_text_string(&page), page.length, 2, &data, &length);
    FUZZ_MUST(st_report_html(report, NULL, &again, &error) == ST_OK && again.length == page.length &&
                  memcmp(again.data, page.data, page.length) == 0, "other bytes for the same rows");
    FUZZ_MUST(st_report_json(report, &json, &error) == ST_OK, "%s", error.what);
    check_json_forms(data, length, &json);
    FUZZ_MUST(st_report_markdown(report, &markdown, &error) == ST_OK, "%s", error.what);
    check_markdown(st_text_string(&markdown));
    for (int colour = 0; colour < 2; colour++) {
        st_text_clear(&text);
        FUZZ_MUST(st_report_text(report, &(st_report_text_options){.colour = colour, .unicode = true}, &text, &error) == ST_OK,
                  "%s", error.what);
        FUZZ_MUST(st_report_is_safe(st_text_string(&text), colour), "the text steers a terminal");
    }
    st_text_release(&page);
    st_text_release(&again);
    st_text_release(&json);
    st_text_release(&markdown);
    st_text_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *texts[TEXTS];
    st_session_row row = {0};
    st_error error = {0};
    for (int i = 0; i < TEXTS; i++) {
        texts[i] = fuzz_line(&data, &size);
        if (!texts[i])
            texts[i] = strdup("");
    }
    FUZZ_MUST(st_store_begin(store, &error) == ST_OK, "%s", error.what);
    if (make_session(texts, &row, &error) == ST_OK) {
        st_report report;
        const char *id = row.id;
        FUZZ_MUST(st_report_load(store, &id, 1, ST_REPORT_COLD, &report, &error) == ST_OK, "%s", error.what);
        check_forms(&report);
        st_report_release(&report);
    }
    st_store_rollback(store);
    for (int i = 0; i < TEXTS; i++)
        free(texts[i]);
    return 0;
}
