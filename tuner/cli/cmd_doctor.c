// SPDX-License-Identifier: Apache-2.0
// `simtune doctor`: what is found of driver, devices, compiler and permissions, and what to do.
//
// Invariant: whether counters are allowed can only be tried with a context, and this process never holds
// one: a child tries it, forked before anything of CUDA is opened here.
#include "tuner/cli/cli_answers.h"
#include "tuner/cli/cli_place.h"

#include "cupti/counters.h"
#include "tuner/base/memory.h"
#include "tuner/gpu/doctor.h"
#include "tuner/gpu/gpu.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

// --- trying the counters ------------------------------------------------------------------------------
typedef struct trial {
    bool answered;
    st_counters_state state;
    char detail[512];
} trial;

static void try_counters(int fd)
{
    trial result = {.answered = true};
    const st_gpu_operations *cuda = st_gpu_backend("cuda");
    st_gpu *gpu = NULL;
    if (cuda->open(0, &gpu, NULL) != ST_OK)
        return; // the driver's finding says why
    st_text detail;
    st_text_init(&detail);
    result.state = st_counters_probe(cuda->native_context(gpu), 0, &detail);
    snprintf(result.detail, sizeof result.detail, "%s", st_text_string(&detail));
    st_text_release(&detail);
    cuda->close(gpu);
    if (write(fd, &result, sizeof result) != (ssize_t)sizeof result)
        return;
}

// The child may crash or hang in the vendor's code: then there is no answer, and no harm.
static void ask_child(trial *result)
{
    enum { PATIENCE_MS = 60 * 1000 };
    int ends[2];
    *result = (trial){0};
    if (st_fault_here(ST_FAULT_SYSTEM) || pipe(ends) != 0)
        return;
    pid_t child = st_fault_here(ST_FAULT_SYSTEM) ? -1 : fork();
    if (child == 0) {
        close(ends[0]);
        try_counters(ends[1]);
        _exit(0);
    }
    close(ends[1]);
    if (child > 0) {
        struct pollfd ready = {.fd = ends[0], .events = POLLIN};
        if (poll(&ready, 1, PATIENCE_MS) != 1 ||
            read(ends[0], result, sizeof *result) != (ssize_t)sizeof *result)
            *result = (trial){0};
        kill(child, SIGKILL); // it has said what it had to say
        waitpid(child, NULL, 0);
    }
    close(ends[0]);
}

// --- joining it to the findings -------------------------------------------------------------------------
// The trial is more certain than the kernel module's options, whose remedy is kept where both agree.
static void join_trial(const trial *result, st_doctor_finding *finding)
{
    if (!result->answered)
        return;
    st_finding_state by_options = finding->state;
    finding->state =
        result->state == ST_COUNTERS_ALLOWED ? ST_FINDING_OK : ST_FINDING_WARNING;
    snprintf(finding->message, sizeof finding->message, "tried: %s%s%s",
             st_counters_state_name(result->state), result->detail[0] ? ": " : "", result->detail);
    if (result->state == ST_COUNTERS_ALLOWED)
        finding->remedy[0] = '\0';
    else if (result->state != ST_COUNTERS_DENIED || by_options == ST_FINDING_OK)
        snprintf(finding->remedy, sizeof finding->remedy, "%s", st_counters_remedy(result->state));
}

static void find_cupti(st_doctor_finding *out)
{
    *out = (st_doctor_finding){.part = "cupti"};
    st_text where;
    st_text_init(&where);
    st_error error;
    st_error_clear(&error);
    int version = 0;
    if (st_cupti_version(&where, &version, &error) == ST_OK) {
        snprintf(out->message, sizeof out->message, "found");
        snprintf(out->version, sizeof out->version, "API %d", version);
        snprintf(out->where, sizeof out->where, "%.*s",
                 (int)strcspn(st_text_string(&where), ","), st_text_string(&where));
    } else {
        out->state = ST_FINDING_WARNING;
        snprintf(out->message, sizeof out->message, "%.*s", (int)sizeof out->message - 1, error.what);
        snprintf(out->remedy, sizeof out->remedy, "%s", error.remedy);
    }
    st_text_release(&where);
}

