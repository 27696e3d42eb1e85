// SPDX-License-Identifier: Apache-2.0
// `simtune verify`: measures a header again (verify_measure.c), or, with --check, asks without a GPU whether what a header
// or a lock holds is still what the store would choose. Invariants of the latter: 1. nothing is measured or changed;
// 2. exit 6 when the store knows something better or the template has changed, with --strict also when it cannot tell.
#include "reports/format.h"
#include "tuner/base/clock.h"
#include "tuner/base/memory.h"
#include "tuner/cli/cli_choices.h"
#include "tuner/cli/verify_measure.h"
#include "tuner/emit_rows.h"
#include "tuner/lock.h"
#include "tuner/staleness.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct checking {
    st_cli *cli;
    st_store *store;
    const char *path;
    double threshold;
    size_t rows, counts[ST_ROW_UNKNOWN + 1], changed; // families whose template has changed
    json_t *list, *families;
} checking;

// --- printing --------------------------------------------------------------------------------------------------

static json_t *row_json(const st_template *tmpl, const st_stale_row *it)
{
    st_text problem, config, known;
    st_text_init(&problem);
    st_text_init(&config);
    st_text_init(&known);
    st_problem_text(tmpl, &it->row->problem, &problem);
    st_config_text(tmpl, &it->row->config, &config);
    if (it->known)
        st_config_text(tmpl, &it->known->config, &known);
    json_t *object = json_object();
    bool whole = object && !problem.failed && !config.failed && !known.failed &&
                 st_json_put(object, "family", json_string(tmpl->family)) &&
                 st_json_put(object, "cc", json_integer(it->row->device_class.cc)) &&
                 st_json_put(object, "sm_count", json_integer(it->row->device_class.sm_count)) &&
                 st_json_put(object, "problem", json_string(st_text_string(&problem))) &&
                 st_json_put(object, "configuration", json_string(st_text_string(&config))) &&
                 st_json_put(object, "verdict", json_string(st_staleness_name(it->staleness))) &&
                 st_json_put(object, "median_ns", st_json_number(it->row->median_ns)) &&
                 st_json_put(object, "known_configuration", st_json_text_or_null(st_text_string(&known))) &&
                 st_json_put(object, "known_median_ns", st_json_number(it->known ? it->known->median_ns : NAN)) &&
                 st_json_put(object, "known_candidate", st_json_text_or_null(it->known ? it->known->candidate_id : NULL)) &&
                 st_json_put(object, "ratio", st_json_number(it->ratio));
    st_text_release(&problem);
    st_text_release(&config);
    st_text_release(&known);
    if (whole)
        return object;
    json_decref(object);
    return NULL;
}

static void add_times(const st_stale_row *it, st_text *out)
{
    if (isnan(it->ratio))
        return;
    st_text_add(out, ": ");
    st_report_time(out, it->known->median_ns);
    st_text_add(out, " instead of ");
    st_report_time(out, it->row->median_ns);
    st_text_addf(out, " (%.3f × as fast)", it->ratio);
}

static void print_row(const checking *it, const st_template *tmpl, const st_stale_row *row)
{
    if (row->staleness == ST_ROW_CURRENT)
        return;
    st_text text;
    st_text_init(&text);
    st_text_addf(&text, "%s sm_%d/%d ", tmpl->family, row->row->device_class.cc, row->row->device_class.sm_count);
    st_problem_text(tmpl, &row->row->problem, &text);
    st_text_addf(&text, "\n  %s", st_staleness_name(row->staleness));
    if (row->known)
        add_times(row, &text);
    st_text_add(&text, "\n    here       ");
    st_config_text(tmpl, &row->row->config, &text);
    if (row->known) {
        st_text_add(&text, "\n    the store  ");
        st_config_text(tmpl, &row->known->config, &text);
        st_text_addf(&text, "  (simtune show %.12s)", row->known->candidate_id);
    }
    fprintf(it->cli->out, "%s\n", st_text_string(&text));
    st_text_release(&text);
}

// --- checking --------------------------------------------------------------------------------------------------

static st_code changed_template(checking *it, const char *family, const st_error *why, st_error *error)
{
    it->changed++;
    if (!it->cli->json) {
        fprintf(it->cli->out, "%s: the template has changed\n  %s\n", family, why->what);
        return ST_OK;
    }
    return json_array_append_new(it->families, json_string(family)) == 0 ? ST_OK
                                                                          : st_fail_memory(error, "printing JSON");
}

