// SPDX-License-Identifier: Apache-2.0
// `simtune verify HEADER`: measured again here, beside the default and the store's best. Invariants: 1. nothing is
// stored, and the header is not changed; 2. exit 4 when a row is worse or does not work, with --strict 6 when one cannot
// be told; 3. the same statistics as compare's.
#include "tuner/cli/verify_measure.h"

#include "reports/verified.h"
#include "tuner/base/memory.h"
#include "tuner/base/paths.h"
#include "tuner/cli/cli_answers.h"
#include "tuner/emit_rows.h"
#include "tuner/publish.h"

#include <stdlib.h>
#include <string.h>

typedef struct measuring {
    st_cli *cli;
    const char *path;
    st_template *tmpl;
    st_header_program *header;
    st_cli_device device;
    st_verify_items items;
    st_choice *known; size_t known_count; // of the store, for the device's class
    st_nvcc nvcc;
    bool has_nvcc;
    st_verify_about about;
    st_verified made;
} measuring;

// --- before ----------------------------------------------------------------------------------------------------------

static st_code open_header(measuring *it, st_error *error)
{
    st_emit_head head;
    st_code code = st_emit_read_head(it->path, &head, error);
    if (code == ST_FAILED && error && strstr(error->what, "no header that simtune made"))
        return st_fail(error, ST_FAILED, "a lock file: simtune emit --lock FILE, then verify the header; or --check",
                       "%s is no header that simtune made", it->path);
    if (code == ST_OK)
        code = st_cli_verify_template(it->cli, it->path, head.family, &it->tmpl, error);
    return code == ST_OK ? st_header_open(it->tmpl, it->path, &it->header, error) : code;
}

static st_code find_device(measuring *it, st_error *error)
{
    st_code code = st_cli_find_device(it->cli, &it->device, error);
    if (code == ST_OK && !it->device.present)
        code = st_fail(error, ST_NOTHING,
                       "simtune verify --check compares with the store without one; --device emu tries the answers alone",
                       "no GPU is here to measure %s on", it->path);
    return code;
}

static st_code find_compiler(measuring *it, st_error *error)
{
    const char *wish = st_parsed_text(it->cli->parsed, "compiler");
    bool emulated = strcmp(it->device.backend, "emu") == 0;
    if (!wish || strcmp(wish, "nvrtc") == 0)
        return ST_OK;
    if (emulated)
        return st_fail(error, ST_USAGE, "leave --compiler out", "the emulated device runs what the host's compiler makes");
    it->has_nvcc = true;
    return st_nvcc_find(wish, &it->nvcc, error);
}

// The store's best of each item's problem, for the class of this device.
static st_code find_best(measuring *it, st_error *error)
{
    st_store *store = NULL;
    st_error why = {0};
    bool emulated = strcmp(it->device.backend, "emu") == 0;
    st_publish wanted = {.cc = (int)it->device.facts.cc,
                         .sm_count = (int)it->device.facts.sm_count,
                         .cache = st_header_cache(it->header),
                         .allow_emulated = emulated};
    st_code code = st_cli_store(it->cli, ST_STORE_READ, &store, error);
    if (code == ST_OK)
        code = st_choices_from_store(store, it->tmpl, &wanted, &it->known, &it->known_count, NULL, NULL, &why);
    st_store_close(store);
    if (code == ST_NOTHING) // the default is what is left to compare with
        return ST_OK;
    if (code != ST_OK && why.what[0] && error)
        *error = why;
    for (size_t i = 0; i < it->items.count; i++)
        for (size_t k = 0; k < it->known_count; k++)
            if (memcmp(it->known[k].problem.value, it->items.items[i].problem.value,
                       it->tmpl->axis_count * sizeof it->known[k].problem.value[0]) == 0 &&
                !it->known[k].predicted)
                it->items.items[i].best = &it->known[k];
    return code;
}

static void say_notes(const measuring *it)
{
    FILE *talk = it->cli->talk;
    if (st_header_is_edited(it->header))
        fprintf(talk, "note: %s was changed after simtune had written it; what it holds now is measured\n", it->path);
    if (it->items.shrunk)
        fprintf(talk, "note: the emulated device takes large problems at a smaller size: %zu\n", it->items.shrunk);
    if (it->items.left_out)
        fprintf(talk, "note: left out, too large for the emulated device: %zu\n", it->items.left_out);
}

