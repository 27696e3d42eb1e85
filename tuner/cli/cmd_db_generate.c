// SPDX-License-Identifier: Apache-2.0
// `simtune db generate`: a made-up store of any size, for trying questions and for measuring how fast they are answered.
#include "db/generate.h"
#include "tuner/base/clock.h"
#include "tuner/base/json.h"
#include "tuner/cli/cli_answers.h"
#include "tuner/cli/cmd_db.h"

typedef struct telling {
    st_cli *cli;
    int64_t wanted;
    double told; // when
} telling;

// Between the problems of a session. Says where it stands every second, on a terminal.
static bool go_on(void *context, int64_t candidates)
{
    telling *to = context;
    double now = st_clock_seconds();
    if (to->cli->talk_is_terminal && now - to->told >= 1) {
        fprintf(to->cli->talk, "\r\033[K%lld of %lld candidates", (long long)candidates, (long long)to->wanted);
        fflush(to->cli->talk);
        to->told = now;
    }
    return !*to->cli->interrupted;
}

static st_code whole(const st_cli *cli, const char *name, int64_t missing, int64_t low, int64_t high, int64_t *out,
                     st_error *error)
{
    const char *word = st_parsed_text(cli->parsed, name);
    *out = missing;
    if (word && (!st_text_to_int(word, out) || *out < low || *out > high))
        return st_fail(error, ST_USAGE, "see simtune db --help", "--%s %s is not a whole number from %lld to %lld", name,
                       word, (long long)low, (long long)high);
    return ST_OK;
}

static st_code print(st_cli *cli, const char *path, int64_t seed, const st_generated *made, st_error *error)
{
    if (cli->json)
        return st_cli_print_json(cli,
                                 json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "schema",
                                           "simtune.db_generate/1", "path", path, "seed", (json_int_t)seed, "sessions",
                                           (json_int_t)made->sessions, "candidates", (json_int_t)made->candidates,
                                           "measurements", (json_int_t)made->measurements, "samples",
                                           (json_int_t)made->samples, "counters", (json_int_t)made->counters,
                                           "winners", (json_int_t)made->winners),
                                 error);
    fprintf(cli->talk,
            "wrote %s: %lld candidate%s of %lld session%s, %lld samples, %lld counters\n"
            "  nothing of this was measured, and it is never emitted as tuned\n",
            path, (long long)made->candidates, st_plural(made->candidates), (long long)made->sessions,
            st_plural(made->sessions), (long long)made->samples,
            (long long)made->counters);
    return ST_OK;
}

st_code st_cmd_db_generate(st_cli *cli, st_error *error)
{
    const st_parsed *parsed = cli->parsed;
    if (parsed->word_count != 2)
        return st_fail(error, ST_USAGE, "simtune db generate FILE --candidates 10000",
                       "generate needs one file to write");
    if (st_parsed_text(parsed, "db"))
        return st_fail(error, ST_USAGE, "simtune db generate FILE", "generate writes a new file and takes no --db");
    st_generate_options options = {0};
    int64_t samples = 0, seed = 0;
    st_code code = whole(cli, "candidates", 10000, 1, ST_GENERATE_CANDIDATES_MAX, &options.candidates, error);
    if (code == ST_OK)
        code = whole(cli, "samples", 20, 1, ST_GENERATE_SAMPLES_MAX, &samples, error);
    if (code == ST_OK)
        code = whole(cli, "seed", 1, 0, INT64_MAX, &seed, error);
    if (code != ST_OK)
        return code;
    st_generated made;
    telling to = {.cli = cli, .wanted = options.candidates, .told = st_clock_seconds()};
    options.samples = (int)samples;
    options.seed = (uint64_t)seed;
    options.go_on = go_on;
    options.context = &to;
    code = st_store_generate(parsed->words[1], &options, &made, error);
    if (cli->talk_is_terminal)
        fputs("\r\033[K", cli->talk);
    return code == ST_OK ? print(cli, parsed->words[1], seed, &made, error) : code;
}
