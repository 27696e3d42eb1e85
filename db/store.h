// SPDX-License-Identifier: Apache-2.0
// The store: every measurement ever made, in one SQLite file. Promise: what was committed survives
// kill -9; one transaction a candidate; a store of a newer version is refused untouched; unknown is
// NULL (NaN, -1 or "" in these structs, as each field says) and never 0; nothing is overwritten.
//
// Rows have local integer keys (for joins, never shown) and stable text ids (32 hex digits, base/hash.h)
// that mean the same in every store, so that stores merge. A row is identified by content where content
// identifies it (device by UUID, toolchain, template, problem, configuration), by a fresh id where it is
// an event (session), and by its parents otherwise (candidate = session + problem + configuration).
#ifndef SIMTUNE_DB_STORE_H
#define SIMTUNE_DB_STORE_H

#include "tuner/base/error.h"
#include "tuner/base/hash.h"
#include "tuner/base/text.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct st_store st_store;
typedef enum st_store_mode { ST_STORE_READ, ST_STORE_WRITE } st_store_mode;

// NULL path: the default ($XDG_DATA_HOME/simtune/history.db). WRITE makes the file and its folder and
// migrates an older schema; READ of an older schema works on a migrated copy in memory. READ of a file
// that does not exist: ST_NOTHING. Newer schema: ST_FAILED. ":memory:" is allowed.
st_code st_store_open(const char *path, st_store_mode mode, st_store **out, st_error *error);
void st_store_close(st_store *store);
// As st_store_open for writing; but a store that is not there yet is made beside its name, and comes to it when all went
// well: whoever fails leaves nothing behind. st_store_settle closes it in any case and puts it there when `code` is
// ST_OK; st_store_close removes it. Both are st_store_close for a store that was there.
st_code st_store_open_aside(const char *path, st_store **out, st_error *error);
st_code st_store_settle(st_store *store, st_code code, st_error *error);
const char *st_store_path(const st_store *store);
// Removes the file and all that stands beside it. Of files that were made on the way: never of somebody's store.
void st_store_remove(const char *path);
// For a file that is made anew when it is lost, of rows that another store took before: nobody waits for the disk, and the
// schema does not judge each row once more (ranges, references, triggers).
st_code st_store_hurry(st_store *store, st_error *error);
// Nested calls join the outer transaction. Waits politely for other writers (busy timeout 30 s).
// A commit that fails has rolled back: no rollback after it. An inner rollback undoes the inner part.
st_code st_store_begin(st_store *store, st_error *error);
st_code st_store_commit(st_store *store, st_error *error);
void st_store_rollback(st_store *store);

// Whether times of this backend are those of hardware ("cuda"). Of others ("emu", "generated") nothing is ever
// emitted as tuned.
bool st_backend_is_hardware(const char *backend);
// Of rows that tuner/predict.h made: a choice that nobody measured. It makes headers, marked as predicted.
#define ST_PREDICTED_BACKEND "predicted"
#define ST_PREDICTED_NOTE "predicted, not measured: " // begins the notes of its rows; by what follows

// --- rows that are found or made ---------------------------------------------------------------------------
typedef struct st_device_row {
    char uuid[48], name[96], backend[16], pci[24];
    int cc, sm_count;
    int64_t memory_bytes, l2_bytes;  // -1 unknown
    char *facts_json;                // all facts, for years to come; owned by whoever filled the row
    double read_gbs, copy_gbs;       // measured speed of the memory; NaN unknown. A better one replaces it
} st_device_row;
typedef struct st_toolchain_row {
    char driver[32];     // "580.159.04", "" unknown
    int driver_cuda;     // 13000, -1 unknown
    char compiler[48];   // "nvrtc 13.0"
    char tool[32];       // simtune's version
} st_toolchain_row;
st_code st_store_device(st_store *store, const st_device_row *row, int64_t *key, st_error *error);
// All devices that the store knows, by name; facts_json is valid during the callback only.
typedef st_code st_device_callback(void *context, const st_device_row *row, st_error *error);
st_code st_store_devices(st_store *store, st_device_callback *callback, void *context, st_error *error);
st_code st_store_toolchain(st_store *store, const st_toolchain_row *row, int64_t *key, st_error *error);
// `text` is the template with its includes as one JSON {"name": text}, so that a repro can be written
// years later. Identified by `hash`.
st_code st_store_template(st_store *store, const char *family, const char *hash, const char *text_json,
                          int64_t *key, st_error *error);