// --- results ---------------------------------------------------------------------------------------------------------

static char *config_text(const st_template *tmpl, const st_config *config)
{
    st_text text;
    st_text_init(&text);
    st_config_text(tmpl, config, &text);
    return st_text_take(&text);
}

static char *problem_text(const st_template *tmpl, const st_problem *problem)
{
    st_text text;
    st_text_init(&text);
    st_problem_text(tmpl, problem, &text);
    return st_text_take(&text);
}

static bool take_side(const measuring *it, const st_verify_result *result, int kind, st_verified_side *out)
{
    const st_verify_side *side = &result->sides[kind];
    out->present = side->present;
    out->as = side->as;
    if (!side->present)
        return true;
    out->configuration = config_text(it->tmpl, &side->config);
    out->detail = side->detail ? st_strdup(side->detail) : NULL;
    snprintf(out->compiler, sizeof out->compiler, "%s", side->compiler);
    snprintf(out->outcome, sizeof out->outcome, "%s", st_outcome_name(side->outcome));
    out->median_ns = side->median_ns;
    out->registers = side->registers;
    out->spill_bytes = side->spill_bytes;
    out->local_bytes = side->local_bytes;
    out->blocks_per_sm = side->blocks_per_sm;
    if (side->samples && result->rounds) {
        out->samples_ns = st_malloc(result->rounds * sizeof *out->samples_ns);
        if (!out->samples_ns)
            return false;
        memcpy(out->samples_ns, side->samples, result->rounds * sizeof *out->samples_ns);
        out->count = result->rounds;
    }
    return out->configuration && (!side->detail || out->detail);
}

static void name_all(measuring *it)
{
    st_verified *made = &it->made;
    made->path = it->path;
    made->family = it->tmpl->family;
    made->cache = st_header_cache(it->header);
    made->device = it->about.device.name;
    made->driver = it->about.device.driver;
    made->cc = (int)it->about.device.cc;
    made->sm_count = (int)it->about.device.sm_count;
    made->compiler = it->about.compiler;
    made->shipped_by = it->has_nvcc ? it->nvcc.version : it->about.compiler;
    made->nvcc_seconds = it->about.nvcc_seconds;
    made->edited = st_header_is_edited(it->header);
}

static st_code print_text(const measuring *it, st_text *text, st_error *error)
{
    st_code code = text->failed ? st_fail_memory(error, "printing a comparison") : ST_OK;
    if (code == ST_OK) {
        st_cli_print(it->cli, it->cli->out, st_text_string(text));
        fflush(it->cli->out);
    }
    st_text_release(text);
    return code;
}

// As they come: some take a while.
static st_code print_row(measuring *it, const st_verified_row *row, st_error *error)
{
    st_text text;
    if (it->cli->json)
        return ST_OK;
    st_text_init(&text);
    name_all(it);
    if (it->made.count == 1)
        st_verified_text_head(&it->made, &text);
    st_verified_text_row(row, &text);
    return print_text(it, &text, error);
}

static bool fill_row(const measuring *it, const st_verify_result *result, st_verified_row *row)
{
    static const int kinds[ST_VERIFY_SIDES] = {ST_VERIFIED_HEADER, ST_VERIFIED_NVRTC, ST_VERIFIED_DEFAULT,
                                               ST_VERIFIED_STORE};
    const st_verify_item *item = result->item;
    row->function = st_strdup(st_header_function_name(it->header, item->function));
    row->problem = problem_text(it->tmpl, &item->problem);
    bool whole = row->function && row->problem;
    if (memcmp(item->row.choice->problem.value, item->problem.value,
               it->tmpl->axis_count * sizeof item->problem.value[0]) != 0) {
        row->recorded = problem_text(it->tmpl, &item->row.choice->problem);
        whole = whole && row->recorded;
    }
    row->exact = item->row.exact;
    row->is_default = item->row.is_default;
    row->predicted = item->row.choice->predicted;
    row->cc = item->row.choice->device_class.cc;
    row->sm_count = item->row.choice->device_class.sm_count;
    row->too_big = result->too_big;
    row->emulated = strcmp(it->about.device.backend, "cuda") != 0;
    for (int kind = 0; kind < ST_VERIFY_SIDES && whole && !result->too_big; kind++)
        whole = take_side(it, result, kind, &row->sides[kinds[kind]]);
    return whole;
}

