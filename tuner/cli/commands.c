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
    {"top", 0, "K", false, "the K fastest configurations of each problem, device and state of the cache"},
    {"per", 0, "WHAT", false, "the fastest winner of each problem for each device, driver, size or type"},
    {"where", 'w', "EXPRESSION", false, "only rows for which it holds: \"BLOCK >= 256 and stall.barrier > 0.1\""},
    {"pareto", 0, "TERMS", false, "rows that no other one beats in all of them: time,registers,max:occupancy"},
    {"since", 0, "WHEN", false, "measured since: 2026-11-01, 2026-11-01T14:30Z, 30d, 12h, yesterday"},
    {"type", 't', "TYPE", false, "element type"},
    {"op", 0, "WORDS", false, "operation"},
    {"size", 'n', "SIZE", false, "problem size"},
    {"session", 0, "ID", false, "one session"},
    {"cache", 0, "STATE", false, "cold or warm"},
    {"failures", 0, NULL, false, "candidates that failed instead: why, and how to reproduce it"},
    {"outcome", 0, "WORDS", true, "candidates of these outcomes, by comma (wrong crash … skipped)"},
    {"limit", 0, "NUMBER", false, "at most so many rows"},
    {"csv", 0, NULL, false, "print as CSV"},
    {"markdown", 0, NULL, false, "print as a table of Markdown"},
    {"sql", 0, NULL, false, "the views of the store, or the rows of a statement that reads them"},
    {0}};

#define COMPARE_FILTERS                                                                                                \
    {"type", 't', "TYPE", false, "element type"}, {"op", 0, "WORDS", false, "operation"},                              \
    {"size", 'n', "SIZE", false, "problem size"}, {"cache", 0, "STATE", false, "cold or warm"}

static const st_option compare_options[] = {
    {"by", 0, "KIND", false, "what A and B are: session, candidate, template, device, driver, compiler, tool, header"},
    {"family", 0, "FAMILY", false, "one family"},
    COMPARE_FILTERS,
    {"threshold", 0, "PERCENT", false, "the least change that counts (default 2 between sessions, 0.5 within one)"},
    {"against-baseline", 0, NULL, false, "the newest sessions (or B) with their baselines; exit 4 on a regression"},
    {"strict", 0, NULL, false, "with --against-baseline: exit 6 when something cannot be told"},
    {"baseline", 0, "SESSION", false, "mark a session as baseline of its family and device; latest is the newest"},
    {"note", 0, "TEXT", false, "with --baseline: why this one"},
    {"baselines", 0, NULL, false, "list baselines"},
    {"no-baseline", 0, "SESSION", false, "take the mark away"},
    {"markdown", 0, NULL, false, "print as Markdown"},
    {0}};

static const st_option acknowledge_options[] = {
    {"reason", 0, "TEXT", false, "why it is as it should be"},
    {"family", 0, "FAMILY", false, "one family"},
    COMPARE_FILTERS,
    {"threshold", 0, "PERCENT", false, "the least change that counts (default 2)"},
    {"strict", 0, NULL, false, "also what cannot be told from noise"},
    {"list", 0, NULL, false, "what is acknowledged"},
    {"withdraw", 0, "ID", false, "take an acknowledgement back"},
    {0}};

static const st_option history_options[] = {
    {"by", 0, "KIND", false, "driver, compiler, template, tool or device (default: the first that has several)"},
    COMPARE_FILTERS,
    {"threshold", 0, "PERCENT", false, "the least change that counts (default 2)"},
    {"markdown", 0, NULL, false, "print as Markdown"},
    {0}};

static const st_option emit_options[] = {
    {"type", 't', "TYPES", true, "element types, by comma (default: all that were measured)"},
    {"warm", 0, NULL, false, "choose by the warm cache"},
    {"session", 0, "ID", false, "only this session's winners (default: the newest of each problem)"},
    {"allow-emulated", 0, NULL, false, "take winners of the emulated device too; the header says so"},
    {"lock", 0, "FILE", false, "take the rows of this lock file; the store is not opened"},
    {"format", 0, "FORMAT", false, "h (default), or h,cu: kernels in a .cu beside the header, compiled once"},
    {"require", 0, "WHAT", false, "measured: fail (exit 6) when a row is predicted or emulated"},
    {"output", 'o', "DIR", false, "folder for the headers, or a file ending in .h (default: here)"},
    {0}};

static const st_option lock_options[] = {
    {"type", 't', "TYPES", true, "element types, by comma (default: all that were measured)"},
    {"warm", 0, NULL, false, "choose by the warm cache"},
    {"session", 0, "ID", false, "only this session's winners (default: the newest of each problem)"},
    {"allow-emulated", 0, NULL, false, "take winners of the emulated device too; each row says so"},
    {"output", 'o', "FILE", false, "the lock file (default: simtune.lock)"},
    {0}};

