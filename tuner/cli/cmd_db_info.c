// SPDX-License-Identifier: Apache-2.0
// `simtune db info`: how much is in the store, of what, and what it could do without.
#include "db/inspect.h"
#include "db/prune.h"
#include "reports/format.h"
#include "tuner/base/clock.h"
#include "tuner/cli/cli_answers.h"
#include "tuner/cli/cli_place.h"
#include "tuner/cli/cmd_db.h"

#include <string.h>

// What info asks for, all at once, so that it is printed only when all of it is known.
typedef struct st_info {
    st_store *store;
    st_store_counts counts;
    st_store_extras extras;
    st_prune_report prune;
    st_file_place place;
} st_info;

// Of a larger store the plan takes seconds, which is for who asks for it.
enum { PLANNED_MOST = 100000 };
static const st_prune_options usual = {.keep_one_in = 10, .older_than_ms = -1};

// --- JSON ------------------------------------------------------------------------------------------------------

static json_t *counts_json(const st_info *info)
{
    const st_store_counts *counts = &info->counts;
    const struct {
        const char *key;
        int64_t value;
    } rows[] = {{"devices", counts->devices},
                {"sessions", counts->sessions},
                {"sessions_unfinished", counts->unfinished},
                {"sessions_shipped", counts->shipped},
                {"problems", counts->problems},
                {"candidates", counts->candidates},
                {"measurements", counts->measurements},
                {"measurements_thinned", info->extras.thinned},
                {"samples", counts->samples},
                {"profiles", counts->profiles},
                {"winners", counts->winners},
                {"baselines", info->extras.baselines},
                {"acknowledgements", info->extras.acknowledgements},
                {"bytes", counts->bytes},
                {"bytes_free", info->extras.free_bytes},
                {"bytes_wal", info->extras.wal_bytes},
                {"bytes_prune", info->prune.bytes},
                {"first_session_ms", counts->first_ms},
                {"last_session_ms", counts->last_ms},
                {"schema_version", counts->schema_version}};
    json_t *object = json_object();
    bool whole = object;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] && whole; i++)
        whole = st_json_put(object, rows[i].key, st_json_known_or_null(rows[i].value));
    if (whole)
        return object;
    json_decref(object);
    return NULL;
}

static st_code add_session_json(void *context, const st_session_answer *session, st_error *error)
{
    json_t *object = json_object();
    bool whole = object && st_json_put(object, "id", json_string(session->id)) &&
                 st_json_put(object, "family", json_string(session->family)) &&
                 st_json_put(object, "device", json_string(session->device_name)) &&
                 st_json_put(object, "cc", st_json_known_or_null(session->cc)) &&
                 st_json_put(object, "sm_count", st_json_known_or_null(session->sm_count)) &&
                 st_json_put(object, "status", json_string(session->status)) &&
                 st_json_put(object, "live", json_boolean(session->live)) &&
                 st_json_put(object, "command", st_json_text_or_null(session->command)) &&
                 st_json_put(object, "started_ms", st_json_known_or_null(session->started_ms)) &&
                 st_json_put(object, "finished_ms", st_json_known_or_null(session->finished_ms)) &&
                 st_json_put(object, "candidates", json_integer(session->candidates)) &&
                 st_json_put(object, "shipped", json_boolean(session->shipped));
    if (!whole)
        json_decref(object);
    return whole && json_array_append_new(context, object) == 0 ? ST_OK : st_fail_memory(error, "listing sessions");
}

static st_code add_group_json(void *context, const st_group_answer *group, st_error *error)
{
    json_t *object = json_object();
    bool whole = object && st_json_put(object, "name", json_string(group->name)) &&
                 st_json_put(object, "uuid", st_json_text_or_null(*group->uuid ? group->uuid : NULL)) &&
                 st_json_put(object, "sessions", json_integer(group->sessions)) &&
                 st_json_put(object, "candidates", json_integer(group->candidates)) &&
                 st_json_put(object, "winners", json_integer(group->winners)) &&
                 st_json_put(object, "last_session_ms", st_json_known_or_null(group->last_ms));
    if (!whole)
        json_decref(object);
    return whole && json_array_append_new(context, object) == 0 ? ST_OK : st_fail_memory(error, "listing sessions");
}

static st_code print_info_json(st_cli *cli, const st_info *info, st_error *error)
{
    json_t *lists[3] = {json_array(), json_array(), json_array()};
    bool whole = lists[0] && lists[1] && lists[2];
    st_code code = whole ? st_store_sessions(info->store, add_session_json, lists[0], error)
                         : st_fail_memory(error, "listing sessions");
    if (code == ST_OK)
        code = st_store_groups(info->store, ST_GROUP_FAMILY, add_group_json, lists[1], error);
    if (code == ST_OK)
        code = st_store_groups(info->store, ST_GROUP_DEVICE, add_group_json, lists[2], error);
    if (code == ST_OK)
        code = st_cli_print_json(cli,
                                 json_pack("{s:s, s:s, s:o, s:o, s:O, s:O, s:O}", "schema", "simtune.db/1", "path",
                                           st_store_path(info->store), "place", st_cli_place_json(&info->place), "counts", counts_json(info), "families",
                                           lists[1], "devices", lists[2], "sessions", lists[0]),
                                 error);
    for (size_t i = 0; i < 3; i++)
        json_decref(lists[i]);
    return code;
}

