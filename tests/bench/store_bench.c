// SPDX-License-Identifier: Apache-2.0
// How fast a large store answers, as a person at the terminal sees it: each question is a whole run of the program,
// from start to exit, its output read and counted. Beside each figure stands what it should be. Nothing here is a test:
// the figures depend on the machine and on what else it does.
//
//   store_bench SIMTUNE FILE [CANDIDATES [SAMPLES]]      1000000 and 20 when left out
//
// FILE is generated when it is not there (1000000 candidates: minutes, 1.4 GB), and gets 2000 more candidates by
// each run. Questions are asked seven times; printed are the median, that of the processor time, and the
// first (FILE may have to come from the disk).
#include "db/generate_internal.h"
#include "tuner/base/clock.h"
#include "tuner/base/json.h"
#include "tuner/base/memory.h"
#include "tuner/base/statistics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TIMES = 7, INSERTS = 1000, SAMPLES = 50 };
static st_error error;

static void need(st_code code, const char *what)
{
    if (code == ST_OK)
        return;
    fprintf(stderr, "store_bench: %s: %s (%s)\n", what, error.what, error.remedy);
    exit(1);
}

static void row(const char *what, const char *figures, const char *target)
{
    printf("%-76s %-44s %s\n", what, figures, target);
    fflush(stdout);
}

// --- the file ----------------------------------------------------------------------------------------------
static bool tell(void *context, int64_t candidates)
{
    int64_t *told = context;
    if (candidates - *told >= 100000) {
        fprintf(stderr, "  %lld candidates\n", (long long)candidates);
        *told = candidates;
    }
    return true;
}

static void generate(const char *path, int64_t candidates, int samples)
{
    int64_t told = 0;
    st_generated made;
    st_generate_options options = {
        .candidates = candidates, .samples = samples, .seed = 1, .go_on = tell, .context = &told};
    char figures[96];
    double began = st_clock_seconds();
    need(st_store_generate(path, &options, &made, &error), "generating");
    snprintf(figures, sizeof figures, "%.1f s", st_clock_seconds() - began);
    row("generate", figures, "");
    printf("  %lld sessions, %lld candidates, %lld measurements of %lld samples, %lld counters, %lld winners\n",
           (long long)made.sessions, (long long)made.candidates, (long long)made.measurements,
           (long long)made.samples, (long long)made.counters, (long long)made.winners);
}

static double seconds_of(const struct rusage *use)
{
    return (double)(use->ru_utime.tv_sec + use->ru_stime.tv_sec) +
           1e-6 * (double)(use->ru_utime.tv_usec + use->ru_stime.tv_usec);
}

// --- inserting ---------------------------------------------------------------------------------------------
static int compare_reals(const void *a, const void *b)
{
    double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
}

static void begin_session(st_store *store, st_session_row *session)
{
    st_device_row device = {
        .cc = 90, .sm_count = 132, .memory_bytes = -1, .l2_bytes = -1, .read_gbs = NAN, .copy_gbs = NAN};
    st_toolchain_row toolchain = {.driver_cuda = 13000};
    snprintf(device.uuid, sizeof device.uuid, "GEN-bench");
    snprintf(device.name, sizeof device.name, "Bench");
    snprintf(device.backend, sizeof device.backend, ST_GENERATED_BACKEND);
    snprintf(session->family, sizeof session->family, "reduce");
    snprintf(session->resume_key, sizeof session->resume_key, "bench");
    need(st_store_device(store, &device, &session->device_key, &error), "device");
    need(st_store_toolchain(store, &toolchain, &session->toolchain_key, &error), "toolchain");
    need(st_store_template(store, "reduce", "bench", "{}", &session->template_key, &error), "template");
    need(st_store_session_begin(store, session, &error), "session");
}

