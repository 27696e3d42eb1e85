// SPDX-License-Identifier: Apache-2.0
// Shared by the files of db/ and by their tests; nobody else includes it. It holds the store's struct,
// the one small wrapper through which every statement is prepared and stepped (statement.c), and the
// table of migrations (migrations.c).
#ifndef SIMTUNE_DB_STORE_INTERNAL_H
#define SIMTUNE_DB_STORE_INTERNAL_H

#include "db/locking.h"
#include "db/store.h"

#include <sqlite3.h>
#include <sys/stat.h>

#define ST_STORE_PATIENCE_MS 30000     // how long other writers are waited for
#define ST_APPLICATION_ID 0x53494D54   // "SIMT", in the header of every store
#define ST_CACHED_STATEMENTS 48

typedef struct st_cached_statement {
    const char *sql; // a string literal: compared by address
    sqlite3_stmt *statement;
    bool in_use;
} st_cached_statement;

// Waiting for other programs (waiting.c). Seconds are of st_clock_seconds.
typedef struct st_waiting {
    st_store_listener listener;
    int times;             // patience is so many times patience_ms
    double began, say_at, stopping_since;
    double longest;        // of all waits, for tests and reports
    bool said, stopped;
    bool for_readers;      // a checkpoint waits, not a writer
    double moment;         // a wait that is longer is said
    int page_bytes;
    int64_t wal_most;      // bytes of the log from which a checkpoint waits for readers
    int64_t checkpoint_at; // no checkpoint that waits before the log has so many bytes
    unsigned random;
} st_waiting;

typedef struct st_file_identity {
    dev_t device;
    ino_t inode; // 0: not known yet
} st_file_identity;

struct st_store {
    sqlite3 *db;
    char *path;
    char *aside; // the file's name until it comes to `path` (aside.c); NULL: it is there
    st_store_mode mode;
    int patience_ms;
    int depth;   // of st_store_begin
    bool has_query_functions; // query_functions.c
    struct st_query_scales *scales; // of the question at hand (query_scale.c)
    bool suspect; // glance.c; looked at again before anything is written
    int kept_fd;  // of a look at the open file: closing it earlier would drop SQLite's locks. -1: none
    bool damaged; // SQLite met damage: nothing more is written
    int whole_from;    // steps within this depth or deeper are no savepoints of their own; 0: all are
    bool whole_failed; // one of them was undone: none can be kept
    bool doomed; // an inner step could not be undone: the outer transaction must not be committed
    st_cached_statement cached[ST_CACHED_STATEMENTS];
    size_t cached_count;
    st_waiting waiting;
    st_file_place place;     // looked at when opened for writing
    char journal[12];   // chosen when opened for writing: "wal", "truncate"; else ""
    st_file_identity main_file, wal_file, shm_file;
    int running_fd;     // of the claims, -1: not open
    bool is_listed;     // among the stores that this process has open
    st_store *next_open;
};

// --- migrations.c ----------------------------------------------------------------------------------------
typedef struct st_migration {
    int number; // 1, 2, 3 …; the schema's version after it
    const char *name;
    const char *const *scripts; // NULL-terminated
} st_migration;
extern const st_migration st_migrations[];
extern const size_t st_migration_count;
extern const char st_schema_1_tables[], st_schema_1_views[]; // schema.c
// The closed vocabularies that its CHECKs hold, each up to NULL.
extern const char *const st_stored_outcomes[], *const st_stored_phases[], *const st_stored_caches[],
    *const st_stored_statuses[], *const st_stored_profiles[];
extern const char st_schema_2_tables[], st_schema_2_views[]; // schema_2.c

typedef enum st_schema_state {
    ST_SCHEMA_EMPTY,   // a new file: no version, no table
    ST_SCHEMA_OLDER, ST_SCHEMA_CURRENT
} st_schema_state;
// Tells where the opened file stands; refuses a newer version and databases of something else.
st_code st_migrations_state(st_store *store, const st_migration *migrations, size_t count,
                            st_schema_state *state, st_error *error);
// Brings the schema to the newest version, all steps in one transaction.
st_code st_migrations_run(st_store *store, const st_migration *migrations, size_t count,
                          st_error *error);
// The message for a store whose version is newer than `known`.
st_code st_migrations_newer(const char *path, int version, int known, st_error *error);

// --- store.c -----------------------------------------------------------------------------------------------
typedef struct st_store_options {
    int patience_ms;
    const st_migration *migrations;
    size_t migration_count;
} st_store_options;
// What st_store_open does, with patience and migrations as a test wants them.
st_code st_store_open_with(const char *path, st_store_mode mode, const st_store_options *options,
                           st_store **out, st_error *error);
// The same; `aside`: as st_store_open_aside.
st_code st_store_open_as(const char *path, st_store_mode mode, const st_store_options *options, bool aside,
                         st_store **out, st_error *error);
