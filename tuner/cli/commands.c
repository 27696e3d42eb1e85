// SPDX-License-Identifier: Apache-2.0
// The table of commands. To add one: a row here, a file cmd_NAME.c, its declaration in cli.h, a golden test
// and its schema under tests/cli, a line in README. Help, manual and completions are printed from this table.
// A family is no row: a file in templates/ is a command (families.h).
#include "tuner/cli/cli.h"

#include "reports/format.h"
#include "tuner/cli/families.h"

#include <string.h>

const st_option st_options_common[] = {
    {"help", 'h', NULL, false, "show this"},
    {"json", 0, NULL, false, "print data as JSON, with a schema version and base units"},
    {"db", 0, "FILE", false, "the store (default: $XDG_DATA_HOME/simtune/history.db)"},
    {0}};

static const st_option device_options[] = {
    {"device", 'd', "WHICH", false, "GPU by number, UUID or part of its name; emu is the emulated device"},
    {"arch", 0, "ARCH", false, "auto (the GPU present) or sm_90 (from history); query and emit take a list: 80,90"},
    {0}};

static const st_option tune_options[] = {
    {"type", 't', "TYPES", true, "element types, by comma (f32 f64 i32 …)"},
    {"op", 0, "WORDS", true, "words of the family's other axes, by comma (sum min max)"},
    {"size", 'n', "SIZES", true, "problem sizes, by comma (64Ki,1Mi,2^24)"},
    {"axis", 'a', "NAME=VALUES", true, "values of any axis, by comma (percent=1,50 kind=less); all: every one"},
    {"kind", 0, "WORDS", false, "scan: exclusive, inclusive; the same as --axis kind=WORDS"},
    {"ordered", 0, NULL, false, "compact: what is kept stays in order (default); --axis order=ordered"},
    {"any-order", 0, NULL, false, "compact: what is kept may come in any order; --axis order=any"},
    {"set", 's', "PARAM=VALUES", true, "only these values of a parameter"},
    {"vary", 0, "PARAM", true, "only this parameter moves; all others stay at --set or their default"},
    {"where", 'w', "EXPRESSION", true, "a further constraint on configurations"},
    {"determinism", 0, "LEVEL", false, "run_to_run or none (default: the family's guarantee)"},
    {"strategy", 0, "NAME", false, "exhaustive (default) or random"},
    {"budget", 0, "BUDGET", false, "for each problem: 30s, 500 (configurations), or none (default 1.6s)"},
    {"seed", 0, "NUMBER", false, "of the order of trial (default 1)"},
    {"time-limit", 0, "SECONDS", false, "that one step of a candidate may take (default 10)"},
    {"counters", 0, "WHEN", false, "auto, off, or required (exit 5 when denied)"},
    {"jobs", 'j', "NUMBER", false, "compile processes (default: one a core, at most 16)"},
    {"warm", 0, NULL, false, "choose for the header by the warm cache"},
    {"fresh", 0, NULL, false, "do not resume an unfinished session"},
    {"dry-run", 0, NULL, false, "say what would be done and for how long; measure nothing"},
    {"no-header", 0, NULL, false, "write no header"},
    {"output", 'o', "DIR", false, "folder or file for the header (default: here)"},
    {0}};

static const st_option query_options[] = {
    {"best", 0, NULL, false, "winners only"},
    {"type", 't', "TYPE", false, "element type"},
    {"op", 0, "WORDS", false, "operation"},
    {"size", 'n', "SIZE", false, "problem size"},
    {"session", 0, "ID", false, "one session"},
    {"cache", 0, "STATE", false, "cold or warm"},
    {"failures", 0, NULL, false, "candidates that failed instead: why, and how to reproduce it"},
    {"outcome", 0, "WORDS", true, "candidates of these outcomes, by comma (wrong crash … skipped)"},
    {"limit", 0, "NUMBER", false, "at most so many rows"},
    {"csv", 0, NULL, false, "print as CSV"},
    {0}};

static const st_option emit_options[] = {
    {"type", 't', "TYPES", true, "element types, by comma (default: all that were measured)"},
    {"warm", 0, NULL, false, "choose by the warm cache"},
    {"session", 0, "ID", false, "only this session's winners (default: the newest of each problem)"},
    {"allow-emulated", 0, NULL, false, "take winners of the emulated device too; the header says so"},
    {"output", 'o', "DIR", false, "folder for the headers, or a file ending in .h (default: here)"},
    {0}};

static const st_option repro_options[] = {
    {"output", 'o', "FILE", false, "where to write it (default: stdout)"},
    {0}};

static const st_option help_options[] = {
    {"man", 0, NULL, false, "print the manual page (troff)"},
    {"bash", 0, NULL, false, "print completions for bash"},
    {0}};

static const st_option *const tune_tables[] = {tune_options, device_options, NULL};
static const st_option *const query_tables[] = {query_options, device_options, NULL};
static const st_option *const template_tables[] = {device_options, NULL};
static const st_option *const emit_tables[] = {emit_options, device_options, NULL};
static const st_option *const repro_tables[] = {repro_options, NULL};
static const st_option *const help_tables[] = {help_options, NULL};

