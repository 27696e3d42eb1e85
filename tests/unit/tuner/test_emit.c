// SPDX-License-Identifier: Apache-2.0
// Headers (invariants H1, H2, H6 of tuner/emit.c), their provenance block, and standalone programs.
// What needs a compiler (H3 to H5) is in tests/consumers.
#include "tuner/base/json.h"
#include "tuner/base/memory.h"
#include "tuner/emit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static st_template *total;
static char folder[] = "/tmp/simtune_emit_XXXXXX";

static int set_up(void **state)
{
    (void)state;
    st_error error = {0};
    if (st_template_load("tests/data/emit_total.cu", &total, &error))
        fail_msg("%s", error.what);
    return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    st_template_free(total);
    return rmdir(folder);
}

static st_choice choice_of(const st_template *tmpl, int cc, int sm_count, const char *problem,
                           const char *config)
{
    st_choice choice;
    st_error error = {0};
    memset(&choice, 0, sizeof choice);
    if (st_problem_parse(tmpl, problem, &choice.problem, &error) ||
        st_config_parse(tmpl, config, &choice.config, &error))
        fail_msg("%s", error.what);
    choice.device_class = (st_device_class){cc, sm_count};
    choice.blocks_per_sm = 2;
    snprintf(choice.device_name, sizeof choice.device_name, "NVIDIA \"sm\\%d\"", cc);
    snprintf(choice.driver, sizeof choice.driver, "580.1");
    snprintf(choice.compiler, sizeof choice.compiler, "nvrtc 13.0");
    snprintf(choice.template_hash, sizeof choice.template_hash, "%s", tmpl->hash);
    snprintf(choice.session_id, sizeof choice.session_id, "0123456789abcdef0123456789abcdef");
    snprintf(choice.candidate_id, sizeof choice.candidate_id, "%032d", cc);
    choice.memory_bytes = 150000000000;
    choice.measured_ms = 1775000000000; // 2026-03-31
    choice.samples = 200;
    choice.median_ns = 4612.5;
    choice.speedup = 1.75, choice.speedup_low = 1.7, choice.speedup_high = 1.8;
    choice.gbs = NAN;
    choice.tied = 3;
    choice.deterministic = true;
    return choice;
}

static st_choice usual(int cc, int sm_count, int64_t n)
{
    char problem[64];
    snprintf(problem, sizeof problem, "T=f32 op=sum n=%lld", (long long)n);
    return choice_of(total, cc, sm_count, problem, "BLOCK=256 ITEMS=2 FINISH=ticket WAVES=1");
}

static void emit(const st_template *tmpl, const st_choice *choices, size_t count,
                 const st_emit_options *options, st_text *out)
{
    st_error error = {0};
    st_text_init(out);
    if (st_emit_header(tmpl, choices, count, options, out, &error))
        fail_msg("%s", error.what);
}

static void contains(const st_text *text, const char *part)
{
    if (!strstr(text->data, part))
        fail_msg("`%s` is missing", part);
}

static void lacks(const st_text *text, const char *part)
{
    if (strstr(text->data, part))
        fail_msg("`%s` should not be there", part);
}

static void first_line_is(const st_text *text, const char *line)
{
    char first[1024];
    snprintf(first, sizeof first, "%.*s", (int)strcspn(text->data, "\n"), text->data);
    assert_string_equal(first, line);
}

static const st_emit_options cold = {.cache = "cold", .command = "simtune emit total"};

// --- the text ------------------------------------------------------------------------------------

// H1
static void order_of_choices_changes_no_byte(void **state)
{
    (void)state;
    st_choice choices[] = {usual(90, 132, 1024), usual(90, 132, 65536), usual(80, 108, 1024),
                           usual(80, 108, 1048576)};
    st_choice reversed[] = {choices[3], choices[1], choices[0], choices[2]};
    st_text a, b;
    emit(total, choices, 4, &cold, &a);
    emit(total, reversed, 4, &cold, &b);
    assert_string_equal(a.data, b.data);
    st_text_release(&a);
    st_text_release(&b);
}

static void namespace_of(const st_text *text, char out[24])
{
    const char *at = strstr(text->data, "namespace simtune_");
    assert_non_null(at);
    snprintf(out, 24, "%.*s", 16, at + 10);
}

