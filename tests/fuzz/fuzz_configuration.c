// SPDX-License-Identifier: Apache-2.0
// What people write about a space: configurations, problems and the options --set, --vary, --where, for the
// template tests/data/emit_total.cu. The input, a line each: a configuration, a problem, then lines that
// begin with `s`, `v` or `w` and hold an option's value.
#include "tests/fuzz/fuzz.h"

#include "tuner/base/json.h"
#include "tuner/gpu/gpu.h"
#include "tuner/space.h"

#include <stdlib.h>
#include <string.h>

enum { OPTIONS_MOST = 8 };

static st_template *tmpl;
static st_device_facts facts;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    st_error error = {0};
    (void)argc, (void)argv;
    st_json_setup();
    FUZZ_MUST(st_template_load(SIMTUNE_SOURCE_FOLDER "/tests/data/emit_total.cu", &tmpl, &error) ==
                  ST_OK,
              "%s", error.what);
    FUZZ_MUST(st_gpu_backend("emu")->facts(0, &facts, &error) == ST_OK, "%s", error.what);
    return 0;
}

static void check_config(const char *text, st_config *config)
{
    st_error error = {0};
    st_config again;
    st_code code = st_config_parse(tmpl, text, config, &error);
    if (code) {
        fuzz_check_error(code, &error);
        st_config_default(tmpl, config);
        return;
    }
    st_text printed;
    st_text_init(&printed);
    st_config_text(tmpl, config, &printed);
    FUZZ_MUST(st_config_parse(tmpl, st_text_string(&printed), &again, &error) == ST_OK &&
                  st_config_equal(tmpl, config, &again),
              "`%s` became `%s`: %s", text, st_text_string(&printed), error.what);
    st_text_release(&printed);
}

static void check_problem(const char *text, st_problem *problem)
{
    st_error error = {0};
    st_problem again;
    st_code code = st_problem_parse(tmpl, text, problem, &error);
    if (code) {
        fuzz_check_error(code, &error);
        FUZZ_MUST(st_problem_parse(tmpl, "T=f32 op=sum n=65536", problem, &error) == ST_OK, "%s",
                  error.what);
        return;
    }
    st_text printed;
    st_text_init(&printed);
    st_problem_text(tmpl, problem, &printed);
    FUZZ_MUST(st_problem_parse(tmpl, st_text_string(&printed), &again, &error) == ST_OK &&
                  memcmp(problem, &again, sizeof again) == 0,
              "`%s` became `%s`: %s", text, st_text_string(&printed), error.what);
    st_text_release(&printed);
}

// Configurations of the space (a dozen of them) are found again and are forbidden by nothing.
static void check_members(const st_space *space, const st_config *other)
{
    size_t count = st_space_count(space);
    FUZZ_MUST(count && (double)count <= st_space_combinations(space), "%zu of %g configurations",
              count, st_space_combinations(space));
    for (size_t i = 0; i < count; i += count / 12 + 1) {
        st_config config;
        st_space_config(space, i, &config);
        FUZZ_MUST(st_space_find(space, &config) == (int64_t)i, "configuration %zu is not found", i);
        const char *why = st_space_why_not(space, &config);
        FUZZ_MUST(!why, "configuration %zu is allowed, and forbidden by %s", i, why);
    }
    int64_t index = st_space_find(space, other);
    if (index >= 0) {
        st_config config;
        FUZZ_MUST((size_t)index < count, "a configuration beyond the last");
        st_space_config(space, (size_t)index, &config);
        FUZZ_MUST(st_config_equal(tmpl, &config, other), "another configuration was found");
    } else {
        FUZZ_MUST(st_space_why_not(space, other) || count < st_space_combinations(space),
                  "a configuration of the full space is not found");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *lists[3][OPTIONS_MOST];
    size_t counts[3] = {0};
    char *lines[2 + 3 * OPTIONS_MOST];
    size_t line_count = 0;
    st_config config;
    st_problem problem;
    st_error error = {0};
    st_space *space = NULL;
    while (line_count < 2 + 3 * OPTIONS_MOST && (lines[line_count] = fuzz_line(&data, &size)))
        line_count++;
    check_config(line_count > 0 ? lines[0] : "", &config);
    check_problem(line_count > 1 ? lines[1] : "", &problem);
    for (size_t i = 2; i < line_count; i++) {
        const char *kinds = "svw", *kind = *lines[i] ? strchr(kinds, *lines[i]) : NULL;
        if (kind && counts[kind - kinds] < OPTIONS_MOST)
            lists[kind - kinds][counts[kind - kinds]++] = lines[i] + 1;
    }
    const st_space_options options = {.set = lists[0],
                                      .set_count = counts[0],
                                      .vary = lists[1],
                                      .vary_count = counts[1],
                                      .where = lists[2],
                                      .where_count = counts[2]};
    st_code code = st_space_open(tmpl, &problem, &facts, &options, &space, &error);
    if (code) {
        fuzz_check_error(code, &error);
    } else {
        check_members(space, &config);
        st_space_close(space);
    }
    for (size_t i = 0; i < line_count; i++)
        free(lines[i]);
    return 0;
}
