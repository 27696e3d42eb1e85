// SPDX-License-Identifier: Apache-2.0
// The report for programs, and for the page's script: one document, docs/report.md says what stands where. Invariants:
// 1. times are nanoseconds, speeds bytes per second, shares 0…1, dates milliseconds since 1970; 2. unknown is null;
// 3. candidates are columns, so that many of them stay small; a column has one entry a candidate, in the order in which
// they were tried; 4. a key keeps its meaning for ever, a new meaning is a new schema number; 5. for a page no "<" stands
// in it.
#include "reports/page_internal.h"
#include "reports/report_json_internal.h"

// --- columns ---------------------------------------------------------------------------------------------------------

typedef struct column {
    const char *name;
    void (*write)(json_out *to, const st_reported_candidate *candidate, int cache);
} column;

static void write_id(json_out *to, const st_reported_candidate *c, int cache)
{
    (void)cache;
    st_text_addf(to->out, "\"%.12s\"", c->id);
}

static void write_outcome(json_out *to, const st_reported_candidate *c, int cache)
{
    (void)cache;
    json_out_whole(to, (int)c->outcome);
}

#define FACT(field, how)                                                                                               \
    static void write_##field(json_out *to, const st_reported_candidate *c, int cache)                                 \
    {                                                                                                                  \
        (void)cache;                                                                                                   \
        how(to, c->field);                                                                                             \
    }
FACT(registers, json_out_whole)
FACT(local_bytes, json_out_whole)
FACT(static_smem, json_out_whole)
FACT(dynamic_smem, json_out_whole)
FACT(blocks_per_sm, json_out_whole)
FACT(deterministic, json_out_whole)
FACT(profiled, json_out_whole)
FACT(occupancy, json_out_share)
FACT(compile_seconds, json_out_share)

static void write_median(json_out *to, const st_reported_candidate *c, int cache)
{
    json_out_number(to, c->times[cache].median_ns);
}

static void write_comparable(json_out *to, const st_reported_candidate *c, int cache)
{
    json_out_number(to, c->times[cache].comparable_ns);
}

static void write_first(json_out *to, const st_reported_candidate *c, int cache)
{
    json_out_number(to, c->times[cache].first_ns);
}

static void write_first_after(json_out *to, const st_reported_candidate *c, int cache)
{
    int64_t first = c->times[cache].first_ms;
    json_out_whole(to, first < to->first_ms ? -1 : first - to->first_ms);
}

static void write_phase(json_out *to, const st_reported_candidate *c, int cache)
{
    char phase = c->times[cache].phase;
    json_out_whole(to, phase == 'f' ? 2 : phase == 'h' ? 1 : phase == 's' ? 0 : -1);
}

static void write_samples(json_out *to, const st_reported_candidate *c, int cache)
{
    json_out_whole(to, c->times[cache].phase ? c->times[cache].samples : -1);
}

static const column facts[] = {{"id", write_id},
                               {"outcome", write_outcome},
                               {"registers", write_registers},
                               {"local_bytes", write_local_bytes},
                               {"static_smem", write_static_smem},
                               {"dynamic_smem", write_dynamic_smem},
                               {"blocks_per_sm", write_blocks_per_sm},
                               {"deterministic", write_deterministic},
                               {"profiled", write_profiled},
                               {"occupancy", write_occupancy},
                               {"compile_seconds", write_compile_seconds}};
static const column times[] = {{"median_ns", write_median},
                               {"comparable_ns", write_comparable},
                               {"first_ns", write_first},
                               {"first_after_ms", write_first_after},
                               {"phase", write_phase},
                               {"samples", write_samples}};

static void write_columns(json_out *to, const st_reported_problem *problem, const column *columns, size_t count,
                          int cache)
{
    for (size_t i = 0; i < count; i++) {
        st_text_addf(to->out, "%s\"%s\":[", i ? "," : "", columns[i].name);
        for (size_t c = 0; c < problem->count; c++) {
            if (c)
                json_out_raw(to, ",");
            columns[i].write(to, &problem->candidates[c], cache);
        }
        json_out_raw(to, "]");
    }
}

