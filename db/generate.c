// SPDX-License-Identifier: Apache-2.0
// Fills a new store with the rows of a made-up world (generate_model.c). Invariants: 1. the file is made here (O_EXCL)
// and removed when anything fails, so there is never half a store; 2. rows follow from the options alone: dates and ids
// too; 3. a transaction holds one session; 4. triggers and CHECKs hold as for rows of a real run, references are right by
// construction (tests/unit/db/test_generate.c checks them).
#include "db/generate_internal.h"

#include "tuner/base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const int64_t first_ms = 1735689600000, between_sessions_ms = 3600000; // 2025-01-01
static const char doing[] = "generating rows";

st_code st_generate_run_row(st_statement *statement, st_code code, st_error *error)
{
    if (code == ST_OK)
        code = st_statement_run(statement, error);
    st_statement_close(statement);
    return code;
}

// --- what stays the same -----------------------------------------------------------------------------------
static st_code make_devices_and_toolchains(st_generate_maker *all, st_error *error)
{
    st_code code = ST_OK;
    for (int i = 0; i < all->devices && code == ST_OK; i++) {
        st_device_row row;
        st_world_device(i, &row);
        code = st_store_device(all->store, &row, &all->device[i], error);
    }
    for (int i = 0; i < ST_WORLD_DRIVERS && code == ST_OK; i++) {
        st_toolchain_row row;
        st_world_toolchain(i, &row);
        code = st_store_toolchain(all->store, &row, &all->toolchain[i], error);
    }
    return code;
}

static st_code make_templates(st_generate_maker *all, int family, st_error *error)
{
    const char *name = st_world_family(family);
    st_code code = ST_OK;
    for (int version = 0; version < 2 && code == ST_OK; version++) {
        char hash[64], texts[128];
        snprintf(hash, sizeof hash, "generated-%s-%d", name, version + 1);
        snprintf(texts, sizeof texts, "{\"%s.cu\":\"// generated, version %d\\n\"}", name,
                 version + 1);
        code = st_store_template(all->store, name, hash, texts, &all->template[family][version],
                                 error);
    }
    return code;
}

static st_code make_problems(st_generate_maker *all, int family, st_error *error)
{
    const char *name = st_world_family(family);
    st_code code = ST_OK;
    for (int i = 0; i < ST_WORLD_GROUPS * ST_WORLD_SIZES && code == ST_OK; i++) {
        int group = i / ST_WORLD_SIZES, size = i % ST_WORLD_SIZES;
        char text[64];
        const char *type, *operation;
        int64_t n;
        st_world_problem(group, size, text, sizeof text, &type, &operation, &n);
        code = st_store_problem(all->store, name, text, type, operation, n,
                                &all->problem[family][group][size], error);
        if (code == ST_OK)
            code = st_problem_id(name, text, all->problem_id[family][group][size], error);
    }
    return code;
}

static st_code make_configurations(st_generate_maker *all, int family, st_error *error)
{
    const char *name = st_world_family(family);
    st_code code = ST_OK;
    for (int i = 0; i < ST_WORLD_CONFIGURATIONS && code == ST_OK; i++) {
        char text[96];
        st_world_configuration_text(&all->point[i], text, sizeof text);
        code =
            st_store_configuration(all->store, name, text, &all->configuration[family][i], error);
        if (code == ST_OK)
            code = st_configuration_id(name, text, all->configuration_id[family][i], error);
    }
    return code;
}

static st_code make_metrics(st_generate_maker *all, st_error *error)
{
    st_code code = ST_OK;
    for (int i = 0; i < 2 * ST_WORLD_COUNTERS && code == ST_OK; i++) {
        int exact = i / ST_WORLD_COUNTERS, at = i % ST_WORLD_COUNTERS;
        st_statement statement;
        code = st_statement_open(all->store, &statement,
                                 "INSERT INTO metric (name) VALUES (?) RETURNING metric_key", doing,
                                 error);
        if (code == ST_OK) {
            st_bind_text(&statement, st_world_counter_names(exact)[at]);
            code = st_statement_number(&statement, &all->metric[exact][at], NULL, error);
        }
        st_statement_close(&statement);
    }
    return code;
}

