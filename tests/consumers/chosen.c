// SPDX-License-Identifier: Apache-2.0
// chosen TEMPLATES HEADERS: the row that a header's own code chooses (printed by emit_search.c and emit_choice.c) is the
// one that st_header_choose says, for every class and size that is asked for here. TEMPLATES: the folder tests/data.
#include "simtune_axpy.h"
#include "simtune_kept.h"
#include "simtune_narrow.h"
#include "simtune_plain.h"
#include "simtune_total.h"

#include "tuner/base/json.h"
#include "tuner/base/memory.h"
#include "tuner/gpu/device_class.h"
#include "tuner/header_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures, asked;

typedef const simtune_config *choose_one(int cc, int sm_count, size_t n);
typedef const simtune_config *choose_two(int cc, int sm_count, size_t a, size_t b);

static const struct one {
    const char *file, *function;
    choose_one *choose;
    choose_two *choose_both;
} functions[] = {
    {"total", "simtune_total_f32_sum", simtune_total_f32_sum_config, NULL},
    {"total", "simtune_total_f64_max", simtune_total_f64_max_config, NULL},
    {"total", "simtune_total_i32_sum", simtune_total_i32_sum_config, NULL},
    {"narrow", "simtune_narrow_f32_sum", simtune_narrow_f32_sum_config, NULL},
    {"narrow", "simtune_narrow_f32_max", simtune_narrow_f32_max_config, NULL},
    {"narrow", "simtune_narrow_i32_sum", simtune_narrow_i32_sum_config, NULL},
    {"axpy", "simtune_axpy", simtune_axpy_config, NULL},
    {"plain", "simtune_plain", NULL, simtune_plain_config},
};

static void stop(const st_error *error)
{
    printf("%s (%s)\n", error->what, error->remedy);
    exit(1);
}

static size_t function_of(const st_header_program *header, const char *name)
{
    for (size_t i = 0; i < st_header_function_count(header); i++)
        if (strcmp(st_header_function_name(header, i), name) == 0)
            return i;
    printf("no function %s\n", name);
    exit(1);
}

// The class alone, as the C functions know it: shared memory and threads of a device are not asked for there.
static void compare(const struct one *one, const st_template *tmpl, const st_header_program *header,
                    const st_device_facts *device, const int64_t *sizes)
{
    size_t function = function_of(header, one->function), size = 0;
    st_problem problem = *st_header_function_problem(header, function);
    st_header_row row;
    st_error error;
    for (size_t i = 0; i < tmpl->axis_count; i++)
        if (tmpl->axes[i].kind == ST_AXIS_SIZE && !tmpl->axes[i].data)
            problem.value[i] = sizes[size++];
    int cc = (int)device->cc, sms = (int)device->sm_count;
    const simtune_config *wanted = one->choose ? one->choose(cc, sms, (size_t)sizes[0])
                                               : one->choose_both(cc, sms, (size_t)sizes[0], (size_t)sizes[1]);
    st_code code = st_header_choose(header, function, device, &problem, &row, &error);
    st_text text;
    st_text_init(&text);
    if (code == ST_OK)
        st_config_text(tmpl, &row.choice->config, &text);
    bool same = wanted ? code == ST_OK && strcmp(text.data, wanted->text) == 0 && row.exact == (wanted->exact != 0) &&
                             row.is_default == (wanted->cc == 0)
                       : code == ST_NOTHING;
    asked++;
    if (!same && failures++ < 20)
        printf("%s on sm_%d/%d for %lld, %lld: the header takes %s, st_header_choose %s\n", one->function, cc, sms,
               (long long)sizes[0], (long long)sizes[1], wanted ? wanted->text : "nothing",
               code == ST_OK ? text.data : "nothing");
    st_text_release(&text);
}

static void compare_all(const struct one *one, const st_template *tmpl, const st_header_program *header)
{
    static const st_device_class classes[] = {{90, 132}, {90, 114}, {90, 78}, {80, 108}, {86, 82},
                                              {89, 128}, {100, 148}, {120, 170}};
    static const int64_t sizes[] = {0, 1, 3, 1000, 1023, 1024, 8191, 8192, 32768, 65536, 262143, 262144, 1 << 20, 1 << 28};
    st_error error;
    for (size_t c = 0; c < sizeof classes / sizeof *classes; c++) {
        st_device_facts facts;
        if (st_device_class_facts(classes[c], -1, &facts, &error) != ST_OK)
            stop(&error);
        for (size_t a = 0; a < sizeof sizes / sizeof *sizes; a++)
            for (size_t b = 0; b < (one->choose ? 1 : sizeof sizes / sizeof *sizes); b++) {
                const int64_t both[2] = {sizes[a], sizes[b]};
                compare(one, tmpl, header, &facts, both);
            }
    }
}

int main(int argc, char **argv)
{
    st_error error;
    st_json_setup();
    if (argc != 3)
        return 2;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        st_template *tmpl = NULL;
        st_header_program *header = NULL;
        char *template_path = st_format("%s/emit_%s.cu", argv[1], functions[i].file);
        char *header_path = st_format("%s/simtune_%s.h", argv[2], functions[i].file);
        if (st_template_load(template_path, &tmpl, &error) != ST_OK ||
            st_header_open(tmpl, header_path, &header, &error) != ST_OK)
            stop(&error);
        if (st_header_is_edited(header) || st_header_is_split(header)) {
            printf("%s: edited or split\n", header_path);
            failures++;
        }
        compare_all(&functions[i], tmpl, header);
        st_header_close(header);
        st_template_free(tmpl);
        st_free(template_path);
        st_free(header_path);
    }
    printf("%d choices compared\n", asked);
    return failures != 0 || asked < 500;
}