static void write_candidates(json_out *to, const st_reported_session *session, const st_reported_problem *problem)
{
    json_out_raw(to, ",\"candidates\":{");
    write_columns(to, problem, facts, sizeof facts / sizeof *facts, 0);
    json_out_raw(to, ",\"values\":[");
    for (size_t p = 0; p < session->parameter_count; p++) {
        json_out_raw(to, p ? ",[" : "[");
        for (size_t c = 0; c < problem->count; c++) {
            uint16_t value = problem->candidates[c].values[p];
            json_out_raw(to, c ? "," : "");
            json_out_whole(to, value == ST_REPORT_NO_VALUE ? -1 : value);
        }
        json_out_raw(to, "]");
    }
    json_out_raw(to, "]");
    for (int cache = 0; cache < ST_REPORT_CACHES; cache++) {
        json_out_key(to, st_report_cache_name(cache));
        json_out_raw(to, problem->results[cache].measured ? "{" : "null");
        if (!problem->results[cache].measured)
            continue;
        write_columns(to, problem, times, sizeof times / sizeof *times, cache);
        json_out_raw(to, "}");
    }
    bool first = true;
    json_out_raw(to, ",\"details\":{");
    for (size_t c = 0; c < problem->count; c++)
        if (problem->candidates[c].detail) {
            st_text_addf(to->out, "%s\"%zu\":", first ? "" : ",", c);
            json_out_string(to, problem->candidates[c].detail);
            first = false;
        }
    json_out_raw(to, "}}");
}

// --- sessions --------------------------------------------------------------------------------------------------------

static void write_problem(json_out *to, const st_reported_session *session, const st_reported_problem *problem)
{
    json_out_raw(to, "{\"problem\":");
    json_out_string(to, problem->text);
    json_out_put_string(to, "type", problem->type);
    json_out_put_string(to, "operation", problem->operation);
    json_out_put_whole(to, "n", problem->n);
    json_out_raw(to, ",\"outcomes\":{");
    for (int i = 0; i < ST_REPORTED_OUTCOMES; i++)
        st_text_addf(to->out, "%s\"%s\":%zu", i ? "," : "", st_reported_outcome_name((st_reported_outcome)i),
                     problem->outcomes[i]);
    json_out_raw(to, "}");
    for (int cache = 0; cache < ST_REPORT_CACHES; cache++)
        json_out_result(to, session, problem, cache);
    write_candidates(to, session, problem);
    json_out_raw(to, "}");
}

static void write_parameters(json_out *to, const st_reported_session *session)
{
    json_out_raw(to, ",\"parameters\":[");
    for (size_t i = 0; i < session->parameter_count; i++) {
        const st_reported_parameter *parameter = &session->parameters[i];
        json_out_raw(to, i ? ",{\"name\":" : "{\"name\":");
        json_out_string(to, parameter->name);
        json_out_raw(to, ",\"values\":[");
        for (size_t v = 0; v < parameter->value_count; v++) {
            json_out_raw(to, v ? "," : "");
            json_out_string(to, parameter->values[v][0] ? parameter->values[v] : " ");
        }
        json_out_raw(to, "]");
        json_out_put_whole(to, "default", parameter->standard);
        json_out_raw(to, ",\"roles\":[");
        bool first = true;
        for (unsigned bit = 1; bit <= ST_ROLE_REGS; bit <<= 1)
            if (parameter->roles & bit) {
                st_text_addf(to->out, "%s\"%s\"", first ? "" : ",", st_role_name((st_role)bit));
                first = false;
            }
        json_out_raw(to, "]");
        json_out_put_string(to, "meaning", parameter->meaning);
        json_out_raw(to, "}");
    }
    json_out_raw(to, "]");
}

