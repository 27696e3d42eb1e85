// SPDX-License-Identifier: Apache-2.0
// `simtune predict`: a static choice for device classes without history, stored as rows that say so; with
// --leave-one-out, what such a choice is worth where it can be told. Invariants: 1. no GPU is needed, and nothing runs;
// 2. a class that was measured is not predicted over; 3. --leave-one-out changes nothing.
#include "reports/format.h"
#include "tuner/base/memory.h"
#include "tuner/base/paths.h"
#include "tuner/cli/cli_answers.h"
#include "tuner/cli/families.h"
#include "tuner/gpu/device_class.h"
#include "tuner/predict.h"
#include "tuner/cli/tune_options.h"

#include <math.h>
#include <string.h>

enum { LEAST_MEASURED = 40, CLASSES_MOST = 16 };

typedef struct job {
    st_cli *cli;
    st_store *store;
    st_template *tmpl;
    st_measured measured;
    st_device_class device_class;
    st_prediction *made; size_t count, capacity;
    size_t failed, stored;  // problems
    json_t *list;           // of JSON
    // leave one out
    double losses, defaults; // sums of logarithms
    size_t left_out, with_default;
} job;

// --- leave one out -----------------------------------------------------------------------------------------------------

static char *problem_text(const st_template *tmpl, const st_problem *problem)
{
    st_text text;
    st_text_init(&text);
    st_problem_text(tmpl, problem, &text);
    return st_text_take(&text);
}

static char *config_text(const st_template *tmpl, const st_config *config)
{
    st_text text;
    st_text_init(&text);
    st_config_text(tmpl, config, &text);
    return st_text_take(&text);
}

static bool put_left_out(job *it, const st_left_out *row, const char *problem)
{
    char *chosen = config_text(it->tmpl, row->chosen), *best = config_text(it->tmpl, row->best);
    json_t *object = json_object();
    bool whole = object && chosen && best && st_json_put(object, "family", json_string(it->tmpl->family)) &&
                 st_json_put(object, "device", json_string(row->device->name)) &&
                 st_json_put(object, "by", st_json_text_or_null(row->by ? row->by->name : NULL)) &&
                 st_json_put(object, "problem", json_string(problem)) &&
                 st_json_put(object, "candidates", json_integer((json_int_t)row->candidates)) &&
                 st_json_put(object, "predicted", json_string(chosen)) && st_json_put(object, "winner", json_string(best)) &&
                 st_json_put(object, "predicted_ns", st_json_number(row->chosen_ns)) &&
                 st_json_put(object, "winner_ns", st_json_number(row->best_ns)) &&
                 st_json_put(object, "default_ns", st_json_number(row->default_ns)) &&
                 st_json_put(object, "loss", st_json_number(row->chosen_ns / row->best_ns - 1)) &&
                 json_array_append(it->list, object) == 0;
    json_decref(object);
    st_free(chosen);
    st_free(best);
    return whole;
}

static void print_left_out(const job *it, const st_left_out *row, const char *problem)
{
    st_text text, cell;
    st_text_init(&text);
    st_text_init(&cell);
    st_text_add(&cell, "  ");
    st_report_problem(&cell, problem);
    st_report_left(&text, st_text_string(&cell), 58);
    const double times[] = {row->best_ns, row->chosen_ns, row->default_ns};
    for (int i = 0; i < 3; i++) {
        st_text_clear(&cell);
        st_report_time(&cell, times[i]);
        st_report_right(&text, st_text_string(&cell), 11);
    }
    st_text_addf(&text, " %7.1f %%\n", (row->chosen_ns / row->best_ns - 1) * 100);
    st_cli_print(it->cli, it->cli->out, st_text_string(&text));
    st_text_release(&text);
    st_text_release(&cell);
}

