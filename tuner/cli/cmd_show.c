// SPDX-License-Identifier: Apache-2.0
// `simtune show ID`: everything that the store knows of one candidate. Reads only.
#include "cupti/counters.h"
#include "reports/format.h"
#include "tuner/base/clock.h"
#include "tuner/base/json.h"
#include "tuner/base/memory.h"
#include "tuner/base/statistics.h"
#include "tuner/cli/cli_answers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INDENT = 17, WIDTH = 80 };

// --- what the store says, in memory -------------------------------------------------------------------------

typedef struct counter {
    char kind[8], name[80];
    double value;
} counter;

typedef struct showing {
    st_cli *cli;
    st_text text;       // for people
    json_t *json;       // for programs; NULL when it is for people
    bool began;         // the first answer was printed
    bool measured;      // the first measurement was
    counter *counters;
    size_t count, capacity;
} showing;

static st_code keep_counter(void *context, const char *kind, const char *name, double value, st_error *error)
{
    showing *to = context;
    counter *counters = st_grow(to->counters, &to->capacity, to->count + 1, sizeof *counters);
    if (!counters)
        return st_fail_memory(error, "reading counters");
    to->counters = counters;
    counters[to->count] = (counter){.value = value};
    snprintf(counters[to->count].kind, sizeof counters->kind, "%s", kind);
    snprintf(counters[to->count].name, sizeof counters->name, "%s", name);
    to->count++;
    return ST_OK;
}

static void row(showing *to, const char *label, const char *format, ...) ST_PRINTF(3, 4);
static void row(showing *to, const char *label, const char *format, ...)
{
    char words[4096];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(words, sizeof words, format, arguments);
    va_end(arguments);
    st_report_row(&to->text, label, INDENT, words, WIDTH);
}

static const char *known(const char *text)
{
    return text && text[0] ? text : "-";
}

// --- the candidate --------------------------------------------------------------------------------------------

// A line of the detail a row, so that compilers' logs stay readable.
static void add_detail(showing *to, const char *detail)
{
    for (bool first = true; detail && *detail; first = false) {
        size_t length = strcspn(detail, "\n");
        row(to, first ? "detail" : "", "%.*s", (int)length, detail);
        detail += length + (detail[length] == '\n');
    }
}

static void add_number(st_text *text, const char *unit, int64_t value)
{
    if (value < 0)
        st_text_addf(text, "- %s", unit);
    else
        st_text_addf(text, "%lld %s", (long long)value, unit);
}

static void add_static_facts(showing *to, const st_answer *answer)
{
    st_text words;
    st_text_init(&words);
    add_number(&words, "registers, ", answer->registers);
    add_number(&words, "bytes of local memory a thread, ", answer->local_bytes);
    add_number(&words, "+ ", answer->static_smem);
    add_number(&words, "bytes of shared memory (static + dynamic), ", answer->dynamic_smem);
    add_number(&words, "blocks an SM, occupancy ", answer->blocks_per_sm);
    st_report_share(&words, answer->occupancy);
    row(to, "main kernel", "%s", st_text_string(&words));
    st_text_release(&words);
    row(to, "result", "%s",
        answer->deterministic < 0    ? "determinism unknown"
        : answer->deterministic == 1 ? "the same from run to run"
                                     : "may differ from run to run");
}

static void add_candidate(showing *to, const st_answer *answer)
{
    st_text problem;
    st_text_init(&problem);
    st_report_problem(&problem, answer->problem);
    st_text_addf(&to->text, "candidate %s\n", answer->candidate_id);
    row(to, "problem", "%s %s", answer->family, st_text_string(&problem));
    row(to, "configuration", "%s", answer->configuration);
    row(to, "outcome", "%s", answer->outcome);
    add_detail(to, answer->detail);
    add_static_facts(to, answer);
    char class[48] = ""; // of an imported device the name alone may be known
    if (answer->cc > 0 && answer->sm_count > 0)
        snprintf(class, sizeof class, " (sm_%d, %d SMs)", answer->cc, answer->sm_count);
    bool imported = st_text_equal(answer->backend, "imported");
    row(to, "device", "%s%s, %s%s", answer->device_name, class, answer->device_uuid,
        st_text_equal(answer->backend, "emu")            ? ", EMULATED: its times mean nothing"
        : imported                                       ? ", IMPORTED: measured by another tool"
        : st_text_equal(answer->backend, "predicted")    ? ", PREDICTED: nothing of this was measured"
        : !st_backend_is_hardware(answer->backend)       ? ", GENERATED: nothing of this was measured"
                                                         : "");
    row(to, "toolchain", "driver %s, %s, %s%s", known(answer->driver), known(answer->compiler),
        imported ? "" : "simtune ", known(answer->tool));
    row(to, "template", "%s", answer->template_hash);
    row(to, "session", "%s%s", answer->session_id, answer->shipped ? " (shipped)" : "");
    st_text_release(&problem);
}