// H2
static void another_content_is_another_namespace(void **state)
{
    (void)state;
    st_choice one = usual(90, 132, 1024), two = usual(90, 132, 1024);
    two.blocks_per_sm = 3;
    st_text a, b, c;
    char first[24], second[24], third[24];
    emit(total, &one, 1, &cold, &a);
    emit(total, &two, 1, &cold, &b);
    emit(total, &one, 1, &cold, &c);
    namespace_of(&a, first);
    namespace_of(&b, second);
    namespace_of(&c, third);
    assert_string_not_equal(first, second);
    assert_string_equal(first, third);
    lacks(&a, "HASH8");
    lacks(&a, "\001");
    st_text_release(&a);
    st_text_release(&b);
    st_text_release(&c);
}

static void kernels_stand_in_a_namespace_of_their_own(void **state)
{
    (void)state;
    st_choice choice = usual(90, 132, 1024);
    st_text text;
    emit(total, &choice, 1, &cold, &text);
    lacks(&text, "// simtune:");
    lacks(&text, "namespace simtune {");
    lacks(&text, "emit_total_device.cuh");
    contains(&text, "enum finish_word {");
    contains(&text, "struct simtune_half {"); // of the included file
    // Include guards and other macros keep the meaning that they have outside.
    contains(&text, "#pragma push_macro(\"EMIT_TOTAL_DEVICE_CUH\")");
    contains(&text, "#pragma pop_macro(\"TOTAL_WARP\")");
    // Apache's line is that of the template; the header is 0BSD.
    lacks(&text, "SPDX-License-Identifier: Apache-2.0");
    first_line_is(&text, "// SPDX-License-Identifier: 0BSD");
    st_text_release(&text);
}

// Two files have one hash, which follows from both: a header of another source does not pass for its own. The header
// has no kernel and the source no table.
static void in_two_files_kernels_stand_in_the_source(void **state)
{
    (void)state;
    st_error error = {0};
    st_choice choice = usual(90, 132, 1024);
    st_text header, source, whole, guard;
    char of_header[24], of_source[24];
    st_text_init(&header);
    st_text_init(&source);
    st_text_init(&guard);
    if (st_emit_split(total, &choice, 1, &cold, "simtune_total.h", &header, &source, &error))
        fail_msg("%s", error.what);
    emit(total, &choice, 1, &cold, &whole);
    lacks(&header, "__global__");
    contains(&header, "cudaError_t simtune_total_f32_sum(void *temp, size_t *temp_bytes,");
    contains(&header, "// simtune-provenance ");
    contains(&source, "__global__");
    contains(&source, "#include \"simtune_total.h\"");
    lacks(&source, "simtune-provenance");
    namespace_of(&header, of_header);
    namespace_of(&source, of_source);
    assert_string_equal(of_header, of_source);
    st_text_addf(&guard, "#ifndef SIMTUNE_TOTAL_H_%s\n#error", of_header + strlen("simtune_"));
    contains(&source, st_text_string(&guard));
    namespace_of(&whole, of_source);
    assert_string_not_equal(of_header, of_source);
    st_text_release(&header);
    st_text_release(&source);
    st_text_release(&whole);
    st_text_release(&guard);
}

static void only_what_is_asked_for_is_there(void **state)
{
    (void)state;
    st_choice choice = usual(90, 132, 1024);
    st_text text;
    emit(total, &choice, 1, &cold, &text);
    contains(
        &text,
        "inline cudaError_t simtune_total_f32_sum(void *temp, size_t *temp_bytes, const float *in, "
        "float *out, size_t n, cudaStream_t stream)");
    contains(&text, "#define SIMTUNE_TOTAL_F32_SUM_SM90_132_N1024_BLOCK 256");
    lacks(&text, "f64");
    lacks(&text, "f32_max");
    lacks(&text, "__half");
    st_text_release(&text);
    choice =
        choice_of(total, 90, 132, "T=f16 op=max n=1024", "BLOCK=64 ITEMS=1 FINISH=ticket WAVES=1");
    emit(total, &choice, 1, &cold, &text);
    // A pointer needs no more; the header of halves takes longer to compile than all of ours.
    contains(&text, "struct __half; // of <cuda_fp16.h>\n");
    lacks(&text, "#include <cuda_fp16.h>");
    contains(&text, "const __half *in, __half *out");
    st_text_release(&text);
}

