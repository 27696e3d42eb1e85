// SPDX-License-Identifier: Apache-2.0
// Planted faults (faults.txt): each substitution must find its text in the template exactly once, must
// compile, and must be caught when its configurations are computed in the checking mode; the same
// configurations without it must be right. Prints what caught which.
#include "tests/emulated_kernels/kernels.h"
#include "tuner/base/clock.h"
#include "tuner/base/json.h"
#include "tuner/base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FAULTS = 128, LEAST_FAULTS = 20, MOST_CONFIGS = 4, MOST_SIZES = 4, MOST_TEXT = 2048 };

typedef struct fault {
    char title[160], file[64], by[160];
    char from[MOST_TEXT], to[MOST_TEXT];
    st_problem problem;
    st_config configs[MOST_CONFIGS];
    uint64_t sizes[MOST_SIZES];
    size_t config_count, size_count;
} fault;

// --- the table -----------------------------------------------------------------------------------

static st_code bad_line(const char *line, st_error *error)
{
    return st_fail(error, ST_USAGE, "the head of faults.txt says what a line may be",
                   "faults.txt: %s", line);
}

// "T=f32 op=sum FINISH=ticket": axes, then parameters that differ from the default's.
static st_code read_config(const st_template *tmpl, char *line, fault *of, st_error *error)
{
    char problem[256] = "";
    st_config config;
    st_code code = ST_OK;
    st_config_default(tmpl, &config);
    for (char *token = strtok(line, " "); token && !code; token = strtok(NULL, " ")) {
        char *equals = strchr(token, '=');
        if (!equals)
            return bad_line(token, error);
        *equals = 0;
        if (st_template_axis(tmpl, token) >= 0) {
            snprintf(problem + strlen(problem), sizeof problem - strlen(problem), "%s=%s ", token,
                     equals + 1);
            continue;
        }
        int parameter = st_template_parameter(tmpl, token);
        if (parameter < 0)
            return bad_line(token, error);
        code = st_parameter_value(tmpl, parameter, equals + 1, &config.value[parameter], error);
    }
    for (size_t a = 0; a < tmpl->axis_count; a++)
        if (tmpl->axes[a].kind == ST_AXIS_SIZE)
            snprintf(problem + strlen(problem), sizeof problem - strlen(problem), "%s=1000 ",
                     tmpl->axes[a].name);
    if (!code && of->config_count == MOST_CONFIGS)
        return bad_line("too many configurations", error);
    if (!code)
        code = st_problem_parse(tmpl, problem, &of->problem, error);
    of->configs[of->config_count++] = config;
    return code;
}

static st_code add_text(char *to, const char *line, st_error *error)
{
    size_t used = strlen(to);
    if (used + strlen(line) + 2 > MOST_TEXT)
        return bad_line("a text is too long", error);
    snprintf(to + used, MOST_TEXT - used, "%s%s", used ? "\n" : "", line);
    return ST_OK;
}

static st_code read_line(const st_template *tmpl, char *line, fault *list, size_t *count,
                         st_error *error)
{
    fault *of = *count ? &list[*count - 1] : NULL;
    if (line[0] == '@') {
        if (*count == MOST_FAULTS)
            return bad_line("too many faults", error);
        snprintf(list[(*count)++].title, sizeof list->title, "%s", line + 2);
        return ST_OK;
    }
    if (line[0] == '#' || line[0] == 0)
        return ST_OK;
    if (!of)
        return bad_line(line, error);
    if (line[0] == '-')
        return add_text(of->from, line + 1, error);
    if (line[0] == '+')
        return line[1] || of->to[0] ? add_text(of->to, line + 1, error) : ST_OK;
    if (st_text_starts(line, "file "))
        snprintf(of->file, sizeof of->file, "%s", line + 5);
    else if (st_text_starts(line, "by "))
        snprintf(of->by, sizeof of->by, "%s", line + 3);
    else if (st_text_starts(line, "n ") && of->size_count < MOST_SIZES)
        of->sizes[of->size_count++] = strtoull(line + 2, NULL, 10);
    else if (st_text_starts(line, "config "))
        return read_config(tmpl, line + 7, of, error);
    else
        return bad_line(line, error);
    return ST_OK;
}

static st_code read_table(const st_template *tmpl, fault *list, size_t *count, st_error *error)
{
    st_text text;
    st_text_init(&text);
    st_code code =
        st_text_read_file(&text, SIMTUNE_SOURCE_FOLDER "/tests/emulated_kernels/faults.txt", error);
    for (char *line = text.data, *next; !code && line && *line; line = next) {
        size_t length = strcspn(line, "\n");
        next = line + length + (line[length] == '\n');
        line[length] = 0;
        code = read_line(tmpl, line, list, count, error);
    }
    st_text_release(&text);
    return code;
}

