// SPDX-License-Identifier: Apache-2.0
// Planted faults (faults_FAMILY.txt): each substitution must find its text in the template exactly once, must
// compile, and must be caught when its configurations are computed in the checking mode; the same
// configurations without it must be right. Prints what caught which.
//
//     test_planted_faults FAMILY LEAST [TITLE]
//
// LEAST: how many there must be. TITLE: only faults that have this in their title.
#include "tests/emulated_kernels/families.h"
#include "tuner/base/clock.h"
#include "tuner/base/json.h"
#include "tuner/base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FAULTS = 128, MOST_CONFIGS = 4, MOST_SIZES = 4, MOST_TEXT = 2048, MOST_RUNS = 80 };

typedef struct fault {
    char title[160], file[64], by[160];
    char from[MOST_TEXT], to[MOST_TEXT];
    st_problem problem;
    st_config configs[MOST_CONFIGS];
    struct more_sizes {
        size_of_axis axis[2];
    } sizes[MOST_SIZES]; // beyond the usual ones
    size_t config_count, size_count;
} fault;

// --- the table -----------------------------------------------------------------------------------

static st_code bad_line(const char *line, st_error *error)
{
    return st_fail(error, ST_USAGE, "the head of faults_reduce.txt says what a line may be",
                   "table of faults: %s", line);
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
        else if (tmpl->axes[a].data) // the tests' data do not ask
            snprintf(problem + strlen(problem), sizeof problem - strlen(problem), "%s=%s ",
                     tmpl->axes[a].name, tmpl->axes[a].values[0].word);
    if (!code && of->config_count == MOST_CONFIGS)
        return bad_line("too many configurations", error);
    if (!code)
        code = st_problem_parse(tmpl, problem, &of->problem, error);
    of->configs[of->config_count++] = config;
    return code;
}

// "n=10007", "segments=3 segment=1000".
static st_code read_size(const st_template *tmpl, char *line, struct more_sizes *to,
                         st_error *error)
{
    size_t count = 0;
    for (char *token = strtok(line, " "); token; token = strtok(NULL, " ")) {
        char *equals = strchr(token, '=');
        if (!equals || count == 2)
            return bad_line(token, error);
        *equals = 0;
        int axis = st_template_axis(tmpl, token);
        if (axis < 0)
            return bad_line(token, error);
        to->axis[count++] = (size_of_axis){tmpl->axes[axis].name, strtoll(equals + 1, NULL, 10)};
    }
    return ST_OK;
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
    else if (st_text_starts(line, "size ") && of->size_count < MOST_SIZES)
        return read_size(tmpl, line + 5, &of->sizes[of->size_count++], error);
    else if (st_text_starts(line, "config "))
        return read_config(tmpl, line + 7, of, error);
    else
        return bad_line(line, error);
    return ST_OK;
}

static st_code read_table(const st_template *tmpl, fault *list, size_t *count, st_error *error)
{
    st_text text;
    char path[512];
    snprintf(path, sizeof path, SIMTUNE_SOURCE_FOLDER "/tests/emulated_kernels/faults_%s.txt",
             tmpl->family);
    st_text_init(&text);
    st_code code = st_text_read_file(&text, path, error);
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
    static kernels_run runs[MOST_RUNS];
    size_t count = kernels_runs(of, config, runs, MOST_RUNS - 2 * MOST_SIZES);
    for (size_t i = 0; i < with->size_count; i++)
        for (unsigned offset = 0; offset < 2; offset++) {
            family_add_run(of, runs + count, 0, 1, with->sizes[i].axis,
                           with->sizes[i].axis[1].axis ? 2 : 1);
            runs[count].offset = offset;
            runs[count++].rotation = (unsigned)i;
        }
    st_code code = ST_OK;
    for (size_t i = 0; i < count && !code && !verdict[0]; i++) {
        code = kernels_compute(of, config, &runs[i], verdict, detail, error);
        if (code == ST_NOTHING)
            code = ST_OK; // a size that the template does not allow
    }
    return code;
}

