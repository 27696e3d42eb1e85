// SPDX-License-Identifier: Apache-2.0
// Invariant: a request is told once, when its answer is there or will never come.
#include "tuner/link_trace.h"

#include "tuner/base/clock.h"
#include "tuner/base/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static int64_t number_in(const json_t *request, const char *key)
{
    const json_t *value = json_object_get(request, key);
    return json_is_integer(value) ? (int64_t)json_integer_value(value) : -1;
}

link_told link_told_of(const st_link_trace *to, const json_t *request)
{
    link_told about = {.to = to && to->trace ? to : NULL};
    if (!about.to)
        return about;
    const char *type = json_string_value(json_object_get(request, "type"));
    const char *cache = json_string_value(json_object_get(request, "cache"));
    const json_t *candidates = json_object_get(request, "candidates");
    snprintf(about.type, sizeof about.type, "%s", type ? type : "");
    snprintf(about.cache, sizeof about.cache, "%s", cache ? cache : "");
    about.candidate = number_in(request, "candidate");
    about.data = number_in(request, "data");
    about.many = candidates ? (int64_t)json_array_size(candidates) : -1;
    about.began = st_clock_seconds();
    return about;
}

// The kinds of requests as people call them. To add one: a row. Below `least` seconds nothing is told, which keeps
// what nobody looks at out of large traces.
static const struct {
    const char *type, *category, *words;
    double least;
} kinds[] = {{"open", "worker", "open the device", 0},
             {"support", "worker", "load the support module", 0},
             {"problem", "worker", "prepare the problem", 0},
             {"load", "load", "load", 0},
             {"plan", "load", "plan", 2e-4},
             {"unload", "load", "unload", 2e-4},
             {"verify", "verify", "verify", 0},
             {"capture", "verify", "keep the default's outputs", 0},
             {"time", "time", "time", 0},
             {"race", "time", "finals", 0},
             {"speed", "time", "measure the memory's speed", 0},
             {"stalls", "profile", "sample stalls", 0},
             {"counters", "profile", "count exactly", 0}};

// The name in the timeline: "verify random: wrong".
static void add_span_name(const link_told *about, const char *words, st_trouble trouble, bool wrong, st_text *out)
{
    static const char *const endings[] = {"", ": refused", ": crash", ": timeout"};
    st_text_add(out, words);
    if (about->data >= 0)
        st_text_add(out, about->data == ST_DATA_EXACT ? " exact" : " random");
    if (about->cache[0])
        st_text_addf(out, " %s", about->cache);
    st_text_add(out, wrong ? ": wrong" : endings[trouble]);
}

void link_tell(const link_told *about, int track, st_trouble trouble, const st_frame *reply, const st_error *why)
{
    size_t kind = 0, count = sizeof kinds / sizeof kinds[0];
    double ended = about->to ? st_clock_seconds() : 0;
    while (about->to && kind < count && strcmp(kinds[kind].type, about->type) != 0)
        kind++;
    if (!about->to || kind == count || (trouble == ST_TROUBLE_NONE && ended - about->began < kinds[kind].least))
        return;
    // What is not waited for at once (st_link_begin) is over when the worker says so, not when it is heard.
    double seconds = trouble == ST_TROUBLE_NONE ? st_json_number_or_nan(reply->json, "seconds") : NAN;
    if (strcmp(about->type, "open") == 0 && about->began + seconds < ended)
        ended = about->began + seconds;
    const json_t *verdict = trouble == ST_TROUBLE_NONE ? json_object_get(reply->json, "verdict") : NULL;
    int64_t mismatches = number_in(verdict, "mismatches");
    st_text name, configuration;
    st_text_init(&name);
    st_text_init(&configuration);
    add_span_name(about, kinds[kind].words, trouble, mismatches > 0, &name);
    if (about->candidate >= 0 && about->to->name)
        about->to->name(about->to->context, about->candidate, &configuration);
    st_trace_argument arguments[3];
    size_t used = 0;
    if (configuration.length)
        arguments[used++] = (st_trace_argument){"configuration", st_text_string(&configuration), 0};
    if (about->many >= 0)
        arguments[used++] = (st_trace_argument){"candidates", NULL, (double)about->many};
    if (trouble != ST_TROUBLE_NONE && why)
        arguments[used++] = (st_trace_argument){"why", why->what, 0};
    else if (mismatches > 0)
        arguments[used++] = (st_trace_argument){"mismatches", NULL, (double)mismatches};
    st_trace_span(about->to->trace, track, kinds[kind].category, st_text_string(&name), about->began, ended,
                  arguments, used);
    st_text_release(&configuration);
    st_text_release(&name);
}