// Configurations that differ in what the compiler does not see share their kernels.
static void kernels_are_shared_between_sizes(void **state)
{
    (void)state;
    st_choice choices[] = {choice_of(total, 90, 132, "T=f32 op=sum n=1024",
                                     "BLOCK=128 ITEMS=1 FINISH=two_pass WAVES=2"),
                           choice_of(total, 90, 132, "T=f32 op=sum n=65536",
                                     "BLOCK=128 ITEMS=1 FINISH=two_pass WAVES=4")};
    st_text text;
    emit(total, choices, 2, &cold, &text);
    contains(&text, "struct config_0 {");
    lacks(&text, "struct config_1 {"); // the default as well
    contains(&text, "0, {128, 1, 11, 2"); // but two rows, both with the first and only kernels
    contains(&text, "0, {128, 1, 11, 4");
    const char *kernels = strstr(text.data, "kernels_[] = {run< ::simtune_");
    assert_non_null(kernels);
    assert_ptr_equal(strstr(kernels, "}"), strchr(strstr(kernels, "::config_0, 0x"), '}'));
    st_text_release(&text);
}

static size_t occurrences(const st_text *text, const char *part)
{
    size_t count = 0;
    for (const char *at = text->data; (at = strstr(at, part)) != NULL; at += strlen(part))
        count++;
    return count;
}

// H3: what is written once is read once. Rows are numbers; and no table is read while device code is compiled.
static void host_code_stands_once_whatever_the_types(void **state)
{
    (void)state;
    st_choice choices[] = {
        usual(90, 132, 1024),
        choice_of(total, 90, 132, "T=f64 op=max n=1024", "BLOCK=128 ITEMS=1 FINISH=two_pass WAVES=2"),
        choice_of(total, 80, 108, "T=i32 op=sum n=1024", "BLOCK=64 ITEMS=1 FINISH=ticket WAVES=1")};
    st_text text;
    emit(total, choices, 3, &cold, &text);
    assert_int_equal(occurrences(&text, "inline void make_plan("), 1);
    assert_int_equal(occurrences(&text, "int simtune_total_holds(const"), 1);
    assert_int_equal(occurrences(&text, "return enter<Unused>("), 3);
    const char *guard = strstr(text.data, "#ifndef __CUDA_ARCH__\n"), *table = strstr(text.data, "simtune_total_row rows[]");
    assert_true(guard && table && guard < table);
    contains(&text, "simtune_total_f64_max_rows(void) { return NULL; }");
    st_text_release(&text);
}

static void sizes_meet_at_geometric_means(void **state)
{
    (void)state;
    st_choice choices[] = {usual(90, 132, 1024), usual(90, 132, 65536), usual(90, 132, 1048576)};
    st_text text;
    emit(total, choices, 3, &cold, &text);
    contains(&text, "{{1024}, 0, ");
    contains(&text, "{{65536}, 8192, ");
    contains(&text, "{{1048576}, 262144, ");
    st_text_release(&text);
}

// H6
static void the_first_line_says_whose_figures_they_are(void **state)
{
    (void)state;
    st_choice choices[2] = {usual(90, 132, 1024), usual(80, 108, 1024)};
    st_emit_options elsewhere = {.cache = "cold", .not_tuned_here = true};
    st_text text;
    emit(total, choices, 1, &elsewhere, &text);
    first_line_is(
        &text,
        "// NOT TUNED HERE: figures measured on NVIDIA \"sm\\90\" (sm_90, 132 SMs) of 2026-03-31");
    contains(&text, "#pragma message(\"simtune_total.h: NOT TUNED HERE");
    st_text_release(&text);
    choices[1].predicted = true;
    emit(total, choices, 2, &elsewhere, &text);
    first_line_is(
        &text,
        "// NOT TUNED HERE: figures measured on NVIDIA \"sm\\90\" (sm_90, 132 SMs) of 2026-03-31; "
        "PREDICTED, not measured, for NVIDIA \"sm\\80\" (sm_80, 108 SMs)");
    st_text_release(&text);
    emit(total, choices + 1, 1, &cold, &text);
    first_line_is(&text, "// PREDICTED, not measured, for NVIDIA \"sm\\80\" (sm_80, 108 SMs)");
    st_text_release(&text);
    choices[0].emulated = true;
    emit(total, choices, 1, &cold, &text);
    assert_int_equal(strncmp(text.data, "// EMULATED: ", 13), 0);
    st_text_release(&text);
    choices[0].emulated = false;
    emit(total, choices, 1, &cold, &text);
    lacks(&text, "#pragma message");
    st_text_release(&text);
}

