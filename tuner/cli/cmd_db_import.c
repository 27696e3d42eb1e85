// SPDX-License-Identifier: Apache-2.0
// `simtune db import`: files into the store, ours and those of other tools.
#include "db/exchange.h"
#include "tuner/cli/cli_answers.h"
#include "tuner/cli/cmd_db.h"

static st_code add_json(json_t *files, const char *path, const st_imported *done, st_error *error)
{
    bool other = done->form != ST_FORM_JSONL;
    bool read = other && !done->there_already;
    json_t *one = json_pack("{s:s, s:s, s:I}", "path", path, "format", st_exchange_form_name(done->form), "new_rows",
                            (json_int_t)done->added);
    bool whole = one && st_json_put(one, "session", st_json_text_or_null(done->session)) &&
                 st_json_put(one, "family", st_json_text_or_null(done->family)) &&
                 st_json_put(one, "device", st_json_text_or_null(done->device)) &&
                 st_json_put(one, "candidates", st_json_known_or_null(read ? (int64_t)done->candidates : -1)) &&
                 st_json_put(one, "failed", st_json_known_or_null(read ? (int64_t)done->failed : -1)) &&
                 st_json_put(one, "repeated", st_json_known_or_null(read ? (int64_t)done->repeated : -1)) &&
                 st_json_put(one, "cut", other ? json_boolean(done->cut) : json_null()) &&
                 st_json_put(one, "there_already", other ? json_boolean(done->there_already) : json_null());
    if (!whole)
        json_decref(one);
    return whole && json_array_append_new(files, one) == 0 ? ST_OK : st_fail_memory(error, "printing JSON");
}

static void tell(st_cli *cli, const char *path, const st_imported *done)
{
    if (done->form == ST_FORM_JSONL) {
        st_cli_tell(cli, cli->talk, "%s: %zu row%s new\n", path, done->added, done->added == 1 ? " was" : "s were");
        return;
    }
    if (done->there_already)
        st_cli_tell(cli, cli->talk, "%s: nothing is new, session %.12s is there\n", path, done->session);
    else
        st_cli_tell(cli, cli->talk, "%s: %s, %zu candidate%s (%zu failed) of %s on %s, session %.12s\n", path,
                st_exchange_form_title(done->form), done->candidates, done->candidates == 1 ? "" : "s", done->failed,
                done->family, done->device, done->session);
    if (done->cut)
        fprintf(cli->talk, "note: the file ends early, as that of an interrupted run; all its entries are whole\n");
    if (done->repeated)
        fprintf(cli->talk, "note: %zu %s a configuration that stands there before; what was measured anew is a "
                           "further round\n",
                done->repeated, done->repeated == 1 ? "entry is of" : "entries are of");
    if (done->device_unknown)
        fprintf(cli->talk, "note: the file does not say which device; --device NAME would\n");
    if (done->family_of_path)
        fprintf(cli->talk, "note: the file does not say which kernel, so its name stands for it; --family NAME would\n");
}

st_code st_cmd_db_import(st_cli *cli, st_error *error)
{
    if (cli->parsed->word_count < 2)
        return st_fail(error, ST_USAGE, "simtune db import FILE…", "import needs at least one file");
    const st_import_wish wish = {st_parsed_text(cli->parsed, "device"), st_parsed_text(cli->parsed, "family")};
    st_store *store = NULL;
    json_t *files = json_array();
    st_code code = files ? st_cli_store_aside(cli, &store, error) : st_fail_memory(error, "importing");
    for (size_t i = 1; i < cli->parsed->word_count && code == ST_OK; i++) {
        st_imported done;
        const char *path = cli->parsed->words[i];
        code = st_exchange_import(store, path, &wish, &done, error);
        if (code == ST_OK && cli->json)
            code = add_json(files, path, &done, error);
        else if (code == ST_OK)
            tell(cli, path, &done);
    }
    if (code == ST_OK && cli->json)
        code = st_cli_print_json(cli, json_pack("{s:s, s:O}", "schema", "simtune.db_import/2", "files", files), error);
    json_decref(files);
    return st_store_settle(store, code, error);
}
