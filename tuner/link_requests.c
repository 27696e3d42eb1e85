// SPDX-License-Identifier: Apache-2.0
// What is asked of a device worker, one function a request (worker/messages.h), and what its replies say.
#include "tuner/link_internal.h"

#include "tuner/base/json.h"
#include "tuner/base/memory.h"

#include <math.h>
#include <string.h>

// For replies of which nothing is read.
static st_code simple(st_link *link, json_t *json, const void *blob, size_t bytes, double limit,
                      st_trouble *trouble, st_error *error)
{
    st_frame reply;
    st_code code = st_link_request(link, json, blob, bytes, limit, &reply, trouble, error);
    st_frame_release(&reply);
    return code;
}

// An answer that cannot be understood is the worker's fault: it is ended.
static st_code nonsense(st_link *link, st_trouble *trouble)
{
    st_link_end_worker(link, 0.2);
    *trouble = ST_TROUBLE_CRASH;
    return ST_OK;
}

static st_code load_once(st_link *link, int64_t candidate, int64_t module_key, const void *image,
                         size_t image_bytes, const st_load_kernel *kernels, size_t count, double limit,
                         st_frame *reply, st_trouble *trouble, st_error *error)
{
    return st_link_request(link,
                   json_pack("{s:s, s:I, s:I, s:o}", "type", "load", "candidate", (json_int_t)candidate,
                             "module", (json_int_t)module_key, "kernels",
                             st_load_kernels_encode(kernels, count)),
                   image, image_bytes, limit, reply, trouble, error);
}

st_code st_link_load(st_link *link, int64_t candidate, int64_t module_key, const void *image,
                     size_t image_bytes, const st_load_kernel *kernels, size_t count,
                     st_loaded_kernel *facts, double limit, st_trouble *trouble, st_error *error)
{
    st_frame reply;
    // First without the image: most often the worker has it.
    st_code code = load_once(link, candidate, module_key, image, module_key ? 0 : image_bytes, kernels, count,
                             limit, &reply, trouble, error);
    const char *type = json_string_value(json_object_get(reply.json, "type"));
    if (code == ST_OK && *trouble == ST_TROUBLE_NONE && type && strcmp(type, "need_module") == 0) {
        st_frame_release(&reply);
        code = load_once(link, candidate, module_key, image, image_bytes, kernels, count, limit, &reply, trouble,
                         error);
    }
    if (code == ST_OK && *trouble == ST_TROUBLE_NONE &&
        st_loaded_kernels_decode(json_object_get(reply.json, "kernels"), facts, count, error) != ST_OK)
        code = nonsense(link, trouble);
    st_frame_release(&reply);
    return code;
}

st_code st_link_plan(st_link *link, int64_t candidate, const st_plan *plan, st_trouble *trouble,
                     st_error *error)
{
    return simple(link,
                  json_pack("{s:s, s:I, s:o}", "type", "plan", "candidate", (json_int_t)candidate, "plan",
                            st_plan_encode(plan)),
                  NULL, 0, ST_LINK_START_LIMIT, trouble, error);
}

// Lists of pairs, as in [[0,2],[1,3]].
static json_t *pairs(const int (*items)[2], size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count && list; i++)
        if (json_array_append_new(list, json_pack("[i,i]", items[i][0], items[i][1])) != 0) {
            json_decref(list);
            list = NULL;
        }
    return list;
}

st_code st_link_verify(st_link *link, int64_t candidate, st_data data, uint64_t rotation,
                       const st_link_check *check, double limit, st_verdict *verdict,
                       st_trouble *trouble, st_error *error)
{
    st_frame reply;
    json_t *json = json_pack("{s:s, s:I, s:i, s:I, s:o, s:o}", "type", "verify", "candidate",
                             (json_int_t)candidate, "data", (int)data, "rotation", (json_int_t)rotation,
                             "compares", st_plan_compares_encode(check->compares, check->count), "in_place",
                             pairs(check->in_places, check->in_place_count));
    if (json && check->keeps_storage && json_object_set_new(json, "keep", json_true()) != 0) {
        json_decref(json);
        json = NULL;
    }
    if (json && check->derive && json_object_set_new(json, "derive", st_plan_encode(check->derive)) != 0) {
        json_decref(json);
        json = NULL;
    }
    st_code code = st_link_request(link, json, NULL, 0, limit, &reply, trouble, error);
    if (code == ST_OK && *trouble == ST_TROUBLE_NONE &&
        st_verdict_decode(json_object_get(reply.json, "verdict"), verdict, error) != ST_OK)
        code = nonsense(link, trouble);
    st_frame_release(&reply);
    return code;
}

st_code st_link_capture(st_link *link, int64_t candidate, st_data data, uint64_t rotation, double limit,
                        st_trouble *trouble, st_error *error)
{
    return simple(link,
                  json_pack("{s:s, s:I, s:i, s:I}", "type", "capture", "candidate", (json_int_t)candidate,
                            "data", (int)data, "rotation", (json_int_t)rotation),
                  NULL, 0, limit, trouble, error);
}