// One line a state of the cache.
static void add_standing(showing *to, const st_answer *answer)
{
    st_text words;
    st_text_init(&words);
    if (!answer->cache || !answer->cache[0]) {
        row(to, "time", "not measured");
        st_text_release(&words);
        return;
    }
    st_report_time(&words, answer->median_ns);
    double speed = answer->bytes / answer->median_ns;
    if (isfinite(speed)) {
        st_text_add(&words, ", ");
        st_report_speed(&words, speed);
        if (isfinite(speed / answer->read_gbs)) {
            st_text_add(&words, ", ");
            st_report_share(&words, speed / answer->read_gbs);
            st_text_add(&words, " of the memory's measured speed");
        }
    }
    if (answer->is_winner) {
        st_text_add(&words, "; the winner");
        if (isfinite(answer->speedup)) {
            st_text_add(&words, ", ");
            st_report_speedup(&words, answer->speedup, answer->speedup_low, answer->speedup_high);
        }
        if (answer->tied > 1)
            st_text_addf(&words, ", %d tie", answer->tied);
    }
    if (answer->is_default)
        st_text_add(&words, "; the default");
    row(to, answer->cache, "%s", st_text_string(&words));
    if (answer->note)
        row(to, "", "%s", answer->note);
    st_text_release(&words);
}

static st_code take_answer(void *context, const st_answer *answer, st_error *error)
{
    showing *to = context;
    if (!to->json) {
        if (!to->began)
            add_candidate(to, answer);
        add_standing(to, answer);
        to->began = true;
        return to->text.failed ? st_fail_memory(error, "showing a candidate") : ST_OK;
    }
    json_t *results = json_object_get(to->json, "results");
    json_t *one = st_answer_json(answer);
    return one && json_array_append_new(results, one) == 0 ? ST_OK : st_fail_memory(error, "showing a candidate");
}

// --- measurements -----------------------------------------------------------------------------------------------

static void add_measurement(showing *to, const st_measurement_row *m)
{
    const double *samples = m->samples_ns;
    size_t count = m->sample_count;
    char date[ST_DATE_TEXT];
    st_text words;
    st_text_init(&words);
    st_clock_date(m->taken_ms, date);
    st_text_addf(&words, "%zu sample%s: ", count, st_plural((int64_t)count));
    if (count) {
        st_interval interval = st_median_interval(samples, count);
        st_text_add(&words, "median ");
        st_report_time(&words, st_median(samples, count));
        st_text_add(&words, " (");
        st_report_time(&words, interval.low);
        st_text_add(&words, " – ");
        st_report_time(&words, interval.high);
        st_text_add(&words, "), least ");
        st_report_time(&words, st_minimum(samples, count));
        st_text_add(&words, ", quarters ");
        st_report_time(&words, st_quantile(samples, count, 0.25));
        st_text_add(&words, " and ");
        st_report_time(&words, st_quantile(samples, count, 0.75));
        st_text_add(&words, ", most ");
        st_report_time(&words, st_quantile(samples, count, 1));
    }
    if (m->batch > 0 && m->dropped >= 0)
        st_text_addf(&words, "; %d runs a sample, %d dropped for throttling", m->batch, m->dropped);
    st_text_add(&words, "; SM clock ");
    add_number(&words, "MHz, ", m->sm_clock_mhz);
    add_number(&words, "°C; ", m->temperature_c);
    st_text_add(&words, date);
    if (!to->measured)
        st_text_add(&to->text, "\nmeasurements: median with its 95 % interval\n");
    to->measured = true;
    char label[40];
    snprintf(label, sizeof label, "%s %s %d", m->phase, m->cache, m->round);
    st_report_row(&to->text, label, INDENT, st_text_string(&words), WIDTH);
    st_text_release(&words);
}

