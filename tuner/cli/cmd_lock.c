// SPDX-License-Identifier: Apache-2.0
// `simtune lock`: the chosen rows of the store as a text file for builds (tuner/lock.h). Invariants: 1. rows of other
// families, device classes and problems that stand in the file stay; 2. nothing is written before everything that was
// asked for is known to be there; 3. an equal file is left untouched.
#include "tuner/base/memory.h"
#include "tuner/cli/cli_choices.h"
#include "tuner/lock.h"

#include <string.h>

static const char default_path[] = "simtune.lock";

typedef struct counts {
    size_t rows, dropped;
} counts;

static st_code put_family(st_cli *cli, st_store *store, const char *name, st_cli_wanted *wanted, st_lock *lock,
                          counts *of, st_error *error)
{
    st_family_choices family = {0};
    size_t dropped = 0;
    st_code code = st_cli_choices(cli, store, name, wanted, &family, error);
    if (code == ST_OK)
        code = st_lock_put(lock, family.tmpl, wanted->publish.cache, family.choices, family.count, &dropped, error);
    if (code == ST_OK && dropped)
        fprintf(cli->talk, "note: rows of %s dropped from the lock, chosen with another version of its template: %zu\n",
                family.tmpl->family, dropped);
    of->rows += family.count;
    of->dropped += dropped;
    st_family_choices_release(&family);
    return code;
}

static st_code write_lock(st_cli *cli, st_lock *lock, const counts *of, st_error *error)
{
    st_text text;
    bool changed = false;
    st_text_init(&text);
    st_code code = st_lock_print(lock, &text, error);
    if (code == ST_OK)
        code = st_text_write_file(lock->path, st_text_string(&text), text.length, &changed, error);
    if (code == ST_OK && cli->json)
        code = st_cli_print_json(cli,
                                 json_pack("{s:s, s:s, s:b, s:I, s:I, s:I}", "schema", "simtune.lock/1", "path",
                                           lock->path, "changed", (int)changed, "chosen", (json_int_t)of->rows,
                                           "dropped", (json_int_t)of->dropped, "rows", (json_int_t)lock->count),
                                 error);
    else if (code == ST_OK)
        fprintf(cli->out, "%s %s: %zu row%s\n", changed ? "wrote" : "unchanged:", lock->path, lock->count,
                lock->count == 1 ? "" : "s");
    st_text_release(&text);
    return code;
}

static st_code lock_families(st_cli *cli, st_cli_wanted *wanted, st_lock *lock, st_error *error)
{
    const char *path = st_parsed_text(cli->parsed, "output");
    st_store *store = NULL;
    counts of = {0};
    st_code code = st_lock_read(path ? path : default_path, lock, error);
    if (code == ST_NOTHING) // none yet
        code = ST_OK;
    if (code == ST_OK)
        code = st_cli_store(cli, ST_STORE_READ, &store, error);
    if (code == ST_OK && wanted->publish.session)
        code = st_cli_check_session(store, wanted->publish.session, error);
    for (size_t i = 0; i < cli->parsed->word_count && code == ST_OK; i++)
        code = put_family(cli, store, cli->parsed->words[i], wanted, lock, &of, error);
    st_store_close(store);
    return code == ST_OK ? write_lock(cli, lock, &of, error) : code;
}

st_code st_cmd_lock(st_cli *cli, st_error *error)
{
    if (!cli->parsed->word_count)
        return st_fail(error, ST_USAGE, "simtune lock FAMILY…; simtune templates lists them", "lock which family?");
    st_cli_wanted wanted;
    st_lock lock;
    st_lock_init(&lock);
    st_code code = st_cli_wanted_read(cli, &wanted, error);
    if (code == ST_OK)
        code = lock_families(cli, &wanted, &lock, error);
    st_lock_release(&lock);
    st_cli_wanted_release(&wanted);
    return code;
}
