// SPDX-License-Identifier: Apache-2.0
// What a profile of anyone's store says: stall lines (st_stall_lines_parse), counters of any name and value, and the
// findings that come of them (st_advise). The input: lines "KIND NAME VALUE", an empty line, then the lines' JSON.
// Checks: nothing is said of what is unknown; shares, gains and pulls stay within their ranges; the focus of a finding is
// one of the lines; texts end.
#include "tests/fuzz/fuzz.h"

#include "cupti/advice.h"
#include "tuner/base/json.h"
#include "tuner/base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    st_json_setup();
    return 0;
}

// "fact ns 4000" sets a fact, all else is a counter.
static void take(st_profile_view *view, const char *line)
{
    char kind[16], name[96], number[40];
    if (sscanf(line, "%15s %95s %39s", kind, name, number) != 3)
        return;
    double value = strtod(number, NULL);
    if (strcmp(kind, "fact") != 0) {
        st_view_counter(view, kind, name, value);
        return;
    }
    const struct {
        const char *name;
        double *to;
    } facts[] = {{"ns", &view->ns},
                 {"bytes", &view->bytes},
                 {"registers", &view->registers},
                 {"local_bytes", &view->local_bytes},
                 {"occupancy", &view->occupancy},
                 {"read_gbs", &view->device.read_gbs},
                 {"copy_gbs", &view->device.copy_gbs},
                 {"written_share", &view->device.written_share}};
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++)
        if (strcmp(facts[i].name, name) == 0)
            *facts[i].to = value;
}

static void check_findings(const st_profile_view *view)
{
    st_finding findings[ST_FINDINGS_MOST];
    double pull[ST_ROLE_COUNT], unordered[ST_ROLE_COUNT];
    size_t count = st_advise(view, findings);
    FUZZ_MUST(count <= ST_FINDINGS_MOST, "%zu findings", count);
    for (size_t i = 0; i < count; i++) {
        const st_finding *finding = &findings[i];
        FUZZ_MUST(st_rule_find(finding->rule), "a finding of no rule");
        FUZZ_MUST(strnlen(finding->evidence, sizeof finding->evidence) < sizeof finding->evidence,
                  "evidence without an end");
        FUZZ_MUST(isnan(finding->gain) == !finding->gain_source,
                  "a gain without its formula, or the other way round");
        FUZZ_MUST(isnan(finding->gain) || (finding->gain >= 0 && finding->gain <= 1), "a gain of %g", finding->gain);
        FUZZ_MUST(!finding->focus ||
                      (finding->focus >= view->lines && finding->focus < view->lines + view->line_count),
                  "a focus that is none of the lines");
        FUZZ_MUST(!i || findings[i - 1].severity >= finding->severity, "not the gravest first");
        FUZZ_MUST(finding->stall < 0 || !isnan(view->share[finding->stall]), "%s says something of what is unknown",
                  finding->rule);
    }
    st_advice_pull(findings, count, pull, unordered);
    for (size_t r = 0; r < ST_ROLE_COUNT; r++)
        FUZZ_MUST(pull[r] >= -1 && pull[r] <= 1 && unordered[r] >= 0 && unordered[r] <= 1, "a pull of %g and %g",
                  pull[r], unordered[r]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    st_profile_view view;
    st_line_sample *lines = NULL;
    size_t count = 0;
    st_error error = {0};
    st_view_init(&view);
    for (bool more = true; more;) {
        char *line = fuzz_line(&data, &size);
        more = line && line[0];
        if (more)
            take(&view, line);
        free(line);
    }
    char *json = fuzz_string(data, size);
    st_code code = st_stall_lines_parse(json, &lines, &count, &error);
    FUZZ_MUST(code == ST_OK || (!lines && !count && error.what[0]), "it fails and does not say why");
    for (size_t i = 0; i < count; i++)
        FUZZ_MUST(lines[i].line >= 0 && lines[i].main_stall >= -1 && memchr(lines[i].file, 0, sizeof lines[i].file),
                  "line %zu is no line", i);
    view.lines = lines;
    view.line_count = count;
    check_findings(&view);
    st_validity how;
    double issue = st_view_value(&view, "issue_active", &how);
    FUZZ_MUST(isnan(issue) == (how == ST_VALID_UNKNOWN), "unknown, and known as %s", st_validity_name(how));
    st_free(lines);
    free(json);
    return 0;
}