const st_command st_commands[] = {
    {"tune", "find the fastest correct configuration of a template on a device", "FAMILY|FILE.cu [options]",
     "Tunes a shipped family by name (`simtune reduce` is the same as `simtune tune reduce`) or any annotated "
     "template, stores every measurement and writes simtune_FAMILY.h. Ctrl-C ends in order; the same command "
     "goes on where it stopped.",
     "simtune reduce --arch auto\n"
     "simtune reduce --type f64,i32 --size 1Mi,2^28 -o include/\n"
     "simtune reduce --vary ACC --set BLOCK=256,UNROLL=8 --size 16Mi\n"
     "simtune tune my_kernel.cu --dry-run",
     tune_tables, st_cmd_tune},
    {"query", "what is known: measurements and winners, per device", "[FAMILY] [options]",
     "Prints every measured candidate, or the winners alone, grouped by device and problem: time, speed, share of the "
     "device's measured memory speed, gain over the default with its 95 % interval. Without a store of your own the "
     "shipped history answers. --json and --csv give base units (nanoseconds, bytes a second) and null for unknown. "
     "--failures lists what came out wrong, race, compile, launch, crash or timeout, each with the first line of its "
     "log and the command that writes a program of it.",
     "simtune query reduce --best\n"
     "simtune query reduce --best --arch sm_90 --type f32 --json\n"
     "simtune query reduce --failures\n"
     "simtune query --session 019a --csv",
     query_tables, st_cmd_query},
    {"show", "one candidate with samples, counters and outcome", "ID",
     "ID is the beginning of a candidate's id, as query and the summary of a run print it.", "simtune show 019ad3c1", NULL,
     st_cmd_show},
    {"repro", "a standalone .cu of one candidate, with nvcc and ncu command lines", "ID [-o FILE]",
     "Made from the template's text as it was stored with the measurement, so it is what was measured even when the "
     "template has changed since. The first lines of the program say how to compile, profile and sanitize it.",
     "simtune repro 019ad3c1 -o repro.cu", repro_tables, st_cmd_repro},
    {"emit", "write headers from the store alone, without a GPU", "FAMILY|FILE.cu… [--arch ARCH] [options]",
     "Writes simtune_FAMILY.h for each family with the newest winner of every device class and problem that the store "
     "knows. The same store and command give the same bytes; an equal file is left untouched; classes that an "
     "existing header has and the store lacks stay in it.",
     "simtune emit reduce --arch sm_90 -o include/", emit_tables, st_cmd_emit},
    {"templates", "the families that there are, or one with its axes, parameters and constraints",
     "[FAMILY|FILE.cu]",
     "The size of the space is that of a default run on the GPU present; without one, or with --arch sm_90 or "
     "sm_90/132 (SMs), on that device as its data sheet has it.",
     "simtune templates\nsimtune templates reduce", template_tables, st_cmd_templates},
    {"devices", "the GPUs here and what is known of them", "[options]", "", "simtune devices", NULL, st_cmd_devices},
    {"doctor", "what was found, where, which version, and whether counters are allowed", "[options]", "",
     "simtune doctor", NULL, st_cmd_doctor},
    {"db", "the store: info, export FILE SESSION…, import FILE…, check", "info|export|import|check …",
     "info counts what is in it and lists its sessions. export writes sessions as gzip'ed JSON Lines, import takes "
     "such files in (rows that are there already are left alone). check looks for damage.",
     "simtune db info\nsimtune db export h200.jsonl.gz 019ad3c1", NULL, st_cmd_db},
    {"help", "this, or one command", "[COMMAND]", "", "simtune help tune", help_tables, st_cmd_help},
    {"version", "the version", "[--json]", "", "simtune version", NULL, st_cmd_version},
    {0}};

const st_command *st_command_find(const char *name)
{
    for (const st_command *row = st_commands; row->name; row++)
        if (strcmp(row->name, name) == 0)
            return row;
    return NULL;
}

bool st_command_is_family(const char *name)
{
    size_t length = strlen(name);
    if (strchr(name, '/') || (length > 3 && strcmp(name + length - 3, ".cu") == 0))
        return true;
    return st_families_has(name);
}

void st_command_help(const st_command *command, st_text *out)
{
    st_text_addf(out, "simtune %s: %s\n\nExamples\n", command->name, command->summary);
    for (const char *at = command->examples; *at;) {
        size_t length = strcspn(at, "\n");
        st_text_addf(out, "  %.*s\n", (int)length, at);
        at += length + (at[length] == '\n');
    }
    st_text_addf(out, "\nUsage\n  simtune %s %s\n", command->name, command->usage);
    if (command->description[0]) {
        st_text_add(out, "\n");
        st_report_row(out, "", 2, command->description, 80);
    }
    st_text_add(out, "\nOptions\n");
    for (size_t i = 0; command->tables && command->tables[i]; i++)
        st_options_help(command->tables[i], out);
    st_options_help(st_options_common, out);
}
