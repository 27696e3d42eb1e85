// SPDX-License-Identifier: Apache-2.0
// `simtune repro ID`: a standalone program of one candidate. Invariant: it is made from the texts that the store
// kept when the candidate was measured, not from today's files; they are laid out in a folder of their own for
// the template reader, which is removed on every way out.
#include "tuner/base/json.h"
#include "tuner/base/memory.h"
#include "tuner/cli/cli_answers.h"
#include "tuner/emit.h"
#include "tuner/gpu/device_class.h"
#include "tuner/worker/messages.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// --- the candidate ---------------------------------------------------------------------------------------------

typedef struct candidate {
    char *problem, *configuration;
    char device_uuid[48], backend[16];
    st_choice choice;       // problem and configuration are parsed later
    st_device_facts device;
    bool known, device_known;
} candidate;

static void copy(char *to, size_t capacity, const char *from)
{
    snprintf(to, capacity, "%s", from ? from : "");
}

static st_code take_answer(void *context, const st_answer *answer, st_error *error)
{
    candidate *out = context;
    // The cold measurement comes first; it is the one whose time stands in the comment.
    if (out->known)
        return ST_OK;
    out->known = true;
    st_choice *choice = &out->choice;
    copy(out->device_uuid, sizeof out->device_uuid, answer->device_uuid);
    copy(out->backend, sizeof out->backend, answer->backend);
    copy(choice->device_name, sizeof choice->device_name, answer->device_name);
    copy(choice->driver, sizeof choice->driver, answer->driver);
    copy(choice->compiler, sizeof choice->compiler, answer->compiler);
    copy(choice->template_hash, sizeof choice->template_hash, answer->template_hash);
    copy(choice->session_id, sizeof choice->session_id, answer->session_id);
    copy(choice->candidate_id, sizeof choice->candidate_id, answer->candidate_id);
    choice->device_class = (st_device_class){answer->cc, answer->sm_count};
    choice->blocks_per_sm = answer->blocks_per_sm > 0 ? answer->blocks_per_sm : 1;
    choice->memory_bytes = -1;
    choice->measured_ms = answer->taken_ms;
    choice->samples = answer->sample_count;
    choice->median_ns = answer->median_ns;
    choice->speedup = answer->speedup;
    choice->speedup_low = answer->speedup_low;
    choice->speedup_high = answer->speedup_high;
    choice->gbs = answer->bytes / answer->median_ns;
    choice->tied = answer->tied;
    choice->deterministic = answer->deterministic == 1;
    choice->predicted = st_text_equal(answer->backend, ST_PREDICTED_BACKEND);
    choice->emulated = !st_backend_is_hardware(answer->backend) && !choice->predicted;
    out->problem = st_strdup(answer->problem);
    out->configuration = st_strdup(answer->configuration);
    return out->problem && out->configuration ? ST_OK : st_fail_memory(error, "reading a candidate");
}

static st_code take_device(void *context, const st_device_row *row, st_error *error)
{
    (void)error;
    candidate *out = context;
    if (strcmp(row->uuid, out->device_uuid) != 0 || strcmp(row->backend, out->backend) != 0)
        return ST_OK;
    out->choice.memory_bytes = row->memory_bytes;
    json_t *facts = NULL;
    if (row->facts_json && st_json_parse(row->facts_json, strlen(row->facts_json), "facts", &facts, NULL) == ST_OK)
        out->device_known = st_device_facts_decode(facts, &out->device, NULL) == ST_OK;
    json_decref(facts);
    return ST_OK;
}

static st_code read_candidate(st_store *store, const char *id, candidate *out, st_error *error)
{
    int64_t key;
    st_code code = st_store_candidate_key(store, id, &key, error);
    if (code == ST_OK)
        code = st_store_answer_of(store, key, take_answer, out, error);
    if (code == ST_OK && st_text_equal(out->backend, "imported"))
        return st_fail(error, ST_NOTHING, "the tool that measured it has its kernel",
                       "candidate %s was imported from another tool's file, which holds no kernel", id);
    if (code == ST_OK)
        code = st_store_devices(store, take_device, out, error);
    // Facts that an old or foreign store lacks: those of the class.
    if (code == ST_OK && !out->device_known)
        code = st_device_class_facts(out->choice.device_class, out->choice.memory_bytes, &out->device, error);
    return code;
}

// --- the stored texts as files --------------------------------------------------------------------------------------

// A name may be a path below the folder ("a/b.cuh"), never one out of it: stores are exchanged.
static bool is_below(const char *name)
{
    if (!name[0] || name[0] == '/')
        return false;
    for (const char *part = name; part; part = strchr(part, '/') ? strchr(part, '/') + 1 : NULL)
        if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || part[2] == '\0'))
            return false;
    return true;
}

static bool is_template(const char *text)
{
    return strstr(text, "simtune: family") != NULL;
}