static void of_two_rows_for_one_problem_the_newest_stays(void **state)
{
    (void)state;
    st_choice choices[] = {usual(90, 132, 1024), usual(90, 132, 1024)};
    choices[0].config.value[0] = 64;
    choices[1].measured_ms += 1000;
    st_text text;
    emit(total, choices, 2, &cold, &text);
    contains(&text, "#define SIMTUNE_TOTAL_F32_SUM_SM90_132_N1024_BLOCK 256");
    lacks(&text, "#define SIMTUNE_TOTAL_F32_SUM_SM90_132_N1024_BLOCK 64");
    st_text_release(&text);
}

static void rows_that_the_template_no_longer_allows_are_stale(void **state)
{
    (void)state;
    // A cluster needs WAVES == 1 whatever the device.
    st_choice choice =
        choice_of(total, 90, 132, "T=f32 op=sum n=1024", "BLOCK=64 ITEMS=1 FINISH=cluster WAVES=4");
    st_error error = {0};
    st_text text;
    st_text_init(&text);
    assert_int_equal(st_emit_header(total, &choice, 1, &cold, &text, &error), ST_STALE);
    assert_non_null(strstr(error.what, "FINISH != cluster"));
    assert_int_equal(st_emit_header(total, NULL, 0, &cold, &text, &error), ST_NOTHING);
    st_text_release(&text);
}

static st_template *parse(const char *text)
{
    st_template *tmpl = NULL;
    st_error error = {0};
    if (st_template_parse("tests/data/inline.cu", text, strlen(text), &tmpl, &error))
        fail_msg("%s", error.what);
    return tmpl;
}

static const char plain[] =
    "// simtune: family my_family\n// simtune: axis n = 1Ki\n"
    "// simtune: axis p = 10 50\n"
    "// simtune: param B = 32 64\n// simtune: default B=32\n"
    "// simtune: where B != 64 or L2_BYTES >= 100\n"
    "// simtune: where n % B == 0\n"
    "// simtune: buffer temp : input f32[n]\n"
    "// simtune: buffer y : output f32[n]\n"
    "// simtune: let late = BLOCKS_PER_SM * SM_COUNT\n"
    "// simtune: let head = (256 - align_temp) / 4\n"
    "// simtune: buffer scratch : temp f32[late + head]\n"
    "// simtune: launch k grid=ceil_div(n,B) block=B args=temp,y,scratch,p:i32,head:i32\n"
    "// simtune: host_args y,n,temp,p\n"
    "__global__ void k(const float *x, float *y, float *s, int p, int h) {}\n";

