// SPDX-License-Identifier: Apache-2.0
// One result as JSON: winner, finals, changes, profiles, samples, and earlier winners. Invariants: those of report_json.c.
#include "reports/report_json_internal.h"

#include <string.h>

static void write_interval(json_out *to, st_interval interval)
{
    json_out_raw(to, "[");
    json_out_number(to, interval.low);
    json_out_raw(to, ",");
    json_out_number(to, interval.centre);
    json_out_raw(to, ",");
    json_out_number(to, interval.high);
    json_out_raw(to, "]");
}

static void write_waits(json_out *to, const st_reported_profile *profile)
{
    json_out_raw(to, "\"waits\":[");
    for (size_t i = 0; i < profile->wait_count; i++) {
        const st_reported_wait *wait = &profile->waits[i];
        json_out_raw(to, i ? ",{\"name\":" : "{\"name\":");
        json_out_string(to, wait->name);
        json_out_put_share(to, "samples_share", wait->samples);
        json_out_put_share(to, "not_issued_share", wait->not_issued);
        json_out_put_share(to, "latency_share", wait->latency);
        json_out_put_share(to, "warps_per_issue", wait->ratio);
        json_out_raw(to, "}");
    }
    json_out_raw(to, "]");
}

static void write_finding(json_out *to, const st_finding *finding)
{
    json_out_raw(to, "{\"rule\":");
    json_out_string(to, finding->rule);
    json_out_put_string(to, "severity", st_gravity_name(finding->severity));
    json_out_put_string(to, "title", finding->title);
    json_out_put_string(to, "message", finding->message);
    json_out_put_string(to, "remedy", finding->remedy);
    json_out_put_string(to, "evidence", finding->evidence);
    json_out_put_number(to, "estimated_gain_share", finding->gain);
    json_out_put_string(to, "gain_source", finding->gain_source);
    json_out_raw(to, ",\"moves\":[");
    for (size_t i = 0; i < finding->move_count; i++)
        st_text_addf(to->out, "%s{\"role\":\"%s\",\"direction\":%d}", i ? "," : "",
                     st_role_name(finding->moves[i].role), finding->moves[i].direction);
    json_out_raw(to, "]");
    json_out_put_string(to, "file", finding->focus ? st_text_file_name(finding->focus->file) : NULL);
    json_out_put_whole(to, "line", finding->focus && finding->focus->line > 0 ? finding->focus->line : -1);
    json_out_raw(to, "}");
}

static void write_profile(json_out *to, const st_reported_profile *profile)
{
    if (!profile || !profile->any) {
        json_out_raw(to, "null");
        return;
    }
    json_out_raw(to, "{");
    write_waits(to, profile);
    json_out_put_number(to, "samples", profile->total_samples);
    json_out_raw(to, ",\"counters\":{");
    for (size_t i = 0; i < profile->counter_count; i++) {
        json_out_raw(to, i ? "," : "");
        json_out_string(to, profile->counters[i].name);
        json_out_raw(to, ":");
        json_out_number(to, profile->counters[i].value);
    }
    json_out_raw(to, "},\"findings\":[");
    for (size_t i = 0; i < profile->finding_count; i++) {
        json_out_raw(to, i ? "," : "");
        write_finding(to, &profile->findings[i]);
    }
    json_out_raw(to, "],\"lines\":[");
    for (size_t i = 0; i < profile->line_count; i++) {
        json_out_raw(to, i ? ",{\"file\":" : "{\"file\":");
        json_out_string(to, profile->lines[i].file);
        json_out_put_whole(to, "line", profile->lines[i].line > 0 ? profile->lines[i].line : -1);
        json_out_put_string(to, "stall", profile->lines[i].stall_name);
        json_out_put_share(to, "share", profile->lines[i].share);
        json_out_raw(to, "}");
    }
    json_out_raw(to, "]}");
}

static void write_samples_of(json_out *to, const st_reported_samples *samples)
{
    json_out_raw(to, "[");
    for (size_t i = 0; i < samples->count; i++) {
        json_out_raw(to, i ? "," : "");
        json_out_number(to, samples->ns[i]);
    }
    json_out_raw(to, "]");
}

static void write_finals(json_out *to, const st_reported_result *result)
{
    json_out_raw(to, ",\"finals\":[");
    for (size_t i = 0; i < result->final_count; i++) {
        const st_reported_entrant *entrant = &result->finals[i];
        json_out_raw(to, i ? ",{\"candidate\":" : "{\"candidate\":");
        json_out_whole(to, entrant->candidate);
        json_out_put_number(to, "median_ns", entrant->median_ns);
        json_out_raw(to, ",\"ratio\":");
        write_interval(to, entrant->ratio);
        json_out_raw(to, entrant->tied ? ",\"tied\":true" : ",\"tied\":false");
        json_out_put_string(to, "rival", entrant->rival);
        json_out_raw(to, "}");
    }
    json_out_raw(to, "]");
}

