// SPDX-License-Identifier: Apache-2.0
// Shared by the files of exchange_*.c and their tests. A file of another tool is read twice: once to check all of
// it, to learn what it is and to name its content, once to store it (exchange_import.c). Each reading is a walk
// (exchange_walk.c) over bytes that are scanned one value at a time (exchange_scan.c), so memory is bounded by the
// largest entry. What an entry says is one st_trial, whatever the form.
#ifndef SIMTUNE_DB_EXCHANGE_INTERNAL_H
#define SIMTUNE_DB_EXCHANGE_INTERNAL_H

#include "db/exchange.h"
#include "db/history_internal.h"
#include "tuner/base/options.h"

#include <jansson.h>
#include <zlib.h>

// --- exchange_scan.c -----------------------------------------------------------------------------------------
enum { ST_SCAN_BLOCK = 1 << 16, ST_SCAN_DEPTH = 64 };
#define ST_SCAN_VALUE_MOST ((size_t)16 << 20)

// The first failure is kept in `code`; everything after it does nothing.
typedef struct st_scan {
    const char *path;
    gzFile file;
    size_t line, column;      // of the next byte, from 1
    st_code code;
    st_error *error;          // never NULL
    size_t at, end;
    bool ended;
    unsigned char block[ST_SCAN_BLOCK];
} st_scan;
st_code st_scan_open(st_scan *scan, const char *path, st_error *error);
void st_scan_close(st_scan *scan);
// The next byte that is no white space, left where it is; -1 at the end of the file and after a failure.
int st_scan_peek(st_scan *scan);
bool st_scan_take(st_scan *scan, char wanted);    // takes it when it is the next one
void st_scan_need(st_scan *scan, char wanted);    // fails when it is not
// The next value as text without white space; NaN and infinities, which Python writes, as null. Whether it is JSON
// is for the parser to say.
void st_scan_value(st_scan *scan, st_text *out);
st_code st_scan_fail(st_scan *scan, const char *remedy, const char *format, ...) ST_PRINTF(3, 4);

// --- exchange_walk.c -----------------------------------------------------------------------------------------
typedef struct st_walk_visitor {
    void *context;
    // Each member of the outermost object that is not the list of entries.
    st_code (*member)(void *context, const char *name, const json_t *value, st_error *error);
    // `key` is NULL in T4; `text` is the entry without white space.
    st_code (*entry)(void *context, const char *key, const st_text *text, const json_t *value, st_error *error);
} st_walk_visitor;
typedef struct st_walked {
    st_exchange_form form;
    size_t entries;
    bool cut;
} st_walked;
// ST_FAILED names file, line and entry.
st_code st_exchange_walk(const char *path, const st_walk_visitor *visitor, st_walked *out, st_error *error);

// The counter that keeps the mean as the file reports it.
#define ST_REPORTED_MEAN "reported.mean_ns"

// --- one trial -----------------------------------------------------------------------------------------------
enum { ST_TRIAL_SECONDS = 4 };
extern const char *const st_trial_seconds_names[ST_TRIAL_SECONDS]; // verify, benchmark, framework, strategy

typedef struct st_trial_counter {
    char *name;          // owned
    bool sampled;        // kind "pc", else "range"
    double value;
} st_trial_counter;
typedef struct st_trial {
    st_text configuration;       // canonical text
    char outcome[16];
    st_text detail;              // empty: none
    double *samples_ns;
    size_t sample_count, sample_capacity;
    size_t lost;                 // samples without a value
    double mean_ns;              // as reported; NaN unknown
    int64_t taken_ms;            // -1 unknown
    double compile_seconds, seconds[ST_TRIAL_SECONDS]; // NaN unknown
    int registers, local_bytes, static_smem, dynamic_smem, blocks_per_sm, deterministic; // -1 unknown
    double occupancy;
    st_trial_counter *counters;
    size_t counter_count, counter_capacity;
} st_trial;
void st_trial_init(st_trial *trial);
void st_trial_clear(st_trial *trial);   // keeps memory
void st_trial_release(st_trial *trial);
// Of the samples, else the mean as reported; NaN unknown.
st_code st_trial_median_ns(const st_trial *trial, double *out, st_error *error);
// " NAME=VALUE"; a space, a control character and % stand as %20 …
st_code st_trial_add_parameter(st_trial *trial, const char *name, const json_t *value, st_error *error);
// Reads a list of times; those that are null are lost.
st_code st_trial_add_samples(st_trial *trial, const json_t *list, double unit_ns, st_error *error);
// A figure beside the times, by its name: a property of the candidate, or a counter. Counters that were sampled are
// named pc.NAME; range.NAME is an exact one that has the name of a property.
bool st_is_property_name(const char *name);
st_code st_trial_add_figure(st_trial *trial, const char *name, double value, st_error *error);
// "correct", or a word of ours for a failure; `words` is what the file says about it.
void st_trial_set_outcome(st_trial *trial, const char *outcome, const char *words);
// One of the words of DESIGN.md §4.
bool st_is_outcome(const char *word);
// Milliseconds or another unit as nanoseconds. What was written as decimals comes back as the same decimals.
double st_scaled_ns(double value, double unit_ns);
// "2023-12-22 09:54:05.502007+00:00" and its like; -1 when it is none.
int64_t st_date_parse(const char *text);

// --- what a file says as a whole -------------------------------------------------------------------------------
typedef struct st_sheet {
    char device[96], family[64], type[16], operation[64], cache[8];
    char problem[512];           // canonical text
    int64_t n;
    char tool[32], driver[32], compiler[48];
    int driver_cuda, cc, sm_count; // -1 unknown
    double unit_ns;              // of the times in it
    bool device_unknown, family_of_path;
    const json_t *head;          // all members but the entries
} st_sheet;

