// SPDX-License-Identifier: Apache-2.0
// A template: one annotated .cu file, one family. Promise: after loading, everything that the
// directives say is in this struct, checked: every name is known, every expression parses, every
// buffer and kernel argument exists. A mistake is reported as FILE:LINE with the remedy.
//
// Directives are comments "// simtune: WORD …" (a trailing backslash goes on in the next such line):
//
//   family NAME
//   axis   NAME = VALUE … [data]       given, not tuned. A name of base/types.h makes a type axis (at most
//                                      one), other words a word axis, integers a size axis. A default run
//                                      takes the first type and word, and every size. `data`: a property of
//                                      the data that a caller of the header does not know: the first value
//                                      only, and the header is printed from rows of that one
//   problem EXPRESSION                 which combinations of axis values make sense (axes, device facts)
//   usual  EXPRESSION                  which problems a run takes by itself; others only where they are named
//   param  NAME = VALUE … [role R …] [runtime]
//                                      integers, words, or START:END:STEP (end included); `runtime`: only
//                                      the launch plan uses it, so it does not reach the compiler
//   default PARAM=VALUE …              one value for every parameter: the configuration to beat
//   rival  PARAM=VALUE …               values that people ask about: the best configuration of each is raced with
//                                      the winner, and the report says why it is slower
//   where  EXPRESSION                  must hold for every allowed configuration
//   prune  EXPRESSION                  likewise, but only shortens the search for the problem at hand: what
//                                      it leaves out is correct, and --set, --vary, the checks at other
//                                      sizes and headers do not ask it
//   let    NAME = EXPRESSION           late if it uses BLOCKS_PER_SM (resident blocks of the first launch);
//                                      uses lets above it only. Late names may decide grid, cluster, args,
//                                      sizes of temp buffers, height and where, not block, smem or when
//   determinism LEVEL when EXPRESSION  LEVEL is run_to_run; what no line grants is `none`
//   determinism default none [when E]  a default run does not ask for run_to_run (axes only)
//   buffer NAME : ROLE TYPE[COUNT] [fill F] [guard]
//                                      ROLE input output inout temp expected magnitude derived; TYPE a type
//                                      axis's name, a name of base/types.h, or reference_T (f64 for float T,
//                                      T for integers); F: values (default for input) zero distinct
//                                      flags(PERCENT, RUN) … with arguments over axes and device facts
//   fill   BUFFER F [when E]           instead of the buffer's own fill, where E holds (axes only); the first that holds
//   scalar NAME : TYPE = EXPRESSION    an argument by value: NAME in args= and host_args; a parameter of the
//                                      header's host function, EXPRESSION (axes, device facts) while tuning
//   in_place INPUT OUTPUT [when E]     they may be the same memory
//   zero   BUFFER [when EXPRESSION]    memset to 0 before what follows
//   launch KERNEL[<Config>] grid=E[,E[,E]] block=E[,E[,E]] [smem=E] [cluster=E] [dependent=E] args=A,… [when E]
//                                      A is a buffer, or EXPRESSION:TYPE (a size axis alone means :u64)
//   reference KERNEL[<Config>] file=FILE grid=… block=… args=… [when E]
//                                      the plain kernel(s) that fill `expected` and `magnitude`; FILE is
//                                      relative to this one. Without any, the default configuration's
//                                      output is what others are compared with.
//   derive KERNEL[<Config>] [file=FILE] grid=… block=… args=… [when E]
//                                      plain kernels that fill `derived` buffers from outputs, after the
//                                      launches and while verifying only; <Config> is the default's
//   compare OUTPUT [with EXPECTED] [magnitude BUFFER] [height E] [tolerance TEXT] [when E]
//                                      without `with` (only where there is no reference): what the default
//                                      configuration gave.
//                                      float outputs are held to PRIMITIVES' bound with the height of the
//                                      summation tree, exact data bit by bit. Without `height`: bit by bit
//                                      always, or relative `tolerance` (1e-5) for users' kernels: a share of
//                                      what is expected, or of the magnitude, on all data.
//   bytes  EXPRESSION                  moved by one run, for GB/s
//   host_args BUFFER|AXIS|SCALAR,… [when E]
//                                      order in the header's host function (default: inputs, outputs,
//                                      scalars, sizes); of several lines the first that holds (axes only)
//   host_name PATTERN [when E]         its name behind `simtune_`: {kind}_scan_{T}_{op}; likewise
//   summary TEXT                       one line for `simtune templates`
//
// A launch with <Config> makes it a "config" template: kernels are templates over `class Config`, which
// gets `typedef … T`, and `static const int NAME = …` for every word axis and compiled parameter, words
// spelled NAME_word (an enumerator that the template declares in namespace simtune). Without it,
// parameters reach the kernel as macros: -DBLOCK=256 -DFINISH=1 and -DFINISH_cluster=1 for each word.
#ifndef SIMTUNE_TUNER_TEMPLATE_H
#define SIMTUNE_TUNER_TEMPLATE_H