static st_code take_left_out(void *context, const st_left_out *row, st_error *error)
{
    job *it = context;
    char *problem = problem_text(it->tmpl, row->problem);
    bool whole = problem != NULL;
    if (whole && it->cli->json)
        whole = put_left_out(it, row, problem);
    else if (whole)
        print_left_out(it, row, problem);
    st_free(problem);
    it->losses += log(row->chosen_ns / row->best_ns);
    it->left_out++;
    if (!isnan(row->default_ns)) {
        it->defaults += log(row->default_ns / row->best_ns);
        it->with_default++;
    }
    return whole ? ST_OK : st_fail_memory(error, "printing predictions");
}

static void print_mean(const job *it, const char *what, double losses, double defaults, size_t count, size_t with_default)
{
    if (!it->cli->json && count)
        fprintf(it->cli->out, "  %s: %.1f %% slower than the winner in the geometric mean of %zu; the default %.0f %%\n", what,
                (exp(losses / (double)count) - 1) * 100, count,
                with_default ? (exp(defaults / (double)with_default) - 1) * 100 : NAN);
}

static st_code leave_out_family(job *it, st_error *error)
{
    double losses = it->losses, defaults = it->defaults;
    size_t count = it->left_out, with_default = it->with_default;
    if (it->measured.stale)
        fprintf(it->cli->talk, "note: rows of %s left out, measured with another version of its template: %zu\n",
                it->tmpl->family, it->measured.stale);
    if (!it->measured.count)
        return ST_OK;
    if (!it->cli->json)
        fprintf(it->cli->out, "%-58s %10s %10s %10s %9s\n", it->tmpl->family, "winner", "predicted", "default", "loss");
    st_code code = st_predict_left_out(it->tmpl, &it->measured, LEAST_MEASURED, take_left_out, it, error);
    if (code == ST_OK)
        print_mean(it, it->tmpl->family, it->losses - losses, it->defaults - defaults, it->left_out - count,
                   it->with_default - with_default);
    return code;
}

// --- predicting --------------------------------------------------------------------------------------------------------

static st_code take_prediction(void *context, const st_problem *problem, const st_prediction *prediction,
                               const st_error *why, st_error *error)
{
    job *it = context;
    if (!prediction) {
        char *text = problem_text(it->tmpl, problem);
        fprintf(it->cli->talk, "note: %s: no prediction: %s\n", text ? text : "", why->what);
        st_free(text);
        it->failed++;
        return text ? ST_OK : st_fail_memory(error, "predicting");
    }
    st_prediction *grown = st_grow(it->made, &it->capacity, it->count + 1, sizeof *grown);
    if (!grown)
        return st_fail_memory(error, "predicting");
    it->made = grown;
    grown[it->count++] = *prediction;
    return ST_OK;
}

static bool put_prediction(job *it, const st_prediction *made, const char *problem, const char *config)
{
    json_t *object = json_object();
    bool whole = object && st_json_put(object, "family", json_string(it->tmpl->family)) &&
                 st_json_put(object, "device", json_string(made->choice.device_name)) &&
                 st_json_put(object, "cc", json_integer(made->choice.device_class.cc)) &&
                 st_json_put(object, "sm_count", json_integer(made->choice.device_class.sm_count)) &&
                 st_json_put(object, "problem", json_string(problem)) &&
                 st_json_put(object, "configuration", json_string(config)) &&
                 st_json_put(object, "by", st_json_text_or_null(made->by ? made->by->name : NULL)) &&
                 st_json_put(object, "compiled", json_integer((json_int_t)made->compiled)) &&
                 st_json_put(object, "spilled", json_integer((json_int_t)made->spilled)) &&
                 st_json_put(object, "impossible", json_integer((json_int_t)made->impossible)) &&
                 st_json_put(object, "registers", json_integer(made->registers)) &&
                 st_json_put(object, "blocks_per_sm", json_integer(made->choice.blocks_per_sm)) &&
                 st_json_put(object, "predicted", json_true()) && json_array_append(it->list, object) == 0;
    json_decref(object);
    return whole;
}

