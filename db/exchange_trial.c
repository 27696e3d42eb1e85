// SPDX-License-Identifier: Apache-2.0
// What one entry of a file says. Invariants: 1. unknown is NaN, -1 or empty, never 0; 2. a configuration's text has
// one form whatever file it came from, so that the same configuration meets itself; 3. a figure that is no property
// of candidates is a counter under the name that the file gives it.
#include "db/exchange_internal.h"

#include "tuner/base/memory.h"
#include "tuner/base/statistics.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *const st_trial_seconds_names[ST_TRIAL_SECONDS] = {"verify", "benchmark", "framework", "strategy"};

void st_trial_init(st_trial *trial)
{
    *trial = (st_trial){0};
    st_text_init(&trial->configuration);
    st_text_init(&trial->detail);
    st_trial_clear(trial);
}

void st_trial_clear(st_trial *trial)
{
    for (size_t i = 0; i < trial->counter_count; i++)
        st_free(trial->counters[i].name);
    st_text_clear(&trial->configuration);
    st_text_clear(&trial->detail);
    trial->sample_count = trial->counter_count = trial->lost = 0;
    trial->outcome[0] = '\0';
    trial->mean_ns = trial->compile_seconds = trial->occupancy = NAN;
    trial->taken_ms = -1;
    for (int i = 0; i < ST_TRIAL_SECONDS; i++)
        trial->seconds[i] = NAN;
    trial->registers = trial->local_bytes = trial->static_smem = trial->dynamic_smem = -1;
    trial->blocks_per_sm = trial->deterministic = -1;
}

void st_trial_release(st_trial *trial)
{
    st_trial_clear(trial);
    st_text_release(&trial->configuration);
    st_text_release(&trial->detail);
    st_free(trial->samples_ns);
    st_free(trial->counters);
    *trial = (st_trial){0};
}

// --- configuration -----------------------------------------------------------------------------------------------
static void add_escaped(st_text *out, const char *text, bool is_name)
{
    for (const char *at = text; *at; at++) {
        unsigned char byte = (unsigned char)*at;
        if (byte <= ' ' || byte == '%' || byte == 0x7f || (is_name && byte == '='))
            st_text_addf(out, "%%%02X", byte);
        else
            st_text_add_bytes(out, at, 1);
    }
}

st_code st_trial_add_parameter(st_trial *trial, const char *name, const json_t *value, st_error *error)
{
    st_text *out = &trial->configuration;
    if (json_is_object(value) || json_is_array(value))
        return st_fail(error, ST_FAILED, NULL, "the parameter \"%s\" is a list or an object", name);
    if (!*name)
        return st_fail(error, ST_FAILED, NULL, "a parameter without a name");
    if (out->length)
        st_text_add(out, " ");
    add_escaped(out, name, true);
    st_text_add(out, "=");
    if (json_is_string(value))
        add_escaped(out, json_string_value(value), false);
    else if (json_is_null(value))
        st_text_add(out, "None"); // as Python's text of it is
    else
        st_history_print(value, out);
    return out->failed ? st_fail_memory(error, "importing a configuration") : ST_OK;
}

// --- times ---------------------------------------------------------------------------------------------------------
double st_scaled_ns(double value, double unit_ns)
{
    double ns = value * unit_ns;
    double whole = round(ns * 1000) / 1000; // picoseconds: finer than any timer
    return fabs(ns) < 1e12 && (nextafter(ns, whole) == whole) ? whole : ns;
}

st_code st_trial_add_samples(st_trial *trial, const json_t *list, double unit_ns, st_error *error)
{
    size_t count = json_array_size(list);
    double *samples = count ? st_grow(trial->samples_ns, &trial->sample_capacity, count, sizeof *samples)
                            : trial->samples_ns;
    if (count && !samples)
        return st_fail_memory(error, "importing samples");
    trial->samples_ns = samples;
    for (size_t i = 0; i < count; i++) {
        const json_t *value = json_array_get(list, i);
        if (!json_is_number(value) && !json_is_null(value))
            return st_fail(error, ST_FAILED, NULL, "sample %zu of its times is not a number", i + 1);
        double ns = json_is_number(value) ? st_scaled_ns(json_number_value(value), unit_ns) : NAN;
        if (ns < 0)
            return st_fail(error, ST_FAILED, NULL, "sample %zu of its times is negative", i + 1);
        if (isfinite(ns))
            samples[trial->sample_count++] = ns;
        else
            trial->lost++;
    }
    return ST_OK;
}

st_code st_trial_median_ns(const st_trial *trial, double *out, st_error *error)
{
    *out = trial->mean_ns;
    if (!trial->sample_count)
        return ST_OK;
    *out = st_median(trial->samples_ns, trial->sample_count);
    return isnan(*out) ? st_fail_memory(error, "importing samples") : ST_OK; // it sorts a copy
}