// `text` canonical ("T=f32 op=sum n=65536"); type, op and n stand in columns of their own when present
// (an axis named n or the first size axis; NULL and -1 when there is none).
st_code st_store_problem(st_store *store, const char *family, const char *text, const char *type,
                         const char *operation, int64_t n, int64_t *key, st_error *error);
// `text` canonical ("BLOCK=256 …"); kept as JSON as well.
st_code st_store_configuration(st_store *store, const char *family, const char *text, int64_t *key,
                               st_error *error);

// --- sessions ------------------------------------------------------------------------------------------------
typedef enum st_session_status { ST_SESSION_RUNNING, ST_SESSION_FINISHED, ST_SESSION_INTERRUPTED } st_session_status;
typedef struct st_session_row {
    int64_t key;                 // filled by the store
    char id[ST_HASH_TEXT];       // filled by begin
    char resume_key[ST_HASH_TEXT]; // hash of everything that makes two runs the same run
    char family[64];
    int64_t device_key, toolchain_key, template_key;
    int64_t started_ms, finished_ms; // finished -1 while running
    st_session_status status;
    char *command;               // as typed
    char *options_json;          // resolved options (seed, strategy, determinism …)
    char *summary_json;          // written at the end: trust, counts, seconds by phase; NULL before
} st_session_row;
void st_session_row_release(st_session_row *row);
st_code st_store_session_begin(st_store *store, st_session_row *row, st_error *error);
// The newest unfinished session with this key; ST_NOTHING (quietly) when none.
st_code st_store_session_unfinished(st_store *store, const char *resume_key, st_session_row *row,
                                    st_error *error);
st_code st_store_session_end(st_store *store, int64_t session, st_session_status status,
                             const char *summary_json, st_error *error);

// --- candidates ------------------------------------------------------------------------------------------------
typedef struct st_candidate_row {
    int64_t key;               // filled by the store
    char id[ST_HASH_TEXT];     // filled by the store
    int64_t session_key, problem_key, configuration_key;
    char outcome[16];          // words of DESIGN.md §4
    char *detail;              // first lines of the log, the mismatch …; NULL none. Owned as row_release says
    // Of the main kernel: of the launch with the most threads (tuner/plan.h); of the first launch in what version 0.1
    // recorded before 2026-12. Local bytes: the most of any kernel. -1 unknown.
    int registers, local_bytes, static_smem, dynamic_smem, blocks_per_sm;
    double occupancy;          // resident warps / maximal; NaN unknown
    int deterministic;         // 1 run to run, 0 not, -1 unknown
    double compile_seconds;    // NaN unknown
} st_candidate_row;
// Inserts, or updates the row of the same session, problem and configuration (resume).
st_code st_store_candidate(st_store *store, st_candidate_row *row, st_error *error);

typedef struct st_measurement_row {
    int64_t candidate_key;
    char phase[16];       // "screen", "halving", "finals"
    int round;            // (candidate, phase, cache, round) is unique: a second insert is ST_FAILED
    char cache[8];        // "cold" or "warm"
    const double *samples_ns; size_t sample_count; // BLOB of little-endian float64
    double median_ns;     // of the samples; the store computes none itself
    int sm_clock_mhz, memory_clock_mhz, temperature_c, power_mw; // -1 unknown
    int64_t throttle_reasons;  // -1 unknown
    int dropped, batch;
    double tick_ns;
    int64_t taken_ms;     // date
    int64_t samples_taken; // how many there were before a prune thinned them; 0: all are here. Read only
} st_measurement_row;
st_code st_store_measurement(st_store *store, const st_measurement_row *row, st_error *error);

