// SPDX-License-Identifier: Apache-2.0
#include "tuner/cli/cli_choices.h"

#include "tuner/base/memory.h"

#include <string.h>

// --- what is wanted --------------------------------------------------------------------------------------------

static st_code read_types(st_cli *cli, st_cli_wanted *out, st_error *error)
{
    st_code code = st_parsed_list(cli->parsed, "type", true, &out->words, error);
    out->types = st_calloc(out->words.count + 1, sizeof *out->types);
    if (code == ST_OK && !out->types)
        code = st_fail_memory(error, "reading the command line");
    for (size_t i = 0; i < out->words.count && code == ST_OK; i++)
        code = st_cli_type(out->words.items[i], &out->types[i], error);
    out->publish.types = out->types;
    out->publish.type_count = out->words.count;
    return code;
}

st_code st_cli_wanted_read(st_cli *cli, st_cli_wanted *out, st_error *error)
{
    memset(out, 0, sizeof *out);
    out->publish = (st_publish){.sm_count = -1,
                                .cc = -1,
                                .cache = st_parsed_flag(cli->parsed, "warm") ? "warm" : "cold",
                                .session = st_parsed_text(cli->parsed, "session"),
                                .allow_emulated = st_parsed_flag(cli->parsed, "allow-emulated")};
    st_code code = read_types(cli, out, error);
    if (code == ST_OK)
        code = st_cli_filter_read(cli, &out->filter, error);
    if (code == ST_OK)
        out->publish.device = out->filter.query.device;
    return code;
}

void st_cli_wanted_release(st_cli_wanted *wanted)
{
    st_free(wanted->types);
    st_list_free(&wanted->words);
}

// --- choices ---------------------------------------------------------------------------------------------------

static st_code add_choices(st_family_choices *to, const st_choice *more, size_t count, st_error *error)
{
    st_choice *all = st_realloc(to->choices, (to->count + count) * sizeof *all);
    if (!all)
        return st_fail_memory(error, "collecting winners");
    memcpy(all + to->count, more, count * sizeof *all);
    to->choices = all;
    to->count += count;
    return ST_OK;
}

static const char *type_of(const st_family_choices *of, size_t i)
{
    const st_type *type = st_problem_type(of->tmpl, &of->choices[i].problem);
    return type ? type->name : "";
}

static st_code has_types(const st_family_choices *of, const st_publish *wanted, const char *where, st_error *error)
{
    for (size_t t = 0; t < wanted->type_count; t++) {
        bool found = false;
        for (size_t i = 0; i < of->count; i++)
            found = found || strcmp(type_of(of, i), wanted->types[t]) == 0;
        if (!found)
            return st_fail(error, ST_NOTHING, "tune it, or leave it out", "%s knows no winner of %s for the type %s",
                           where, of->tmpl->family, wanted->types[t]);
    }
    return ST_OK;
}

static void say_left_out(st_cli *cli, const char *family, size_t stale, size_t emulated)
{
    if (stale)
        fprintf(cli->talk, "note: winners of %s left out, measured with another version of its template: %zu\n", family,
                stale);
    if (emulated)
        fprintf(cli->talk, "note: winners of %s left out, from the emulated device: %zu\n", family, emulated);
}

st_code st_cli_choices(st_cli *cli, st_store *store, const char *family, st_cli_wanted *wanted,
                       st_family_choices *out, st_error *error)
{
    const st_cli_filter *filter = &wanted->filter;
    st_code code = st_template_find(family, &out->tmpl, error);
    for (size_t i = 0; i < (filter->arch_count ? filter->arch_count : 1) && code == ST_OK; i++) {
        st_choice *choices = NULL;
        size_t count = 0, stale = 0, emulated = 0;
        wanted->publish.cc = filter->arch_count ? filter->archs[i] : -1;
        code = st_choices_from_store(store, out->tmpl, &wanted->publish, &choices, &count, &stale, &emulated, error);
        if (code == ST_NOTHING && wanted->publish.cc > 0)
            st_error_prefix(error, "sm_%d", wanted->publish.cc);
        if (code == ST_OK) {
            say_left_out(cli, out->tmpl->family, stale, emulated);
            code = add_choices(out, choices, count, error);
        }
        st_free(choices);
    }
    return code == ST_OK ? has_types(out, &wanted->publish, "the store", error) : code;
}

static bool is_wanted(const st_family_choices *family, size_t i, const st_cli_wanted *wanted)
{
    bool arch = wanted->filter.arch_count == 0, type = wanted->publish.type_count == 0;
    for (size_t a = 0; a < wanted->filter.arch_count; a++)
        arch = arch || wanted->filter.archs[a] == family->choices[i].device_class.cc;
    for (size_t t = 0; t < wanted->publish.type_count; t++)
        type = type || strcmp(type_of(family, i), wanted->types[t]) == 0;
    return arch && type;
}

st_code st_cli_choices_keep(st_family_choices *family, const st_cli_wanted *wanted, const char *where,
                            st_error *error)
{
    size_t kept = 0;
    for (size_t i = 0; i < family->count; i++)
        if (is_wanted(family, i, wanted))
            family->choices[kept++] = family->choices[i];
    family->count = kept;
    st_code code = has_types(family, &wanted->publish, where, error);
    if (code != ST_OK)
        return code;
    for (size_t a = 0; a < wanted->filter.arch_count; a++) {
        bool found = false;
        for (size_t i = 0; i < kept; i++)
            found = found || family->choices[i].device_class.cc == wanted->filter.archs[a];
        if (!found)
            return st_fail(error, ST_NOTHING, "tune on such a device, or leave the arch out",
                           "sm_%d: %s has no row of %s for it", wanted->filter.archs[a], where, family->tmpl->family);
    }
    return ST_OK;
}

bool st_choices_all_shipped(const st_family_choices *family)
{
    for (size_t i = 0; i < family->count; i++)
        if (!family->choices[i].shipped)
            return false;
    return family->count > 0;
}

void st_family_choices_release(st_family_choices *family)
{
    st_free(family->choices);
    st_template_free(family->tmpl);
}
