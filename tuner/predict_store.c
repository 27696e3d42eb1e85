// SPDX-License-Identifier: Apache-2.0
// Predictions as rows. Invariants: 1. the device's backend is "predicted", so that nothing of it is ever taken for
// measured; 2. a session is there whole or not at all.
#include "tuner/predict_internal.h"

#include "tuner/base/clock.h"
#include "tuner/base/json.h"
#include "tuner/base/memory.h"
#include "tuner/base/version.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static st_code add_device(st_store *store, const st_choice *choice, int64_t *key, st_error *error)
{
    st_device_row row = {.cc = choice->device_class.cc, .sm_count = choice->device_class.sm_count,
                         .memory_bytes = choice->memory_bytes, .l2_bytes = -1, .read_gbs = NAN, .copy_gbs = NAN};
    snprintf(row.uuid, sizeof row.uuid, "PREDICTED-sm_%d/%d", row.cc, row.sm_count);
    snprintf(row.name, sizeof row.name, "%s", choice->device_name);
    snprintf(row.backend, sizeof row.backend, "%s", ST_PREDICTED_BACKEND);
    row.facts_json = st_strdup("{}");
    st_code code = row.facts_json ? st_store_device(store, &row, key, error) : st_fail_memory(error, "storing a device");
    st_free(row.facts_json);
    return code;
}

static st_code add_template(st_store *store, const st_template *tmpl, int64_t *key, st_error *error)
{
    st_includes includes = {0};
    st_text text;
    st_text_init(&text);
    st_code code = st_template_includes(tmpl, &includes, error);
    json_t *files = json_object();
    bool whole = files && st_json_put(files, st_text_file_name(tmpl->path), json_string(tmpl->text));
    for (size_t i = 0; whole && i < includes.count; i++)
        whole = st_json_put(files, includes.items[i].name, json_string(includes.items[i].text));
    if (whole)
        st_json_print(files, &text);
    json_decref(files);
    st_includes_release(&includes);
    if (code == ST_OK && (!whole || text.failed))
        code = st_fail_memory(error, "storing the template");
    if (code == ST_OK)
        code = st_store_template(store, tmpl->family, tmpl->hash, st_text_string(&text), key, error);
    st_text_release(&text);
    return code;
}

static st_code begin(st_store *store, const st_template *tmpl, const st_prediction *first, const char *command,
                     st_session_row *session, st_error *error)
{
    st_toolchain_row toolchain = {.driver_cuda = -1};
    snprintf(toolchain.compiler, sizeof toolchain.compiler, "%s", first->compiler);
    snprintf(toolchain.tool, sizeof toolchain.tool, "%s", SIMTUNE_VERSION);
    *session = (st_session_row){.started_ms = st_clock_unix_ms(), .finished_ms = -1};
    snprintf(session->resume_key, sizeof session->resume_key, "predicted");
    snprintf(session->family, sizeof session->family, "%s", tmpl->family);
    session->command = (char *)(uintptr_t)(command ? command : "");
    session->options_json = (char *)(uintptr_t) "{\"strategy\":\"predicted\"}";
    st_code code = add_device(store, &first->choice, &session->device_key, error);
    if (code == ST_OK)
        code = st_store_toolchain(store, &toolchain, &session->toolchain_key, error);
    if (code == ST_OK)
        code = add_template(store, tmpl, &session->template_key, error);
    return code == ST_OK ? st_store_session_begin(store, session, error) : code;
}

static int64_t size_of(const st_template *tmpl, const st_problem *problem)
{
    int axis = st_template_axis(tmpl, "n");
    for (size_t i = 0; axis < 0 && i < tmpl->axis_count; i++)
        if (tmpl->axes[i].kind == ST_AXIS_SIZE)
            axis = (int)i;
    return axis < 0 ? -1 : problem->value[axis];
}

static const char *operation_of(const st_template *tmpl, const st_problem *problem)
{
    int axis = st_template_axis(tmpl, "op");
    for (size_t v = 0; axis >= 0 && v < tmpl->axes[axis].value_count; v++)
        if (tmpl->axes[axis].values[v].number == problem->value[axis])
            return tmpl->axes[axis].values[v].word;
    return NULL;
}

static st_code add_row(st_store *store, const st_template *tmpl, const st_prediction *prediction, int64_t session,
                       st_error *error)
{
    const st_choice *choice = &prediction->choice;
    const st_type *type = st_problem_type(tmpl, &choice->problem);
    st_text problem, config, note;
    st_text_init(&problem);
    st_text_init(&config);
    st_text_init(&note);
    st_problem_text(tmpl, &choice->problem, &problem);
    st_config_text(tmpl, &choice->config, &config);
    st_text_addf(&note, ST_PREDICTED_NOTE "%s%s", prediction->by ? "as ranked on " : "by a model alone",
                 prediction->by ? prediction->by->name : "");
    st_candidate_row row = {.session_key = session,
                            .detail = (char *)(uintptr_t)st_text_string(&note),
                            .registers = prediction->registers,
                            .local_bytes = -1,
                            .static_smem = prediction->static_smem,
                            .dynamic_smem = (int)prediction->dynamic_smem,
                            .blocks_per_sm = choice->blocks_per_sm,
                            .occupancy = prediction->occupancy,
                            .deterministic = choice->deterministic,
                            .compile_seconds = NAN};
    snprintf(row.outcome, sizeof row.outcome, "correct"); // a winner has to be; the backend says that nothing ran
    st_code code = problem.failed || config.failed || note.failed ? st_fail_memory(error, "storing a prediction") : ST_OK;
    if (code == ST_OK)
        code = st_store_problem(store, tmpl->family, st_text_string(&problem), type ? type->name : NULL,
                                operation_of(tmpl, &choice->problem), size_of(tmpl, &choice->problem), &row.problem_key,
                                error);
    if (code == ST_OK)
        code = st_store_configuration(store, tmpl->family, st_text_string(&config), &row.configuration_key, error);
    if (code == ST_OK)
        code = st_store_candidate(store, &row, error);
    const st_winner_row winner = {.session_key = session, .problem_key = row.problem_key, .cache = "cold",
                                  .winner_key = row.key, .default_key = -1, .winner_ns = NAN, .default_ns = NAN,
                                  .speedup = NAN, .speedup_low = NAN, .speedup_high = NAN, .tied = 1,
                                  .bytes = prediction->bytes, .note = (char *)(uintptr_t)st_text_string(&note)};
    if (code == ST_OK)
        code = st_store_winner(store, &winner, error);
    st_text_release(&problem);
    st_text_release(&config);
    st_text_release(&note);
    return code;
}

st_code st_predict_store(st_store *store, const st_template *tmpl, const st_prediction *predictions, size_t count,
                         const char *command, char session_id[ST_HASH_TEXT], st_error *error)
{
    st_session_row session = {0};
    if (!count)
        return ST_OK;
    st_code code = st_store_begin(store, error);
    if (code != ST_OK)
        return code;
    code = begin(store, tmpl, &predictions[0], command, &session, error);
    for (size_t i = 0; i < count && code == ST_OK; i++)
        code = add_row(store, tmpl, &predictions[i], session.key, error);
    if (code == ST_OK)
        code = st_store_session_end(store, session.key, ST_SESSION_FINISHED, "{\"predicted\":true}", error);
    snprintf(session_id, ST_HASH_TEXT, "%s", session.id);
    if (code == ST_OK)
        return st_store_commit(store, error);
    st_store_rollback(store);
    return code;
}