static const st_option verify_options[] = {
    {"check", 0, NULL, false, "compare with the store; no GPU"},
    {"threshold", 0, "PERCENT", false, "by how much faster counts as better (default 2)"},
    {"strict", 0, NULL, false, "exit 6 also when the store cannot tell"},
    {0}};

static const st_option repro_options[] = {
    {"output", 'o', "FILE", false, "where to write it (default: stdout)"},
    {0}};

static const st_option help_options[] = {
    {"man", 0, NULL, false, "print the manual page (troff)"},
    {"bash", 0, NULL, false, "print completions for bash"},
    {0}};

static const st_option db_options[] = {
    {"format", 0, "FORM", false, "export: jsonl, t4 or kernel-tuner (default: as the file's name tells)"},
    {"family", 0, "NAME", false, "export: only this family; import: the family of a file that names no kernel"},
    {"type", 't', "TYPE", false, "export: only this element type"},
    {"op", 0, "WORDS", false, "export: only this operation"},
    {"size", 'n', "SIZE", false, "export: only this problem size"},
    {"problem", 0, "TEXT", false, "export: only this problem, as query --json has it: \"kind=exclusive T=f32 op=sum n=65536\""},
    {"cache", 0, "STATE", false, "export to t4 and kernel-tuner: cold (default) or warm"},
    {"keep", 0, "1/N", false, "prune: of what lost, one sample in N stays (default 1/10; 1/1: all)"},
    {"older-than", 0, "AGE", false, "prune: candidates that lost go when their session is older (180d, 26w, 2y)"},
    {"yes", 0, NULL, false, "prune: remove it"},
    {"force", 0, NULL, false, "backup: replace a file that is there"},
    {"candidates", 0, "N", false, "generate: so many (default 10000)"},
    {"samples", 0, "N", false, "generate: so many a candidate, 1 to 50 (default 20)"},
    {"seed", 0, "N", false, "generate: the same number, the same rows (default 1)"},
    {0}};