static json_t *measurement_json(const st_measurement_row *m)
{
    static const struct {
        const char *key;
        double q;
    } quantiles[] = {{"minimum_ns", 0}, {"quartile_1_ns", 0.25}, {"quartile_3_ns", 0.75}, {"maximum_ns", 1}};
    size_t count = m->sample_count;
    st_interval interval = {NAN, NAN, NAN};
    if (count)
        interval = st_median_interval(m->samples_ns, count);
    json_t *object = json_object(), *samples = json_array();
    bool whole = object && samples && st_json_put(object, "phase", json_string(m->phase)) &&
                 st_json_put(object, "cache", json_string(m->cache)) &&
                 st_json_put(object, "round", json_integer(m->round)) &&
                 st_json_put(object, "median_ns", st_json_number(m->median_ns)) &&
                 st_json_put(object, "median_low_ns", st_json_number(interval.low)) &&
                 st_json_put(object, "median_high_ns", st_json_number(interval.high)) &&
                 st_json_put(object, "sm_clock_mhz", st_json_known_or_null(m->sm_clock_mhz)) &&
                 st_json_put(object, "memory_clock_mhz", st_json_known_or_null(m->memory_clock_mhz)) &&
                 st_json_put(object, "temperature_c", st_json_known_or_null(m->temperature_c)) &&
                 st_json_put(object, "power_mw", st_json_known_or_null(m->power_mw)) &&
                 st_json_put(object, "throttle_reasons", st_json_known_or_null(m->throttle_reasons)) &&
                 st_json_put(object, "dropped", st_json_known_or_null(m->dropped)) &&
                 st_json_put(object, "batch", st_json_known_or_null(m->batch)) &&
                 st_json_put(object, "tick_ns", st_json_number(m->tick_ns)) &&
                 st_json_put(object, "taken_ms", st_json_known_or_null(m->taken_ms));
    for (size_t i = 0; i < sizeof quantiles / sizeof quantiles[0] && whole; i++)
        whole = st_json_put(object, quantiles[i].key,
                            st_json_number(count ? st_quantile(m->samples_ns, count, quantiles[i].q) : NAN));
    for (size_t i = 0; i < count && whole; i++)
        whole = json_array_append_new(samples, st_json_number(m->samples_ns[i])) == 0;
    whole = whole && json_object_set(object, "samples_ns", samples) == 0;
    json_decref(samples);
    if (whole)
        return object;
    json_decref(object);
    return NULL;
}

static st_code take_measurement(void *context, const st_measurement_row *m, st_error *error)
{
    showing *to = context;
    if (to->json) {
        json_t *one = measurement_json(m);
        return one && json_array_append_new(json_object_get(to->json, "measurements"), one) == 0
                   ? ST_OK
                   : st_fail_memory(error, "showing measurements");
    }
    add_measurement(to, m);
    return to->text.failed ? st_fail_memory(error, "showing measurements") : ST_OK;
}

// --- counters -----------------------------------------------------------------------------------------------------

static int by_value(const void *a, const void *b)
{
    double x = ((const counter *)a)->value, y = ((const counter *)b)->value;
    if (isnan(x) || isnan(y))
        return isnan(x) - isnan(y);
    return x != y ? (x < y ? 1 : -1) : strcmp(((const counter *)a)->name, ((const counter *)b)->name);
}

static void counter_row(showing *to, const char *name, const char *value, const char *meaning)
{
    st_text label;
    st_text_init(&label);
    st_report_left(&label, name, 26);
    st_report_right(&label, value, 11);
    st_report_row(&to->text, st_text_string(&label), 41, meaning, WIDTH);
    st_text_release(&label);
}

// Shares of PC samples, largest first; "stall_not_issued." stands beside its reason.
static void add_stalls(showing *to)
{
    static const char start[] = "stall.";
    bool any = false;
    for (size_t i = 0; i < to->count; i++) {
        const counter *one = &to->counters[i];
        if (strcmp(one->kind, "pc") != 0 || strncmp(one->name, start, sizeof start - 1) != 0 || one->value == 0)
            continue;
        const char *reason = one->name + sizeof start - 1;
        const st_stall *stall = st_stall_find(reason);
        st_text value;
        st_text_init(&value);
        st_report_share(&value, one->value);
        if (!any)
            st_text_add(&to->text, "\nwhat its warps wait for, share of samples (PC sampling)\n");
        any = true;
        counter_row(to, reason, st_text_string(&value), stall ? stall->waits_for : "");
        st_text_release(&value);
    }
}

// Exact counters in the order of the table, group by group.
static void add_exact(showing *to)
{
    size_t metric_count;
    const st_metric *metrics = st_metrics(&metric_count);
    const char *group = "";
    for (size_t m = 0; m < metric_count; m++)
        for (size_t i = 0; i < to->count; i++) {
            if (strcmp(to->counters[i].kind, "range") != 0 || strcmp(to->counters[i].name, metrics[m].name) != 0)
                continue;
            st_text value;
            st_text_init(&value);
            st_metric_add_value(&value, &metrics[m], to->counters[i].value);
            if (strcmp(group, metrics[m].group) != 0)
                st_text_addf(&to->text, "\n%s (exact counters)\n", metrics[m].group);
            group = metrics[m].group;
            counter_row(to, metrics[m].name, st_text_string(&value), metrics[m].meaning);
            st_text_release(&value);
        }
}

