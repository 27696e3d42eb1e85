// SPDX-License-Identifier: Apache-2.0
// `simtune emit`: headers from the store alone. Invariants: 1. no GPU is needed or looked at (but for --arch auto
// and a device by number), so the same store and command give the same bytes anywhere; 2. nothing is written
// before every family, type and arch that was asked for is known to be there.
#include "tuner/base/memory.h"
#include "tuner/cli/cli_answers.h"
#include "tuner/publish.h"

#include <string.h>

typedef struct family {
    st_template *tmpl;
    st_choice *choices;
    size_t count;
    bool measured_elsewhere; // every choice comes from what ships
} family;

// --- collecting ------------------------------------------------------------------------------------------------

static st_code add_choices(family *to, st_choice *more, size_t count, st_error *error)
{
    st_choice *all = st_realloc(to->choices, (to->count + count) * sizeof *all);
    if (!all)
        return st_fail_memory(error, "collecting winners");
    memcpy(all + to->count, more, count * sizeof *all);
    to->choices = all;
    to->count += count;
    return ST_OK;
}

typedef struct owning {
    family *family;
} owning;

static st_code see_own(void *context, const st_answer *answer, st_error *error)
{
    (void)error;
    family *of = ((owning *)context)->family;
    for (size_t i = 0; i < of->count; i++)
        if (strcmp(of->choices[i].session_id, answer->session_id) == 0)
            of->measured_elsewhere = false;
    return ST_OK;
}

static st_code find_origin(st_store *store, family *of, const char *cache, st_error *error)
{
    owning at = {of};
    st_query query = {.family = of->tmpl->family, .cc = -1, .sm_count = -1, .n = -1, .since_ms = -1,
                      .cache = cache, .own = true};
    of->measured_elsewhere = true;
    return st_store_query(store, &query, see_own, &at, error);
}

static st_code has_types(const family *of, const st_publish *wanted, st_error *error)
{
    for (size_t t = 0; t < wanted->type_count; t++) {
        bool found = false;
        for (size_t i = 0; i < of->count; i++) {
            const st_type *type = st_problem_type(of->tmpl, &of->choices[i].problem);
            found = found || (type && strcmp(type->name, wanted->types[t]) == 0);
        }
        if (!found)
            return st_fail(error, ST_NOTHING, "tune it, or leave it out",
                           "the store knows no winner of %s for the type %s", of->tmpl->family, wanted->types[t]);
    }
    return ST_OK;
}

static st_code collect(st_cli *cli, st_store *store, family *of, st_publish wanted, const st_cli_filter *filter,
                       st_error *error)
{
    st_code code = ST_OK;
    for (size_t i = 0; i < (filter->arch_count ? filter->arch_count : 1) && code == ST_OK; i++) {
        st_choice *choices = NULL;
        size_t count = 0, stale = 0, emulated = 0;
        wanted.cc = filter->arch_count ? filter->archs[i] : -1;
        code = st_choices_from_store(store, of->tmpl, &wanted, &choices, &count, &stale, &emulated, error);
        if (code == ST_NOTHING && wanted.cc > 0)
            st_error_prefix(error, "sm_%d", wanted.cc);
        if (code == ST_OK && stale)
            fprintf(cli->talk, "note: winners of %s left out, measured with another version of its template: %zu\n",
                    of->tmpl->family, stale);
        if (code == ST_OK && emulated)
            fprintf(cli->talk, "note: winners of %s left out, from the emulated device: %zu\n", of->tmpl->family,
                    emulated);
        if (code == ST_OK)
            code = add_choices(of, choices, count, error);
        st_free(choices);
    }
    if (code == ST_OK)
        code = has_types(of, &wanted, error);
    return code == ST_OK ? find_origin(store, of, wanted.cache, error) : code;
}

// --- writing ---------------------------------------------------------------------------------------------------

