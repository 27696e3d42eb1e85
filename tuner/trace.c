// SPDX-License-Identifier: Apache-2.0
// The Chrome trace format: {"traceEvents": [...], "otherData": {...}}, times in microseconds since the trace began.
// Invariants: 1. an event is written when it is over, so each is whole; 2. texts that came from outside are
// escaped, whatever bytes they hold; 3. no event lies before the beginning or ends before it begins.
#include "tuner/trace.h"

#include "tuner/base/clock.h"
#include "tuner/base/json.h"
#include "tuner/base/memory.h"
#include "tuner/base/version.h"

#include <math.h>
#include <stdio.h>

enum { PROCESS = 1 };

struct st_trace {
    double began;
    int64_t began_ms;
    st_text events; // each begins with a comma
    st_text about;
    char title[128];
    bool used[ST_TRACE_TRACKS];
};

st_trace *st_trace_new(void)
{
    st_trace *trace = st_calloc(1, sizeof *trace);
    if (!trace)
        return NULL;
    trace->began = st_clock_seconds();
    trace->began_ms = st_clock_unix_ms();
    st_text_init(&trace->events);
    st_text_init(&trace->about);
    snprintf(trace->title, sizeof trace->title, "simtune");
    return trace;
}

void st_trace_free(st_trace *trace)
{
    if (!trace)
        return;
    st_text_release(&trace->events);
    st_text_release(&trace->about);
    st_free(trace);
}

// In whole nanoseconds, so that what lies within something else still does when it is written.
static int64_t nanoseconds(const st_trace *trace, double when)
{
    double since = (when - trace->began) * 1e9;
    return since > 0 ? (int64_t)since : 0;
}

static void add_microseconds(st_text *out, const char *name, int64_t ns)
{
    st_text_addf(out, ",\"%s\":%lld.%03d", name, (long long)(ns / 1000), (int)(ns % 1000));
}

static void add_arguments(st_text *out, const st_trace_argument *arguments, size_t count)
{
    bool first = true;
    for (size_t i = 0; i < count; i++) {
        if (!arguments[i].text && !isfinite(arguments[i].number))
            continue;
        st_text_add(out, first ? ",\"args\":{" : ",");
        first = false;
        st_json_add_string(out, arguments[i].name);
        st_text_add(out, ":");
        if (arguments[i].text)
            st_json_add_string(out, arguments[i].text);
        else
            st_text_addf(out, "%.15g", arguments[i].number);
    }
    st_text_add(out, first ? "" : "}");
}

void st_trace_span(st_trace *trace, int track, const char *category, const char *name, double began, double ended,
                   const st_trace_argument *arguments, size_t count)
{
    if (!trace || track <= 0 || track >= ST_TRACE_TRACKS)
        return;
    trace->used[track] = true;
    int64_t from = nanoseconds(trace, began), to = nanoseconds(trace, ended);
    st_text_add(&trace->events, ",\n{\"ph\":\"X\",\"name\":");
    st_json_add_string(&trace->events, name);
    st_text_add(&trace->events, ",\"cat\":");
    st_json_add_string(&trace->events, category);
    st_text_addf(&trace->events, ",\"pid\":%d,\"tid\":%d", PROCESS, track);
    add_microseconds(&trace->events, "ts", from);
    add_microseconds(&trace->events, "dur", to > from ? to - from : 0);
    add_arguments(&trace->events, arguments, count);
    st_text_add(&trace->events, "}");
}

void st_trace_value(st_trace *trace, const char *name, const char *unit, double value)
{
    if (!trace || !isfinite(value))
        return;
    st_text_add(&trace->events, ",\n{\"ph\":\"C\",\"name\":");
    st_json_add_string(&trace->events, name);
    st_text_addf(&trace->events, ",\"pid\":%d", PROCESS);
    add_microseconds(&trace->events, "ts", nanoseconds(trace, st_clock_seconds()));
    st_text_add(&trace->events, ",\"args\":{");
    st_json_add_string(&trace->events, unit);
    st_text_addf(&trace->events, ":%.15g}}", value);
}

void st_trace_about(st_trace *trace, const char *name, const char *text)
{
    if (!trace || !text || !text[0])
        return;
    st_text_add(&trace->about, ",");
    st_json_add_string(&trace->about, name);
    st_text_add(&trace->about, ":");
    st_json_add_string(&trace->about, text);
}

void st_trace_title(st_trace *trace, const char *title)
{
    if (trace)
        snprintf(trace->title, sizeof trace->title, "%s", title);
}

// --- writing -----------------------------------------------------------------------------------------------------

static void add_track(st_text *out, int track)
{
    char name[48];
    if (track >= ST_TRACE_COMPILE)
        snprintf(name, sizeof name, "compile process %d", track - ST_TRACE_COMPILE + 1);
    else
        snprintf(name, sizeof name, "%s", track == ST_TRACE_RUN      ? "run"
                                          : track == ST_TRACE_TIMING ? "worker: verify and time"
                                                                     : "worker: profile");
    static const char start[] = ",\n{\"ph\":\"M\",\"name\":";
    st_text_addf(out, "%s\"thread_name\",\"pid\":%d,\"tid\":%d,\"args\":{\"name\":\"%s\"}}", start, PROCESS, track, name);
    st_text_addf(out, "%s\"thread_sort_index\",\"pid\":%d,\"tid\":%d,\"args\":{\"sort_index\":%d}}", start, PROCESS, track,
                 track);
}

st_code st_trace_write(const st_trace *trace, const char *path, st_error *error)
{
    if (!trace)
        return st_fail_memory(error, "writing the trace");
    char date[ST_DATE_TEXT];
    st_text out;
    st_text_init(&out);
    st_clock_date(trace->began_ms, date);
    st_text_addf(&out, "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"tool\":\"simtune %s\",\"began\":\"%s\"%s},\n",
                 SIMTUNE_VERSION, date, st_text_string(&trace->about));
    st_text_add(&out, "\"traceEvents\":[\n");
    st_text_addf(&out, "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%d,\"args\":{\"name\":", PROCESS);
    st_json_add_string(&out, trace->title);
    st_text_add(&out, "}}");
    for (int track = 0; track < ST_TRACE_TRACKS; track++)
        if (trace->used[track])
            add_track(&out, track);
    st_text_add_bytes(&out, st_text_string(&trace->events), trace->events.length);
    st_text_add(&out, "\n]}\n");
    st_code code = out.failed || trace->events.failed || trace->about.failed
                       ? st_fail_memory(error, "writing the trace")
                       : st_text_write_file(path, st_text_string(&out), out.length, NULL, error);
    st_text_release(&out);
    return code;
}