// Counters by name ("dram_throughput", "stall.long_scoreboard"); NaN is stored as NULL. `kind` is "pc"
// (shares of samples) or "range" (exact).
st_code st_store_counters(st_store *store, int64_t candidate_key, const char *kind,
                          const char *const *names, const double *values, size_t count,
                          double seconds, st_error *error);
// Stall samples per source line, as JSON (cupti/counters.h's st_line_sample), or NULL.
st_code st_store_stall_lines(st_store *store, int64_t candidate_key, const char *lines_json,
                             st_error *error);

// --- results ---------------------------------------------------------------------------------------------------
typedef struct st_winner_row {
    int64_t session_key, problem_key;
    char cache[8];
    int64_t winner_key, default_key;        // candidates; default -1 when it did not survive
    double winner_ns, default_ns;           // medians of the finals
    double speedup, speedup_low, speedup_high; // default / winner, 95 % interval
    int tied;                               // size of the tied set, 1 = a clear win
    char *ties_json;                        // candidate ids and ratios with intervals
    double bytes;                           // moved by one run; NaN unknown
    char *note;                             // why this one of the tied set; NULL none
} st_winner_row;
st_code st_store_winner(st_store *store, const st_winner_row *row, st_error *error);

// --- asking ------------------------------------------------------------------------------------------------------
typedef struct st_query {
    const char *family;     // NULL: all
    const char *device;     // substring of the name, or UUID; NULL: all
    int cc, sm_count;       // -1: all
    const char *type, *operation; // NULL: all
    int64_t n;              // -1: all
    const char *cache;      // NULL: both
    const char *session;    // id prefix; NULL: all
    int64_t since_ms;       // -1
    bool best;              // only the newest finished session's winner per device, toolchain and problem
    const char *outcomes;   // words by comma ("crash,wrong"); NULL: what was measured. Not with best
    bool brief;             // for tables: of winners phase, taken_ms and sample_count stay unknown, and cost nothing
    bool shipped, own;      // both false: both
    size_t limit;           // 0: no limit
    const int *archs; size_t arch_count; // any of these; 0: all. Beside cc
    // A condition in the query dialect of base/expression.h over parameters, axes, facts and counters (db/
    // query_names.c lists the facts); NULL: none. A row of which it is unknown does not match. Where it names the
    // outcome (and `outcomes` and best are not given), all candidates are asked, measured or not.
    const char *where;
    size_t top;             // the K fastest configurations of each problem, device (or group) and cache; 0: all
    const char *per;        // "device", "driver", "size", "type": of each of its values the fastest winner (with
                            // top: the K fastest) of each problem and cache. NULL: no groups
    const char *pareto;     // "time,max:occupancy": of each problem, device (or group) and cache the configurations
                            // that no other one beats; less is better unless "max:" is written. NULL: all
    // Called, when `where` or `pareto` has an unknown name, with each that there is (kind: "parameter", "axis",
    // "fact", "counter"), before the query fails.
    void (*unknown)(void *context, const char *kind, const char *name);
    void *unknown_context;
} st_query;

// The value of a name in `where` or of a term of `pareto`.
typedef struct st_answer_value {
    const char *name;
    enum { ST_ANSWER_UNKNOWN, ST_ANSWER_INTEGER, ST_ANSWER_REAL, ST_ANSWER_WORD } kind;
    int64_t integer;
    double real;
    const char *word;
} st_answer_value;