static st_code make_world(st_generate_maker *all, st_error *error)
{
    st_code code = st_store_begin(all->store, error);
    if (code != ST_OK)
        return code;
    st_world_configurations(all->point);
    code = make_devices_and_toolchains(all, error);
    for (int family = 0; family < ST_WORLD_FAMILIES && code == ST_OK; family++) {
        code = make_templates(all, family, error);
        if (code == ST_OK)
            code = make_problems(all, family, error);
        if (code == ST_OK)
            code = make_configurations(all, family, error);
    }
    if (code == ST_OK)
        code = make_metrics(all, error);
    return st_store_finish(all->store, code, error);
}

// --- sessions ----------------------------------------------------------------------------------------------
// The id of a session as real ones look: its date in the first 12 digits. The rest follows from seed and number.
static st_code name_session(st_generate_maker *all, int64_t number, st_error *error)
{
    char seed[24], count[24], hash[ST_HASH_TEXT];
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)all->options->seed);
    snprintf(count, sizeof count, "%lld", (long long)number);
    st_code code =
        st_content_id(hash, (const char *[]){"generated session", seed, count}, 3, error);
    snprintf(all->session_id, sizeof all->session_id, "%012llx%.20s",
             (unsigned long long)all->date_ms, hash);
    return code;
}

// A series of sessions goes round families, devices and groups, then the next round begins with a newer driver.
static void place_session(st_generate_maker *all, int64_t number, int64_t sessions)
{
    int round = (int)(number / (ST_WORLD_FAMILIES * all->devices * all->groups));
    all->place =
        (st_world_place){.family = (int)(number % ST_WORLD_FAMILIES),
                         .device = (int)(number / ST_WORLD_FAMILIES % all->devices),
                         .group = (int)(number / ST_WORLD_FAMILIES / all->devices % all->groups),
                         .driver = round % ST_WORLD_DRIVERS,
                         .new_template = number >= sessions / 2};
}

static st_code make_session_row(st_generate_maker *all, int64_t number, st_error *error)
{
    const st_world_place *place = &all->place;
    char command[96], resume[ST_HASH_TEXT];
    st_statement statement;
    snprintf(command, sizeof command, "simtune %s --device %d", st_world_family(place->family),
             place->device);
    snprintf(resume, sizeof resume, "generated-%lld", (long long)number);
    st_code code = st_statement_open(all->store, &statement,
                                     "INSERT INTO session (session_key, session_id, resume_key, "
                                     "family, device_key, toolchain_key, template_key,"
                                     " started_ms, finished_ms, status, command, options, summary) "
                                     "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'finished',"
                                     " ?, '{\"seed\":1,\"strategy\":\"exhaustive\"}', "
                                     "'{\"counters\":\"allowed\",\"seconds\":600.0}')",
                                     doing, error);
    if (code == ST_OK) {
        st_bind_int(&statement, all->session);
        st_bind_text(&statement, all->session_id);
        st_bind_text(&statement, resume);
        st_bind_text(&statement, st_world_family(place->family));
        st_bind_int(&statement, all->device[place->device]);
        st_bind_int(&statement, all->toolchain[place->driver]);
        st_bind_int(&statement, all->template[place->family][place->new_template]);
        st_bind_int(&statement, all->date_ms);
        st_bind_int(&statement, all->date_ms + 600000);
        st_bind_text(&statement, command);
    }
    return st_generate_run_row(&statement, code, error);
}

