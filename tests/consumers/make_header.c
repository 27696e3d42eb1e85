// SPDX-License-Identifier: Apache-2.0
// Writes a header for the consumers' tests: make_header TEMPLATE OUTPUT VERSION ROW…
//   ROW: "CC/SMS|PROBLEM|CONFIGURATION|BLOCKS_PER_SM", as in "90/132|T=f32 op=sum n=1024|BLOCK=128 …|2";
//   CONFIGURATION may be "default", with parameters that differ after it ("default BLOCK=512");
//   PROBLEM may name type and words only: then a row for every size.
// VERSION goes into the session's id, so that two versions of one header differ.
#include "tuner/base/json.h"
#include "tuner/base/memory.h"
#include "tuner/emit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static st_template *tmpl;
static st_choice *choices;
static size_t count, capacity;
static st_error error;

static void stop(const char *what)
{
    fprintf(stderr, "make_header: %s: %s %s\n", what, error.what, error.remedy);
    exit(1);
}

static void add(const st_choice *choice)
{
    choices = st_grow(choices, &capacity, count + 1, sizeof *choices);
    if (!choices)
        stop("memory");
    choices[count++] = *choice;
}

// A row for each value of the size axes that the text leaves out.
static void add_sizes(const char *problem, st_choice *choice, size_t axis)
{
    for (; axis < tmpl->axis_count; axis++) {
        char named[128];
        snprintf(named, sizeof named, "%s=", tmpl->axes[axis].name);
        const char *at = strstr(problem, named);
        while (at && at != problem && at[-1] != ' ') // "n=" of "pattern=random" is another's
            at = strstr(at + 1, named);
        if (tmpl->axes[axis].kind == ST_AXIS_SIZE && !at)
            break;
    }
    if (axis == tmpl->axis_count) {
        if (st_problem_parse(tmpl, problem, &choice->problem, &error))
            stop(problem);
        add(choice);
        return;
    }
    for (size_t i = 0; i < tmpl->axes[axis].value_count; i++) {
        char *whole = st_format("%s %s=%lld", problem, tmpl->axes[axis].name,
                                (long long)tmpl->axes[axis].values[i].number);
        add_sizes(whole, choice, axis + 1);
        st_free(whole);
    }
}

static void change_default(char *changes, st_config *config)
{
    char *rest = NULL;
    st_config_default(tmpl, config);
    for (char *word = strtok_r(changes, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        char *value = strchr(word, '=');
        if (!value)
            stop(word);
        *value++ = '\0';
        int parameter = st_template_parameter(tmpl, word);
        if (parameter < 0 ||
            st_parameter_value(tmpl, parameter, value, &config->value[parameter], &error))
            stop(word);
    }
}

static void add_row(char *row, const char *version)
{
    char *rest = NULL, *class_text = strtok_r(row, "|", &rest),
         *problem = strtok_r(NULL, "|", &rest);
    char *config = strtok_r(NULL, "|", &rest), *blocks = strtok_r(NULL, "|", &rest);
    st_choice choice;
    memset(&choice, 0, sizeof choice);
    if (!blocks ||
        sscanf(class_text, "%d/%d", &choice.device_class.cc, &choice.device_class.sm_count) != 2)
        stop("a row is CC/SMS|PROBLEM|CONFIGURATION|BLOCKS_PER_SM");
    choice.blocks_per_sm = atoi(blocks);
    if (strncmp(config, "default", 7) == 0)
        change_default(config + 7, &choice.config);
    else if (st_config_parse(tmpl, config, &choice.config, &error))
        stop(config);
    snprintf(choice.device_name, sizeof choice.device_name, "Device sm_%d", choice.device_class.cc);
    snprintf(choice.driver, sizeof choice.driver, "580.1");
    snprintf(choice.compiler, sizeof choice.compiler, "nvrtc 13.0");
    snprintf(choice.session_id, sizeof choice.session_id, "%s", version);
    snprintf(choice.template_hash, sizeof choice.template_hash, "%s", tmpl->hash);
    choice.memory_bytes = (int64_t)80 << 30;
    choice.measured_ms = 1775000000000;
    choice.samples = 100;
    choice.median_ns = 4612.5;
    choice.speedup = 2.0, choice.speedup_low = 1.9, choice.speedup_high = 2.1;
    choice.gbs = NAN;
    choice.tied = 1;
    choice.deterministic = true;
    add_sizes(problem, &choice, 0);
}

int main(int argc, char **argv)
{
    st_json_setup();
    if (argc < 5)
        stop("TEMPLATE OUTPUT VERSION ROW…");
    if (st_template_load(argv[1], &tmpl, &error))
        stop(argv[1]);
    for (int i = 4; i < argc; i++)
        add_row(argv[i], argv[3]);
    st_text text;
    st_text_init(&text);
    const st_emit_options options = {.cache = "cold", .command = "make_header"};
    if (st_emit_header(tmpl, choices, count, &options, &text, &error))
        stop("emission");
    if (st_text_write_file(argv[2], text.data, text.length, NULL, &error))
        stop(argv[2]);
    st_text_release(&text);
    st_free(choices);
    st_template_free(tmpl);
    return 0;
}