static st_code lay_out(const char *folder, const json_t *files, char **main_file, st_error *error)
{
    const char *name;
    json_t *value;
    st_code code = ST_OK;
    json_object_foreach((json_t *)(uintptr_t)files, name, value)
    {
        const char *text = json_string_value(value);
        if (!text || !is_below(name))
            return st_fail(error, ST_FAILED, "export and import the session again, or tune anew",
                           "the store holds a template's file that cannot be written: %s", name);
        char *path = st_format("%s/%s", folder, name);
        code = path ? st_text_write_file(path, text, strlen(text), NULL, error)
                    : st_fail_memory(error, "writing a template");
        if (code == ST_OK && is_template(text) && !*main_file) {
            *main_file = path;
            path = NULL;
        }
        st_free(path);
        if (code != ST_OK)
            return code;
    }
    return *main_file ? ST_OK
                      : st_fail(error, ST_FAILED, "tune anew", "the store's copy of the template has no family line");
}

// Every file and folder that `lay_out` may have made.
static void clear_away(const char *folder, const json_t *files)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)files, name, value)
    {
        char path[PATH_MAX]; // no allocation: this also runs because one failed
        if (!is_below(name) || snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
            continue;
        unlink(path);
        for (char *slash; (slash = strrchr(path, '/')) && (size_t)(slash - path) > strlen(folder);) {
            *slash = '\0';
            rmdir(path);
        }
    }
    rmdir(folder);
}

// --- all ----------------------------------------------------------------------------------------------------------------

static st_code print_repro(const candidate *from, const char *file, st_text *out, st_error *error)
{
    st_template *tmpl = NULL;
    st_text text;
    st_text_init(&text);
    st_choice choice = from->choice;
    st_code code = st_text_read_file(&text, file, error);
    if (code == ST_OK)
        code = st_template_parse(file, st_text_string(&text), text.length, &tmpl, error);
    if (code == ST_OK)
        code = st_problem_parse(tmpl, from->problem, &choice.problem, error);
    if (code == ST_OK)
        code = st_config_parse(tmpl, from->configuration, &choice.config, error);
    if (code == ST_OK)
        code = st_emit_repro(tmpl, &choice, &from->device, out, error);
    st_template_free(tmpl);
    st_text_release(&text);
    return code;
}

// The folder is gone when the message is read: the file's name in the store remains.
static void forget_folder(st_error *error, const char *folder)
{
    size_t length = strlen(folder) + 1;
    bool named = false;
    for (char *at; (at = strstr(error->what, folder)) && at[length - 1] == '/'; named = true)
        memmove(at, at + length, strlen(at + length) + 1);
    if (named)
        st_error_prefix(error, "the store's copy of the template");
}

static st_code make_repro(st_store *store, const candidate *from, st_text *out, st_error *error)
{
    const char *wish = getenv("TMPDIR"), *base = wish && wish[0] == '/' ? wish : "/tmp";
    char *texts = NULL, *main_file = NULL;
    json_t *files = NULL;
    char *folder = st_format("%s/simtune-repro-XXXXXX", base);
    st_code code = folder ? st_store_template_text(store, from->choice.template_hash, &texts, error)
                          : st_fail_memory(error, "writing a repro");
    if (code == ST_OK)
        code = st_json_parse(texts, strlen(texts), "the store's copy of the template", &files, error);
    bool made = code == ST_OK && (st_fault_here(ST_FAULT_SYSTEM) ? (errno = EACCES, NULL) : mkdtemp(folder));
    if (code == ST_OK && !made)
        code = st_fail(error, ST_FAILED, "set TMPDIR to a folder that can be written", "cannot make a folder in %s: %s",
                       base, strerror(errno));
    if (code == ST_OK)
        code = lay_out(folder, files, &main_file, error);
    if (code == ST_OK)
        code = print_repro(from, main_file, out, error);
    if (made && code != ST_OK && code != ST_NO_MEMORY && error)
        forget_folder(error, folder);
    if (made)
        clear_away(folder, files);
    json_decref(files);
    st_free(main_file);
    st_free(texts);
    st_free(folder);
    return code;
}

st_code st_cmd_repro(st_cli *cli, st_error *error)
{
    if (cli->parsed->word_count != 1)
        return st_fail(error, ST_USAGE, "simtune repro ID -o FILE.cu; simtune query lists ids",
                       "repro needs one id, not %zu", cli->parsed->word_count);
    st_store *store = NULL;
    candidate from = {0};
    st_text text;
    st_text_init(&text);
    const char *path = st_parsed_text(cli->parsed, "output");
    if (path && strcmp(path, "-") == 0)
        path = NULL; // stdout, as for other tools
    bool changed = false;
    st_code code = st_cli_store(cli, ST_STORE_READ, &store, error);
    if (code == ST_OK)
        code = read_candidate(store, cli->parsed->words[0], &from, error);
    if (code == ST_OK)
        code = make_repro(store, &from, &text, error);
    if (code == ST_OK && path)
        code = st_text_write_file(path, st_text_string(&text), text.length, &changed, error);
    if (code == ST_OK && cli->json)
        code = st_cli_print_json(cli, json_pack("{s:s, s:s, s:s?, s:o, s:s?}", "schema", "simtune.repro/1", "candidate",
                                                from.choice.candidate_id, "path", path, "changed",
                                                path ? json_boolean(changed) : json_null(), "source",
                                                path ? NULL : st_text_string(&text)),
                                 error);
    else if (code == ST_OK && path)
        fprintf(cli->talk, "%s %s\n", changed ? "wrote" : "unchanged:", path);
    else if (code == ST_OK)
        fputs(st_text_string(&text), cli->out);
    st_text_release(&text);
    st_free(from.problem);
    st_free(from.configuration);
    st_store_close(store);
    return code;
}
