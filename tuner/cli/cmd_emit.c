// SPDX-License-Identifier: Apache-2.0
// `simtune emit`: headers from the store alone, or from a lock alone. Invariants: 1. no GPU is needed or looked at
// (but for --arch auto and a device by number), so the same store or lock and command give the same bytes anywhere;
// 2. nothing is written before every family, type and arch that was asked for is known to be there; 3. with --lock
// the store is not opened.
#include "tuner/base/memory.h"
#include "tuner/cli/cli_choices.h"
#include "tuner/lock.h"

#include <string.h>

typedef struct job {
    st_cli *cli;
    st_cli_wanted wanted;
    st_lock lock;
    bool has_lock, require_measured, split;
    const char **names;         // of the families
    st_family_choices *families;
    size_t count;
} job;

// --- which families --------------------------------------------------------------------------------------------

static bool is_named(const job *it, const char *family)
{
    for (size_t i = 0; i < it->count; i++)
        if (strcmp(it->names[i], family) == 0)
            return true;
    return false;
}

// Those on the command line; without any, all of the lock.
static st_code name_families(job *it, st_error *error)
{
    const st_parsed *parsed = it->cli->parsed;
    size_t most = parsed->word_count + it->lock.count;
    it->names = st_calloc(most + 1, sizeof *it->names);
    it->families = st_calloc(most + 1, sizeof *it->families);
    if (!it->names || !it->families)
        return st_fail_memory(error, "writing headers");
    for (size_t i = 0; i < parsed->word_count; i++)
        if (!is_named(it, parsed->words[i]))
            it->names[it->count++] = parsed->words[i];
    for (size_t i = 0; !parsed->word_count && i < it->lock.count; i++)
        if (!is_named(it, it->lock.lines[i].family))
            it->names[it->count++] = it->lock.lines[i].family;
    if (!it->count && it->has_lock)
        return st_fail(error, ST_NOTHING, "fill it: simtune lock FAMILY…", "the lock %s holds no row", it->lock.path);
    return it->count ? ST_OK
                     : st_fail(error, ST_USAGE, "simtune emit FAMILY…; simtune templates lists them",
                               "emit which family?");
}

// --- collecting ------------------------------------------------------------------------------------------------

static st_code collect_from_store(job *it, st_store *store, st_error *error)
{
    st_code code = ST_OK;
    if (it->wanted.publish.session)
        code = st_cli_check_session(store, it->wanted.publish.session, error);
    for (size_t i = 0; i < it->count && code == ST_OK; i++)
        code = st_cli_choices(it->cli, store, it->names[i], &it->wanted, &it->families[i], error);
    return code;
}

static st_code collect_from_lock(job *it, st_error *error)
{
    st_code code = ST_OK;
    for (size_t i = 0; i < it->count && code == ST_OK; i++) {
        st_family_choices *family = &it->families[i];
        code = st_template_find(it->names[i], &family->tmpl, error);
        if (code != ST_OK && code != ST_NO_MEMORY && !it->cli->parsed->word_count)
            return st_fail(error, ST_USAGE, "name the families: simtune emit reduce my_kernel.cu --lock FILE",
                           "the lock %s has rows of %s, which does not ship", it->lock.path, it->names[i]);
        if (code == ST_OK)
            code = st_lock_choices(&it->lock, family->tmpl, it->wanted.publish.cache, &family->choices,
                                   &family->count, error);
        if (code == ST_OK)
            code = st_cli_choices_keep(family, &it->wanted, it->lock.path, error);
    }
    return code;
}

static st_code check_measured(const job *it, st_error *error)
{
    for (size_t f = 0; f < it->count; f++)
        for (size_t i = 0; i < it->families[f].count; i++) {
            const st_choice *choice = &it->families[f].choices[i];
            if (choice->predicted || choice->emulated)
                return st_fail(error, ST_STALE, "tune on such a device, or leave --require measured out",
                               "a row of %s for sm_%d/%d is %s, not measured", it->families[f].tmpl->family,
                               choice->device_class.cc, choice->device_class.sm_count,
                               choice->predicted ? "predicted" : "from the emulated device");
        }
    return ST_OK;
}

// --- writing ---------------------------------------------------------------------------------------------------

// What the header says that would make it again. From a lock, without the folders of the machine that builds, so that
// the same lock gives the same bytes everywhere.
static void add_command(const job *it, const char *family, st_text *out)
{
    if (!it->has_lock) {
        st_text_add(out, it->cli->command_line);
        return;
    }
    st_text_addf(out, "simtune emit %s", st_text_file_name(family));
    for (size_t i = 0; i < it->wanted.publish.type_count; i++)
        st_text_addf(out, "%s%s", i ? "," : " --type ", it->wanted.types[i]);
    for (size_t i = 0; i < it->wanted.filter.arch_count; i++)
        st_text_addf(out, "%s%d", i ? "," : " --arch ", it->wanted.filter.archs[i]);
    st_text_addf(out, "%s%s%s --lock %s", strcmp(it->wanted.publish.cache, "warm") == 0 ? " --warm" : "",
                 it->require_measured ? " --require measured" : "", it->split ? " --format h,cu" : "",
                 st_text_file_name(it->lock.path));
}