// --- for people ------------------------------------------------------------------------------------------------

static st_code print_session(void *context, const st_session_answer *session, st_error *error)
{
    (void)error;
    st_cli *cli = context;
    char date[ST_DATE_TEXT];
    st_clock_date(session->started_ms, date);
    bool cut = !session->live && st_text_equal(session->status, "running"); // its process ended before it did
    st_cli_tell(cli, cli->out, "  %.12s  %s  %-11s %6lld  %s on %s%s\n", session->id, date, cut ? "cut off" : session->status,
            (long long)session->candidates, session->family, session->device_name,
            session->shipped ? " (shipped)" : "");
    return ST_OK;
}

static st_code print_group(void *context, const st_group_answer *group, st_error *error)
{
    (void)error;
    st_cli *cli = context;
    char date[ST_DATE_TEXT] = "-";
    if (group->last_ms > 0)
        st_clock_date(group->last_ms, date);
    st_cli_tell(cli, cli->out, "  %-24s %8lld  %10lld  %7lld  %s\n", group->name, (long long)group->sessions,
            (long long)group->candidates, (long long)group->winners, date);
    return ST_OK;
}

static void print_bytes(st_cli *cli, const char *before, int64_t bytes, const char *after)
{
    st_text size;
    st_text_init(&size);
    st_report_bytes(&size, bytes);
    fprintf(cli->out, "%s%s%s", before, st_text_string(&size), after);
    st_text_release(&size);
}

#define COUNTED(number) (long long)(number), st_plural(number)

static void print_counts(st_cli *cli, const st_info *info)
{
    const st_store_counts *counts = &info->counts;
    st_cli_tell(cli, cli->out, "%s: ", st_store_path(info->store));
    print_bytes(cli, "", counts->bytes, "");
    st_text place;
    st_text_init(&place);
    st_cli_place_words(&info->place, &place);
    fprintf(cli->out, ", schema %d, on %s\n", counts->schema_version, st_text_string(&place));
    st_text_release(&place);
    fprintf(cli->out,
            "  %lld session%s (%lld unfinished, %lld shipped) on %lld device%s\n"
            "  %lld problem%s, %lld candidate%s, %lld measurement%s of %lld sample%s\n"
            "  %lld profile%s, %lld winner%s, %lld baseline%s, %lld acknowledged change%s\n",
            COUNTED(counts->sessions), (long long)counts->unfinished, (long long)counts->shipped,
            COUNTED(counts->devices), COUNTED(counts->problems), COUNTED(counts->candidates),
            COUNTED(counts->measurements), COUNTED(counts->samples), COUNTED(counts->profiles), COUNTED(counts->winners),
            COUNTED(info->extras.baselines), COUNTED(info->extras.acknowledgements));
    if (info->extras.thinned)
        fprintf(cli->out, "  %lld measurement%s thinned by a prune\n", (long long)info->extras.thinned,
                info->extras.thinned == 1 ? " was" : "s were");
    if (info->extras.wal_bytes)
        print_bytes(cli, "  ", info->extras.wal_bytes, " more in the -wal file beside it\n");
    if (info->extras.free_bytes)
        print_bytes(cli, "  ", info->extras.free_bytes, " hold nothing: simtune db vacuum gives them back\n");
    if (info->prune.bytes < 0)
        fprintf(cli->out, "  simtune db prune tells which samples it would thin\n");
    else if (info->prune.bytes)
        print_bytes(cli, "  about ", info->prune.bytes, " are samples that simtune db prune would thin\n");
}

static st_code print_info(st_cli *cli, const st_info *info, st_error *error)
{
    print_counts(cli, info);
    if (!info->counts.sessions)
        return ST_OK;
    fprintf(cli->out, "\n  family                   sessions  candidates  winners  newest\n");
    st_code code = st_store_groups(info->store, ST_GROUP_FAMILY, print_group, cli, error);
    if (code == ST_OK)
        fprintf(cli->out, "\n  device                   sessions  candidates  winners  newest\n");
    if (code == ST_OK)
        code = st_store_groups(info->store, ST_GROUP_DEVICE, print_group, cli, error);
    if (code == ST_OK)
        fprintf(cli->out, "\n  session       began                 status       tried  what\n");
    return code == ST_OK ? st_store_sessions(info->store, print_session, cli, error) : code;
}

st_code st_cmd_db_info(st_cli *cli, st_error *error)
{
    st_info info = {0};
    st_code code = st_cli_store(cli, ST_STORE_READ, &info.store, error);
    if (code == ST_OK)
        code = st_store_count(info.store, &info.counts, error);
    if (code == ST_OK)
        code = st_store_look_closer(info.store, &info.extras, error);
    if (code == ST_OK)
        code = st_store_place(info.store, &info.place, error);
    if (code == ST_OK && info.counts.candidates <= PLANNED_MOST)
        code = st_store_prune(info.store, &usual, false, &info.prune, error);
    else
        info.prune.bytes = -1;
    if (code == ST_OK)
        code = cli->json ? print_info_json(cli, &info, error) : print_info(cli, &info, error);
    st_store_close(info.store);
    return code;
}
