// SPDX-License-Identifier: Apache-2.0
// What the emit_*.c files and program.c share. emit.c opens with the invariants.
#ifndef SIMTUNE_TUNER_EMIT_INTERNAL_H
#define SIMTUNE_TUNER_EMIT_INTERNAL_H

#include "tuner/emit.h"

#include <jansson.h>

// --- what is known of the names of an expression while it is printed (emit_values.c) -------------
typedef enum st_emit_kind {
    ST_EMIT_UNKNOWN, // not to be printed: the caller's program would not have it
    ST_EMIT_KNOWN,   // printed as a number
    ST_EMIT_SIZE,    // a size axis of the host function: size_n
    ST_EMIT_FACT,    // a fact of the running device: facts.sm_count
    ST_EMIT_ALIGN,   // alignment of a pointer that the caller gives: align_in
    ST_EMIT_COLUMN,  // another number in each plan, a column of the rows: p_BLOCK (emit_shared.c)
    ST_EMIT_LET      // depends on one of these: let_tiles
} st_emit_kind;

typedef struct st_emit_values {
    const st_template *tmpl;
    size_t count;
    int64_t *values;      // of the known
    unsigned char *kinds; // st_emit_kind
    int *index;           // axis, fact, buffer, column or let
    st_range *ranges;     // what each can be
    bool *used;           // printed since st_emit_values_forget
    bool unprintable;     // something unknown was printed
    const unsigned long long *let_bits; // borrowed; not NULL: a let is computed where the row's mask asks for it
} st_emit_values;

// `given[axis]`: this size axis is an argument of the host function; others have the problem's
// value. blocks_per_sm < 0: unknown.
st_code st_emit_values_make(const st_template *tmpl, const st_problem *problem,
                            const st_config *config, int64_t blocks_per_sm, const bool *given,
                            st_emit_values *out, st_error *error);
void st_emit_values_release(st_emit_values *values);
void st_emit_values_forget(st_emit_values *values);
// True with *out when it is a number whatever the size and the device. NULL is `missing`.
bool st_emit_values_known(const st_emit_values *values, const st_expression *expression,
                          int64_t missing, int64_t *out);
// The largest value that it can have.
int64_t st_emit_values_most(const st_emit_values *values, const st_expression *expression,
                            int64_t missing);
// 1 holds, 0 does not, -1 depends on size or device. NULL holds.
int st_emit_values_truth(const st_emit_values *values, const st_expression *condition);
// As a C expression of type long long (a condition: of int).
void st_emit_values_print(st_emit_values *values, const st_expression *expression, int64_t missing,
                          st_text *out);
// The declarations that what was printed since `forget` needs: columns of `row`, sizes (`sizes`: "sizes" or
// "row->size"), alignments (as `alignment` says: "alignment_of(buffers[b_%s])", or an expression without %s), lets in
// order.
void st_emit_values_declare(st_emit_values *values, const char *indent, const char *sizes, const char *alignment,
                            st_text *out);
// The conjuncts of a condition that depend on size or device, printed and joined by &&; "1" when
// none. Facts that the compute capability does not tell (st_emit_fact_of) are guarded by
// facts->complete.
void st_emit_values_print_condition(st_emit_values *values, const st_expression *condition,
                                    bool guard_facts, st_text *out);

// --- device facts and small text (emit_text.c) ---------------------------------------------------
typedef struct st_emit_fact {
    const char *field, *name;
    const char *of_class;   // C expression of `cc`; NULL: the class does not tell
    const char *attribute;  // cudaDevAttr…; NULL: printed specially
} st_emit_fact;
size_t st_emit_fact_count(void);
const st_emit_fact *st_emit_fact_of(size_t index); // in the order of ST_DEVICE_FACTS

// --- small text ----------------------------------------------------------------------------------
void st_emit_string(const char *text, st_text *out);  // "…" with C escapes
void st_emit_upper(const char *text, st_text *out);   // an identifier in capitals, other bytes as _
void st_emit_identifier(const char *text, st_text *out);
void st_emit_comment(const char *text, st_text *out); // one line: control bytes become spaces
void st_emit_number(double value, st_text *out);      // %.9g, or -1 for NaN
const char *st_emit_word(const st_value *values, size_t count, int64_t number); // NULL: an integer