static st_code see_rows(checking *it, const st_template *tmpl, const st_choice *rows, size_t count,
                        const st_choice *known, size_t known_count, st_error *error)
{
    st_stale_row *stale = st_calloc(count ? count : 1, sizeof *stale);
    if (!stale)
        return st_fail_memory(error, "checking rows");
    st_stale_rows(tmpl, rows, count, known, known_count, it->threshold, stale);
    st_code code = ST_OK;
    for (size_t i = 0; i < count && code == ST_OK; i++) {
        it->rows++;
        it->counts[stale[i].staleness]++;
        if (!it->cli->json)
            print_row(it, tmpl, &stale[i]);
        else if (json_array_append_new(it->list, row_json(tmpl, &stale[i])) != 0)
            code = st_fail_memory(error, "printing JSON");
    }
    st_free(stale);
    return code;
}

// Takes the rows over.
static st_code check_rows(checking *it, const st_template *tmpl, const char *cache, st_choice *rows, size_t count,
                          st_error *error)
{
    st_publish wanted = {.cc = -1, .sm_count = -1, .cache = cache};
    st_choice *known = NULL;
    size_t known_count = 0;
    st_error why = {0};
    st_code code = st_choices_from_store(it->store, tmpl, &wanted, &known, &known_count, NULL, NULL, &why);
    if (code == ST_NOTHING) // no row can be told
        code = ST_OK;
    else if (code != ST_OK && error)
        *error = why;
    if (code == ST_OK)
        code = see_rows(it, tmpl, rows, count, known, known_count, error);
    st_free(known);
    st_free(rows);
    return code;
}

st_code st_cli_verify_template(const st_cli *cli, const char *path, const char *family, st_template **out,
                               st_error *error)
{
    const st_parsed *parsed = cli->parsed;
    for (size_t i = 1; i < parsed->word_count; i++) {
        st_code code = st_template_find(parsed->words[i], out, error);
        if (code != ST_OK || strcmp((*out)->family, family) == 0)
            return code;
        st_template_free(*out);
        *out = NULL;
    }
    st_code code = st_template_find(family, out, error);
    if (code == ST_USAGE)
        return st_fail(error, ST_USAGE, "name its file as well: simtune verify FILE my_kernel.cu",
                       "%s has rows of %s, which does not ship", path, family);
    return code;
}

static st_code check_header(checking *it, const st_emit_head *head, st_error *error)
{
    st_template *tmpl = NULL;
    st_choice *rows = NULL;
    size_t count = 0;
    st_error why = {0};
    st_code code = st_cli_verify_template(it->cli, it->path, head->family, &tmpl, error);
    if (code == ST_OK) {
        code = st_emit_read(tmpl, it->path, NULL, &rows, &count, &why);
        if (code == ST_STALE)
            code = changed_template(it, tmpl->family, &why, error);
        else if (code == ST_OK)
            code = check_rows(it, tmpl, head->cache[0] ? head->cache : "cold", rows, count, error);
        else if (error)
            *error = why;
    }
    st_template_free(tmpl);
    return code;
}

static st_code check_lock_family(checking *it, const st_lock *lock, const st_template *tmpl, st_error *error)
{
    static const char *const caches[] = {"cold", "warm"};
    for (int i = 0; i < 2; i++) {
        st_choice *rows = NULL;
        size_t count = 0;
        st_error why = {0};
        st_code code = st_lock_choices(lock, tmpl, caches[i], &rows, &count, &why);
        if (code == ST_STALE)
            return changed_template(it, tmpl->family, &why, error);
        if (code == ST_OK)
            code = check_rows(it, tmpl, caches[i], rows, count, error);
        else if (code != ST_NOTHING && error)
            *error = why;
        if (code != ST_OK && code != ST_NOTHING)
            return code;
    }
    return ST_OK;
}

static st_code check_lock(checking *it, const st_lock *lock, st_error *error)
{
    st_code code = ST_OK;
    for (size_t i = 0; i < lock->count && code == ST_OK; i++) {
        const char *family = lock->lines[i].family;
        if (i && strcmp(lock->lines[i - 1].family, family) == 0) // they are sorted
            continue;
        st_template *tmpl = NULL;
        code = st_cli_verify_template(it->cli, it->path, family, &tmpl, error);
        if (code == ST_OK)
            code = check_lock_family(it, lock, tmpl, error);
        st_template_free(tmpl);
    }
    return code;
}