// Ends what st_store_begin began: commits when `code` is ST_OK, else rolls back. Returns the code of
// the whole. Every writer of db/ is st_store_begin, its statements, st_store_finish.
st_code st_store_finish(st_store *store, st_code code, st_error *error);
// Between the two, in a transaction, the steps of writers are not undone one by one: thousands of rows cost no savepoint
// each. Whoever calls them undoes the transaction when any of them fails.
void st_store_whole_begin(st_store *store);
void st_store_whole_end(st_store *store);

// --- aside.c -----------------------------------------------------------------------------------------------
const char *st_store_file(const st_store *store); // what SQLite opens
st_code st_aside_name(st_store *store, st_error *error); // of a store that is not there

// --- open.c ------------------------------------------------------------------------------------------------
// What a look at the file tells without SQLite touching it.
typedef struct st_file_look {
    bool exists, empty;
    bool is_open; // by this process: then nothing more is told
    int user_version;
} st_file_look;
st_code st_file_look_at(const char *path, st_file_look *look, st_error *error);
// Opens `path` for reading in the first way that works (see open.c). Fills store->db.
st_code st_open_for_reading(st_store *store, st_error *error);
st_code st_open_for_writing(st_store *store, st_error *error);
// --- glance.c ----------------------------------------------------------------------------------------------
// Before SQLite opens a file. *suspect: its inner pages, or its free ones, look damaged, so many times.
st_code st_glance(const char *path, int times, bool *suspect, st_error *error);
// The same of an open store while nobody else can write: now it is so.
st_code st_glance_locked(st_store *store, bool *suspect, st_error *error);
// Replaces store->db by a copy of it in memory.
st_code st_open_copy_in_memory(st_store *store, st_error *error);

// --- locking.c, waiting.c, place.c, claims.c: several programs on one file ---------------------------------
bool st_locking_is_open(const struct stat *status); // by this process
void st_locking_opened(st_store *store);            // enters it among the open ones, once it has its file
void st_locking_closed(st_store *store);
st_code st_locking_choose_journal(st_store *store, st_error *error);
// Whether the open files are still those that their names lead to. In a transaction.
st_code st_locking_check(st_store *store, st_error *error);
st_code st_waiting_patience(int *patience_ms, st_error *error); // of SIMTUNE_DB_PATIENCE
void st_waiting_begin(st_store *store);   // of a new struct
void st_waiting_install(st_store *store); // on its connection
// Waits a little before another try, `times_before` were made; false: it is over.
bool st_waiting_again(st_store *store, int times_before);
st_code st_waiting_fail(const st_store *store, const char *doing, st_error *error);
void st_waiting_holder(const st_store *store, char *out, size_t capacity); // "process 12 (simtune …)"
st_code st_waiting_use_checkpoints(st_store *store, st_error *error);
st_code st_place_look(const char *path, st_file_place *out, st_error *error);
st_code st_place_try(const char *store_path, st_file_place *place, st_error *error);
bool st_place_has_locks(const st_file_place *place);
bool st_place_locks_readers(const char *path, const st_file_place *place);
bool st_place_wants_log(const st_file_place *place);
bool st_place_is_trusted(void); // SIMTUNE_DB_LOCKS=trust
const char *st_place_by_magic(unsigned magic, bool *shared); // "" for this machine's own
bool st_place_name_is_shared(const char *name);
bool st_place_read_mount(const char *line, uint64_t mount, unsigned device_major, unsigned device_minor,
                         st_file_place *out);
void st_claims_close(st_store *store);

// --- statement.c -------------------------------------------------------------------------------------------
// A statement in use. Binding never fails on the spot: the first failure is kept and reported by the
// next step. Texts and blobs that are bound must live until the statement is closed.
typedef struct st_statement {
    st_store *store;
    sqlite3_stmt *statement;
    st_cached_statement *cached; // NULL: finalized when closed
    int bound;                   // parameters bound so far
    int rc;                      // the first failure of binding
    const char *doing;           // "storing a candidate"
} st_statement;

// `sql` must be a string literal: it is prepared once a store and kept.
st_code st_statement_open(st_store *store, st_statement *statement, const char *sql,
                          const char *doing, st_error *error);
// For texts that are put together, and for statements that run while a callback runs.
st_code st_statement_open_once(st_store *store, st_statement *statement, const char *sql,
                               const char *doing, st_error *error);
void st_statement_close(st_statement *statement);

// Each binds the next parameter.
void st_bind_int(st_statement *statement, int64_t value);
void st_bind_known_int(st_statement *statement, int64_t value);     // -1: NULL
void st_bind_real(st_statement *statement, double value);           // not finite: NULL
void st_bind_text(st_statement *statement, const char *value);      // NULL: NULL
void st_bind_known_text(st_statement *statement, const char *value); // NULL or "": NULL
void st_bind_blob(st_statement *statement, const void *bytes, size_t length);

