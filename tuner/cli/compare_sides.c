// SPDX-License-Identifier: Apache-2.0
#include "tuner/cli/compare_sides.h"

#include "reports/format.h"
#include "tuner/emit_rows.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

// --- options -------------------------------------------------------------------------------------------------------

// "1.5" and "1.5%" are percent.
static st_code read_threshold(st_cli *cli, st_compare_rules *rules, st_error *error)
{
    const char *word = st_parsed_text(cli->parsed, "threshold");
    *rules = st_compare_usual_rules;
    if (!word)
        return ST_OK;
    char *end;
    double percent = strtod(word, &end);
    bool number = end != word && (word[0] == '.' || (word[0] >= '0' && word[0] <= '9')) && !strpbrk(word, "xXpP");
    end += number && *end == ' ';
    end += number && *end == '%';
    if (!number || *end || !(percent >= 0 && percent <= 1000))
        return st_fail(error, ST_USAGE, "give percent, from 0 to 1000: --threshold 1.5", "%s is no threshold", word);
    *rules = (st_compare_rules){percent / 100, percent / 100, 0};
    return ST_OK;
}

st_code st_cli_comparing_read(st_cli *cli, st_cli_comparing *out, st_error *error)
{
    static const char *const caches[] = {"cold", "warm", NULL};
    *out = (st_cli_comparing){.filter = {.n = -1}};
    st_code code = st_cli_filter_read(cli, &out->device, error);
    const char *type = st_parsed_text(cli->parsed, "type"), *size = st_parsed_text(cli->parsed, "size");
    st_compare_filter *filter = &out->filter;
    filter->device = out->device.query.device;
    filter->archs = out->device.archs;
    filter->arch_count = out->device.arch_count;
    filter->family = st_parsed_text(cli->parsed, "family");
    filter->operation = st_parsed_text(cli->parsed, "op");
    if (code == ST_OK && type)
        code = st_cli_type(type, &filter->type, error);
    if (code == ST_OK)
        code = st_cli_choice(cli, "cache", caches, &filter->cache, error);
    if (code == ST_OK && size && (!st_text_to_int(size, &filter->n) || filter->n < 0))
        code = st_fail(error, ST_USAGE, "write sizes like 1000, 64Ki, 16Mi or 2^24", "%s is no size", size);
    return code == ST_OK ? read_threshold(cli, &out->rules, error) : code;
}

st_code st_cli_check_forms(st_cli *cli, st_error *error)
{
    if (cli->json && st_parsed_flag(cli->parsed, "markdown"))
        return st_fail(error, ST_USAGE, "choose one", "--json and --markdown together");
    return ST_OK;
}

st_code st_cli_store_that_is(st_cli *cli, st_store **out, st_error *error)
{
    st_code code = st_cli_store(cli, ST_STORE_READ, out, error);
    if (code != ST_OK)
        return code;
    st_store_close(*out);
    *out = NULL;
    return st_cli_store(cli, ST_STORE_WRITE, out, error);
}

// --- what a word means ---------------------------------------------------------------------------------------------

enum { HEADER = ST_SIDE_KINDS, KINDS };

typedef struct meanings {
    int by;            // st_side_kind, -1: any
    bool no_ids;       // of sessions, candidates and templates
    size_t count, of_kind[KINDS];
    st_cli_side first;
    st_text all;       // "driver 580.159.04, template 58ab…"
} meanings;

static bool is_id(st_side_kind kind)
{
    return kind == ST_SIDE_SESSION || kind == ST_SIDE_CANDIDATE || kind == ST_SIDE_TEMPLATE;
}

static void set_label(st_cli_side *side, const char *about)
{
    snprintf(side->label, sizeof side->label, is_id(side->kind) ? "%s %.12s%s%s%s" : "%s %s%s%s%s",
             st_side_kind_name(side->kind), side->value, about[0] ? " (" : "", about, about[0] ? ")" : "");
}

static st_code take_meaning(void *context, const st_meaning *meaning, st_error *error)
{
    meanings *at = context;
    (void)error;
    if ((at->by >= 0 && (int)meaning->kind != at->by) || (at->no_ids && is_id(meaning->kind)))
        return ST_OK;
    st_cli_side side = {.kind = meaning->kind};
    snprintf(side.value, sizeof side.value, "%s", meaning->value);
    set_label(&side, meaning->about);
    if (!at->count++)
        at->first = side;
    at->of_kind[meaning->kind]++;
    st_text_addf(&at->all, "%s%s", at->all.length ? ", " : "", side.label);
    return ST_OK;
}

// "A100" of "NVIDIA A100-SXM4-80GB", not "A10". Such a word may be the beginning of an id as well, by chance.
typedef struct named {
    const char *word;
    bool device;
} named;

static st_code take_name(void *context, const st_meaning *meaning, st_error *error)
{
    named *at = context;
    size_t length = strlen(at->word);
    (void)error;
    if (meaning->kind != ST_SIDE_DEVICE)
        return ST_OK;
    for (const char *start = strcasestr(meaning->value, at->word); start && !at->device;
         start = strcasestr(start + 1, at->word))
        at->device = (start == meaning->value || !isalnum((unsigned char)start[-1])) &&
                     !isalnum((unsigned char)start[length]);
    return ST_OK;
}