// --- the kernels' text (emit_kernels.c) ----------------------------------------------------------
typedef struct st_emit_strings { char **items; size_t count, capacity; } st_emit_strings;
void st_emit_strings_release(st_emit_strings *strings);
bool st_emit_strings_add(st_emit_strings *strings, const char *text, size_t length); // once each

typedef struct st_emit_kernels {
    st_includes includes;
    bool has_namespace;      // the kernels stand in namespace simtune
    st_text text;            // directives stripped, includes in place
    st_emit_strings macros;  // every macro that the text defines
    st_emit_strings headers; // of `#include <…>` lines that were taken out: they come first
} st_emit_kernels;
// `rename` (may be NULL) takes the place of `simtune` in `namespace simtune` and `simtune::` of
// config templates whose kernels stand there. `embed`: text goes into a namespace of a header: no
// extern "C", system includes taken out.
st_code st_emit_kernels_make(const st_template *tmpl, const char *rename, bool embed,
                             st_emit_kernels *out, st_error *error);
void st_emit_kernels_release(st_emit_kernels *kernels);

// --- the header's model (emit_model.c) -----------------------------------------------------------
// What of the shared text a row needs: bit i is the i-th step, `where` of the template (st_emit_bit), or let
// (st_emit_shared.let_bits).
typedef struct st_emit_masks { unsigned long long steps, limits, wheres, lets; } st_emit_masks;
typedef struct st_emit_row { // of one function; classes have theirs side by side, by size
    size_t choice, plan;
    int64_t from;            // one size axis: smallest size that takes it within its class
    st_emit_masks masks;     // filled by st_emit_share
} st_emit_row;
typedef struct st_emit_class {
    st_device_class device;
    size_t first, count;     // rows, counted from the function's first
} st_emit_class;
typedef struct st_emit_plan { // one distinct configuration, BLOCKS_PER_SM and unseen axes of a function
    size_t choice, structure;
    st_emit_values values;
} st_emit_plan;
typedef struct st_emit_function {
    char *name;              // "f32_sum": tells the functions of one header apart
    char *upper;             // "F32_SUM"
    char *full;              // "simtune_reduce_f32_sum": as callers write it
    struct st_emit_argument *arguments; size_t argument_count;
    size_t first_row, row_count, first_class, class_count, first_plan, plan_count;
    bool has_default;        // the last row is the template's default configuration
} st_emit_function;

typedef struct st_emit_argument { int buffer, axis, scalar; } st_emit_argument; // the others are -1

// What the functions share (emit_shared.c).
typedef struct st_emit_shared {
    st_emit_values values;   // of all plans
    int *column_slots; size_t column_count; // the numbers of a row: parameters first; -1 - B: size of B's elements
    int *element_columns;    // by buffer; -1: the same in all rows
    bool *wheres;            // needed by any row
    unsigned long long steps;// taken by any row
    bool aligns;             // the size of the temporary storage depends on the alignment of a pointer
    unsigned long long *let_bits; // by let; 0: no row needs it
} st_emit_shared;

typedef struct st_emit_model {
    const st_template *tmpl;
    const st_emit_options *options;
    st_emit_shared shared;
    char *base;              // "simtune_reduce"
    char *upper;             // "REDUCE"
    st_choice *choices; size_t choice_count; // sorted; then the defaults
    size_t given_count;      // of them that came from outside
    st_emit_row *rows; size_t row_count;
    st_emit_class *classes; size_t class_count;
    st_emit_plan *plans; size_t plan_count;
    st_emit_function *functions; size_t function_count;
    size_t *structures; size_t structure_count; // choice whose compiled configuration it is
    bool given[ST_MAX_AXES]; // size axes that are arguments
    int size_axes[ST_MAX_AXES]; size_t size_count; // those, in the order of the file
    bool fact_used[32];
    bool split;              // kernels and host functions go into a file of their own (st_emit_split)
    bool in_namespace;       // the kernels stand in namespace simtune: they are right for every size
} st_emit_model;
st_code st_emit_model_make(const st_template *tmpl, const st_choice *choices, size_t count,
                           const st_emit_options *options, st_emit_model *out, st_error *error);
void st_emit_model_release(st_emit_model *model);
// emit_names.c: name and arguments of the newest function of the model, which is that of the choice.
st_code st_emit_name_function(const st_emit_model *model, st_emit_function *function, const st_choice *choice,
                              st_error *error);