// *row: whether there is a row to read. False ends the statement.
st_code st_statement_step(st_statement *statement, bool *row, st_error *error);
// Steps to the end, ignoring rows.
st_code st_statement_run(st_statement *statement, st_error *error);
// The first column of the first row, then to the end. *found (may be NULL): whether there was a row.
st_code st_statement_number(st_statement *statement, int64_t *value, bool *found, st_error *error);
// Of an INSERT of one row that may do nothing. RETURNING would tell the same, but makes SQLite keep a journal of the statement.
st_code st_statement_insert(st_statement *statement, int64_t *key, bool *added, st_error *error);
// Opens, runs and closes a statement without parameters.
st_code st_statement_do(st_store *store, const char *sql, const char *doing, st_error *error);
// All statements of a script, in order.
st_code st_script_run(st_store *store, const char *script, const char *doing, st_error *error);

int64_t st_column_int(const st_statement *statement, int column);       // NULL: -1
double st_column_real(const st_statement *statement, int column);       // NULL: NaN
const char *st_column_text(const st_statement *statement, int column);  // NULL: ""
const char *st_column_text_or_null(const st_statement *statement, int column);
void st_column_copy(const st_statement *statement, int column, char *out, size_t capacity);
// A copy for the caller (st_free); NULL for NULL. False: no memory.
bool st_column_take(const st_statement *statement, int column, char **out);

extern const char st_damage_remedy[];
// Fills `error` for SQLite's result code: what happened, to which store, what to do. Notes damage.
st_code st_store_fail(st_store *store, int rc, const char *doing, st_error *error);

// --- rows.c ------------------------------------------------------------------------------------------------
// The stable id of content: a hash over the kind and its fields (NULL and "" differ).
st_code st_content_id(char out[ST_HASH_TEXT], const char *const *fields, size_t count,
                      st_error *error);
st_code st_device_id(const st_device_row *row, char out[ST_HASH_TEXT], st_error *error);
st_code st_toolchain_id(const st_toolchain_row *row, char out[ST_HASH_TEXT], st_error *error);
st_code st_problem_id(const char *family, const char *text, char out[ST_HASH_TEXT], st_error *error);
st_code st_configuration_id(const char *family, const char *text, char out[ST_HASH_TEXT],
                            st_error *error);
st_code st_candidate_id(const char *session_id, const char *problem_id, const char *configuration_id,
                        char out[ST_HASH_TEXT], st_error *error);

// As st_store_device, but a row that is there is left as it is.
st_code st_device_find_or_make(st_store *store, const st_device_row *row, int64_t *key,
                               bool *was_there, st_error *error);

// --- candidates.c ------------------------------------------------------------------------------------------
// As st_store_measurement, but *added is false where that would fail because the row is there.
st_code st_measurement_add(st_store *store, const st_measurement_row *row, bool *added,
                           st_error *error);

// id, session, problem and configuration, outcome, detail, then the properties.
void st_bind_candidate(st_statement *statement, const st_candidate_row *row);
// The key of a metric, found or made.
st_code st_store_metric(st_store *store, const char *name, int64_t *metric, st_error *error);

// --- results.c ---------------------------------------------------------------------------------------------
// Samples as they stand in the BLOB. NULL: no memory; freed with st_free.
unsigned char *st_samples_encode(const double *samples, size_t count);
double *st_samples_decode(const void *blob, size_t bytes, size_t *count);

// --- query.c -----------------------------------------------------------------------------------------------
// The statement of a query, as text; with top, per or pareto the one that finds the rows to choose among. The tests
// look at its plan.
st_code st_query_sql(st_store *store, const st_query *query, st_text *sql, st_error *error);
extern const char st_query_scale_sql[], st_answer_of_sql[], st_candidates_of_session_sql[], st_measurements_of_sql[],
    st_counters_of_sql[];
// --- query_scale.c -----------------------------------------------------------------------------------------
void st_query_scales_forget(st_store *store); // at the end of a question: rows may change before the next
// --- query_functions.c: registers what the SQL of questions calls; once a connection
st_code st_query_functions(st_store *store, st_error *error);

// --- prefix.c ----------------------------------------------------------------------------------------------
// A prefix of a stable id: 4 to 32 hex digits, made lower case. *valid false for anything else.
void st_id_prefix(const char *text, char out[ST_HASH_TEXT], bool *valid);
// The key of the one row whose id starts with `prefix`. ST_NOTHING, or ST_USAGE when there are several.
st_code st_key_by_prefix(st_store *store, const char *sql, const char *what, const char *prefix,
                         int64_t *key, st_error *error);

#endif