// A reader of a form: what the members say, then entry by entry.
typedef struct st_exchange_reader {
    st_code (*sheet)(const json_t *head, st_sheet *out, st_error *error);
    st_code (*trial)(const st_sheet *sheet, const char *key, const json_t *entry, st_trial *out, st_error *error);
} st_exchange_reader;
extern const st_exchange_reader st_t4_reader, st_kernel_tuner_reader;

// --- exchange_survey.c: the first reading -------------------------------------------------------------------------
typedef struct st_survey {
    st_walked walked;
    json_t *head;                  // owned
    st_sheet sheet;
    int64_t first_ms, last_ms;     // dates of entries; -1 unknown
    char entries_id[ST_HASH_TEXT]; // names the entries' content
    char session_id[ST_HASH_TEXT]; // and this the whole
} st_survey;
// True for what history_import.c is to judge: a file of ours, and what cannot be read twice.
st_code st_exchange_is_history(const char *path, bool *history, st_error *error);
st_code st_exchange_survey(const char *path, const st_import_wish *wish, st_survey *out, st_error *error);
void st_survey_release(st_survey *survey);
const st_exchange_reader *st_exchange_reader_of(st_exchange_form form);

// --- exchange_store.c: the second ---------------------------------------------------------------------------------
// All rows of the file; the caller holds the transaction.
st_code st_exchange_store(st_store *store, const char *path, const st_survey *survey, st_imported *out, st_error *error);

// --- exchange_select.c --------------------------------------------------------------------------------------------
// Fills temp.chosen (session_key) and temp.chosen_problem (problem_key) of this connection, and opens a read
// transaction unless one is open; *sessions: how many. ST_NOTHING when nothing matches.
st_code st_exchange_select(st_store *store, const st_export_wish *wish, bool *reading, size_t *sessions,
                           st_error *error);
void st_exchange_unselect(st_store *store, bool reading);

// --- exchange_rows.c: what a T4 or a Kernel Tuner file is made of ----------------------------------------------------
typedef struct st_parameter {
    char *name;          // as the file names it
    st_list values;      // distinct texts, numbers by size
} st_parameter;
typedef struct st_export_rows {
    st_store *store;
    st_exported *out;
    st_sheet sheet;      // device, family, problem … of all of them; head is NULL
    st_parameter *parameters;
    size_t parameter_count, parameter_capacity;
} st_export_rows;
// One candidate to be written: times are those of its standing measurement.
typedef struct st_export_row {
    const char *outcome, *detail;
    st_list values;              // of the parameters, in their order
    const double *samples_ns; size_t sample_count;
    double mean_ns;              // NaN: not measured
    double compile_seconds, benchmark_seconds; // NaN unknown
    int64_t taken_ms;            // -1 unknown
    int properties[6];           // registers … deterministic, as st_property_names; -1 unknown
    double occupancy;
    const st_trial_counter *counters; size_t counter_count;
} st_export_row;
enum { ST_PROPERTIES = 6 };
extern const char *const st_property_names[ST_PROPERTIES];
typedef st_code st_export_row_writer(void *context, const st_export_row *row, st_error *error);
// After st_exchange_select: decides which candidates go out and fills `rows` (st_export_rows_release).
st_code st_export_rows_open(st_store *store, const st_export_wish *wish, st_exported *out, st_export_rows *rows,
                            st_error *error);
st_code st_export_rows_each(st_export_rows *rows, st_export_row_writer *writer, void *context, st_error *error);
void st_export_rows_release(st_export_rows *rows);

// --- exchange_sink.c: a file that is being made, gzip'ed or not -------------------------------------------------------
typedef struct st_sink {
    const char *path;
    bool zipped;
    z_stream stream;
    st_writing file;
    st_text waiting; // to be written: a block at a time
} st_sink;
st_code st_sink_open(st_sink *sink, const char *path, bool zipped, st_error *error);
st_code st_sink_add(st_sink *sink, const st_text *text, st_error *error);
// Ends the file and puts it at its name; an equal one is left untouched.
st_code st_sink_finish(st_sink *sink, st_error *error);
void st_sink_release(st_sink *sink);
bool st_path_is_zipped(const char *path);

// --- exchange_text.c: JSON as text ----------------------------------------------------------------------------------
void st_json_add_text(st_text *out, const char *text);   // in quotes; what is no UTF-8 becomes ?
void st_json_add_real(st_text *out, double value);       // with a point or an exponent, so that it is read as real
void st_json_add_key(st_text *out, const char *name);    // ,"name":  without the comma after a bracket
// A value of a configuration's text: a number, true, false, None, or a word; unescaped.
void st_json_add_value(st_text *out, const char *value);
void st_json_add_date(st_text *out, int64_t unix_ms);    // "2026-11-30 08:22:10.798000+00:00"
void st_json_add_own(st_text *out, const st_sheet *sheet); // the object "simtune"
void st_text_add_unescaped(st_text *out, const char *text, size_t length);

// --- writers ---------------------------------------------------------------------------------------------------------
st_code st_t4_write(st_export_rows *rows, st_sink *sink, st_error *error);
st_code st_kernel_tuner_write(st_export_rows *rows, st_sink *sink, st_error *error);

// The member "simtune", which our own files carry for the way back; what it lacks stays as it is.
st_code st_sheet_read_own(const json_t *own, const char *form_words, st_sheet *out, st_error *error);
// A name as a family: letters, digits and _; cut where it is too long.
void st_family_of(const char *name, char *out, size_t capacity);

#endif