static st_code try_fault(const st_template *tmpl, const fault *with, char verdict[24],
                         char detail[600], st_error *error)
{
    kernels of;
    kernels_change change = {.file = with->file, .from = with->from, .to = with->to};
    st_code code =
        kernels_open(&of, tmpl, &with->problem, with->configs, with->config_count, &change, error);
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
    st_code code = try_fault(tmpl, with, verdict, detail, &error);
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

static bool same_problem(const fault *a, const fault *b)
{
    return memcmp(&a->problem, &b->problem, sizeof a->problem) == 0;
}

// All configurations of one problem's faults as one program, each with its sizes; returns how many are wrong.
static size_t judge_right_problem(const st_template *tmpl, const fault *list, size_t count,
                                  const fault *first, const char *wanted)
{
    static st_config configs[MOST_FAULTS * MOST_CONFIGS];
    static const fault *owner[MOST_FAULTS * MOST_CONFIGS];
    size_t config_count = 0, wrong = 0;
    kernels of;
    st_error error = {0};
    for (size_t i = 0; i < count; i++)
        for (size_t c = 0; c < list[i].config_count && same_problem(first, &list[i]); c++) {
            bool known = wanted && !strstr(list[i].title, wanted);
            for (size_t k = 0; k < config_count && list[i].size_count == 0; k++)
                known |= st_config_equal(tmpl, &configs[k], &list[i].configs[c]);
            if (known)
                continue;
            owner[config_count] = &list[i];
            configs[config_count++] = list[i].configs[c];
        }
    if (config_count == 0)
        return 0;
    st_code code = kernels_open(&of, tmpl, &first->problem, configs, config_count, NULL, &error);
    for (size_t k = 0; k < config_count && !code; k++) {
        char verdict[24] = "", detail[600] = "";
        code = try_config(&of, k, owner[k], verdict, detail, &error);
        if (verdict[0])
            printf("without its fault, \"%s\": %s %s\n", owner[k]->title, verdict, detail);
        wrong += verdict[0] != 0;
    }
    kernels_close(&of);
    if (code)
        printf("without faults: %s\n", error.what);
    return wrong + (code != ST_OK);
}

// The configurations of all faults, without their faults.
static size_t judge_right(const st_template *tmpl, const fault *list, size_t count,
                          const char *wanted)
{
    size_t wrong = 0;
    for (size_t i = 0; i < count; i++) {
        bool known = false;
        for (size_t j = 0; j < i; j++)
            known |= same_problem(&list[i], &list[j]);
        if (!known)
            wrong += judge_right_problem(tmpl, list, count, &list[i], wanted);
    }
    return wrong;
}

int main(int argc, char **argv)
{
    static fault list[MOST_FAULTS];
    size_t count = 0, survived = 0, tried = 0;
    st_error error = {0};
    st_template *tmpl = NULL;
    char path[512];
    if (argc < 3) {
        printf("usage: test_planted_faults FAMILY LEAST [TITLE | --half]     --half: every other fault\n");
        return 2;
    }
    bool half = argc > 3 && strcmp(argv[3], "--half") == 0;
    const char *wanted = argc > 3 && !half ? argv[3] : NULL;
    family_path(argv[1], path);
    st_json_setup();
    setvbuf(stdout, NULL, _IOLBF, 0);
    double start = st_clock_seconds();
    st_code code = st_template_load(path, &tmpl, &error);
    if (!code)
        code = read_table(tmpl, list, &count, &error);
    if (code) {
        printf("%s\n", error.what);
        st_template_free(tmpl);
        return 1;
    }
    for (size_t i = 0; half && 2 * i < count; i++)
        list[i] = list[2 * i];
    count = half ? (count + 1) / 2 : count;
    printf("%-78s caught by\n", "fault");
    for (size_t i = 0; i < count; i++)
        if (!wanted || strstr(list[i].title, wanted)) {
            survived += !judge(tmpl, &list[i]);
            tried++;
        }
    size_t wrong = judge_right(tmpl, list, count, wanted);
    printf("%s: %zu faults planted, %zu caught, %zu not; without them %zu wrong (%.1f s)\n",
           argv[1], tried, tried - survived, survived, wrong, st_clock_seconds() - start);
    st_template_free(tmpl);
    return survived > 0 || wrong > 0 || (!wanted && tried < strtoul(argv[2], NULL, 10));
}