// --- computing -----------------------------------------------------------------------------------

// Runs one configuration until something is wrong.
static st_code try_config(kernels *of, size_t config, const fault *with, char verdict[24],
                          char detail[600], st_error *error)
{
    uint64_t sizes[32];
    size_t count = kernels_sizes(of, config, sizes, 32 - MOST_SIZES);
    for (size_t i = 0; i < with->size_count; i++)
        sizes[count++] = with->sizes[i];
    st_code code = ST_OK;
    for (size_t s = 0; s < count * 2 && !code && !verdict[0]; s++) {
        kernels_run run = {
            .n = sizes[s / 2], .offset = s % 2 ? 1 + s % 3 : 0, .rotation = (unsigned)s};
        code = kernels_compute(of, config, &run, verdict, detail, error);
    }
    for (unsigned rotation = 0; rotation < 4 && !code && !verdict[0]; rotation++) {
        kernels_run run = {.n = 1021, .data = KERNELS_SPECIAL, .rotation = rotation};
        code = kernels_compute(of, config, &run, verdict, detail, error);
    }
    return code;
}

static st_code try_fault(const st_template *tmpl, const fault *with, bool planted, char verdict[24],
                         char detail[600], st_error *error)
{
    kernels of;
    kernels_change change = {.file = with->file, .from = with->from, .to = with->to};
    st_code code = kernels_open(&of, tmpl, &with->problem, with->configs, with->config_count,
                                planted ? &change : NULL, error);
    verdict[0] = detail[0] = 0;
    for (size_t c = 0; c < with->config_count && !code && !verdict[0]; c++)
        code = try_config(&of, c, with, verdict, detail, error);
    kernels_close(&of);
    return code;
}

// True when the fault is caught, by what may catch it. Prints its line of the table.
static bool judge(const st_template *tmpl, const fault *with)
{
    char verdict[24], detail[600];
    st_error error = {0};
    st_code code = try_fault(tmpl, with, true, verdict, detail, &error);
    const char *last = strrchr(verdict, ' '); // "out of bounds" is spelled "bounds" in the table
    bool fits = verdict[0] && (!with->by[0] || strstr(with->by, last ? last + 1 : verdict));
    if (code)
        printf("%-78s NOT TRIED: %s\n", with->title, error.what);
    else
        printf("%-78s %s\n", with->title, verdict[0] ? verdict : "SURVIVES");
    if (!code && verdict[0] && !fits)
        printf("    to be caught by: %s; got: %s\n", with->by, detail);
    return !code && fits;
}

// The configurations of all faults, without their faults: each problem's as one program.
static size_t judge_right(const st_template *tmpl, const fault *list, size_t count)
{
    size_t wrong = 0;
    for (size_t i = 0; i < count; i++) {
        bool known = false;
        for (size_t j = 0; j < i; j++)
            known |= memcmp(&list[i].problem, &list[j].problem, sizeof list[i].problem) == 0 &&
                     st_config_equal(tmpl, &list[i].configs[0], &list[j].configs[0]) &&
                     list[i].config_count == 1 && list[i].size_count == 0;
        if (known)
            continue;
        char verdict[24], detail[600];
        st_error error = {0};
        st_code code = try_fault(tmpl, &list[i], false, verdict, detail, &error);
        if (code || verdict[0]) {
            printf("without its fault, \"%s\": %s %s\n", list[i].title, verdict,
                   code ? error.what : detail);
            wrong++;
        }
    }
    return wrong;
}

int main(int argc, char **argv)
{
    static fault list[MOST_FAULTS];
    size_t count = 0, survived = 0, tried = 0;
    st_error error = {0};
    st_template *tmpl = NULL;
    st_json_setup();
    setvbuf(stdout, NULL, _IOLBF, 0);
    double start = st_clock_seconds();
    st_code code = st_template_load(SIMTUNE_SOURCE_FOLDER "/templates/reduce.cu", &tmpl, &error);
    if (!code)
        code = read_table(tmpl, list, &count, &error);
    if (code) {
        printf("%s\n", error.what);
        st_template_free(tmpl);
        return 1;
    }
    printf("%-78s caught by\n", "fault");
    for (size_t i = 0; i < count; i++)
        if (argc < 2 || strstr(list[i].title, argv[1])) {
            survived += !judge(tmpl, &list[i]);
            tried++;
        }
    size_t wrong = argc < 2 ? judge_right(tmpl, list, count) : 0;
    printf("%zu faults planted, %zu caught, %zu not; without them %zu wrong (%.1f s)\n", tried,
           tried - survived, survived, wrong, st_clock_seconds() - start);
    st_template_free(tmpl);
    return survived > 0 || wrong > 0 || (argc < 2 && tried < LEAST_FAULTS);
}