static void write_device(json_out *to, const st_reported_session *session)
{
    json_out_raw(to, ",\"device\":{\"name\":");
    json_out_string(to, session->device_name);
    json_out_put_string(to, "uuid", session->device_uuid);
    json_out_put_string(to, "backend", session->backend);
    json_out_put_whole(to, "cc", session->cc);
    json_out_put_whole(to, "sm_count", session->sm_count);
    json_out_put_whole(to, "memory_bytes", session->memory_bytes);
    json_out_put_whole(to, "l2_bytes", session->l2_bytes);
    json_out_put_number(to, "read_bytes_per_second", session->read_gbs * 1e9);
    json_out_put_number(to, "copy_bytes_per_second", session->copy_gbs * 1e9);
    json_out_key(to, "facts");
    json_out_document(to, session->device_facts);
    json_out_raw(to, "},\"toolchain\":{\"driver\":");
    json_out_string(to, session->driver);
    json_out_put_whole(to, "driver_cuda", session->driver_cuda);
    json_out_put_string(to, "compiler", session->compiler);
    json_out_put_string(to, "tool", session->tool);
    json_out_put_string(to, "template_hash", session->template_hash);
    json_out_raw(to, "}");
}

static void write_trust(json_out *to, const st_reported_session *session)
{
    json_out_raw(to, ",\"trust\":[");
    for (size_t i = 0; i < session->doubt_count; i++) {
        st_text_addf(to->out, "%s{\"level\":\"%s\"", i ? "," : "", st_reported_level_word(session->doubts[i].level));
        json_out_put_string(to, "about", session->doubts[i].about);
        json_out_put_string(to, "words", session->doubts[i].words);
        json_out_raw(to, "}");
    }
    json_out_raw(to, "]");
}

static void write_session(json_out *to, const st_reported_session *session)
{
    static const char *const states[] = {"running", "finished", "interrupted"};
    to->first_ms = session->observed.first_ms;
    json_out_raw(to, "{\"id\":");
    json_out_string(to, session->session.id);
    json_out_put_string(to, "label", session->label);
    json_out_put_string(to, "family", session->session.family);
    json_out_put_string(to, "status", states[session->session.status]);
    json_out_put_string(to, "command", session->session.command);
    json_out_put_whole(to, "started_ms", session->session.started_ms);
    json_out_put_whole(to, "finished_ms", session->session.finished_ms);
    json_out_put_whole(to, "first_measured_ms", session->observed.first_ms);
    json_out_key(to, "options");
    json_out_document(to, session->options);
    json_out_key(to, "run");
    json_out_document(to, session->facts);
    write_device(to, session);
    write_parameters(to, session);
    write_trust(to, session);
    json_out_put_whole(to, "lead", session->lead);
    json_out_raw(to, ",\"problems\":[");
    for (size_t i = 0; i < session->count; i++) {
        json_out_raw(to, i ? "," : "");
        write_problem(to, session, &session->problems[i]);
    }
    json_out_raw(to, "]}");
}

st_code report_json_write(const st_report *report, bool for_page, st_text *out, st_error *error)
{
    json_out to = {out, for_page, 0};
    json_out_raw(&to, "{\"schema\":\"simtune.report/1\",\"outcomes\":[");
    for (int i = 0; i < ST_REPORTED_OUTCOMES; i++)
        st_text_addf(out, "%s\"%s\"", i ? "," : "", st_reported_outcome_name((st_reported_outcome)i));
    st_text_addf(out, "],\"phases\":[\"screen\",\"halving\",\"finals\"],\"cache\":\"%s\",\"sessions\":[",
                 st_report_cache_name(report->cache));
    for (size_t i = 0; i < report->count; i++) {
        json_out_raw(&to, i ? ",\n" : "\n");
        write_session(&to, &report->sessions[i]);
    }
    json_out_raw(&to, "\n]}");
    return out->failed ? st_fail_memory(error, "writing a report") : ST_OK;
}

st_code st_report_json(const st_report *report, st_text *out, st_error *error)
{
    return report_json_write(report, false, out, error);
}