static const st_option *const tune_tables[] = {tune_options, device_options, NULL};
static const st_option *const query_tables[] = {query_options, device_options, NULL};
static const st_option *const compare_tables[] = {compare_options, device_options, NULL};
static const st_option *const acknowledge_tables[] = {acknowledge_options, device_options, NULL};
static const st_option *const history_tables[] = {history_options, device_options, NULL};
static const st_option *const template_tables[] = {device_options, NULL};
static const st_option *const emit_tables[] = {emit_options, device_options, NULL};
static const st_option *const lock_tables[] = {lock_options, device_options, NULL};
static const st_option *const verify_tables[] = {verify_options, NULL};
static const st_option *const repro_tables[] = {repro_options, NULL};
static const st_option *const db_tables[] = {db_options, device_options, NULL};
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
    {"query", "what is known: measurements and winners, per device", "[FAMILY] [options]|--sql [STATEMENT]",
     "Prints every measured candidate, or the winners alone, grouped by device and problem: time, speed, share of the "
     "device's measured memory speed, gain over the default with its 95 % interval. Without a store of your own the "
     "shipped history answers. --json and --csv give base units (nanoseconds, bytes a second) and null for unknown. "
     "--failures lists what came out wrong, race, compile, launch, crash or timeout, each with the first line of its "
     "log and the command that writes a program of it. "
     "--where takes an expression over parameters, axes, counters (stall.long_scoreboard) and facts (time, gbs, "
     "registers, outcome, driver …); an unknown value makes a row not match, an unknown name lists all names. "
     "--top and --pareto choose among correct configurations, each once by its newest measurement. "
     "--sql alone says how to open the store with sqlite3, Python and R.",
     "simtune query reduce --best\n"
     "simtune query reduce --top 5 --size 16Mi --cache cold\n"
     "simtune query --per driver --device H200 --since 1y\n"
     "simtune query reduce --where \"BLOCK >= 256 and stall.long_scoreboard > 0.5\"\n"
     "simtune query reduce --pareto time,registers --markdown\n"
     "simtune query --sql \"SELECT family, count(*) FROM simtune_results GROUP BY family\" --csv\n"
     "simtune query reduce --best --arch sm_90 --type f32 --json\n"
     "simtune query reduce --failures\n"
     "simtune query --session 019a --csv",
     query_tables, st_cmd_query},
    {"compare", "two sessions, devices, drivers, versions or headers; what is new with its baseline",
     "A B | --against-baseline [B] | --baseline SESSION", "A and B are sessions or candidates (the beginning of their "
     "ids), templates (of their hashes), devices (a part of the name), drivers, compilers, versions of simtune, or "
     "headers. Each problem that both have is better, the same, worse, or cannot be told from noise, with the interval "
     "of the ratio, what differs beside, and the counters that moved most. --against-baseline compares the newest "
     "finished session of each family and device with its baseline: exit 4 when something got slower beyond noise and "
     "is not acknowledged, 6 with --strict when something cannot be told or was not measured again, 3 without a "
     "baseline.",
     "simtune compare 580.65 580.159 --family scan\n"
     "simtune compare H200 A100 --type f32 --cache cold\n"
     "simtune compare old/simtune_reduce.h simtune_reduce.h --markdown\n"
     "simtune compare --baseline latest --note 'release 1.2'\n"
     "simtune compare --against-baseline --strict",
     compare_tables, st_cmd_compare},
    {"acknowledge", "say of a change against the baseline that it is as it should be, and why",
     "SESSION… --reason TEXT | --list | --withdraw ID",
     "What is acknowledged no longer fails compare --against-baseline, unless it gets worse beyond noise than it was in "
     "SESSION. It is listed there with reason, author and date.",
     "simtune acknowledge latest --family scan --reason 'the same bits from run to run'\n"
     "simtune acknowledge --list",
     acknowledge_tables, st_cmd_acknowledge},
    {"history", "which driver, compiler or template version made a family slower or faster", "FAMILY [options]",
     "One line a version for each device and problem: its newest winner, and the change to the line before. Where there "
     "is a measurement for it, one thing changes at a time: by driver, compiler and template stay the same. What the "
     "changes have in common is said in a sentence at the end.",
     "simtune history scan\n"
     "simtune history scan --by template --device H200 --size 16Mi --cache cold",
     history_tables, st_cmd_history},
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
     "existing header has and the store lacks stay in it. With --lock the rows come from that file, all of its "
     "families unless some are named, and the header holds nothing else: this is what builds run.",
     "simtune emit reduce --arch sm_90 -o include/\n"
     "simtune emit --lock simtune.lock -o include/",
     emit_tables, st_cmd_emit},
    {"lock", "write the chosen rows to a text file that people commit and builds read", "FAMILY|FILE.cu… [options]",
     "Writes one line for each device class and problem, in a stable order, with what it was chosen from. Rows of other "
     "families, classes and problems that the file has stay in it. simtune emit --lock prints headers from it, "
     "without the store.",
     "simtune lock reduce scan --arch 80,90\n"
     "simtune lock reduce --type f32 -o tuning/simtune.lock",
     lock_tables, st_cmd_lock},
    {"verify", "is a header or a lock still what the store would choose", "--check HEADER|LOCK [FILE.cu…]",
     "Prints each row for which the store chooses something else now, and ends with exit 6 when it knows something faster, "
     "has measured what was predicted, or the template has changed. Files of kernels that do not ship are named behind it. "
     "Needs no GPU.",
     "simtune verify --check simtune.lock\n"
     "simtune verify --check include/simtune_reduce.h --strict",
     verify_tables, st_cmd_verify},
    {"templates", "the families that there are, or one with its axes, parameters and constraints",
     "[FAMILY|FILE.cu]",
     "The size of the space is that of a default run on the GPU present; without one, or with --arch sm_90 or "
     "sm_90/132 (SMs), on that device as its data sheet has it.",
     "simtune templates\nsimtune templates reduce", template_tables, st_cmd_templates},
    {"devices", "the GPUs here and what is known of them", "[options]", "", "simtune devices", NULL, st_cmd_devices},
    {"doctor", "what was found, where, which version, and whether counters are allowed", "[options]", "",
     "simtune doctor", NULL, st_cmd_doctor},
    {"db", "the store: info, check, export, import, merge, prune, backup, vacuum, generate",
     "info|check|export|import|merge|prune|backup|vacuum|generate …",
     "info counts what is in it, by family and device, and lists its sessions. check looks for damage and for what "
     "cannot be so; of a damaged store it says what can still be read, and export saves that. merge OTHER.db… takes "
     "other stores in. prune says what could go, and removes it with --yes. backup FILE copies the store, also while "
     "others write; vacuum gives back the room of what was removed. Several processes may use a store at once; who waits "
     "for another says so, for 30 s or SIMTUNE_DB_PATIENCE=SECONDS. export FILE [SESSION…] writes all "
     "sessions, or those that are named or that the options choose: as JSON Lines, which hold everything (gzip'ed when "
     "the name ends in .gz), or one problem on one device as T4 results or as a cache file that Kernel Tuner goes on "
     "from. import takes such files in, those of other tools too (rows that are there already are left alone); what "
     "others measured stands in sessions of its own, can be queried and compared, and is never emitted as tuned. "
     "generate FILE makes a new store up, as large as you like, to try questions on and to see how fast they are "
     "answered; nothing of it was measured.",
     "simtune db info\nsimtune db check\nsimtune db merge colleague.db\nsimtune db backup history-2026.db\n"
     "simtune db prune --keep 1/10 --older-than 180d\nsimtune db export h200.jsonl.gz 019ad3c1\n"
     "simtune db export reduce_cache.json --family reduce --type f32 --size 16Mi --format kernel-tuner\n"
     "simtune db import convolution_cache.json.gz dedispersion_T4.json --device A4000",
     db_tables, st_cmd_db},
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
