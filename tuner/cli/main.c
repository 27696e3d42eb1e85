// SPDX-License-Identifier: Apache-2.0
// simtune: the architecture in one screen. A word chooses a command (commands.c); `--internal ROLE` makes this
// process a worker of another simtune.
#include "db/locking.h"
#include "tuner/base/channel.h"
#include "tuner/base/json.h"
#include "tuner/base/memory.h"
#include "tuner/base/version.h"
#include "tuner/cli/cli.h"
#include "tuner/cli/families.h"
#include "tuner/gpu/compile.h"
#include "tuner/worker/worker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t interrupted;
static struct timespec interrupted_at;

static void on_interrupt(int number)
{
    // A second Ctrl-C means it. `timeout` signals its child, then the child's group: that is one wish, not two.
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (!interrupted)
        interrupted_at = now;
    double since = (double)(now.tv_sec - interrupted_at.tv_sec) + 1e-9 * (double)(now.tv_nsec - interrupted_at.tv_nsec);
    if (interrupted && number == SIGINT && since > 0.1)
        _exit(ST_INTERRUPTED);
    interrupted = 1;
}

static void catch_interrupts(void)
{
    struct sigaction action = {.sa_handler = on_interrupt};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    struct sigaction hangup;
    if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler != SIG_IGN) // nohup's wish stands
        sigaction(SIGHUP, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
}

static int run_internal(const char *role)
{
    enum { CHANNEL = 3 };
    signal(SIGINT, SIG_IGN); // the parent ends us in order
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    if (strcmp(role, "compile") == 0)
        return st_compile_child(CHANNEL);
    if (strcmp(role, "time") == 0)
        return st_worker_main(CHANNEL, false);
    if (strcmp(role, "profile") == 0)
        return st_worker_main(CHANNEL, true);
    fprintf(stderr, "simtune: there is no role %s\n", role);
    return ST_USAGE;
}

static int report(const st_error *error, st_code code)
{
    if (code != ST_OK) {
        const st_cli cli = {.out = stdout, .talk = stderr};
        st_error nameless = {.what = "failed"};
        fflush(stdout);
        st_cli_say(&cli, error->what[0] ? error : &nameless);
    }
    return st_exit_code(code);
}

// The command as it was typed, for the record: words with anything unusual stand in quotes.
static char *command_line(int argc, char **argv)
{
    st_text text;
    st_text_init(&text);
    st_text_add(&text, "simtune");
    for (int i = 1; i < argc; i++) {
        bool plain = argv[i][0] && strspn(argv[i], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                                   "0123456789-_=./,:+%^") == strlen(argv[i]);
        if (plain)
            st_text_addf(&text, " %s", argv[i]);
        else {
            st_text_add(&text, " '");
            for (const char *at = argv[i]; *at; at++)
                st_text_addf(&text, *at == '\'' ? "'\\''" : "%c", *at);
            st_text_add(&text, "'");
        }
    }
    return st_text_take(&text);
}

static bool wants_colour(int fd)
{
    const char *no = getenv("NO_COLOR"), *terminal = getenv("TERM");
    return isatty(fd) && !(no && no[0]) && terminal && strcmp(terminal, "dumb") != 0;
}

// Other programs may hold the store for a while. Ctrl-C ends the wait.
static void say_wait(void *context, const char *text)
{
    const st_cli *cli = context;
    fprintf(cli->talk, "note: %s\n", text);
}

static bool wants_to_stop(void *context)
{
    const st_cli *cli = context;
    return *cli->interrupted != 0;
}

static st_code run_command(const st_command *command, int argc, char **argv, char *typed, st_error *error)
{
    const st_option *tables[8] = {st_options_common};
    for (size_t i = 0; command->tables && command->tables[i] && i < 6; i++)
        tables[i + 1] = command->tables[i];
    st_parsed parsed;
    st_code code = st_options_parse(tables, argc, argv, &parsed, error);
    if (code != ST_OK)
        return code;
    st_cli cli = {.parsed = &parsed,
                  .command_line = typed,
                  .out = stdout,
                  .talk = stderr,
                  .json = st_parsed_flag(&parsed, "json"),
                  .colour = wants_colour(1),
                  .talk_colour = wants_colour(2),
                  .talk_is_terminal = isatty(2) == 1,
                  .interrupted = &interrupted};
    if (st_parsed_flag(&parsed, "help")) {
        st_text help;
        st_text_init(&help);
        st_command_help(command, &help);
        fputs(st_text_string(&help), stdout);
        st_text_release(&help);
    } else {
        st_store_listen(NULL, &(st_store_listener){&cli, say_wait, wants_to_stop});
        code = command->run(&cli, error);
        st_store_listen(NULL, NULL); // it ends with this function
    }
    // Printers do not check each text that they build.
    if (code == ST_OK && st_allocations_failed() > 0)
        code = st_fail_memory(error, "working; parts of what was printed may be missing");
    st_parsed_release(&parsed);
    return code;
}

static st_code no_such_command(const char *word, st_error *error)
{
    const char *names[128];
    size_t count = 0;
    st_list families, paths;
    (void)st_families(&families, &paths, NULL); // without memory there is one suggestion less
    for (const st_command *row = st_commands; row->name && count < 64; row++)
        names[count++] = row->name;
    for (size_t i = 0; i < families.count && count < 128; i++)
        names[count++] = families.items[i];
    int nearest = st_text_nearest(word, names, count);
    char remedy[96] = "simtune help lists the commands; simtune templates lists the families";
    if (nearest >= 0)
        snprintf(remedy, sizeof remedy, "did you mean simtune %s?", names[nearest]);
    st_list_free(&families);
    st_list_free(&paths);
    return st_fail(error, ST_USAGE, remedy, "there is no command and no family %s", word);
}

// Why a write to stdout failed earlier: what has failed since has its own errno. It is tried once more.
static int last_write_error(void)
{
    return write(STDOUT_FILENO, "\n", 1) < 0 ? errno : EIO;
}

int main(int argc, char **argv)
{
    st_json_setup();
    if (argc == 3 && strcmp(argv[1], "--internal") == 0)
        return run_internal(argv[2]);
    catch_interrupts();
    st_error error = {0};
    const char *word = argc > 1 ? argv[1] : "help";
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0)
        word = "version";
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
        word = "help";
    const st_command *command = st_command_find(word);
    // `simtune reduce …` is `simtune tune reduce …`: the family stays among the words.
    int skip = command ? 2 : 1;
    if (!command && word[0] != '-' && st_command_is_family(word))
        command = st_command_find("tune");
    char *typed = command_line(argc, argv);
    st_code code = !typed     ? st_fail_memory(&error, "reading the command line")
                   : !command ? no_such_command(word, &error)
                              : run_command(command, argc > skip ? argc - skip : 0, argv + skip, typed, &error);
    st_free(typed);
    // A full disk shows only here; why, right after the write alone, and not for what was lost before.
    errno = 0;
    bool lost = fflush(stdout) != 0, before = !lost && ferror(stdout);
    int why = lost ? errno : before ? last_write_error() : 0;
    int exit_code = report(&error, code);
    if (lost || before) {
        if (why == EPIPE) // the reader had enough: `simtune show ID | head`
            return exit_code;
        fprintf(stderr,
                "simtune: cannot write the output: %s\n  what was measured is in the store; print it elsewhere\n",
                strerror(why));
        return exit_code ? exit_code : ST_FAILED;
    }
    return exit_code;
}