static st_code collect(const trial *result, const char *store, st_findings *findings, st_error *error)
{
    st_doctor_facts *facts = st_malloc(sizeof *facts);
    if (!facts)
        return st_fail_memory(error, "looking at this machine");
    st_doctor_gather(facts);
    st_code code = st_doctor_findings(facts, findings, error);
    st_free(facts);
    for (size_t i = 0; i < findings->count; i++)
        if (strcmp(findings->items[i].part, "counters") == 0)
            join_trial(result, &findings->items[i]);
    st_doctor_finding cupti;
    find_cupti(&cupti);
    if (code == ST_OK)
        code = st_findings_add(findings, &cupti, error);
    st_doctor_finding place;
    if (code == ST_OK)
        code = st_cli_place_finding(store, &place, error);
    return code == ST_OK ? st_findings_add(findings, &place, error) : code;
}

// --- printing ---------------------------------------------------------------------------------------------
static const char *colour_of(st_finding_state state)
{
    static const char *const colours[] = {"\033[32m", "\033[33m", "\033[31m"};
    return colours[state];
}

static void print_finding(const st_cli *cli, const st_doctor_finding *finding)
{
    fprintf(cli->out, "%s%-8s%s %-12s %s", cli->colour ? colour_of(finding->state) : "",
            st_finding_state_name(finding->state), cli->colour ? "\033[0m" : "", finding->part,
            finding->version);
    fprintf(cli->out, "%s%s\n", finding->version[0] ? "  " : "", finding->message);
    if (finding->where[0])
        fprintf(cli->out, "%21s  at %s\n", "", finding->where);
    if (finding->remedy[0])
        st_cli_tell(cli, cli->out, "%21s→ %s\n", "", finding->remedy);
}

static json_t *finding_json(const st_doctor_finding *finding)
{
    return json_pack("{s:s,s:s,s:o,s:o,s:s,s:o}", "part", finding->part, "state",
                     st_finding_state_name(finding->state), "version", st_json_text_or_null(finding->version), "where",
                     st_json_text_or_null(finding->where), "message", finding->message, "remedy",
                     st_json_text_or_null(finding->remedy));
}

static st_code print_json(st_cli *cli, const st_findings *findings, st_error *error)
{
    json_t *list = json_array();
    bool whole = list != NULL;
    for (size_t i = 0; whole && i < findings->count; i++)
        whole = json_array_append_new(list, finding_json(&findings->items[i])) == 0;
    json_t *report = whole ? json_pack("{s:s,s:s,s:O}", "schema", "simtune.doctor/1", "state",
                                       st_finding_state_name(st_findings_worst(findings)), "findings", list)
                           : NULL;
    json_decref(list);
    return st_cli_print_json(cli, report, error);
}

static st_code verdict(const st_findings *findings, st_error *error)
{
    int problems = 0;
    for (size_t i = 0; i < findings->count; i++)
        problems += findings->items[i].state == ST_FINDING_PROBLEM;
    if (problems == 0)
        return ST_OK;
    return st_fail(error, ST_NOTHING,
                   "mend what stands after →; query, show, repro, emit and db work without a GPU",
                   "%d problem%s: this machine cannot tune before %s mended", problems,
                   problems == 1 ? "" : "s", problems == 1 ? "it is" : "they are");
}

st_code st_cmd_doctor(st_cli *cli, st_error *error)
{
    if (cli->parsed->word_count > 0)
        return st_fail(error, ST_USAGE, "see `simtune doctor --help`", "doctor takes no %s",
                       cli->parsed->words[0]);
    trial result;
    ask_child(&result);
    st_findings findings = {0};
    st_code code = collect(&result, st_parsed_text(cli->parsed, "db"), &findings, error);
    if (code == ST_OK && cli->json)
        code = print_json(cli, &findings, error);
    for (size_t i = 0; code == ST_OK && !cli->json && i < findings.count; i++)
        print_finding(cli, &findings.items[i]);
    if (code == ST_OK)
        code = verdict(&findings, error);
    st_findings_release(&findings);
    return code;
}