static void host_arguments_are_those_of_the_template(void **state)
{
    (void)state;
    st_template *tmpl = parse(plain);
    st_choice choices[] = {choice_of(tmpl, 90, 132, "n=1024 p=10", "B=64"),
                           choice_of(tmpl, 90, 132, "n=1024 p=50", "B=32")};
    st_text text;
    emit(tmpl, choices, 2, &cold, &text);
    // No axis of types or words: the family's name alone. `temp` is taken by the storage.
    contains(
        &text,
        "inline cudaError_t simtune_my_family(void *temp, size_t *temp_bytes, float *y, size_t n, "
        "const float *temp_buffer, size_t p, cudaStream_t stream)");
    contains(&text, "simtune_my_family_config(int cc, int sm_count, size_t n, size_t p)");
    contains(&text, "const long long size_p = sizes[1];");
    contains(&text, "arg_0_3 = size_p;");
    contains(&text, "(int)p.arg_0_3");
    // Late names are numbers, a fact that no class tells is guarded, and so is the size.
    contains(&text, "facts->sm_count");
    contains(&text, "(!facts->complete || ");
    contains(&text, "size_n");
    contains(&text, "align_temp = alignment > 0 ? alignment : alignment_of(buffers[b_temp]);");
    // The storage must do for any alignment of the pointer.
    contains(&text, "for (long long alignment = 1; alignment <= 256; alignment *= 2)");
    st_text_release(&text);
    st_template_free(tmpl);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    st_choice choices[] = {usual(90, 132, 1024), usual(80, 108, 65536)};
    unsigned long n = 1;
    for (bool injected = true; injected; n++) {
        st_error error = {0};
        st_text text;
        st_text_init(&text);
        st_fault_arm(ST_FAULT_ALLOCATION, n);
        st_code code = st_emit_header(total, choices, 2, &cold, &text, &error);
        injected = st_fault_injected(ST_FAULT_ALLOCATION);
        st_fault_arm(ST_FAULT_ALLOCATION, 0);
        if (injected && code != ST_NO_MEMORY)
            fail_msg("allocation %lu: code %d, %s", n, code, error.what);
        if (!injected)
            assert_int_equal(code, ST_OK);
        st_text_release(&text);
    }
    assert_true(n > 50);
}

// --- the provenance block ------------------------------------------------------------------------

static char *write_file(const char *text)
{
    char *path = st_format("%s/header.h", folder);
    st_error error = {0};
    if (st_text_write_file(path, text, strlen(text), NULL, &error))
        fail_msg("%s", error.what);
    return path;
}

static st_code read_text(const st_template *tmpl, const char *text, const st_device_class *except,
                         st_choice **choices, size_t *count, st_error *error)
{
    char *path = write_file(text);
    st_code code = st_emit_read(tmpl, path, except, choices, count, error);
    unlink(path);
    st_free(path);
    return code;
}

static void what_was_written_is_read(void **state)
{
    (void)state;
    st_choice given[] = {usual(80, 108, 1024), usual(90, 132, 1024), usual(90, 132, 65536)},
              *read = NULL;
    given[1].gbs = 4500.125;
    given[1].speedup = given[1].speedup_low = given[1].speedup_high = NAN;
    given[1].memory_bytes = -1;
    given[1].driver[0] = '\0';
    given[1].deterministic = false;
    given[2].predicted = true;
    given[2].samples = 0;
    st_text text, again;
    st_error error = {0};
    size_t count = 0;
    emit(total, given, 3, &cold, &text);
    if (read_text(total, text.data, NULL, &read, &count, &error))
        fail_msg("%s", error.what);
    assert_int_equal(count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_memory_equal(&read[i].problem.value, &given[i].problem.value, 3 * sizeof(int64_t));
        assert_true(st_config_equal(total, &read[i].config, &given[i].config));
        assert_string_equal(read[i].device_name, given[i].device_name);
        assert_string_equal(read[i].driver, given[i].driver);
        assert_string_equal(read[i].session_id, given[i].session_id);
        assert_string_equal(read[i].candidate_id, given[i].candidate_id);
        assert_int_equal(read[i].memory_bytes, given[i].memory_bytes);
        assert_int_equal(read[i].measured_ms, given[i].measured_ms);
        assert_int_equal(read[i].samples, given[i].samples);
        assert_int_equal(read[i].tied, given[i].tied);
        assert_int_equal(read[i].blocks_per_sm, given[i].blocks_per_sm);
        assert_int_equal(read[i].predicted, given[i].predicted);
        assert_int_equal(read[i].deterministic, given[i].deterministic);
        assert_true(read[i].median_ns == given[i].median_ns);
        assert_true(isnan(given[i].gbs) ? isnan(read[i].gbs) : read[i].gbs == given[i].gbs);
        assert_true(isnan(given[i].speedup) ? isnan(read[i].speedup)
                                            : read[i].speedup == given[i].speedup);
    }
    // Nothing is lost on the way: the same header comes out again.
    emit(total, read, count, &cold, &again);
    assert_string_equal(text.data, again.data);
    st_free(read);
    st_text_release(&text);
    st_text_release(&again);
}