#include "tuner/base/error.h"
#include "tuner/base/expression.h"
#include "tuner/base/hash.h"
#include "tuner/base/roles.h"
#include "tuner/base/text.h"
#include "tuner/base/types.h"
#include "tuner/gpu/device.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ST_MAX_AXES 12
#define ST_MAX_PARAMETERS 40
#define ST_MAX_DIMS 3
#define ST_MAX_RIVALS 6

// A value of an axis or parameter: an integer, or a word with its number.
typedef struct st_value {
    char *word;     // NULL for integers
    int64_t number; // words: one number a word in the whole file (types: their st_type_id, others above)
} st_value;

typedef enum st_axis_kind { ST_AXIS_TYPE, ST_AXIS_WORD, ST_AXIS_SIZE } st_axis_kind;

typedef struct st_axis {
    char *name;
    st_axis_kind kind;
    st_value *values;
    size_t value_count;
    bool data; // of the data: unknown to callers of the header
    int slot; // in the template's scope
} st_axis;

typedef struct st_parameter {
    char *name;
    st_value *values; // in the order of the file
    size_t value_count;
    size_t default_index;
    unsigned roles;     // st_role bits
    bool runtime;     // does not reach the compiler
    int slot;
    int line;
} st_parameter;

typedef struct st_let { char *name; st_expression *value; int slot; bool late; } st_let;

typedef enum st_buffer_role {
    ST_BUFFER_INPUT, ST_BUFFER_OUTPUT, ST_BUFFER_INOUT, ST_BUFFER_TEMP, ST_BUFFER_EXPECTED,
    ST_BUFFER_MAGNITUDE, ST_BUFFER_DERIVED
} st_buffer_role;

#define ST_FILL_ARGUMENTS 3

// What data are made of; the worth of the arguments uses axes and facts of the device only.
typedef struct st_fill {
    char *word;           // "values", "zero", "flags" …; "none": not asked for (temp, output …)
    st_expression *arguments[ST_FILL_ARGUMENTS]; // NULL: not given
    size_t argument_count;
} st_fill;

typedef struct st_buffer {
    char *name;
    st_buffer_role role;
    char *type_word;      // as written: "T", "f32", "reference_T"
    st_expression *count; // elements; may be late for temp
    st_fill fill;         // where no st_fill_line holds
    int align_slot;       // slot of align_NAME: alignment of its pointer in bytes (at most 256)
} st_buffer;

// Takes the place of a buffer's own fill for some problems; of several lines the first that holds.
typedef struct st_fill_line {
    size_t buffer;
    st_fill fill;
    st_expression *when;  // axes only; NULL: always
    int line;
} st_fill_line;

// An argument by value of the header's host function. The worth of it while tuning uses axes and facts only.
typedef struct st_scalar {
    char *name;
    char *type_word;      // "T", "f32"
    st_expression *value;
    int line;
} st_scalar;

typedef struct st_argument {
    int buffer;           // index, or -1
    int scalar;           // index, or -1
    st_expression *value; // when both are -1
    st_type_id type;      // of a value
} st_argument;

typedef enum st_step_kind { ST_STEP_ZERO, ST_STEP_LAUNCH } st_step_kind;

typedef struct st_step {
    st_step_kind kind;
    int line;
    st_expression *when;  // NULL: always
    int buffer;           // ZERO
    char *kernel;         // LAUNCH: name without <Config>
    bool uses_config;
    char *file;           // of a reference; NULL: the template itself
    st_expression *grid[ST_MAX_DIMS], *block[ST_MAX_DIMS]; // NULL: 1
    st_expression *smem, *cluster, *dependent;             // NULL: 0, 1, 0
    st_argument *arguments;
    size_t argument_count;
} st_step;