// Takes the samples and the state out of a `timed` reply.
static st_code read_samples(st_link *link, st_frame *reply, double **out, size_t *count,
                            st_timing_state *state, st_trouble *trouble, st_error *error)
{
    if (reply->blob_length % sizeof **out != 0 || !reply->blob_length ||
        st_timing_state_decode(json_object_get(reply->json, "state"), state, error) != ST_OK)
        return nonsense(link, trouble);
    *out = reply->blob;
    *count = reply->blob_length / sizeof **out;
    reply->blob = NULL;
    return ST_OK;
}

st_code st_link_time(st_link *link, int64_t candidate, const char *cache, int64_t samples, double limit,
                     double **out, size_t *count, st_timing_state *state, st_trouble *trouble,
                     st_error *error)
{
    st_frame reply;
    *out = NULL;
    *count = 0;
    st_code code = st_link_request(link,
                           json_pack("{s:s, s:I, s:s, s:I}", "type", "time", "candidate",
                                     (json_int_t)candidate, "cache", cache, "samples",
                                     (json_int_t)samples),
                           NULL, 0, limit, &reply, trouble, error);
    if (code == ST_OK && *trouble == ST_TROUBLE_NONE)
        code = read_samples(link, &reply, out, count, state, trouble, error);
    st_frame_release(&reply);
    return code;
}

static json_t *id_list(const int64_t *candidates, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count && list; i++)
        if (json_array_append_new(list, json_integer((json_int_t)candidates[i])) != 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

st_code st_link_race(st_link *link, const int64_t *candidates, size_t count, const char *cache,
                     int64_t rounds, int64_t seed, double limit, double **out, size_t *rounds_done,
                     st_timing_state *state, st_trouble *trouble, st_error *error)
{
    st_frame reply;
    size_t samples = 0;
    *out = NULL;
    *rounds_done = 0;
    st_code code = st_link_request(link,
                           json_pack("{s:s, s:o, s:s, s:I, s:I}", "type", "race", "candidates",
                                     id_list(candidates, count), "cache", cache, "rounds",
                                     (json_int_t)rounds, "seed", (json_int_t)seed),
                           NULL, 0, limit, &reply, trouble, error);
    if (code == ST_OK && *trouble == ST_TROUBLE_NONE)
        code = read_samples(link, &reply, out, &samples, state, trouble, error);
    st_frame_release(&reply);
    *rounds_done = count ? samples / count : 0;
    return code;
}

st_code st_link_unload(st_link *link, int64_t candidate, st_trouble *trouble, st_error *error)
{
    return simple(link, json_pack("{s:s, s:I}", "type", "unload", "candidate", (json_int_t)candidate),
                  NULL, 0, ST_LINK_START_LIMIT, trouble, error);
}

// A reply that is handed on whole.
static st_code whole(st_link *link, json_t *json, const void *blob, size_t bytes, double limit,
                     json_t **out, st_trouble *trouble, st_error *error)
{
    st_frame reply;
    st_code code = st_link_request(link, json, blob, bytes, limit, &reply, trouble, error);
    *out = code == ST_OK && *trouble == ST_TROUBLE_NONE ? json_incref(reply.json) : NULL;
    st_frame_release(&reply);
    return code;
}

st_code st_link_stalls(st_link *link, int64_t candidate, const st_link_stall_options *how, const void *image,
                       size_t image_bytes, double limit, json_t **reply, st_trouble *trouble,
                       st_error *error)
{
    json_t *json = json_pack("{s:s, s:I, s:I}", "type", "stalls", "candidate", (json_int_t)candidate, "minimum",
                             (json_int_t)how->minimum);
    bool fine = json && (how->lines <= 0 || json_object_set_new(json, "lines", json_integer(how->lines)) == 0) &&
                (!(how->expected_ns > 0) ||
                 json_object_set_new(json, "expected_ns", json_real(how->expected_ns)) == 0) &&
                (!(how->seconds > 0) || json_object_set_new(json, "seconds", json_real(how->seconds)) == 0);
    if (!fine) {
        json_decref(json);
        json = NULL;
    }
    return whole(link, json, image, image_bytes, limit, reply, trouble, error);
}

st_code st_link_counters(st_link *link, const int64_t *candidates, size_t count,
                         const char *const *metrics, size_t metric_count, double limit, json_t **reply,
                         st_trouble *trouble, st_error *error)
{
    json_t *names = json_array();
    for (size_t i = 0; i < metric_count && names; i++)
        json_array_append_new(names, json_string(metrics[i]));
    return whole(link,
                 json_pack("{s:s, s:o, s:o}", "type", "counters", "candidates", id_list(candidates, count),
                           "metrics", names),
                 NULL, 0, limit, reply, trouble, error);
}

st_code st_link_speed(st_link *link, double *read_gbs, double *copy_gbs, st_trouble *trouble,
                      st_error *error)
{
    json_t *reply;
    *read_gbs = *copy_gbs = NAN;
    st_code code = whole(link, json_pack("{s:s}", "type", "speed"), NULL, 0, ST_LINK_START_LIMIT, &reply, trouble,
                         error);
    if (reply) {
        *read_gbs = st_json_number_or_nan(reply, "read_gbs");
        *copy_gbs = st_json_number_or_nan(reply, "copy_gbs");
        json_decref(reply);
    }
    return code;
}