// One candidate as a run stores it: whole, in a transaction of its own.
static void insert(st_store *store, const st_session_row *session, int64_t problem, int number)
{
    double values[ST_WORLD_COUNTERS], samples[SAMPLES];
    char text[64];
    for (int i = 0; i < ST_WORLD_COUNTERS; i++)
        values[i] = 1.0 / (number + i + 1);
    for (int i = 0; i < SAMPLES; i++)
        samples[i] = 1000 + 1.0 / (number + i + 1);
    st_candidate_row candidate = {.session_key = session->key, .problem_key = problem, .outcome = "correct",
                                  .registers = 32, .occupancy = 0.5, .deterministic = 1, .compile_seconds = 0.1};
    snprintf(text, sizeof text, "BLOCK=%d", number);
    need(st_store_begin(store, &error), "begin");
    need(st_store_configuration(store, "reduce", text, &candidate.configuration_key, &error), "configuration");
    need(st_store_candidate(store, &candidate, &error), "candidate");
    st_measurement_row measurement = {.candidate_key = candidate.key, .phase = "screen", .cache = "cold",
                                      .samples_ns = samples, .sample_count = SAMPLES, .median_ns = 1000,
                                      .sm_clock_mhz = 1980, .memory_clock_mhz = 3201, .temperature_c = 41,
                                      .power_mw = 300000, .batch = 1, .tick_ns = 32, .taken_ms = 1800000000000};
    need(st_store_measurement(store, &measurement, &error), "measurement");
    for (int exact = 0; exact < 2; exact++)
        need(st_store_counters(store, candidate.key, exact ? "range" : "pc", st_world_counter_names(exact), values,
                               ST_WORLD_COUNTERS, 0.1, &error),
             "counters");
    need(st_store_commit(store, &error), "commit");
}

static void bench_inserts(const char *path, bool flushed)
{
    static double ms[INSERTS];
    st_store *store;
    st_session_row session = {.finished_ms = -1};
    int64_t problem;
    double sum = 0;
    struct rusage before, after;
    need(st_store_open(path, ST_STORE_WRITE, &store, &error), "opening");
    if (flushed) // what a store does not do on its own: see docs/store.md
        need(st_script_run(store, "PRAGMA synchronous = FULL", "setting up", &error), "flushing");
    begin_session(store, &session);
    need(st_store_problem(store, "reduce", "T=bench n=1", "bench", NULL, 1, &problem, &error), "problem");
    getrusage(RUSAGE_SELF, &before);
    for (int i = 0; i < INSERTS; i++) {
        double began = st_clock_seconds();
        insert(store, &session, problem, i);
        sum += ms[i] = (st_clock_seconds() - began) * 1e3;
    }
    getrusage(RUSAGE_SELF, &after);
    need(st_store_session_end(store, session.key, ST_SESSION_FINISHED, NULL, &error), "end");
    st_store_close(store);
    qsort(ms, INSERTS, sizeof *ms, compare_reals);
    char figures[96];
    snprintf(figures, sizeof figures, "%.2f ms, cpu %.2f, mean %.2f, 99%% %.2f", ms[INSERTS / 2],
             (seconds_of(&after) - seconds_of(&before)) * 1e3 / INSERTS, sum / INSERTS, ms[INSERTS * 99 / 100]);
    row(flushed ? "the same, each flushed to the disk" : "insert a candidate, 50 samples, 40 counters, committed", figures,
        flushed ? "" : "< 2 ms");
}

// --- asking ------------------------------------------------------------------------------------------------
// Runs the program, reads what it says, returns the seconds. `lines` gets the number of lines, `cpu` the seconds of
// processor time, which tell more than the clock where other programs run.
static double run_once(char *const *words, long *lines, double *cpu, int *status)
{
    struct rusage use;
    int ends[2];
    char bytes[65536];
    double began = st_clock_seconds();
    if (pipe(ends) != 0)
        exit(1);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], 1);
        close(ends[0]);
        close(ends[1]);
        execv(words[0], words);
        _exit(127);
    }
    close(ends[1]);
    *lines = 0;
    for (ssize_t count; (count = read(ends[0], bytes, sizeof bytes)) > 0;)
        for (ssize_t i = 0; i < count; i++)
            *lines += bytes[i] == '\n';
    close(ends[0]);
    wait4(child, status, 0, &use);
    *cpu = seconds_of(&use);
    return st_clock_seconds() - began;
}

