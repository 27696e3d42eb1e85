// SPDX-License-Identifier: Apache-2.0
// The command line. Promise: data go to stdout, everything else to stderr; every error says what happened and
// what to do; the exit code is one of base/error.h. A command is a row in commands.c and a file cmd_NAME.c.
#ifndef SIMTUNE_CLI_CLI_H
#define SIMTUNE_CLI_CLI_H

#include "tuner/base/error.h"
#include "tuner/base/options.h"
#include "tuner/base/text.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>

typedef struct st_cli {
    const st_parsed *parsed;   // of the command's tables and the common one
    const char *command_line;  // as typed, words quoted where needed
    FILE *out, *talk;          // stdout, stderr
    bool json;                 // --json
    bool colour;               // on stdout
    bool talk_colour;          // on stderr
    bool talk_is_terminal;
    volatile sig_atomic_t *interrupted;
} st_cli;

typedef struct st_command {
    const char *name;
    const char *summary;       // one line, for `simtune help`
    const char *usage;         // "FAMILY [options]"
    const char *description;   // paragraphs for --help and the manual; may be ""
    const char *examples;      // lines; the first is the most useful
    const st_option *const *tables; // NULL-terminated; the common table is added by main
    st_code (*run)(st_cli *cli, st_error *error);
} st_command;

extern const st_command st_commands[]; // ended by a row without name
extern const st_option st_options_common[];
const st_command *st_command_find(const char *name);
void st_command_help(const st_command *command, st_text *out); // appends
// A family that has a command of its own (`simtune reduce` is `simtune tune reduce`): main asks this for
// words that are no command.
bool st_command_is_family(const char *name);

// --- shared by commands (cli_common.c) ------------------------------------------------------------------
#include "db/store.h"
#include "tuner/gpu/device.h"

// The store of --db or the default; READ of one that does not exist brings the shipped history in memory.
st_code st_cli_store(st_cli *cli, st_store_mode mode, st_store **out, st_error *error);
// For writing; a store that is not there yet comes to its name with st_store_settle, when all went well.
st_code st_cli_store_aside(st_cli *cli, st_store **out, st_error *error);
// Brings the shipped history into a store; what is there already is left alone.
st_code st_cli_import_shipped(st_store *store, st_error *error);
// Whether the terminal shows more than ASCII, as the locale says.
bool st_cli_is_unicode(void);
// Prints a text of names, notes and logs that others wrote to `to` (cli->out, cli->talk): what would steer a terminal is shown
// as "?", and our own characters beyond ASCII as ASCII where the locale has no UTF-8.
void st_cli_print(const st_cli *cli, FILE *to, const char *text);
void st_cli_tell(const st_cli *cli, FILE *to, const char *format, ...) ST_PRINTF(3, 4);
// Says an error that is followed by another one, which is returned.
void st_cli_say(const st_cli *cli, const st_error *error);
// "sm_90" or "90" → 90. ST_USAGE for anything else; archs are 75 and later.
st_code st_cli_arch(const char *word, int *cc, st_error *error);
// The device that --device, --arch auto and the environment mean. *present false (and ST_OK): no GPU here.
// ST_NOTHING: a GPU is there but unusable, with doctor's finding.
typedef struct st_cli_device {
    bool present;
    const char *backend;       // "cuda" or "emu"
    int ordinal;
    st_device_facts facts;
} st_cli_device;
st_code st_cli_find_device(st_cli *cli, st_cli_device *out, st_error *error);
// --device emu, emu-check, emu:1 … (emu-check: st_cli_find_device switches the checking mode on)
bool st_cli_wants_emulated(const st_cli *cli);
// True for "0" … "99": --device gives a device by its number.
bool st_cli_is_ordinal(const char *wish);

st_code st_cmd_tune(st_cli *cli, st_error *error);
st_code st_cmd_templates(st_cli *cli, st_error *error);
st_code st_cmd_query(st_cli *cli, st_error *error);
st_code st_cmd_compare(st_cli *cli, st_error *error);
st_code st_cmd_acknowledge(st_cli *cli, st_error *error);
st_code st_cmd_history(st_cli *cli, st_error *error);
st_code st_cmd_replay(st_cli *cli, st_error *error);
st_code st_cmd_report(st_cli *cli, st_error *error);
st_code st_cmd_show(st_cli *cli, st_error *error);
st_code st_cmd_explain(st_cli *cli, st_error *error);
st_code st_cmd_tour(st_cli *cli, st_error *error);
st_code st_cmd_repro(st_cli *cli, st_error *error);
st_code st_cmd_emit(st_cli *cli, st_error *error);
st_code st_cmd_lock(st_cli *cli, st_error *error);
st_code st_cmd_verify(st_cli *cli, st_error *error);
st_code st_cmd_predict(st_cli *cli, st_error *error);
st_code st_cmd_devices(st_cli *cli, st_error *error);
st_code st_cmd_doctor(st_cli *cli, st_error *error);
st_code st_cmd_db(st_cli *cli, st_error *error);
st_code st_cmd_help(st_cli *cli, st_error *error);
st_code st_cmd_version(st_cli *cli, st_error *error);

#endif