static st_code take_result(void *context, const st_verify_result *result, st_error *error)
{
    measuring *it = context;
    st_verified_row *row = st_verified_add(&it->made);
    if (!row || !fill_row(it, result, row))
        return st_fail_memory(error, "comparing");
    st_code code = st_verified_judge(&it->made, row, error);
    return code == ST_OK ? print_row(it, row, error) : code;
}

static st_code print(measuring *it, st_error *error)
{
    st_text text;
    name_all(it);
    if (it->cli->json)
        return st_cli_print_json(it->cli, st_verified_json(&it->made), error);
    st_text_init(&text);
    st_verified_text_foot(&it->made, &text);
    return print_text(it, &text, error);
}

static st_code conclude(const measuring *it, st_error *error)
{
    const st_verified *made = &it->made;
    size_t worse = made->counts[ST_CHANGE_WORSE], untold = made->counts[ST_CHANGE_UNKNOWN];
    if (made->broken)
        return st_fail(error, ST_REGRESSION, "tune again here, then emit it anew; do not use it on this device as it is",
                       "%zu of %zu rows of %s do not work on this device", made->broken, made->count, it->path);
    if (worse)
        return st_fail(error, ST_REGRESSION, "tune again here, or emit it from the store as it is now",
                       "%zu of %zu rows of %s are worse than the default or than what the store knows", worse, made->count,
                       it->path);
    if (untold && st_parsed_flag(it->cli->parsed, "strict"))
        return st_fail(error, ST_STALE, "leave --strict out, or try on a device that is quiet",
                       "of %zu of %zu rows of %s it cannot be told", untold, made->count, it->path);
    return ST_OK;
}

// --- the command -----------------------------------------------------------------------------------------------------

static void say_note(void *context, const char *text)
{
    fprintf(((measuring *)context)->cli->talk, "note: %s\n", text);
}

static st_code read_limit(const st_cli *cli, double *out, st_error *error)
{
    const char *text = st_parsed_text(cli->parsed, "time-limit");
    char *end = NULL;
    *out = text ? strtod(text, &end) : 10;
    if (text && (*text == '\0' || *end || !(*out > 0 && *out <= 86400)))
        return st_fail(error, ST_USAGE, "seconds, up to a day: --time-limit 10", "--time-limit %s is no time", text);
    return ST_OK;
}

static st_code measure(measuring *it, st_error *error)
{
    st_text folder;
    st_text_init(&folder);
    st_verify_options options = {.tmpl = it->tmpl,
                                 .header = it->header,
                                 .backend = it->device.backend,
                                 .ordinal = it->device.ordinal,
                                 .nvcc = it->has_nvcc ? &it->nvcc : NULL,
                                 .seed = 1,
                                 .interrupted = it->cli->interrupted,
                                 .items = it->items.items,
                                 .item_count = it->items.count};
    const st_tune_listener listener = {.context = it, .note = say_note};
    st_code code = read_limit(it->cli, &options.time_limit, error);
    if (code == ST_OK)
        code = st_paths_cache(&folder, error);
    options.cache_folder = st_text_string(&folder);
    if (code == ST_OK)
        code = st_verify(&options, &listener, &it->about, take_result, it, error);
    st_text_release(&folder);
    return code;
}

st_code st_cli_verify_measure(st_cli *cli, const char *path, st_error *error)
{
    measuring it = {.cli = cli, .path = path};
    st_verified_init(&it.made);
    st_code code = st_cli_verify_threshold(cli, st_compare_usual_rules.within, &it.made.threshold, error);
    if (code == ST_OK)
        code = open_header(&it, error);
    if (code == ST_OK)
        code = find_device(&it, error);
    if (code == ST_OK)
        code = find_compiler(&it, error);
    if (code == ST_OK)
        code = st_verify_items_make(cli, it.tmpl, it.header, &it.device, &it.items, error);
    if (code == ST_OK)
        code = find_best(&it, error);
    if (code == ST_OK) {
        say_notes(&it);
        code = measure(&it, error);
    }
    if (code == ST_OK)
        code = print(&it, error);
    if (code == ST_OK)
        code = conclude(&it, error);
    st_verified_release(&it.made);
    st_verify_items_release(&it.items);
    st_free(it.known);
    st_header_close(it.header);
    st_template_free(it.tmpl);
    return code;
}