// --- figures -------------------------------------------------------------------------------------------------------
// Properties that are whole numbers.
static int *whole_property(st_trial *trial, const char *name, double value)
{
    const struct {
        const char *name;
        int *to;
        double most;
    } rows[] = {{"registers", &trial->registers, 65536},
                {"local_bytes", &trial->local_bytes, INT32_MAX},
                {"static_smem", &trial->static_smem, INT32_MAX},
                {"dynamic_smem", &trial->dynamic_smem, INT32_MAX},
                {"blocks_per_sm", &trial->blocks_per_sm, 65536},
                {"deterministic", &trial->deterministic, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, name) == 0 && value >= 0 && value <= rows[i].most && value == floor(value))
            return rows[i].to;
    return NULL;
}

bool st_is_property_name(const char *name)
{
    st_trial none;
    return whole_property(&none, name, 0) || strcmp(name, "occupancy") == 0;
}

st_code st_trial_add_figure(st_trial *trial, const char *name, double value, st_error *error)
{
    bool sampled = strncmp(name, "pc.", 3) == 0 && name[3], exact = strncmp(name, "range.", 6) == 0 && name[6];
    int *whole = whole_property(trial, name, value);
    if (whole) {
        *whole = (int)value;
        return ST_OK;
    }
    if (strcmp(name, "occupancy") == 0 && value >= 0) {
        trial->occupancy = value;
        return ST_OK;
    }
    if (!*name)
        return ST_OK;
    st_trial_counter *counters =
        st_grow(trial->counters, &trial->counter_capacity, trial->counter_count + 1, sizeof *counters);
    if (counters)
        trial->counters = counters;
    char *copy = counters ? st_strdup(name + (sampled ? 3 : exact ? 6 : 0)) : NULL;
    if (!copy)
        return st_fail_memory(error, "importing a counter");
    counters[trial->counter_count++] = (st_trial_counter){copy, sampled, value};
    return ST_OK;
}

// --- outcome -------------------------------------------------------------------------------------------------------
bool st_is_outcome(const char *word)
{
    for (const char *const *known = st_stored_outcomes; *known; known++)
        if (strcmp(*known, word) == 0)
            return true;
    return false;
}

void st_trial_set_outcome(st_trial *trial, const char *outcome, const char *words)
{
    snprintf(trial->outcome, sizeof trial->outcome, "%s", outcome);
    if (words && !trial->detail.length)
        st_text_add(&trial->detail, words);
}

// --- dates ---------------------------------------------------------------------------------------------------------
// Days since 1970-01-01 in the Gregorian calendar, for years from 1970.
static int64_t days_of(int year, int month, int day)
{
    int y = month <= 2 ? year - 1 : year, m = month <= 2 ? month + 9 : month - 3; // years begin in March
    return (int64_t)365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1 - 719468;
}

// "+00:00", "-0530", "Z" or nothing, as minutes east of UTC.
static bool zone_of(const char *text, int *minutes)
{
    int hours = 0, rest = 0, length = 0;
    *minutes = 0;
    if (!*text || strcmp(text, "Z") == 0)
        return true;
    if ((*text != '+' && *text != '-') ||
        (sscanf(text + 1, "%2d:%2d%n", &hours, &rest, &length) != 2 && sscanf(text + 1, "%2d%2d%n", &hours, &rest, &length) != 2) ||
        text[1 + length] || hours < 0 || hours > 14 || rest < 0 || rest > 59)
        return false;
    *minutes = (*text == '-' ? -1 : 1) * (hours * 60 + rest);
    return true;
}

int64_t st_date_parse(const char *text)
{
    int year, month, day, hour, minute, second, length = 0, zone;
    char between;
    if (sscanf(text, "%4d-%2d-%2d%c%2d:%2d:%2d%n", &year, &month, &day, &between, &hour, &minute, &second, &length) != 7 ||
        !length || (between != ' ' && between != 'T') || year < 1970 || month < 1 || month > 12 || day < 1 || day > 31 || hour < 0 ||
        hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60)
        return -1;
    int64_t thousandths = 0, scale = 100;
    text += length;
    if (*text == '.')
        for (text++; *text >= '0' && *text <= '9'; text++, scale /= 10)
            thousandths += (*text - '0') * scale;
    if (!zone_of(text, &zone))
        return -1;
    int64_t ms = (((days_of(year, month, day) * 24 + hour) * 60 + minute - zone) * 60 + second) * 1000 + thousandths;
    return ms > 0 ? ms : -1;
}

// --- names ---------------------------------------------------------------------------------------------------------
void st_family_of(const char *name, char *out, size_t capacity)
{
    size_t length = 0;
    for (const char *at = name; *at && length + 1 < capacity; at++) {
        unsigned char byte = (unsigned char)*at;
        bool fine = (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_';
        if (fine || (length && out[length - 1] != '_'))
            out[length++] = fine ? (char)byte : '_';
    }
    while (length > 1 && out[length - 1] == '_' )
        length--;
    out[length] = '\0';
    if (!length)
        snprintf(out, capacity, "unknown");
}