static void write_changes(json_out *to, const st_reported_session *session, const st_reported_result *result)
{
    json_out_raw(to, ",\"changes\":[");
    for (size_t i = 0; i < result->change_count; i++) {
        const st_reported_change *change = &result->changes[i];
        json_out_raw(to, i ? ",{\"parameter\":" : "{\"parameter\":");
        json_out_string(to, session->parameters[change->parameter].name);
        json_out_put_string(to, "from", change->from);
        json_out_put_string(to, "to", change->to);
        json_out_put_number(to, "time_without", change->without);
        json_out_put_whole(to, "candidate_without", change->without_candidate);
        json_out_put_whole(to, "configurations_without", (int64_t)change->without_count);
        json_out_put_whole(to, "pairs", (int64_t)change->pairs);
        json_out_key(to, "alone");
        write_interval(to, change->alone);
        json_out_raw(to, "}");
    }
    json_out_raw(to, "],\"importance\":[");
    for (size_t i = 0; i < session->parameter_count && result->importance; i++) {
        json_out_raw(to, i ? "," : "");
        json_out_number(to, result->importance[i]);
    }
    json_out_raw(to, "]");
}

static void write_steps(json_out *to, const st_reported_result *result)
{
    json_out_raw(to, ",\"steps\":[");
    for (size_t i = 0; i < result->step_count; i++) {
        json_out_raw(to, i ? ",{\"before\":" : "{\"before\":");
        json_out_whole(to, result->steps[i].before);
        json_out_put_whole(to, "after", result->steps[i].after);
        json_out_put_number(to, "gain", result->steps[i].gain);
        json_out_put_whole(to, "parameters", (int64_t)result->steps[i].differ);
        json_out_raw(to, "}");
    }
    json_out_raw(to, "]");
}

static void write_past(json_out *to, const st_reported_result *result)
{
    json_out_raw(to, ",\"past\":[");
    for (size_t i = 0; i < result->past_count; i++) {
        const st_reported_past *past = &result->past[i];
        json_out_raw(to, i ? ",{\"session\":" : "{\"session\":");
        json_out_string(to, past->session_id);
        json_out_put_whole(to, "ended_ms", past->ended_ms);
        json_out_put_number(to, "winner_ns", past->ns);
        json_out_put_string(to, "driver", past->driver);
        json_out_put_string(to, "compiler", past->compiler);
        json_out_put_string(to, "tool", past->tool);
        json_out_put_string(to, "template_hash", past->template_hash);
        json_out_put_string(to, "configuration", past->configuration);
        json_out_raw(to, "}");
    }
    json_out_raw(to, "]");
}

void json_out_result(json_out *to, const st_reported_session *session, const st_reported_problem *problem, int cache)
{
    const st_reported_result *result = &problem->results[cache];
    json_out_key(to, st_report_cache_name(cache));
    if (!result->measured) {
        json_out_raw(to, "null");
        return;
    }
    json_out_raw(to, "{\"winner\":");
    json_out_whole(to, result->winner);
    json_out_put_whole(to, "default", result->standard);
    json_out_put_whole(to, "runner_up", result->runner_up);
    json_out_put_string(to, "configuration",
                        result->winner >= 0 ? problem->candidates[result->winner].configuration : NULL);
    json_out_put_number(to, "winner_ns", result->winner_ns);
    json_out_put_number(to, "default_ns", result->standard_ns);
    json_out_key(to, "speedup");
    write_interval(to, result->speedup);
    json_out_put_whole(to, "tied", result->tied > 0 ? result->tied : -1);
    json_out_put_string(to, "note", result->note);
    json_out_put_number(to, "bytes", result->bytes);
    json_out_put_number(to, "bytes_per_second", result->speed * 1e9);
    json_out_put_number(to, "limit_bytes_per_second", result->limit_gbs * 1e9);
    json_out_put_number(to, "share_of_limit", result->limit_share);
    json_out_put_whole(to, "measured", (int64_t)result->measured);
    write_finals(to, result);
    write_changes(to, session, result);
    write_steps(to, result);
    json_out_raw(to, ",\"profiles\":{\"winner\":");
    write_profile(to, result->winner_profile);
    json_out_key(to, "default");
    write_profile(to, result->standard_profile);
    json_out_raw(to, "},\"samples\":{\"winner\":");
    write_samples_of(to, &result->winner_samples);
    json_out_key(to, "default");
    write_samples_of(to, &result->standard_samples);
    json_out_key(to, "runner_up");
    write_samples_of(to, &result->runner_up_samples);
    json_out_raw(to, "}");
    write_past(to, result);
    json_out_raw(to, "}");
}