static st_code write_header(const job *it, size_t index, json_t *list, st_error *error)
{
    const st_family_choices *of = &it->families[index];
    st_cli *cli = it->cli;
    st_text path, command;
    bool changed = false;
    st_text_init(&path);
    st_text_init(&command);
    add_command(it, it->names[index], &command);
    st_emit_options options = {.cache = it->wanted.publish.cache, .not_tuned_here = st_choices_all_shipped(of),
                               .command = st_text_string(&command), .alone = it->has_lock,
                               .split = it->split};
    st_code code = command.failed ? st_fail_memory(error, "writing headers")
                                  : st_header_publish(of->tmpl, of->choices, of->count, &options,
                                                      st_parsed_text(cli->parsed, "output"), &path, &changed, error);
    if (code == ST_OK && !cli->json)
        fprintf(cli->out, "%s %s\n", changed ? "wrote" : "unchanged:", st_text_string(&path));
    else if (code == ST_OK &&
             json_array_append_new(list, json_pack("{s:s, s:s, s:b}", "family", of->tmpl->family, "path",
                                                   st_text_string(&path), "changed", (int)changed)) != 0)
        code = st_fail_memory(error, "printing JSON");
    st_text_release(&path);
    st_text_release(&command);
    return code;
}

static st_code write_headers(const job *it, st_error *error)
{
    json_t *list = json_array();
    st_code code = list ? ST_OK : st_fail_memory(error, "writing headers");
    for (size_t i = 0; i < it->count && code == ST_OK; i++)
        code = write_header(it, i, list, error);
    if (code == ST_OK && it->cli->json)
        code = st_cli_print_json(it->cli, json_pack("{s:s, s:O}", "schema", "simtune.emit/1", "headers", list), error);
    json_decref(list);
    return code;
}

// --- the command -----------------------------------------------------------------------------------------------

static bool names_a_file(const char *place)
{
    size_t length = place ? strlen(place) : 0;
    return length > 2 && strcmp(place + length - 2, ".h") == 0;
}

static st_code read_options(job *it, st_error *error)
{
    static const char *const requirements[] = {"measured", NULL}, *const formats[] = {"h", "h,cu", NULL};
    const char *lock = st_parsed_text(it->cli->parsed, "lock"), *require = NULL, *format = NULL;
    st_code code = st_cli_wanted_read(it->cli, &it->wanted, error);
    if (code == ST_OK)
        code = st_cli_choice(it->cli, "require", requirements, &require, error);
    if (code == ST_OK)
        code = st_cli_choice(it->cli, "format", formats, &format, error);
    it->require_measured = require != NULL;
    it->split = format && strcmp(format, "h,cu") == 0;
    it->has_lock = lock != NULL;
    if (code == ST_OK && lock && (it->wanted.publish.session || it->wanted.publish.device))
        return st_fail(error, ST_USAGE, "choose when the lock is written: simtune lock … --session or --device",
                       "--lock takes the rows that the lock has; --session and --device choose from the store");
    if (code == ST_OK && lock)
        code = st_lock_read(lock, &it->lock, error);
    return code;
}

static st_code emit(job *it, st_error *error)
{
    st_store *store = NULL;
    st_code code = read_options(it, error);
    if (code == ST_OK)
        code = name_families(it, error);
    if (code == ST_OK && it->count > 1 && names_a_file(st_parsed_text(it->cli->parsed, "output")))
        code = st_fail(error, ST_USAGE, "name a folder with -o", "%zu families do not fit one header", it->count);
    if (code == ST_OK && !it->has_lock)
        code = st_cli_store(it->cli, ST_STORE_READ, &store, error);
    if (code == ST_OK)
        code = it->has_lock ? collect_from_lock(it, error) : collect_from_store(it, store, error);
    if (code == ST_OK && it->require_measured)
        code = check_measured(it, error);
    st_store_close(store);
    return code == ST_OK ? write_headers(it, error) : code;
}

st_code st_cmd_emit(st_cli *cli, st_error *error)
{
    job it = {.cli = cli};
    st_lock_init(&it.lock);
    st_code code = emit(&it, error);
    for (size_t i = 0; it.families && i < it.count; i++)
        st_family_choices_release(&it.families[i]);
    st_free(it.families);
    st_free(it.names);
    st_lock_release(&it.lock);
    st_cli_wanted_release(&it.wanted);
    return code;
}
