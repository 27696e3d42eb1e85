// SPDX-License-Identifier: Apache-2.0
// Headers (DESIGN.md §9). Promise: the same choices and template give the same bytes; what is printed
// compiles without warnings as C11, C++11 and CUDA C++ (12.6 to 13), needs nothing but the CUDA runtime,
// and its host functions keep the contract of §9.
#ifndef SIMTUNE_TUNER_EMIT_H
#define SIMTUNE_TUNER_EMIT_H

#include "tuner/template.h"

// Of the provenance block in a header: how its lines begin, and its newest form.
#define ST_PROVENANCE_START "// simtune-provenance "
#define ST_PROVENANCE_SCHEMA 1

// One line of the header's table: for this device class and problem, this configuration.
typedef struct st_choice {
    st_problem problem;
    st_config config;
    st_device_class device_class;
    int blocks_per_sm;        // of the main kernel (plan.h), as measured; ≥ 1
    // provenance, printed as comments and as a machine-readable block
    char device_name[96], driver[32], compiler[48], template_hash[ST_HASH_TEXT];
    char session_id[ST_HASH_TEXT], candidate_id[ST_HASH_TEXT];
    int64_t memory_bytes;
    int64_t measured_ms;      // date, from the store
    size_t samples;
    double median_ns, speedup, speedup_low, speedup_high; // NaN unknown
    double gbs;               // NaN unknown
    int tied;
    bool deterministic;
    bool predicted;           // no measurement behind it
    bool emulated;
    bool shipped;             // from the history that ships, not measured by this user
} st_choice;

typedef struct st_emit_options {
    const char *cache;        // "cold" or "warm": what the choices were made by
    bool not_tuned_here;      // first line says so
    const char *command;      // that would make it again
    bool split;               // kernels go into a .cu beside the header (st_header_publish)
    bool alone;               // an existing header's other classes are not kept (st_header_publish)
} st_emit_options;

// Choices in any order; they are sorted (type, operation, class, n). At least one.
st_code st_emit_header(const st_template *tmpl, const st_choice *choices, size_t count,
                       const st_emit_options *options, st_text *out, st_error *error);
// The same in two files: the header with constants, choice and declarations, and a .cu with kernels and host functions
// that includes it by `header_name` and is compiled once. Both have one hash.
st_code st_emit_split(const st_template *tmpl, const st_choice *choices, size_t count,
                      const st_emit_options *options, const char *header_name, st_text *header, st_text *source,
                      st_error *error);
// Reads the provenance block of a header made earlier back into choices (for adding a second device to
// the same file): only classes other than `except` (may be NULL). `*choices` is st_free'd by the caller.
// ST_NOTHING when the file is absent; ST_FAILED when it is not one of ours or from a newer simtune;
// ST_STALE when it was made from another template.
st_code st_emit_read(const st_template *tmpl, const char *path, const st_device_class *except,
                     st_choice **choices, size_t *count, st_error *error);
// A standalone program for one candidate: source text plus, in its first comment, nvcc and ncu lines.
st_code st_emit_repro(const st_template *tmpl, const st_choice *choice, const st_device_facts *device,
                      st_text *out, st_error *error);

// The program text that NVRTC compiles for some configurations: template, then one struct a
// configuration named simtune_config_<i> (in namespace simtune when the kernels stand there, else global).
// Also the name expressions of every launch of each. A macro template (one configuration only) gets #define
// lines in front. The text depends on type, words and compiled parameters, not on sizes.
// Shared by the tuning run and the tests.
typedef struct st_program {
    st_text source;
    st_includes includes;
    char **options; size_t option_count;   // owned
    char **kernels; size_t kernel_count;   // owned; [config][launch]: launch_count each
    bool *used;                            // owned, as kernels: false where `when` rules this launch out for
                                           // this configuration whatever the size and device; its kernel
                                           // is then the name of a used one, so that every name compiles
    size_t launch_count;                   // launch steps of the plan, in order
} st_program;
st_code st_program_make(const st_template *tmpl, const st_problem *problem, const st_config *configs,
                        size_t config_count, st_program *out, st_error *error);
// The same for the `reference` directives, with the problem's type and words and the default
// configuration as simtune_config_0; launches are the template's references, then its derives. ST_NOTHING when
// it has no reference.
st_code st_reference_program_make(const st_template *tmpl, const st_problem *problem, st_program *out,
                                  st_error *error);
void st_program_release(st_program *program);

// "struct NAME {\n    typedef float T; … };": type axis, word axes and compiled parameters.
void st_program_config_struct(const st_template *tmpl, const st_problem *problem,
                              const st_config *config, const char *name, st_text *out);
// What a macro template gets instead, one callback a macro: "BLOCK" and "256".
typedef void st_macro_callback(void *context, const char *name, const char *value);
void st_program_macros(const st_template *tmpl, const st_problem *problem, const st_config *config,
                       st_macro_callback *callback, void *context);
// True when the file that holds the template's kernels (itself or one that it includes) opens namespace
// simtune: they are taken to stand in it.
bool st_program_in_namespace(const st_template *tmpl, const st_includes *includes);

#endif