typedef struct st_compare {
    int output, expected, magnitude; // buffers; expected -1: the default's output, magnitude -1: none
    st_expression *height;           // NULL: exact
    double tolerance;                // a share of the magnitude, or without one of what is expected; 0: none
    st_expression *when;             // NULL: always
} st_compare;

typedef struct st_rival { int parameter; int64_t value; } st_rival;

typedef struct st_determinism_rule { st_expression *when; } st_determinism_rule;
typedef struct st_in_place { int input, output; st_expression *when; } st_in_place;
// Of several, the first whose `when` holds; these ask for axes only.
typedef struct st_host_name { char *pattern; st_expression *when; int line; } st_host_name;
typedef struct st_host_list { char **names; size_t count; st_expression *when; int line; } st_host_list;

typedef struct st_template {
    char *path;           // as opened
    char *folder;         // for its includes
    char *family, *summary;
    char *text;           // the whole file
    size_t text_length;
    char hash[ST_HASH_TEXT]; // of the text and of every file that it includes with "…"
    st_scope scope;       // axes, parameters, words, device facts, size_of_T …, lets, align_NAME
    bool is_config;       // parameters are template arguments
    st_axis *axes; size_t axis_count;
    st_parameter *parameters; size_t parameter_count;
    st_rival rivals[ST_MAX_RIVALS]; size_t rival_count;
    st_let *lets; size_t let_count;
    st_expression **wheres; size_t where_count;
    st_expression **prunes; size_t prune_count;
    st_expression **problem_rules; size_t problem_rule_count;
    st_expression **usual_rules; size_t usual_rule_count;
    st_determinism_rule *determinism; size_t determinism_count;
    st_determinism_rule *default_none; size_t default_none_count; // `determinism default none`
    st_buffer *buffers; size_t buffer_count;
    st_fill_line *fill_lines; size_t fill_line_count;
    st_scalar *scalars; size_t scalar_count;
    st_step *steps; size_t step_count;
    st_step *references; size_t reference_count;
    st_step *derives; size_t derive_count;
    st_in_place *in_places; size_t in_place_count;
    st_compare *compares; size_t compare_count;
    st_expression *bytes; // NULL: unknown
    st_host_list *host_lists; size_t host_list_count; // the last has no `when`
    st_host_name *host_names; size_t host_name_count;
    // Slots of what the tool itself binds; -1 when the scope lacks it.
    int slot_blocks_per_sm, slot_size_of_type, slot_is_float;
    int fact_slots[32];   // in the order of ST_DEVICE_FACTS
    char **made_names; size_t made_name_count; // size_of_T, align_in …: the scope borrows them
} st_template;

st_code st_template_load(const char *path, st_template **out, st_error *error);
// `text` need not stay; `path` is for messages and includes.
st_code st_template_parse(const char *path, const char *text, size_t length, st_template **out,
                          st_error *error);
void st_template_free(st_template *tmpl);
int st_template_parameter(const st_template *tmpl, const char *name); // index or -1
int st_template_axis(const st_template *tmpl, const char *name);
int st_template_buffer(const st_template *tmpl, const char *name);
int st_template_scalar(const st_template *tmpl, const char *name);
// The path of a shipped example's template, of "" that of their folder, in `path`, which is empty before, and also
// when there is none (ST_NOTHING).
st_code st_template_example(const char *name, st_text *path, st_error *error);
// Finds the shipped template of a family ("reduce") or of an example, or takes `name` as a path when it has a
// slash or ends in .cu.
st_code st_template_find(const char *name, st_template **out, st_error *error);
// The files that the text includes with "…", directly and indirectly: names and texts, for NVRTC, the
// hash and the header. Owned by the caller (release frees).
typedef struct st_include { char *name, *path, *text; } st_include;
typedef struct st_includes { st_include *items; size_t count, capacity; } st_includes;
st_code st_template_includes(const st_template *tmpl, st_includes *out, st_error *error);
// The same for a text that belongs to the template and lies in `folder`: a reference.
st_code st_template_includes_of(const st_template *tmpl, const char *folder, const char *text, st_includes *out,
                                st_error *error);
void st_includes_release(st_includes *includes);

