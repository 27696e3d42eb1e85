// SPDX-License-Identifier: Apache-2.0
// `simtune db`: the store as a file. To add a word: a row in `words`, and a file cmd_db_WORD.c.
#include "tuner/cli/cmd_db.h"

#include "tuner/base/paths.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

st_code st_cmd_db_path(st_cli *cli, st_text *out, st_error *error)
{
    const char *path = st_parsed_text(cli->parsed, "db");
    st_code code = ST_OK;
    if (path) {
        st_text_add(out, path);
    } else {
        code = st_paths_data(out, error);
        st_text_add(out, "/history.db");
    }
    return code == ST_OK && out->failed ? st_fail_memory(error, "opening the store") : code;
}

st_code st_cmd_db_store(st_cli *cli, st_store_mode mode, st_store **out, st_error *error)
{
    st_text path;
    st_text_init(&path);
    *out = NULL;
    st_code code = st_cmd_db_path(cli, &path, error);
    struct stat status;
    bool there = code == ST_OK && stat(st_text_string(&path), &status) == 0;
    if (code == ST_OK && !there && errno == ENOENT)
        code = st_fail(error, ST_NOTHING, "tune something first (simtune reduce), or name a store with --db",
                       "there is no store at %s", st_text_string(&path));
    if (there && S_ISREG(status.st_mode) && status.st_size == 0)
        code = st_fail(error, ST_FAILED, "restore it from a copy; or remove it, and the next run makes a new one",
                       "the store %s is empty: the file has no byte", st_text_string(&path));
    st_text_release(&path);
    return code == ST_OK ? st_cli_store(cli, mode, out, error) : code;
}

// A header that is no database's: damaged, or a file of something else.
static bool has_no_header(const char *path)
{
    char magic[16] = "";
    FILE *file = fopen(path, "rbe");
    bool read = file && fread(magic, 1, sizeof magic, file) == sizeof magic;
    if (file)
        fclose(file);
    return read && memcmp(magic, "SQLite format 3", sizeof magic) != 0;
}

st_code st_cmd_db_salvage(st_cli *cli, st_code code, st_store **out, st_salvage_report *report, st_error *error)
{
    st_error quiet = {0};
    st_text path;
    st_text_init(&path);
    st_code saved = st_cmd_db_path(cli, &path, &quiet);
    if (saved == ST_OK && code != ST_DAMAGED && !(code == ST_FAILED && has_no_header(st_text_string(&path))))
        saved = ST_NOTHING;
    if (saved == ST_OK)
        saved = st_salvage_open(st_text_string(&path), out, report, &quiet);
    st_text_release(&path);
    if (saved == ST_NO_MEMORY && error)
        *error = quiet;
    return saved == ST_OK || saved == ST_NO_MEMORY ? saved : code;
}

static const struct {
    const char *word;
    st_code (*run)(st_cli *cli, st_error *error);
    bool takes_more;
} words[] = {{"info", st_cmd_db_info, false},    {"check", st_cmd_db_check, false},
             {"export", st_cmd_db_export, true}, {"import", st_cmd_db_import, true},
             {"merge", st_cmd_db_merge, true},   {"prune", st_cmd_db_prune, false},
             {"backup", st_cmd_db_backup, true}, {"vacuum", st_cmd_db_vacuum, false},
             {"generate", st_cmd_db_generate, true}};

st_code st_cmd_db(st_cli *cli, st_error *error)
{
    static const char remedy[] =
        "simtune db info, check, export FILE, import FILE…, merge OTHER.db…, prune, backup FILE, vacuum, or "
        "generate FILE";
    const char *word = cli->parsed->word_count ? cli->parsed->words[0] : NULL;
    for (size_t i = 0; word && i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(words[i].word, word) != 0)
            continue;
        if (!words[i].takes_more && cli->parsed->word_count > 1)
            return st_fail(error, ST_USAGE, remedy, "db %s takes no %s", word, cli->parsed->words[1]);
        return words[i].run(cli, error);
    }
    return word ? st_fail(error, ST_USAGE, remedy, "db knows no %s", word)
                : st_fail(error, ST_USAGE, remedy, "db needs to be told what to do");
}