static st_code write_header(st_cli *cli, const family *of, const char *cache, json_t *list, st_error *error)
{
    st_text path;
    bool changed = false;
    st_text_init(&path);
    st_emit_options options = {.cache = cache, .not_tuned_here = of->measured_elsewhere,
                               .command = cli->command_line};
    st_code code = st_header_publish(of->tmpl, of->choices, of->count, &options,
                                     st_parsed_text(cli->parsed, "output"), &path, &changed, error);
    if (code == ST_OK && !cli->json)
        fprintf(cli->out, "%s %s\n", changed ? "wrote" : "unchanged:", st_text_string(&path));
    else if (code == ST_OK &&
             json_array_append_new(list, json_pack("{s:s, s:s, s:b}", "family", of->tmpl->family, "path",
                                                   st_text_string(&path), "changed", (int)changed)) != 0)
        code = st_fail_memory(error, "printing JSON");
    st_text_release(&path);
    return code;
}

static bool names_a_file(const char *place)
{
    size_t length = place ? strlen(place) : 0;
    return length > 2 && strcmp(place + length - 2, ".h") == 0;
}

static st_code read_types(st_cli *cli, st_list *words, st_publish *wanted, const char ***types, st_error *error)
{
    st_code code = st_parsed_list(cli->parsed, "type", true, words, error);
    *types = st_calloc(words->count + 1, sizeof **types);
    if (code == ST_OK && !*types)
        code = st_fail_memory(error, "reading the command line");
    for (size_t i = 0; i < words->count && code == ST_OK; i++)
        code = st_cli_type(words->items[i], &(*types)[i], error);
    wanted->types = *types;
    wanted->type_count = words->count;
    return code;
}

static st_code emit(st_cli *cli, st_store *store, family *families, const st_publish *wanted,
                    const st_cli_filter *filter, st_error *error)
{
    size_t count = cli->parsed->word_count;
    st_code code = ST_OK;
    for (size_t i = 0; i < count && code == ST_OK; i++) {
        code = st_template_find(cli->parsed->words[i], &families[i].tmpl, error);
        if (code == ST_OK)
            code = collect(cli, store, &families[i], *wanted, filter, error);
    }
    json_t *list = code == ST_OK ? json_array() : NULL;
    if (code == ST_OK && !list)
        code = st_fail_memory(error, "writing headers");
    for (size_t i = 0; i < count && code == ST_OK; i++)
        code = write_header(cli, &families[i], wanted->cache, list, error);
    if (code == ST_OK && cli->json)
        code = st_cli_print_json(cli, json_pack("{s:s, s:O}", "schema", "simtune.emit/1", "headers", list), error);
    json_decref(list);
    return code;
}

st_code st_cmd_emit(st_cli *cli, st_error *error)
{
    size_t count = cli->parsed->word_count;
    if (!count)
        return st_fail(error, ST_USAGE, "simtune emit FAMILY…; simtune templates lists them", "emit which family?");
    if (count > 1 && names_a_file(st_parsed_text(cli->parsed, "output")))
        return st_fail(error, ST_USAGE, "name a folder with -o", "%zu families do not fit one header", count);
    st_store *store = NULL;
    st_list words = {0};
    const char **types = NULL;
    st_cli_filter filter;
    st_publish wanted = {.sm_count = -1,
                         .cache = st_parsed_flag(cli->parsed, "warm") ? "warm" : "cold",
                         .session = st_parsed_text(cli->parsed, "session"),
                         .allow_emulated = st_parsed_flag(cli->parsed, "allow-emulated")};
    family *families = st_calloc(count, sizeof *families);
    st_code code = families ? read_types(cli, &words, &wanted, &types, error)
                            : st_fail_memory(error, "writing headers");
    if (code == ST_OK)
        code = st_cli_filter_read(cli, &filter, error);
    if (code == ST_OK) {
        wanted.device = filter.query.device;
        code = st_cli_store(cli, ST_STORE_READ, &store, error);
    }
    if (code == ST_OK && wanted.session)
        code = st_cli_check_session(store, wanted.session, error);
    if (code == ST_OK)
        code = emit(cli, store, families, &wanted, &filter, error);
    for (size_t i = 0; families && i < count; i++) {
        st_free(families[i].choices);
        st_template_free(families[i].tmpl);
    }
    st_free(families);
    st_free(types);
    st_list_free(&words);
    st_store_close(store);
    return code;
}
