// SPDX-License-Identifier: Apache-2.0
// What a header says of itself, without its template: what our own writer prints is read; what is damaged, foreign or
// newer is refused with its place.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tuner/base/json.h"
#include "tuner/base/memory.h"
#include "tuner/emit.h"
#include "tuner/emit_rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[64];

static int make_path(void **state)
{
    (void)state;
    snprintf(path, sizeof path, "/tmp/simtune-rows-XXXXXX");
    int file = mkstemp(path);
    return file < 0 ? -1 : close(file);
}

static int remove_path(void **state)
{
    (void)state;
    return unlink(path);
}

static void write_file(const char *text)
{
    st_error error = {0};
    if (st_text_write_file(path, text, strlen(text), NULL, &error) != ST_OK)
        fail_msg("%s", error.what);
}

typedef struct seen {
    size_t count;
    char last[512];
    double median_ns;
    st_code answer;
} seen;

static st_code take(void *context, const st_provenance_row *row, st_error *error)
{
    seen *to = context;
    to->count++;
    to->median_ns = row->median_ns;
    snprintf(to->last, sizeof to->last, "%s|%s|%s|%s|%s|%s|%d|%d|%lld|%.8s|%.8s|%d%d", row->family, row->cache,
             row->problem, row->configuration, row->device, row->driver, row->cc, row->sm_count,
             (long long)row->measured_ms, row->session, row->candidate, row->predicted, row->emulated);
    return to->answer == ST_OK ? ST_OK : st_fail(error, to->answer, NULL, "the reader had enough");
}

static st_code read_rows(seen *all, st_error *error)
{
    *error = (st_error){0};
    return st_emit_rows(path, take, all, error);
}

static void what_our_writer_prints_is_read(void **state)
{
    (void)state;
    st_error error = {0};
    st_template *tmpl = NULL;
    st_text text;
    st_text_init(&text);
    assert_int_equal(st_template_load(SIMTUNE_SOURCE_FOLDER "/tests/data/emit_total.cu", &tmpl, &error), ST_OK);
    st_choice choice;
    memset(&choice, 0, sizeof choice);
    st_config_default(tmpl, &choice.config);
    assert_int_equal(st_problem_parse(tmpl, "T=f32 op=sum n=65536", &choice.problem, &error), ST_OK);
    choice.device_class = (st_device_class){90, 132};
    choice.blocks_per_sm = 2;
    choice.measured_ms = 1790000000000;
    choice.memory_bytes = -1;
    choice.median_ns = 4600.5;
    choice.samples = 60;
    choice.tied = 1;
    choice.speedup = choice.speedup_low = choice.speedup_high = choice.gbs = NAN;
    snprintf(choice.device_name, sizeof choice.device_name, "NVIDIA H200");
    snprintf(choice.driver, sizeof choice.driver, "580.159.04");
    memset(choice.session_id, 'a', 32);
    memset(choice.candidate_id, 'b', 32);
    const st_emit_options options = {.cache = "warm", .command = "simtune emit total"};
    if (st_emit_header(tmpl, &choice, 1, &options, &text, &error) != ST_OK)
        fail_msg("%s", error.what);
    write_file(text.data);
    seen all = {0};
    if (read_rows(&all, &error) != ST_OK)
        fail_msg("%s", error.what);
    assert_int_equal(all.count, 1);
    assert_true(all.median_ns == 4600.5);
    st_text expected, config;
    st_text_init(&expected);
    st_text_init(&config);
    st_config_text(tmpl, &choice.config, &config);
    st_text_addf(&expected, "%s|warm|T=f32 op=sum n=65536|%s|NVIDIA H200|580.159.04|90|132|1790000000000|aaaaaaaa|bbbbbbbb|00",
                 tmpl->family, config.data);
    assert_string_equal(all.last, expected.data);
    st_text_release(&config);
    st_text_release(&expected);
    st_text_release(&text);
    st_template_free(tmpl);
}

#define HEAD "// simtune-provenance {\"schema\":1,\"family\":\"reduce\",\"cache\":null,\"rows\":1}\n"
#define ROW "// simtune-provenance {\"problem\":\"n=1\",\"config\":\"A=1\"}\n"

static void what_is_left_out_is_unknown(void **state)
{
    (void)state;
    st_error error;
    seen all = {0};
    write_file("// NOT TUNED HERE\n#pragma once\n" HEAD "int x;\n" ROW "// simtune-provenance\n");
    assert_int_equal(read_rows(&all, &error), ST_OK);
    assert_int_equal(all.count, 1);
    assert_string_equal(all.last, "reduce|cold|n=1|A=1|||-1|-1|-1|||00");
    assert_true(isnan(all.median_ns));
    all = (seen){0};
    write_file("// simtune-provenance {\"schema\":1,\"family\":\"reduce\",\"rows\":0}"); // no row, no line's end
    assert_int_equal(read_rows(&all, &error), ST_OK);
    assert_int_equal(all.count, 0);
}