static bool put_counters(showing *to)
{
    json_t *list = json_object_get(to->json, "counters");
    bool whole = list;
    for (size_t i = 0; i < to->count && whole; i++) {
        const counter *one = &to->counters[i];
        bool is_pc = strcmp(one->kind, "pc") == 0;
        const st_metric *metric = is_pc ? NULL : st_metric_find(one->name);
        const char *unit = metric ? st_metric_unit_name(metric->unit)
                           : !is_pc ? NULL
                           : strcmp(one->name, "stall_samples") == 0 || strcmp(one->name, "stall_launches") == 0 ? "count"
                           : strcmp(one->name, "stall_launch_seconds") == 0                                     ? "s"
                                                                                                                : "share";
        json_t *object = json_object();
        whole = object && st_json_put(object, "kind", json_string(one->kind)) &&
                st_json_put(object, "name", json_string(one->name)) &&
                st_json_put(object, "value", st_json_number(one->value)) &&
                st_json_put(object, "unit", st_json_text_or_null(unit)) &&
                st_json_put(object, "meaning", st_json_text_or_null(metric ? metric->meaning : NULL)) &&
                json_array_append(list, object) == 0;
        json_decref(object);
    }
    return whole;
}

static st_code show_counters(showing *to, st_error *error)
{
    if (to->count)
        qsort(to->counters, to->count, sizeof *to->counters, by_value);
    if (to->json)
        return put_counters(to) ? ST_OK : st_fail_memory(error, "showing counters");
    if (!to->count)
        st_text_add(&to->text, "\nno counters\n");
    add_stalls(to);
    add_exact(to);
    return to->text.failed ? st_fail_memory(error, "showing counters") : ST_OK;
}

// --- all -------------------------------------------------------------------------------------------------------------

static st_code put_lines(showing *to, st_store *store, int64_t key, st_error *error)
{
    char *lines = NULL;
    json_t *parsed = NULL;
    st_code code = st_store_stall_lines_of(store, key, &lines, error);
    if (code == ST_OK && lines)
        code = st_json_parse(lines, strlen(lines), "the store's stall lines", &parsed, error);
    if (code == ST_OK && !st_json_put(to->json, "stall_lines", parsed ? json_incref(parsed) : json_null()))
        code = st_fail_memory(error, "showing a candidate");
    json_decref(parsed);
    st_free(lines);
    return code;
}

static st_code show(showing *to, st_store *store, const char *id, st_error *error)
{
    int64_t key;
    st_code code = st_store_candidate_key(store, id, &key, error);
    if (code == ST_OK)
        code = st_store_answer_of(store, key, take_answer, to, error);
    if (code == ST_OK)
        code = st_store_measurements(store, key, take_measurement, to, error);
    if (code == ST_OK)
        code = st_store_counters_of(store, key, keep_counter, to, error);
    if (code == ST_OK)
        code = show_counters(to, error);
    return code == ST_OK && to->json ? put_lines(to, store, key, error) : code;
}

st_code st_cmd_show(st_cli *cli, st_error *error)
{
    if (cli->parsed->word_count != 1)
        return st_fail(error, ST_USAGE, "simtune show ID; simtune query lists ids", "show needs one id, not %zu",
                       cli->parsed->word_count);
    st_store *store = NULL;
    showing to = {.cli = cli};
    st_text_init(&to.text);
    st_code code = ST_OK;
    if (cli->json) {
        to.json = json_pack("{s:s, s:[], s:[], s:[]}", "schema", "simtune.show/1", "results", "measurements",
                            "counters");
        code = to.json ? ST_OK : st_fail_memory(error, "showing a candidate");
    }
    if (code == ST_OK)
        code = st_cli_store(cli, ST_STORE_READ, &store, error);
    if (code == ST_OK)
        code = show(&to, store, cli->parsed->words[0], error);
    if (code == ST_OK && to.json)
        code = st_cli_print_json(cli, json_incref(to.json), error);
    else if (code == ST_OK)
        st_cli_print(cli, cli->out, st_text_string(&to.text));
    json_decref(to.json);
    st_free(to.counters);
    st_text_release(&to.text);
    st_store_close(store);
    return code;
}