static void a_second_device_adds_its_rows(void **state)
{
    (void)state;
    st_choice given[] = {usual(80, 108, 1024), usual(90, 132, 1024)}, *read = NULL;
    const st_device_class h200 = {90, 132}, other = {90, 114};
    st_text text;
    st_error error = {0};
    size_t count = 0;
    emit(total, given, 2, &cold, &text);
    assert_int_equal(read_text(total, text.data, &h200, &read, &count, &error), ST_OK);
    assert_int_equal(count, 1);
    assert_int_equal(read[0].device_class.cc, 80);
    st_free(read);
    assert_int_equal(read_text(total, text.data, &other, &read, &count, &error), ST_OK);
    assert_int_equal(count, 2);
    st_free(read);
    st_text_release(&text);
    emit(total, given, 1, &cold, &text);
    const st_device_class a100 = {80, 108};
    assert_int_equal(read_text(total, text.data, &a100, &read, &count, &error), ST_OK);
    assert_int_equal(count, 0); // nothing left, which is no error
    st_free(read);
    st_text_release(&text);
}

// The text with the first `from` replaced.
static char *replaced(const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    if (!at)
        fail_msg("`%s` is not there", from);
    return st_format("%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
}

static void what_is_not_ours_is_refused(void **state)
{
    (void)state;
    st_choice given[] = {usual(80, 108, 1024), usual(90, 132, 1024)};
    static const struct {
        const char *from, *to;
        st_code code;
        const char *word;
    } cases[] = {
        {"\"schema\":1", "\"schema\":2", ST_FAILED, "newer simtune"},
        {"\"rows\":2", "\"rows\":3", ST_FAILED, "damaged"},
        {"\"family\":\"total\"", "\"family\":\"scan\"", ST_FAILED, "scan"},
        {"\"cc\":80", "\"cc\":-80", ST_FAILED, "cc"},
        {"\"cc\":80", "\"cc\":\"80\"", ST_FAILED, "cc"},
        {"\"cc\":80,", "", ST_FAILED, "cc"},
        {"BLOCK=256 ITEMS=2 FINISH=ticket WAVES=1\",\"det", "BLOCK=77\",\"det", ST_FAILED, "row 1"},
        {"\"sm_count\":108", "\"sm_count\":108,,", ST_FAILED, "provenance"},
        {"\"device\":\"NVIDIA", "\"device\":7,\"x\":\"NVIDIA", ST_FAILED, "device"},
    };
    st_text text;
    emit(total, given, 2, &cold, &text);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *changed = replaced(text.data, cases[i].from, cases[i].to);
        st_choice *read = NULL;
        size_t count = 7;
        st_error error = {0};
        st_code code = read_text(total, changed, NULL, &read, &count, &error);
        // What, in which line of which file, and a remedy.
        const char *place = strstr(error.what, "header.h:");
        if (code != cases[i].code || !strstr(error.what, cases[i].word) ||
            !strstr(error.what, folder) || !place || atoi(place + 9) < 1 || !error.remedy[0])
            fail_msg("%s: code %d, %s (%s)", cases[i].to, code, error.what, error.remedy);
        assert_null(read);
        assert_int_equal(count, 0);
        st_free(changed);
    }
    st_text_release(&text);
}

static void strange_files_are_refused(void **state)
{
    (void)state;
    st_choice *read = NULL;
    size_t count;
    st_error error = {0};
    assert_int_equal(
        st_emit_read(total, "/nonexistent/simtune_total.h", NULL, &read, &count, &error),
        ST_NOTHING);
    assert_int_equal(read_text(total, "int x;\n", NULL, &read, &count, &error), ST_FAILED);
    assert_int_equal(read_text(total, "", NULL, &read, &count, &error), ST_FAILED);
    assert_int_equal(read_text(total, "// simtune-provenance [1]\n", NULL, &read, &count, &error),
                     ST_FAILED);
    assert_int_equal(read_text(total, "// simtune-provenance {\n", NULL, &read, &count, &error),
                     ST_FAILED);
    assert_null(read);
}

