// SPDX-License-Identifier: Apache-2.0
// Invariants: 1. at most one request is in flight, `open` of a link that was begun included: whatever is asked first
// waits for its reply; 2. after trouble that ended the worker a new one stands
// at the same problem before the next request is sent; 3. a worker that cannot be brought back twice in a
// row is an error of the tool, not of the candidate. What is asked of a worker stands in link_requests.c.
#include "tuner/link_internal.h"

#include "tuner/base/json.h"
#include "tuner/base/memory.h"
#include "tuner/link_trace.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

struct st_link {
    st_link_options options;
    st_child child;
    bool alive, at_problem;
    bool opening;        // `open` was sent, its reply is not there yet
    link_told opening_told;
    unsigned generation;
    st_device_facts facts;
    uint64_t free_bytes;
    double tick_ns;
    json_t *problem;     // the request that brings a worker to the problem; NULL: none
    void *problem_image;
    size_t problem_image_bytes;
};

void st_link_end_worker(st_link *link, double patience)
{
    st_child_stop(&link->child, patience);
    link->generation += link->alive;
    link->alive = link->at_problem = link->opening = false;
}

// A worker that died while nothing was asked of it (killed from outside) is no candidate's fault: it is
// noticed here, before the next request.
static void notice_death(st_link *link)
{
    char byte;
    if (link->alive && recv(link->child.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0)
        st_link_end_worker(link, 1);
}

// --- requests -----------------------------------------------------------------------------------------------

// The reply to what was sent with this result; `why` is of the sending. On NONE the frame is the caller's.
static st_trouble take_reply(st_link *link, st_code sent, st_error why, double limit, st_frame *reply, st_error *error)
{
    *reply = (st_frame){0};
    st_receive got = sent == ST_OK ? st_channel_receive(link->child.fd, limit, reply, &why)
                                   : ST_RECEIVE_CLOSED;
    if (got != ST_RECEIVED && why.code == ST_NO_MEMORY) { // ours, not the worker's
        st_link_end_worker(link, 1);
        st_fail_memory(error, "talking to a device worker");
        return ST_TROUBLE_CRASH;
    }
    if (got == ST_RECEIVE_TIMEOUT) {
        kill(link->child.pid, SIGKILL);
        st_link_end_worker(link, 5);
        st_fail(error, ST_FAILED, "raise --time-limit if the kernel is only slow",
                "no answer within %.3g s", limit);
        return ST_TROUBLE_TIMEOUT;
    }
    if (got != ST_RECEIVED) {
        char words[400];
        st_child_last_words(&link->child, words, sizeof words);
        st_link_end_worker(link, 1);
        int status = link->child.exit_status;
        if (WIFSIGNALED(status))
            st_fail(error, ST_FAILED, NULL, "the worker died of signal %d (%s)%s%s", WTERMSIG(status),
                    strsignal(WTERMSIG(status)), words[0] ? ": " : "", words);
        else
            st_fail(error, ST_FAILED, NULL, "the worker ended without an answer (exit %d)%s%s",
                    WEXITSTATUS(status), words[0] ? ": " : "", words);
        return ST_TROUBLE_CRASH;
    }
    const char *type = json_string_value(json_object_get(reply->json, "type"));
    if (type && strcmp(type, "failed") != 0)
        return ST_TROUBLE_NONE;
    const char *what = json_string_value(json_object_get(reply->json, "what"));
    const char *remedy = json_string_value(json_object_get(reply->json, "remedy"));
    json_t *code = json_object_get(reply->json, "code");
    st_fail(error, json_is_integer(code) ? (st_code)json_integer_value(code) : ST_FAILED, remedy, "%s",
            what ? what : "the worker's answer is not understood");
    bool lost = json_is_true(json_object_get(reply->json, "lost"));
    st_frame_release(reply);
    if (lost)
        st_link_end_worker(link, 0.2);
    return lost ? ST_TROUBLE_CRASH : ST_TROUBLE_REFUSED;
}

// One request and its reply, with no recovery.
static st_trouble converse(st_link *link, json_t *request, const void *blob, size_t blob_length,
                      double limit, st_frame *reply, st_error *error)
{
    *reply = (st_frame){0};
    if (!request) {
        st_fail_memory(error, "writing a request");
        return ST_TROUBLE_REFUSED;
    }
    st_error why = {0};
    st_code sent = st_channel_send(link->child.fd, request, blob, blob_length, &why);
    json_decref(request);
    return take_reply(link, sent, why, limit, reply, error);
}

static int track_of(const st_link *link)
{
    return link->options.profiles ? ST_TRACE_PROFILING : ST_TRACE_TIMING;
}

// The same, told to the timeline.
static st_trouble ask(st_link *link, json_t *request, const void *blob, size_t blob_length,
                      double limit, st_frame *reply, st_error *error)
{
    link_told about = link_told_of(link->options.trace, request);
    st_trouble trouble = converse(link, request, blob, blob_length, limit, reply, error);
    link_tell(&about, track_of(link), trouble, reply, error);
    return trouble;
}

static st_trouble send_support(st_link *link, st_error *error)
{
    st_frame reply;
    st_trouble trouble = ask(link, json_pack("{s:s}", "type", "support"), link->options.support,
                             link->options.support_bytes, ST_LINK_START_LIMIT, &reply, error);
    if (trouble == ST_TROUBLE_NONE)
        link->tick_ns = st_json_number_or_nan(reply.json, "tick_ns");
    st_frame_release(&reply);
    return trouble;
}

static json_t *open_request(const st_link *link)
{
    return json_pack("{s:s, s:s, s:i, s:b}", "type", "open", "backend", link->options.backend, "ordinal",
                     link->options.ordinal, "warm", (int)link->options.warm);
}

static st_code spawn(st_link *link, st_error *error)
{
    st_code code = st_child_start(&link->child, link->options.profiles ? "profile" : "time", NULL,
                                  link->options.program, error);
    link->alive = code == ST_OK;
    return code;
}

// What follows the reply to `open`, which it takes over. *died: another worker may do better.
static st_code take_opened(st_link *link, st_trouble trouble, st_frame *reply, bool *died, st_error *error)
{
    json_t *facts;
    st_code code = ST_OK;
    if (trouble == ST_TROUBLE_NONE) {
        int64_t free_bytes = 0;
        code = st_json_get_object(reply->json, "facts", &facts, error);
        if (code == ST_OK)
            code = st_device_facts_decode(facts, &link->facts, error);
        if (code == ST_OK)
            code = st_json_get_int(reply->json, "free_bytes", &free_bytes, error);
        link->free_bytes = free_bytes > 0 ? (uint64_t)free_bytes : 0;
        st_frame_release(reply);
    }
    if (trouble == ST_TROUBLE_NONE && code == ST_OK && link->options.support)
        trouble = send_support(link, error);
    *died = trouble == ST_TROUBLE_CRASH;
    if (trouble == ST_TROUBLE_NONE && code == ST_OK)
        return ST_OK;
    if (link->alive)
        st_link_end_worker(link, 0.2);
    if (code == ST_OK)
        code = error && error->code != ST_OK ? error->code : ST_FAILED;
    return code;
}

static st_code start_once(st_link *link, bool *died, st_error *error)
{
    *died = false;
    st_code code = spawn(link, error);
    if (code != ST_OK)
        return code;
    st_frame reply;
    st_trouble trouble = ask(link, open_request(link), NULL, 0, ST_LINK_START_LIMIT, &reply, error);
    return take_opened(link, trouble, &reply, died, error);
}

// One that dies while it starts gets a second chance: nothing of a candidate is in it yet.
static st_code start_worker(st_link *link, st_error *error)
{
    bool died = true;
    st_code code = ST_OK;
    for (int attempt = 0; attempt < 2 && died; attempt++)
        code = start_once(link, &died, error);
    return code;
}

// Sends `open` and does not wait. Instead of a worker that cannot even be sent to, the first request gets another.
static st_code begin_worker(st_link *link, st_error *error)
{
    json_t *request = open_request(link);
    st_code code = request ? spawn(link, error) : st_fail_memory(error, "writing a request");
    if (code == ST_OK) {
        link->opening_told = link_told_of(link->options.trace, request);
        link->opening = true;
        if (st_channel_send(link->child.fd, request, NULL, 0, NULL) != ST_OK)
            st_link_end_worker(link, 0.2);
    }
    json_decref(request);
    return code;
}

// A worker that is open, the one at hand or a new one.
static st_code ready_worker(st_link *link, st_error *error)
{
    notice_death(link);
    if (!link->opening)
        return link->alive ? ST_OK : start_worker(link, error);
    st_frame reply;
    bool died = false;
    st_trouble trouble = take_reply(link, ST_OK, (st_error){0}, ST_LINK_START_LIMIT, &reply, error);
    link->opening = false;
    link_tell(&link->opening_told, track_of(link), trouble, &reply, error);
    st_code code = take_opened(link, trouble, &reply, &died, error);
    return died ? start_worker(link, error) : code;
}

static st_code go_to_problem(st_link *link, bool *too_big, st_error *error)
{
    st_frame reply;
    *too_big = false;
    st_trouble trouble = ask(link, json_incref(link->problem), link->problem_image,
                             link->problem_image_bytes, ST_LINK_START_LIMIT, &reply, error);
    if (trouble != ST_TROUBLE_NONE)
        return error && error->code != ST_OK ? error->code : ST_FAILED;
    const char *type = json_string_value(json_object_get(reply.json, "type"));
    *too_big = type && strcmp(type, "too_big") == 0;
    link->at_problem = !*too_big;
    st_frame_release(&reply);
    return ST_OK;
}

// Brings the link into the state in which a request can be sent.
static st_code make_ready(st_link *link, st_error *error)
{
    st_code code = ST_OK;
    for (int attempt = 0; attempt < 2; attempt++) {
        code = ready_worker(link, error);
        bool too_big = false;
        if (code == ST_OK && link->problem && !link->at_problem)
            code = go_to_problem(link, &too_big, error);
        if (code == ST_OK && too_big)
            code = st_fail(error, ST_FAILED, "end other programs on the device",
                           "the device has no longer the memory for the problem");
        if (code == ST_OK)
            return ST_OK;
    }
    return st_error_prefix(error, "the device worker cannot be started again");
}

st_code st_link_request(st_link *link, json_t *json, const void *blob, size_t blob_length, double limit,
                        st_frame *reply, st_trouble *trouble, st_error *error)
{
    *reply = (st_frame){0};
    *trouble = ST_TROUBLE_NONE;
    if (!json)
        return st_fail_memory(error, "writing a request");
    st_code code = make_ready(link, error);
    if (code != ST_OK) {
        json_decref(json);
        return code;
    }
    *trouble = ask(link, json, blob, blob_length, limit, reply, error);
    return *trouble == ST_TROUBLE_CRASH && error && error->code == ST_NO_MEMORY ? ST_NO_MEMORY : ST_OK;
}

static st_code open_link(const st_link_options *options, st_code (*start)(st_link *link, st_error *error), st_link **out,
                         st_error *error)
{
    st_link *link = st_calloc(1, sizeof *link);
    *out = NULL;
    if (!link)
        return st_fail_memory(error, "starting a worker");
    link->options = *options;
    link->child.fd = link->child.error_fd = -1;
    st_code code = start(link, error);
    if (code != ST_OK) {
        st_link_close(link);
        return code;
    }
    *out = link;
    return ST_OK;
}

st_code st_link_open(const st_link_options *options, st_link **out, st_error *error)
{
    return open_link(options, start_worker, out, error);
}

st_code st_link_begin(const st_link_options *options, st_link **out, st_error *error)
{
    return open_link(options, begin_worker, out, error);
}

st_code st_link_await(st_link *link, st_error *error)
{
    return ready_worker(link, error);
}

st_code st_link_support(st_link *link, const void *image, size_t bytes, st_error *error)
{
    link->options.support = image;
    link->options.support_bytes = bytes;
    if (link->opening) // which sends it
        return ready_worker(link, error);
    if (link->alive && send_support(link, error) == ST_TROUBLE_NONE)
        return ST_OK;
    if (link->alive)
        st_link_end_worker(link, 0.2);
    return start_worker(link, error); // with the module this time
}

void st_link_close(st_link *link)
{
    if (!link)
        return;
    st_link_end_worker(link, 3);
    json_decref(link->problem);
    st_free(link->problem_image);
    st_free(link);
}

const st_device_facts *st_link_facts(const st_link *link)
{
    return &link->facts;
}

uint64_t st_link_free_bytes(const st_link *link)
{
    return link->free_bytes;
}

double st_link_tick_ns(const st_link *link)
{
    return link->tick_ns;
}

unsigned st_link_generation(st_link *link)
{
    notice_death(link);
    return link->generation;
}

st_code st_link_set_problem(st_link *link, const st_link_problem *problem, bool *too_big,
                            st_error *error)
{
    *too_big = false;
    json_decref(link->problem);
    st_free(link->problem_image);
    link->problem_image = NULL;
    link->problem_image_bytes = 0;
    link->at_problem = false;
    link->problem = json_pack("{s:s, s:o, s:o, s:o}", "type", "problem", "buffers",
                              st_plan_buffers_encode(problem->buffers, problem->buffer_count), "kernels",
                              st_load_kernels_encode(problem->kernels, problem->kernel_count), "plan",
                              st_plan_encode(problem->plan));
    if (!link->problem)
        return st_fail_memory(error, "describing a problem");
    if (problem->image_bytes) {
        link->problem_image = st_malloc(problem->image_bytes);
        if (!link->problem_image)
            return st_fail_memory(error, "describing a problem");
        memcpy(link->problem_image, problem->image, problem->image_bytes);
        link->problem_image_bytes = problem->image_bytes;
    }
    st_code code = ST_OK;
    for (int attempt = 0; attempt < 2; attempt++) { // again when the worker died of something before
        code = ready_worker(link, error);
        if (code == ST_OK)
            code = go_to_problem(link, too_big, error);
        if (code == ST_OK || link->alive) // answered
            break;
    }
    if (*too_big) {
        json_decref(link->problem);
        link->problem = NULL;
    }
    return code;
}