static st_code print_predictions(job *it, st_error *error)
{
    bool whole = true;
    for (size_t i = 0; i < it->count && whole; i++) {
        const st_prediction *made = &it->made[i];
        char *problem = problem_text(it->tmpl, &made->choice.problem), *config = config_text(it->tmpl, &made->choice.config);
        whole = problem && config;
        if (whole && it->cli->json)
            whole = put_prediction(it, made, problem, config);
        else if (whole) {
            st_text text;
            st_text_init(&text);
            st_text_addf(&text, "%s sm_%d/%d ", it->tmpl->family, made->choice.device_class.cc,
                         made->choice.device_class.sm_count);
            st_report_problem(&text, problem);
            st_text_addf(&text, "\n  PREDICTED for %s, %s%s: %zu compiled, %zu spill, %zu fit no SM\n  %s\n",
                         made->choice.device_name, made->by ? "as ranked on " : "by a model alone",
                         made->by ? made->by->name : "", made->compiled, made->spilled, made->impossible, config);
            whole = !text.failed;
            st_cli_print(it->cli, it->cli->out, st_text_string(&text));
            st_text_release(&text);
        }
        st_free(problem);
        st_free(config);
    }
    return whole ? ST_OK : st_fail_memory(error, "printing predictions");
}

static bool is_measured(const st_measured *measured, const st_device_class *wanted)
{
    for (size_t i = 0; i < measured->device_count; i++)
        if (measured->devices[i].device_class.cc == wanted->cc && measured->devices[i].device_class.sm_count == wanted->sm_count)
            return true;
    return false;
}

static st_code predict_class(job *it, const st_tune_words *words, st_error *error)
{
    const char *command = it->cli->command_line;
    char session[ST_HASH_TEXT] = "";
    st_text folder;
    st_text_init(&folder);
    it->count = 0;
    if (is_measured(&it->measured, &it->device_class)) {
        fprintf(it->cli->talk, "note: sm_%d/%d is left out: %s was measured on it\n", it->device_class.cc,
                it->device_class.sm_count, it->tmpl->family);
        return ST_OK;
    }
    st_code code = st_paths_cache(&folder, error);
    const st_predict_options options = {.tmpl = it->tmpl,
                                        .device_class = it->device_class,
                                        .problems = words->problems,
                                        .problem_count = words->problem_count,
                                        .measured = &it->measured,
                                        .need_run_to_run = words->options.space.need_run_to_run,
                                        .seed = 1,
                                        .cache_folder = st_text_string(&folder),
                                        .interrupted = it->cli->interrupted};
    if (code == ST_OK)
        code = st_predict(&options, take_prediction, it, error);
    if (code == ST_OK)
        code = st_predict_store(it->store, it->tmpl, it->made, it->count, command, session, error);
    it->stored += code == ST_OK ? it->count : 0;
    if (code == ST_OK)
        code = print_predictions(it, error);
    st_text_release(&folder);
    return code;
}

// --- the command -------------------------------------------------------------------------------------------------------

// "80,sm_90/114": classes; without a number of SMs that of the arch's usual product.
static st_code read_classes(const st_cli *cli, st_device_class *out, size_t *count, st_error *error)
{
    st_list words;
    st_code code = st_parsed_list(cli->parsed, "arch", true, &words, error);
    *count = 0;
    for (size_t i = 0; i < words.count && code == ST_OK; i++) {
        st_device_class wanted;
        code = st_device_class_parse(words.items[i], &wanted, error);
        if (code == ST_OK && *count == CLASSES_MOST)
            code = st_fail(error, ST_USAGE, "give at most 16", "too many archs");
        const st_known_device *known = code == ST_OK ? st_known_device_find(wanted, -1) : NULL;
        if (code == ST_OK && !known && wanted.sm_count < 1)
            code = st_fail(error, ST_USAGE, "name the SMs as well, as in sm_103/152", "no product of sm_%d is known here",
                           wanted.cc);
        if (code != ST_OK)
            break;
        if (wanted.sm_count < 1)
            wanted.sm_count = known->sm_count;
        out[(*count)++] = wanted;
    }
    st_list_free(&words);
    if (code == ST_OK && !*count)
        code = st_fail(error, ST_USAGE, "simtune predict reduce --arch 80,100; --leave-one-out shows what it is worth",
                       "predict for which archs?");
    return code;
}