// --- a problem: one value for each axis --------------------------------------------------------------
typedef struct st_problem {
    int64_t value[ST_MAX_AXES]; // number of the type or word; the size itself for size axes
} st_problem;
// "T=f32 op=sum n=65536": canonical, axes in the order of the file.
void st_problem_text(const st_template *tmpl, const st_problem *problem, st_text *out);
st_code st_problem_parse(const st_template *tmpl, const char *text, st_problem *out, st_error *error);
// One value of an axis from text: "f32", "sum", "64Ki".
st_code st_axis_value(const st_template *tmpl, int axis, const char *text, int64_t *out, st_error *error);
// The type of the type axis, or NULL when the family has none.
const st_type *st_problem_type(const st_template *tmpl, const st_problem *problem);
// The first `problem` rule that does not hold for these values, or NULL. `device` may be NULL: rules that ask
// for device facts are then taken to hold. A rule that cannot be evaluated does not hold.
const st_expression *st_problem_broken_rule(const st_template *tmpl, const st_problem *problem,
                                            const st_device_facts *device);
// The first `usual` line that does not hold, or NULL: nothing is wrong with such a problem, but a run takes it
// only where its values were named.
const st_expression *st_problem_unusual_rule(const st_template *tmpl, const st_problem *problem);
// Does a default run of the problem do without run_to_run (`determinism default none`)?
bool st_problem_default_none(const st_template *tmpl, const st_problem *problem);
// The list of host_args and the pattern of host_name (NULL: none) that hold for the problem.
const st_host_list *st_problem_host_list(const st_template *tmpl, const st_problem *problem);
const char *st_problem_host_name(const st_template *tmpl, const st_problem *problem);
st_type_id st_problem_scalar_type(const st_template *tmpl, const st_problem *problem, const st_scalar *scalar);
// True when all data axes have their first value: rows of these make headers.
bool st_problem_is_usual(const st_template *tmpl, const st_problem *problem);

// --- a configuration: one value for each parameter ---------------------------------------------------
typedef struct st_config { int64_t value[ST_MAX_PARAMETERS]; } st_config;
void st_config_default(const st_template *tmpl, st_config *out);
// "BLOCK=256 VEC=4 FINISH=cluster": canonical, parameters in the order of the file.
void st_config_text(const st_template *tmpl, const st_config *config, st_text *out);
// All parameters must be there, with values of their lists.
st_code st_config_parse(const st_template *tmpl, const char *text, st_config *out, st_error *error);
bool st_config_equal(const st_template *tmpl, const st_config *a, const st_config *b);
// A value of one parameter from text ("256", "cluster").
st_code st_parameter_value(const st_template *tmpl, int parameter, const char *text, int64_t *out,
                           st_error *error);
void st_parameter_value_text(const st_template *tmpl, int parameter, int64_t value, st_text *out);

// --- evaluation: all slots of the scope ----------------------------------------------------------------
typedef struct st_bindings {
    const st_template *tmpl;
    int64_t *values;  // one a slot; owned
    bool late_known;  // blocks_per_sm was given
    bool lets_failed; // a let went wrong after st_bindings_align; evaluating says which
} st_bindings;
// Binds axes, parameters, facts, and the lets that are not late.
st_code st_bindings_make(const st_template *tmpl, const st_problem *problem, const st_config *config,
                         const st_device_facts *device, st_bindings *out, st_error *error);
// Adds BLOCKS_PER_SM and evaluates the late lets.
st_code st_bindings_late(st_bindings *bindings, int64_t blocks_per_sm, st_error *error);
// Sets align_NAME for a buffer (256 by default).
void st_bindings_align(st_bindings *bindings, int buffer, int64_t alignment);
void st_bindings_release(st_bindings *bindings);
// Evaluates one of the template's expressions; NULL gives `missing`.
st_code st_bindings_evaluate(const st_bindings *bindings, const st_expression *expression,
                             int64_t missing, int64_t *out, st_error *error);
st_type_id st_buffer_type(const st_bindings *bindings, const st_buffer *buffer);
st_type_id st_bindings_scalar_type(const st_bindings *bindings, const st_scalar *scalar);
// True when one of the determinism lines grants run_to_run.
st_code st_bindings_deterministic(const st_bindings *bindings, bool *out, st_error *error);

#endif