static bool is_file(const char *word)
{
    struct stat status;
    return stat(word, &status) == 0 && !S_ISDIR(status.st_mode);
}

static void take_file(meanings *at, const char *word)
{
    st_cli_side side = {.is_header = true};
    snprintf(side.value, sizeof side.value, "%s", word);
    snprintf(side.label, sizeof side.label, "header %s", word);
    if (!at->count++)
        at->first = side;
    at->of_kind[HEADER]++;
    st_text_addf(&at->all, "%s%s", at->all.length ? ", " : "", side.label);
}

static st_code add_value(void *context, const st_meaning *meaning, st_error *error)
{
    st_text *text = context;
    (void)error;
    st_text_addf(text, "%s%.40s", text->length ? ", " : "", meaning->value);
    return ST_OK;
}

// Nothing has this name: the remedy says what there is.
static st_code no_meaning(st_store *store, const char *word, int by, st_error *error)
{
    static const st_side_kind told[] = {ST_SIDE_DRIVER, ST_SIDE_DEVICE};
    st_text known, remedy;
    st_text_init(&known);
    st_text_init(&remedy);
    st_code code = ST_OK;
    for (int i = 0; i < 2 && code == ST_OK; i++) {
        st_side_kind kind = by >= 0 ? (st_side_kind)by : told[i];
        st_text_clear(&known);
        code = i && by >= 0 ? ST_OK : st_store_values(store, kind, 6, add_value, &known, error);
        if (known.length)
            st_text_addf(&remedy, "%s%ss: %s", remedy.length ? "; " : "there are these ", st_side_kind_name(kind),
                         st_text_string(&known));
    }
    if (code == ST_OK) {
        code = st_fail(error, ST_NOTHING, remedy.length ? NULL : "simtune db info lists sessions",
                       "the store knows no %s %s",
                       by >= 0 ? st_side_kind_name((st_side_kind)by)
                               : "session, device, driver, version, template or header",
                       word);
        if (error && remedy.length)
            snprintf(error->remedy, sizeof error->remedy, "%s", st_text_string(&remedy));
    }
    st_text_release(&remedy);
    st_text_release(&known);
    return code;
}

static st_code choose(st_store *store, const char *word, const meanings *all, bool headers, st_side_kind *missing,
                      st_cli_side *out, st_error *error)
{
    if (all->all.failed)
        return st_fail_memory(error, "looking for a word");
    if (all->count == 1) {
        *out = all->first;
        return ST_OK;
    }
    if (!all->count && headers)
        return st_fail(error, ST_NOTHING, "simtune emit writes headers", "there is no header %s", word);
    if (!all->count)
        return no_meaning(store, word, missing ? (int)*missing : -1, error);
    st_code code = st_fail(error, ST_USAGE, "write more of it", "%s can be several things", word);
    if (error)
        snprintf(error->what, sizeof error->what, "%s can be several things: %s", word, st_text_string(&all->all));
    const char *joined = ", or say of what kind it is: --by ";
    for (int kind = 0; kind < KINDS && error; kind++) {
        if (all->of_kind[kind] != 1) // several of a kind are as many with it
            continue;
        size_t length = strlen(error->remedy);
        snprintf(error->remedy + length, sizeof error->remedy - length, "%s%s", joined,
                 kind == HEADER ? "header" : st_side_kind_name((st_side_kind)kind));
        joined = " or --by ";
    }
    return code;
}

static st_code latest(st_store *store, const st_compare_filter *filter, st_cli_side *out, st_error *error)
{
    char id[ST_HASH_TEXT];
    meanings all = {.by = ST_SIDE_SESSION};
    st_text_init(&all.all);
    st_code code = st_store_latest(store, filter, id, error);
    if (code == ST_OK)
        code = st_store_meanings(store, id, take_meaning, &all, error);
    if (code == ST_OK && all.all.failed)
        code = st_fail_memory(error, "looking for a word");
    *out = all.first;
    st_text_release(&all.all);
    return code;
}

st_code st_cli_side_find(st_cli *cli, st_store *store, const st_cli_comparing *comparing, const char *word,
                         st_cli_side *out, st_error *error)
{
    const char *by = st_parsed_text(cli->parsed, "by");
    bool headers = by && strcmp(by, "header") == 0;
    meanings all = {.by = by && !headers ? st_side_kind_find(by) : -1};
    if (by && !headers && all.by < 0)
        return st_fail(error, ST_USAGE, "it is session, candidate, template, device, driver, compiler, tool or header",
                       "there is no --by %s", by);
    if (!by && strcmp(word, "latest") == 0)
        return latest(store, &comparing->filter, out, error);
    size_t length = strlen(word);
    bool names_file = length > 2 && strcmp(word + length - 2, ".h") == 0;
    st_text_init(&all.all);
    if ((!by || headers) && is_file(word))
        take_file(&all, word);
    named name = {.word = word};
    st_code code = headers || by ? ST_OK : st_store_meanings(store, word, take_name, &name, error);
    all.no_ids = name.device;
    if (code == ST_OK && !headers)
        code = st_store_meanings(store, word, take_meaning, &all, error);
    st_side_kind missing = (st_side_kind)(all.by < 0 ? 0 : all.by);
    if (code == ST_OK)
        code = choose(store, word, &all, headers || (!by && names_file), all.by < 0 ? NULL : &missing, out, error);
    st_text_release(&all.all);
    return code;
}