static st_code do_family(job *it, const char *name, const st_device_class *classes, size_t class_count, st_error *error)
{
    bool leaves_out = st_parsed_flag(it->cli->parsed, "leave-one-out");
    st_tune_words words = {0};
    st_code code = st_template_find(name, &it->tmpl, error);
    if (code == ST_OK)
        code = st_measured_load(it->store, it->tmpl, &it->measured, error);
    if (code == ST_OK && leaves_out)
        code = leave_out_family(it, error);
    else if (code == ST_OK)
        code = st_tune_words_read(it->cli, it->tmpl, &words, error);
    for (size_t i = 0; i < class_count && code == ST_OK && !leaves_out; i++) {
        it->device_class = classes[i];
        code = predict_class(it, &words, error);
    }
    st_tune_words_release(&words);
    st_measured_release(&it->measured);
    st_template_free(it->tmpl);
    it->tmpl = NULL;
    return code;
}

static st_code do_families(job *it, const st_device_class *classes, size_t class_count, st_error *error)
{
    st_list names = {0}, paths = {0};
    const st_parsed *parsed = it->cli->parsed;
    st_code code = parsed->word_count ? ST_OK : st_families(&names, &paths, error);
    for (size_t i = 0; i < (parsed->word_count ? parsed->word_count : names.count) && code == ST_OK; i++)
        code = do_family(it, parsed->word_count ? parsed->words[i] : names.items[i], classes, class_count, error);
    st_list_free(&names);
    st_list_free(&paths);
    return code;
}

static st_code conclude(job *it, bool leaves_out, st_error *error)
{
    st_code code = ST_OK;
    if (leaves_out && !it->left_out)
        return st_fail(error, ST_NOTHING, "simtune query lists what was measured; such a class needs 40 candidates of a problem",
                       "there is no history to leave out");
    if (leaves_out)
        print_mean(it, "all", it->losses, it->defaults, it->left_out, it->with_default);
    if (it->failed && !it->stored)
        return st_fail(error, ST_NOTHING, "see the notes above", "nothing could be predicted");
    if (it->cli->json)
        code = st_cli_print_json(it->cli,
                                 leaves_out ? json_pack("{s:s, s:f, s:O}", "schema", "simtune.left_out/1", "mean_loss",
                                                        exp(it->losses / (double)it->left_out) - 1, "problems", it->list)
                                            : json_pack("{s:s, s:O}", "schema", "simtune.predict/1", "predictions", it->list),
                                 error);
    return code;
}

st_code st_cmd_predict(st_cli *cli, st_error *error)
{
    bool leaves_out = st_parsed_flag(cli->parsed, "leave-one-out");
    st_device_class classes[CLASSES_MOST];
    size_t class_count = 0;
    job it = {.cli = cli};
    st_code code = ST_OK;
    if (!leaves_out && !cli->parsed->word_count)
        return st_fail(error, ST_USAGE, "simtune predict FAMILY… --arch 80,100; simtune templates lists them",
                       "predict which family?");
    if (!leaves_out)
        code = read_classes(cli, classes, &class_count, error);
    it.list = json_array();
    if (code == ST_OK && !it.list)
        code = st_fail_memory(error, "predicting");
    if (code == ST_OK)
        code = st_cli_store(cli, leaves_out ? ST_STORE_READ : ST_STORE_WRITE, &it.store, error);
    if (code == ST_OK)
        code = do_families(&it, classes, class_count, error);
    if (code == ST_OK)
        code = conclude(&it, leaves_out, error);
    st_free(it.made);
    json_decref(it.list);
    st_store_close(it.store);
    return code;
}