// A lock begins with its word; everything else is read as a header.
static st_code check_file(checking *it, st_error *error)
{
    st_lock lock;
    st_emit_head head;
    st_error of_lock = {0};
    st_code code = st_emit_read_head(it->path, &head, error);
    if (code == ST_OK)
        return check_header(it, &head, error);
    st_code as_lock = st_lock_read(it->path, &lock, &of_lock);
    bool is_lock = as_lock == ST_OK || strstr(of_lock.what, "no lock of simtune") == NULL;
    if (is_lock && code == ST_FAILED) {
        code = as_lock;
        if (code != ST_OK && error)
            *error = of_lock;
    }
    if (code == ST_OK)
        code = check_lock(it, &lock, error);
    st_lock_release(&lock);
    return code;
}

// --- the command -----------------------------------------------------------------------------------------------

static st_code conclude(checking *it, st_error *error)
{
    const size_t *n = it->counts;
    if (it->cli->json) {
        st_code code = st_cli_print_json(
            it->cli,
            json_pack("{s:s, s:s, s:f, s:O, s:O}", "schema", "simtune.verify_check/1", "path", it->path, "threshold",
                      it->threshold, "changed_templates", it->families, "rows", it->list),
            error);
        if (code != ST_OK)
            return code;
    } else {
        fprintf(it->cli->out, "%s: %zu row%s: %zu current, %zu better known, %zu measured now, %zu another but not faster, "
                              "%zu unknown to the store\n",
                it->path, it->rows, it->rows == 1 ? "" : "s", n[ST_ROW_CURRENT], n[ST_ROW_BETTER], n[ST_ROW_MEASURED],
                n[ST_ROW_OTHER], n[ST_ROW_UNKNOWN]);
    }
    if (it->changed)
        return st_fail(error, ST_STALE, "tune again with the template as it is, then emit or lock anew",
                       "%s is of another version of %s", it->path, it->changed == 1 ? "a template" : "its templates");
    if (n[ST_ROW_BETTER] + n[ST_ROW_MEASURED])
        return st_fail(error, ST_STALE, "emit or lock it anew", "the store knows something better than %s", it->path);
    if (n[ST_ROW_UNKNOWN] && st_parsed_flag(it->cli->parsed, "strict"))
        return st_fail(error, ST_STALE, "name the store that it was made from with --db, or leave --strict out",
                       "of %zu row%s of %s the store cannot tell", n[ST_ROW_UNKNOWN], n[ST_ROW_UNKNOWN] == 1 ? "" : "s",
                       it->path);
    return ST_OK;
}

st_code st_cli_verify_threshold(const st_cli *cli, double usual, double *out, st_error *error)
{
    const char *text = st_parsed_text(cli->parsed, "threshold");
    char *end = NULL;
    *out = text ? strtod(text, &end) / 100 : usual;
    if (text && (*text == '\0' || *end || !(*out >= 0 && *out <= 1)))
        return st_fail(error, ST_USAGE, "per cent of the time, from 0 to 100: --threshold 2",
                       "--threshold %s is no share", text);
    return ST_OK;
}

static st_code check(checking *it, st_error *error)
{
    st_code code = st_cli_verify_threshold(it->cli, 0.02, &it->threshold, error);
    it->list = json_array();
    it->families = json_array();
    if (code == ST_OK && (!it->list || !it->families))
        code = st_fail_memory(error, "checking rows");
    if (code == ST_OK)
        code = st_cli_store(it->cli, ST_STORE_READ, &it->store, error);
    if (code == ST_OK)
        code = check_file(it, error);
    if (code == ST_OK)
        code = conclude(it, error);
    json_decref(it->list);
    json_decref(it->families);
    st_store_close(it->store);
    return code;
}

// What only measuring knows.
static st_code refuse_with_check(const st_cli *cli, st_error *error)
{
    static const char *const words[] = {"compiler", "device", "time-limit", "type", "op", "size"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (st_parsed_text(cli->parsed, words[i]))
            return st_fail(error, ST_USAGE, "leave one of the two out", "--%s with --check, which measures nothing",
                           words[i]);
    return ST_OK;
}

st_code st_cmd_verify(st_cli *cli, st_error *error)
{
    checking it = {.cli = cli, .path = cli->parsed->word_count ? cli->parsed->words[0] : NULL};
    if (!it.path)
        return st_fail(error, ST_USAGE, "simtune verify simtune_reduce.h; with --check, or a lock file, without a GPU",
                       "verify which file?");
    if (!st_parsed_flag(cli->parsed, "check"))
        return st_cli_verify_measure(cli, it.path, error);
    st_code code = refuse_with_check(cli, error);
    return code == ST_OK ? check(&it, error) : code;
}