st_code st_cli_session_find(st_store *store, const st_cli_comparing *comparing, const char *word,
                            char id[ST_HASH_TEXT], st_error *error)
{
    if (strcmp(word, "latest") == 0)
        return st_store_latest(store, &comparing->filter, id, error);
    st_session_row row;
    st_code code = st_store_session_of(store, word, &row, error);
    if (code == ST_OK) {
        memcpy(id, row.id, ST_HASH_TEXT);
        st_session_row_release(&row);
    }
    return code;
}

// --- rows ------------------------------------------------------------------------------------------------------------

typedef struct reading {
    st_store *store;
    const st_compare_filter *filter;
    st_comparison *to;
    int which;
} reading;

static bool has_value(const char *problem, const char *name, const char *wanted)
{
    size_t length;
    const char *value = st_report_value_of(problem, name, strlen(name), &length);
    return !wanted || (value && strlen(wanted) == length && strncmp(value, wanted, length) == 0);
}

// Whether the filter lets a row through that only the header knows.
static bool is_asked(const st_compare_filter *filter, const st_provenance_row *row)
{
    char size[32];
    snprintf(size, sizeof size, "%lld", (long long)filter->n);
    bool arch = !filter->arch_count;
    for (size_t i = 0; i < filter->arch_count; i++)
        arch = arch || filter->archs[i] == row->cc;
    return arch && has_value(row->problem, "T", filter->type) && has_value(row->problem, "op", filter->operation) &&
           has_value(row->problem, "n", filter->n >= 0 ? size : NULL) &&
           (!filter->device || strcasestr(row->device, filter->device));
}

static st_code add_unknown(reading *at, const st_provenance_row *row, st_error *error)
{
    char type[32] = "", operation[64] = "";
    size_t length;
    const char *value = st_report_value_of(row->problem, "T", 1, &length);
    if (value)
        snprintf(type, sizeof type, "%.*s", (int)length, value);
    value = st_report_value_of(row->problem, "op", 2, &length);
    if (value)
        snprintf(operation, sizeof operation, "%.*s", (int)length, value);
    st_compare_row made = {.session_key = -1, .problem_key = -1, .device_key = -1, .candidate_key = -1,
                           .configuration_key = -1, .default_key = -1, .default_configuration_key = -1,
                           .session_id = row->session, .candidate_id = row->candidate, .family = row->family,
                           .problem = row->problem, .type = type, .operation = operation, .n = -1,
                           .cache = row->cache, .configuration = row->configuration, .device_name = row->device,
                           .backend = row->emulated ? "emu" : "cuda", .cc = row->cc, .sm_count = row->sm_count,
                           .driver = row->driver, .compiler = row->compiler, .template_hash = row->template_hash,
                           .median_ns = row->median_ns, .default_ns = NAN, .bytes = NAN, .deterministic = -1,
                           .registers = -1, .taken_ms = row->measured_ms};
    char number[32];
    value = st_report_value_of(row->problem, "n", 1, &length);
    if (value && length < sizeof number) {
        snprintf(number, sizeof number, "%.*s", (int)length, value);
        if (!st_text_to_int(number, &made.n) || made.n < 0)
            made.n = -1;
    }
    return st_comparison_add_row(at->to, at->which, &made, error);
}

static st_code take_header_row(void *context, const st_provenance_row *row, st_error *error)
{
    reading *at = context;
    st_compare_filter filter = *at->filter;
    if ((filter.family && strcmp(filter.family, row->family) != 0) ||
        (filter.cache && strcmp(filter.cache, row->cache) != 0) || !is_asked(&filter, row))
        return ST_OK;
    size_t before = at->to->sides[at->which].count;
    filter.cache = row->cache;
    st_code code = ST_OK;
    if (row->candidate[0])
        code = st_comparison_add(at->to, at->store, at->which, ST_SIDE_CANDIDATE, row->candidate, &filter, error);
    if (code == ST_OK && at->to->sides[at->which].count == before)
        code = add_unknown(at, row, error);
    return code;
}

st_code st_cli_side_add(st_store *store, const st_cli_side *side, const st_cli_comparing *comparing,
                        st_comparison *to, int which, st_error *error)
{
    st_code code = st_comparison_label(to, which, side->label, error);
    reading at = {store, &comparing->filter, to, which};
    if (code == ST_OK && side->is_header)
        return st_emit_rows(side->value, take_header_row, &at, error);
    if (code == ST_OK)
        code = st_comparison_add(to, store, which, side->kind, side->value, &comparing->filter, error);
    return code;
}