static void another_template_is_stale(void **state)
{
    (void)state;
    st_choice choice = usual(90, 132, 1024), *read = NULL;
    st_text text;
    st_error error = {0};
    size_t count;
    emit(total, &choice, 1, &cold, &text);
    char *changed = replaced(text.data, total->hash, "00000000000000000000000000000000");
    // The header's own line comes before the rows'.
    char *header_line = strstr(changed, "\"template\":\"00000000");
    assert_non_null(header_line);
    char *other = replaced(changed, total->hash, "00000000000000000000000000000000");
    assert_int_equal(read_text(total, other, NULL, &read, &count, &error), ST_STALE);
    st_free(other);
    st_free(changed);
    st_text_release(&text);
}

// --- standalone programs -------------------------------------------------------------------------

static st_device_facts h200_facts(void)
{
    st_device_facts facts;
    memset(&facts, 0, sizeof facts);
    snprintf(facts.name, sizeof facts.name, "NVIDIA H200");
    facts.cc = 90, facts.sm_count = 132, facts.warp_size = 32, facts.max_threads_per_block = 1024;
    facts.threads_per_sm = 2048, facts.max_blocks_per_sm = 32, facts.registers_per_sm = 65536;
    facts.smem_per_block = 232448, facts.smem_per_sm = 233472, facts.smem_reserved = 1024;
    facts.l2_bytes = 62914560, facts.memory_bytes = 150000000000, facts.max_cluster = 8;
    return facts;
}

static void a_repro_has_the_numbers_of_the_candidate(void **state)
{
    (void)state;
    st_choice choice = choice_of(total, 90, 132, "T=f32 op=sum n=1048576",
                                 "BLOCK=256 ITEMS=2 FINISH=dependent WAVES=1");
    st_device_facts device = h200_facts();
    st_text text;
    st_error error = {0};
    st_text_init(&text);
    if (st_emit_repro(total, &choice, &device, &text, &error))
        fail_msg("%s", error.what);
    contains(&text, "// nvcc -std=c++11 -O3 -lineinfo -arch=sm_90 ");
    contains(&text, "// ncu --set full");
    contains(&text, "config.gridDim = dim3(264u, 1u, 1u);"); // min(2048 tiles, 132 * 2)
    contains(&text, "config.dynamicSmemBytes = 2048;");
    contains(&text, "programmaticStreamSerializationAllowed = 1");
    lacks(&text, "cudaLaunchAttributeClusterDimension");
    lacks(&text, "total_blocks<repro_config>"); // a launch that it does not take
    contains(&text, "expected = expected + value;");
    lacks(&text, "// simtune:");
    lacks(&text, "emit_total_device.cuh");
    st_text_release(&text);
    choice = choice_of(total, 90, 132, "T=f32 op=max n=1024",
                       "BLOCK=256 ITEMS=2 FINISH=cluster WAVES=1");
    st_text_init(&text);
    assert_int_equal(st_emit_repro(total, &choice, &device, &text, &error), ST_OK);
    contains(&text, "attributes[config.numAttrs].val.clusterDim.x = 8;");
    contains(&text, "value > expected ? value : expected");
    st_text_release(&text);
}

int main(void)
{
    st_json_setup();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_of_choices_changes_no_byte),
        cmocka_unit_test(another_content_is_another_namespace),
        cmocka_unit_test(kernels_stand_in_a_namespace_of_their_own),
        cmocka_unit_test(in_two_files_kernels_stand_in_the_source),
        cmocka_unit_test(only_what_is_asked_for_is_there),
        cmocka_unit_test(kernels_are_shared_between_sizes),
        cmocka_unit_test(host_code_stands_once_whatever_the_types),
        cmocka_unit_test(sizes_meet_at_geometric_means),
        cmocka_unit_test(the_first_line_says_whose_figures_they_are),
        cmocka_unit_test(of_two_rows_for_one_problem_the_newest_stays),
        cmocka_unit_test(rows_that_the_template_no_longer_allows_are_stale),
        cmocka_unit_test(host_arguments_are_those_of_the_template),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(what_was_written_is_read),
        cmocka_unit_test(a_second_device_adds_its_rows),
        cmocka_unit_test(what_is_not_ours_is_refused),
        cmocka_unit_test(strange_files_are_refused),
        cmocka_unit_test(another_template_is_stale),
        cmocka_unit_test(a_repro_has_the_numbers_of_the_candidate),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