static st_code make_session(st_generate_maker *all, int64_t number, int64_t sessions,
                            st_error *error)
{
    all->session = number + 1;
    all->date_ms = first_ms + number * between_sessions_ms;
    place_session(all, number, sessions);
    st_code code = name_session(all, number, error);
    if (code == ST_OK)
        code = st_store_begin(all->store, error);
    if (code != ST_OK)
        return code;
    code = make_session_row(all, number, error);
    for (int size = 0; size < ST_WORLD_SIZES && code == ST_OK; size++) {
        int64_t left = all->options->candidates - all->made.candidates;
        all->place.size = size;
        if (left > 0)
            code = st_generate_problem(all, left < all->per_problem ? (int)left : all->per_problem,
                                       error);
        if (code == ST_OK && all->options->go_on &&
            !all->options->go_on(all->options->context, all->made.candidates))
            code = st_fail(error, ST_INTERRUPTED, NULL, "interrupted after %lld candidates",
                           (long long)all->made.candidates);
    }
    all->made.sessions++;
    return st_store_finish(all->store, code, error);
}

static int between(int64_t low, int64_t value, int64_t high)
{
    return (int)(value < low ? low : value > high ? high : value);
}

static st_code make_all(st_generate_maker *all, st_error *error)
{
    int64_t candidates = all->options->candidates;
    st_random_seed(&all->random, all->options->seed);
    all->per_problem = between(1, candidates / 96, ST_GENERATE_TRIALS);
    int64_t each = (int64_t)all->per_problem * ST_WORLD_SIZES,
            sessions = (candidates + each - 1) / each;
    // A small store has fewer devices and groups rather than no second round.
    all->devices = between(2, sessions / 12, ST_WORLD_DEVICES);
    all->groups = between(1, sessions / 12 / all->devices, ST_WORLD_GROUPS);
    st_code code = make_world(all, error);
    for (int64_t i = 0; i < sessions && code == ST_OK; i++)
        code = make_session(all, i, sessions, error);
    return code;
}

// --- the file ----------------------------------------------------------------------------------------------
static st_code claim(const char *path, st_error *error)
{
    int file = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
    if (file >= 0) {
        close(file);
        return ST_OK;
    }
    if (errno == EEXIST)
        return st_fail(error, ST_USAGE, "name a file that does not exist yet",
                       "%s exists; a generated store is never mixed with another", path);
    return st_fail(error, ST_FAILED, "check the folder and its permissions", "cannot make %s: %s",
                   path, strerror(errno));
}

// Nothing is lost when this is cut short, so it need not be durable until the end; 256 MB hold the indexes.
static st_code fill(st_generate_maker *all, st_error *error)
{
    st_code code = st_script_run(all->store,
                                 "PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF;"
                                 "PRAGMA cache_size = -256000; PRAGMA wal_autocheckpoint = 20000;",
                                 doing, error);
    if (code == ST_OK)
        code = make_all(all, error);
    if (code == ST_OK)
        code = st_script_run(all->store, "PRAGMA synchronous = FULL; PRAGMA wal_checkpoint(TRUNCATE);",
                             doing, error);
    return code;
}

st_code st_store_generate(const char *path, const st_generate_options *options, st_generated *out,
                          st_error *error)
{
    if (options->candidates < 1 || options->candidates > ST_GENERATE_CANDIDATES_MAX)
        return st_fail(error, ST_USAGE, "ask for 1 to 10000000",
                       "%lld candidates cannot be generated", (long long)options->candidates);
    if (options->samples < 1 || options->samples > ST_GENERATE_SAMPLES_MAX)
        return st_fail(error, ST_USAGE, "ask for 1 to 50",
                       "%d samples a candidate cannot be generated", options->samples);
    st_code code = claim(path, error);
    if (code != ST_OK)
        return code;
    st_generate_maker *all = st_calloc(1, sizeof *all);
    if (!all)
        code = st_fail_memory(error, doing);
    if (code == ST_OK)
        code = st_store_open(path, ST_STORE_WRITE, &all->store, error);
    if (code == ST_OK) {
        all->options = options;
        code = fill(all, error);
        st_store_close(all->store);
        *out = all->made;
    }
    st_free(all);
    if (code != ST_OK)
        st_store_remove(path);
    return code;
}