static void question(const char *simtune, const char *path, const char *target, const char *const *words)
{
    char *all[24] = {(char *)(uintptr_t)simtune};
    double seconds[TIMES], cpu[TIMES], first = 0;
    long lines = 0;
    int count = 1, status = 0;
    st_text what;
    char figures[96];
    st_text_init(&what);
    for (int i = 0; words[i]; i++) {
        all[count++] = (char *)(uintptr_t)words[i];
        st_text_addf(&what, "%s%s", i ? " " : "", words[i]);
    }
    all[count++] = (char *)(uintptr_t)"--db";
    all[count++] = (char *)(uintptr_t)path;
    for (int i = 0; i < TIMES; i++) {
        seconds[i] = run_once(all, &lines, &cpu[i], &status);
        first = i ? first : seconds[0];
    }
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    snprintf(figures, sizeof figures, "%.0f ms, cpu %.0f, first %.0f (%ld lines)", st_median(seconds, TIMES) * 1e3,
             st_median(cpu, TIMES) * 1e3, first * 1e3, lines);
    row(st_text_string(&what), figures, target);
    if (code != 0 && code != 4) // 4: compare found a regression
        printf("  exit %d\n", code);
    st_text_release(&what);
}

// The id of the `skip`-th session of scan on the first generated device, oldest first.
typedef struct finding {
    const char *device;
    int skip;
    char session[ST_HASH_TEXT], candidate[ST_HASH_TEXT];
} finding;

static st_code find_answer(void *context, const st_answer *answer, st_error *unused)
{
    (void)unused;
    finding *it = context;
    if (it->skip-- == 0) {
        snprintf(it->session, sizeof it->session, "%s", answer->session_id);
        snprintf(it->candidate, sizeof it->candidate, "%s", answer->candidate_id);
    }
    return ST_OK;
}

// Winners of one problem on one device, by toolchain: two sessions of the same device that can be compared.
static finding find(const char *path, int skip)
{
    st_store *store;
    finding it = {.skip = skip};
    st_query query = {.family = "scan", .device = "Generated GPU A", .type = "f32", .operation = "sum", .n = 1048576,
                      .cache = "cold", .cc = -1, .sm_count = -1, .since_ms = -1, .best = true};
    need(st_store_open(path, ST_STORE_READ, &store, &error), "opening");
    need(st_store_query(store, &query, find_answer, &it, &error), "asking");
    st_store_close(store);
    if (!it.session[0]) {
        fprintf(stderr, "store_bench: %s holds too few sessions to compare two\n", path);
        exit(1);
    }
    return it;
}

#define ASK(target, ...) question(simtune, path, target, (const char *const[]){__VA_ARGS__, NULL})

static void bench_questions(const char *simtune, const char *path)
{
    finding newest = find(path, 0), before = find(path, 1);
    static const char both[] = "BLOCK >= 256 and stall.long_scoreboard > 0.5";
    ASK("< 50 ms", "query", "reduce", "--best");
    ASK("< 50 ms", "query", "--best");
    ASK("< 50 ms", "query", "reduce", "--best", "--type", "f32", "--op", "sum", "--size", "1Mi");
    ASK("< 50 ms", "show", newest.candidate);
    ASK("< 50 ms", "query", "reduce", "--type", "f32", "--op", "sum", "--size", "1Mi", "--where", both);
    ASK("< 3 s", "query", "--where", both, "--top", "20");
    ASK("< 3 s", "query", "--where", "registers > 60 and time < 2300", "--top", "20");
    ASK("< 1 s", "compare", before.session, newest.session);
    ASK("", "query", "reduce", "--type", "f32", "--op", "sum", "--size", "1Mi");
    ASK("", "history", "scan");
    ASK("", "db", "info");
}

int main(int argc, char **argv)
{
    if (argc < 3 || argc > 5) {
        fprintf(stderr, "store_bench SIMTUNE FILE [CANDIDATES [SAMPLES]]\n");
        return 2;
    }
    struct stat status;
    char figures[96];
    st_json_setup();
    row("what", "measured", "should be");
    if (access(argv[2], F_OK) != 0)
        generate(argv[2], argc > 3 ? atoll(argv[3]) : 1000000, argc > 4 ? atoi(argv[4]) : 20);
    if (stat(argv[2], &status) != 0)
        return 1;
    snprintf(figures, sizeof figures, "%.2f GB", (double)status.st_size / 1e9);
    row("size of the file", figures, "< 2.5 GB");
    bench_inserts(argv[2], false);
    bench_inserts(argv[2], true);
    bench_questions(argv[1], argv[2]);
    return 0;
}