// emit_shared.c: fills model->shared and the rows' masks; model->in_namespace is known.
st_code st_emit_share(st_emit_model *model, st_error *error);
void st_emit_share_release(st_emit_shared *shared);
unsigned long long st_emit_bit(size_t index);
int64_t st_emit_column(const st_emit_model *model, const st_emit_row *row, size_t column);
const st_choice *st_emit_row_choice(const st_emit_model *model, const st_emit_function *function,
                                    size_t row);
size_t st_emit_row_plan(const st_emit_model *model, const st_emit_function *function, size_t row);

// --- the parts of the header ---------------------------------------------------------------------
// The hash of the header's text takes this place in the end. Control characters, which no text that is
// printed in a comment, a string or JSON brings along: a device or a command may bear any name.
#define ST_EMIT_HASH_PLACE "\001HASH8\001"
// emit_about.c: whose figures they are, as one line (false: nothing to say); and the comments below
// it.
bool st_emit_warning(const st_emit_model *model, st_text *out);
void st_emit_about(const st_emit_model *model, st_text *out);
// emit_choice.c, emit_search.c: constants; which rows suit a device, each function's rows, and the choice (C and
// C++). Common text stands before (tables) and after (`searches`) what tells which rows suit.
void st_emit_constants(const st_emit_model *model, st_text *out);
void st_emit_choice_common(const st_emit_model *model, bool searches, st_text *out);
st_code st_emit_choice(st_emit_model *model, st_text *out, st_error *error);
// Which of the function's kernels a row takes: the place of its structure among those of the function.
size_t st_emit_kernels_of(const st_emit_model *model, const st_emit_function *function, size_t row);
// emit_host.c: what does not ask for the template, before and after the plan (`calls`). emit_plan.c, emit_steps.c,
// emit_call.c: the plan of a row, its steps, and the functions that people call.
void st_emit_host_common(const st_emit_model *model, bool calls, st_text *out);
st_code st_emit_plan_function(st_emit_model *model, st_text *out, st_error *error);
void st_emit_steps(st_emit_model *model, st_text *out);
st_code st_emit_call_function(st_emit_model *model, const st_emit_function *function, st_text *out, st_error *error);
// Is the argument of a launch a member of the plan, arg_STEP_ARGUMENT? Else it is printed as it is.
bool st_emit_is_number(const st_emit_model *model, size_t step, size_t argument);
// Scalars that every function, or any, has from its caller.
bool st_emit_all_take(const st_emit_model *model, int scalar);
bool st_emit_any_takes(const st_emit_model *model, int scalar);
// Steps that touch the buffer, of those that any row takes.
unsigned long long st_emit_steps_of(const st_emit_model *model, int buffer);
// Is the buffer one of the caller's, `buffers[b_NAME]` in the text?
bool st_emit_is_given(const st_emit_model *model, int buffer);
// The type of an argument as callers write it: "const float *", "size_t ", "float ".
void st_emit_argument_type(const st_emit_model *model, const st_emit_function *function,
                           const st_emit_argument *argument, st_text *out);
const char *st_emit_argument_name(const st_emit_model *model, const st_emit_argument *argument);
// Does a promise of in_place hold for every row of the function?
bool st_emit_in_place(const st_emit_model *model, const st_emit_function *function,
                      const st_in_place *promise);
// Type of a buffer's elements for a problem.
st_type_id st_emit_buffer_type(const st_template *tmpl, const st_problem *problem,
                               const st_buffer *buffer);
// emit_choose.c: the row that the header's function takes on a device for a problem, as its own code does (without
// SIMTUNE_NO_FALLBACK). *row SIZE_MAX: none suits; *exact: it is recorded for the device's class.
st_code st_emit_choose(const st_emit_model *model, const st_emit_function *function, const st_device_facts *device,
                       const st_problem *asked, size_t *row, bool *exact, st_error *error);
// choice_json.c. NULL: no memory. What is read: ST_USAGE, ST_FAILED or ST_NOTHING with what is wrong.
json_t *st_choice_to_json(const st_template *tmpl, const st_choice *choice);
st_code st_choice_from_json(const st_template *tmpl, const json_t *object, st_choice *out, st_error *error);
// "void *temp, size_t *temp_bytes, const float *in, …, cudaStream_t stream"; without types: as a call passes them.
void st_emit_parameters(const st_emit_model *model, const st_emit_function *function, bool types, st_text *out);
// emit_provenance.c
void st_emit_provenance(const st_emit_model *model, st_text *out);

#endif