static void what_is_none_is_refused_with_its_place(void **state)
{
    (void)state;
    static const struct {
        const char *text, *what;
    } cases[] = {
        {"", "no header that simtune made"},
        {"int x;\n// simtune-provenance \n", "no header that simtune made"},
        {HEAD, "its rows end here, 0 where 1 are announced"},
        {HEAD ROW ROW, "its rows end here, 2 where 1 are announced"},
        {"\n\n" HEAD "// simtune-provenance {\n", ":4: "},
        {"// simtune-provenance []\n", "no JSON object"},
        {"// simtune-provenance {\"schema\":2,\"family\":\"reduce\",\"rows\":0}\n", "newer simtune"},
        {"// simtune-provenance {\"family\":\"reduce\",\"rows\":0}\n", "schema"},
        {"// simtune-provenance {\"schema\":1,\"family\":\"reduce\"}\n", "\"rows\" is missing"},
        {"// simtune-provenance {\"schema\":1,\"family\":\"reduce\",\"rows\":-1}\n", "out of range"},
        {"// simtune-provenance {\"schema\":1,\"family\":\"\",\"rows\":0}\n", "\"family\" or"},
        {"// simtune-provenance {\"schema\":1,\"family\":\"a\\u0000b\",\"rows\":0}\n", "provenance"},
        {"// simtune-provenance {\"schema\":1,\"family\":\"r\",\"rows\":0,\"cache\":\"hot\"}\n", "neither cold nor warm"},
        {HEAD "// simtune-provenance {\"config\":\"A=1\"}\n", "\"problem\" is missing"},
        {HEAD "// simtune-provenance {\"problem\":\"n=1\",\"config\":7}\n", "\"config\" is no text"},
        {HEAD "// simtune-provenance {\"problem\":\"n=1\",\"cc\":0}\n", "\"cc\" is out of range"},
        {HEAD "// simtune-provenance {\"problem\":\"n=1\",\"sm_count\":1e3}\n", "sm_count"},
        {HEAD "// simtune-provenance {\"problem\":\"n=1\",\"candidate\":\"ABCDEF00000000000000000000000000\"}\n", "is no id"},
        {HEAD "// simtune-provenance {\"problem\":\"n=1\",\"session\":\"12\"}\n", "\"session\" is no id"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        st_error error;
        seen all = {0};
        write_file(cases[i].text);
        st_code code = read_rows(&all, &error);
        if (code != ST_FAILED || !strstr(error.what, cases[i].what) || !strstr(error.what, path) || !error.remedy[0])
            fail_msg("case %zu: code %d: %s (%s)", i, (int)code, error.what, error.remedy);
    }
}

static void a_reader_may_stop_and_a_file_may_be_absent(void **state)
{
    (void)state;
    st_error error;
    seen all = {.answer = ST_NOTHING};
    write_file(HEAD ROW);
    assert_int_equal(read_rows(&all, &error), ST_NOTHING);
    assert_string_equal(error.what, "the reader had enough");
    assert_int_equal(st_emit_rows("/nonexistent/a.h", take, &all, &error), ST_NOTHING);
    assert_int_equal(st_emit_rows("/tmp", take, &all, &error), ST_FAILED);
}

static void faults_are_reported(void **state)
{
    (void)state;
    write_file(HEAD ROW);
    static const st_fault kinds[] = {ST_FAULT_ALLOCATION, ST_FAULT_SYSTEM};
    for (int k = 0; k < 2; k++)
        for (unsigned long n = 1;; n++) {
            st_error error;
            seen all = {0};
            st_fault_arm(kinds[k], n);
            st_code code = read_rows(&all, &error);
            bool hit = st_fault_injected(kinds[k]);
            st_fault_arm(kinds[k], 0);
            assert_true(code == ST_OK ? all.count == 1 : hit && error.what[0]);
            if (!hit)
                break;
        }
}

int main(void)
{
    st_json_setup();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_our_writer_prints_is_read),
        cmocka_unit_test(what_is_left_out_is_unknown),
        cmocka_unit_test(what_is_none_is_refused_with_its_place),
        cmocka_unit_test(a_reader_may_stop_and_a_file_may_be_absent),
        cmocka_unit_test(faults_are_reported),
    };
    return cmocka_run_group_tests(tests, make_path, remove_path);
}