// One candidate with all that tables print. Texts are valid during the callback only.
typedef struct st_answer {
    const char *candidate_id, *session_id, *family, *problem, *configuration, *type, *operation;
    int64_t n;
    const char *device_name, *device_uuid, *backend; int cc, sm_count;
    int64_t memory_bytes;                    // of the device; -1 unknown
    const char *driver, *compiler, *template_hash, *tool;
    int driver_cuda;
    const char *outcome, *detail, *cache, *phase;
    double median_ns, bytes, read_gbs;       // NaN unknown
    double comparable_ns;                    // median_ns on the scale of the finals of its session and problem
                                             // (base/phases.h): what candidates are ranked by
    double speedup, speedup_low, speedup_high; int tied; // winners only, else NaN and 0
    double default_ns;                       // beside a winner, in the same finals; NaN otherwise
    const char *ties_json, *note;
    int registers, local_bytes, static_smem, dynamic_smem, blocks_per_sm, deterministic;
    double occupancy;
    int64_t taken_ms;
    size_t sample_count;
    bool is_winner, is_default, shipped;
    const char *group;                       // with `per`: the value of its group, NULL unknown
    const st_answer_value *values; size_t value_count; // of `where` and `pareto`
} st_answer;
typedef st_code st_answer_callback(void *context, const st_answer *answer, st_error *error);
// Whether a session, measured or not, is of this family.
st_code st_store_knows_family(st_store *store, const char *family, bool *known, st_error *error);
// Makes questions end with ST_INTERRUPTED soon after *stop became true; NULL: never.
void st_store_stop_when(st_store *store, const volatile sig_atomic_t *stop);
// Winners (best) or all measured candidates (one answer a candidate and state of the cache), by family,
// device, problem, cache; then winners newest first, candidates fastest first (by comparable_ns). With `outcomes` one answer a
// candidate, measured or not, with cache "" and no time, by family, device, problem, outcome, configuration.
// With `per` groups stand before all else; with top, per and pareto only correct candidates with a time count,
// each configuration once, by its newest measurement.
// Texts are "" when unknown; detail, ties_json and note are NULL when there is none.
st_code st_store_query(st_store *store, const st_query *query, st_answer_callback *callback,
                       void *context, st_error *error);

// A candidate by a prefix of its id (≥ 4 digits). ST_NOTHING: none; ST_USAGE: ambiguous.
st_code st_store_candidate_key(st_store *store, const char *id_prefix, int64_t *key, st_error *error);
typedef st_code st_measurement_callback(void *context, const st_measurement_row *row, st_error *error);
st_code st_store_measurements(st_store *store, int64_t candidate_key, st_measurement_callback *callback,
                              void *context, st_error *error);
typedef st_code st_counter_callback(void *context, const char *kind, const char *name, double value,
                                    st_error *error);
st_code st_store_counters_of(st_store *store, int64_t candidate_key, st_counter_callback *callback,
                             void *context, st_error *error);
// What taking the profile of this kind took; NaN: not recorded, or there is none.
st_code st_store_profile_seconds(st_store *store, int64_t candidate_key, const char *kind, double *seconds,
                                 st_error *error);
// One answer a state of the cache; a candidate without measurements is one answer with cache "".
st_code st_store_answer_of(st_store *store, int64_t candidate_key, st_answer_callback *callback,
                           void *context, st_error *error);
st_code st_store_stall_lines_of(st_store *store, int64_t candidate_key, char **lines_json,
                                st_error *error); // NULL when there are none; st_free
// For resume: candidates of a session with their outcome, in insertion order.
typedef st_code st_candidate_callback(void *context, const st_candidate_row *row, const char *problem,
                                      const char *configuration, st_error *error);
st_code st_store_candidates(st_store *store, int64_t session, st_candidate_callback *callback,
                            void *context, st_error *error);
// The template's texts by hash (JSON as stored); ST_NOTHING when unknown. st_free.
st_code st_store_template_text(st_store *store, const char *hash, char **text_json, st_error *error);
// The newest finished session (family NULL: any), own before shipped; ST_NOTHING when none.
st_code st_store_session_latest(st_store *store, const char *family, st_session_row *row,
                                st_error *error);
// The newest of all, however it ended.
st_code st_store_session_newest(st_store *store, const char *family, st_session_row *row, st_error *error);
st_code st_store_session_of(st_store *store, const char *id_prefix, st_session_row *row, st_error *error);

// --- shipped history --------------------------------------------------------------------------------------------
// Exports sessions (whole ids; NULL-terminated; NULL: all) as gzip'ed JSON Lines, rows in stable order: same rows, same
// bytes. Imports such a file: rows already there (by stable id) are left alone; imported ones are marked
// shipped when `shipped`.
st_code st_history_export(st_store *store, const char *const *session_ids, const char *path,
                          st_error *error);
st_code st_history_import(st_store *store, const char *path, bool shipped, size_t *added,
                          st_error *error);

#endif
