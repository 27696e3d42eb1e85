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
    {"strategy", 0, "NAME", false, "guided (default), exhaustive (default with --vary and emu), random, local, genetic, anneal"},
    {"no-history", 0, NULL, false, "guided starts from nothing, not from what the store knows of like problems"},
    {"budget", 0, "BUDGET", false,
     "for each problem: 30s, 500 (configurations), limit:5% (of the memory's limit), or none (default 1.6s)"},
    {"seed", 0, "NUMBER", false, "of the order of trial (default 1)"},
    {"time-limit", 0, "SECONDS", false, "that one step of a candidate may take (default 10)"},
    {"counters", 0, "WHEN", false, "auto, off, or required (exit 5 when denied)"},
    {"profile", 0, "WHICH", false, "stall profiles of the survivors (default) or of all candidates, to record a space"},
    {"jobs", 'j', "NUMBER", false, "compile processes (default: one a core, at most 16)"},
    {"warm", 0, NULL, false, "choose for the header by the warm cache"},
    {"fresh", 0, NULL, false, "do not resume an unfinished session"},
    {"dry-run", 0, NULL, false, "say what would be done and for how long; measure nothing"},
    {"no-header", 0, NULL, false, "write no header"},
    {"trace", 0, "FILE", false, "write the run's timeline for ui.perfetto.dev: compiling, verifying, timing, profiling"},
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

static const st_option report_options[] = {
    {"output", 'o', "FILE", false, "where to write it: .html, .md, .json or .txt say what; - is stdout (default: the terminal)"},
    {"format", 0, "FORM", false, "html, md, json or text (default: as the file's name tells)"},
    {"family", 0, "FAMILY", false, "the latest session of this family"},
    {"cache", 0, "STATE", false, "cold (default) or warm: which one is shown first"},
    {0}};

static const st_option replay_options[] = {
    {"strategy", 0, "NAMES", true, "by comma (default: guided,local,genetic,anneal,random)"},
    {"seeds", 0, "N", false, "how often each searches, with other random numbers (default 25)"},
    {"seed", 0, "NUMBER", false, "the first of them (default 1)"},
    {"problem", 0, "TEXT", false, "only this problem, as query --json has it"},
    {"cache", 0, "STATE", false, "cold or warm (default: cold where there is both)"},
    {"batch", 0, "N", false, "so many are pending at once, as in a run on a GPU: 16 (default 1)"},
    {"history", 0, NULL, false, "guided starts from what the other recorded problems of the family say"},
    {"without", 0, "WHAT", true, "what guided does without: stalls, model"},
    {"chart", 0, "FILE", false, "write how near each strategy is after 1, 2, 3 … evaluations, as CSV"},
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
    {"compiler", 0, "COMPILER", false, "of the header: nvrtc (default), nvcc, or the path of an nvcc"},
    {"device", 'd', "WHICH", false, "GPU by number, UUID or part of its name; emu tries the answers alone"},
    {"type", 't', "TYPES", true, "only functions of these element types, by comma"},
    {"op", 0, "WORDS", true, "only functions of these operations, by comma"},
    {"size", 'n', "SIZES", true, "these sizes instead of the recorded ones, by comma"},
    {"threshold", 0, "PERCENT", false, "the least change that counts (default 0.5; with --check 2)"},
    {"time-limit", 0, "SECONDS", false, "that one step may take (default 10)"},
    {"strict", 0, NULL, false, "exit 6 also when it cannot be told"},
    {0}};

static const st_option predict_options[] = {
    {"arch", 0, "ARCHS", true, "device classes, by comma: 80, sm_90/114; without SMs those of the usual product"},
    {"type", 't', "TYPES", true, "element types, by comma (default: the family's first)"},
    {"op", 0, "WORDS", true, "words of the family's other axes, by comma"},
    {"size", 'n', "SIZES", true, "problem sizes, by comma (default: the family's)"},
    {"axis", 'a', "NAME=VALUES", true, "values of any axis, by comma"},
    {"leave-one-out", 0, NULL, false, "predict what was measured, without its history: the loss against its winners"},
    {0}};

static const st_option repro_options[] = {
    {"output", 'o', "FILE", false, "where to write it (default: stdout)"},
    {0}};

static const st_option explain_options[] = {
    {"stall", 0, "NAME", false, "explain a stall reason by any name, NVIDIA's or an article's; all: every one"},
    {"config", 0, "VALUES", false, "this configuration, or the fastest that has these values: \"BLOCK=256 VEC=4\""},
    {"type", 't', "TYPE", false, "element type"},
    {"op", 0, "WORDS", false, "operation"},
    {"size", 'n', "SIZE", false, "problem size"},
    {"session", 0, "ID", false, "one session (default: the newest)"},
    {"cache", 0, "STATE", false, "cold (default) or warm"},
    {0}};

static const st_option tour_options[] = {
    {"measure", 0, NULL, false, "measure it first, on the GPU here, and keep it in the store"},
    {"budget", 0, "BUDGET", false, "with --measure, for each problem: 30s, 500 (configurations), limit:5%, or none"},
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
static const st_option *const report_tables[] = {report_options, NULL};
static const st_option *const template_tables[] = {device_options, NULL};
static const st_option *const replay_tables[] = {replay_options, NULL};
static const st_option *const emit_tables[] = {emit_options, device_options, NULL};
static const st_option *const lock_tables[] = {lock_options, device_options, NULL};
static const st_option *const verify_tables[] = {verify_options, NULL};
static const st_option *const predict_tables[] = {predict_options, NULL};
static const st_option *const repro_tables[] = {repro_options, NULL};
static const st_option *const db_tables[] = {db_options, device_options, NULL};
static const st_option *const explain_tables[] = {explain_options, device_options, NULL};
static const st_option *const tour_tables[] = {tour_options, device_options, NULL};
static const st_option *const help_tables[] = {help_options, NULL};

const st_command st_commands[] = {
    {"tune", "find the fastest correct configuration of a template on a device", "FAMILY|FILE.cu [options]",
     "Tunes a shipped family by name (`simtune reduce` is the same as `simtune tune reduce`), any annotated "
     "template, or a problem in the T1 format (FILE.json); stores every measurement and writes simtune_FAMILY.h. "
     "Ctrl-C ends in order; the same command goes on where it stopped.",
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
    {"replay", "how fast each search strategy finds the best of spaces that were recorded; no GPU", "FILE|SESSION… [options]",
     "Searches spaces of which every configuration was measured: those of a session of the store (by the beginning of its id, "
     "a family for its latest finished one, or latest), of a history file "
     "(.jsonl.gz), a Kernel Tuner cache file or T4 results. For each strategy: how many evaluations, and how many seconds "
     "of compiling, measuring and profiling as they were recorded, until it is within 1, 5 and 10 % of the best; median "
     "and 10 to 90 % of the seeds. Beside it what a random order expects: (n + 1) / (k + 1) for k of n that are within.",
     "simtune replay convolution_cache.json.gz --seeds 100\n"
     "simtune replay 01a22cda --strategy guided,random --problem \"T=f32 op=sum n=1048576\"\n"
     "simtune replay history.jsonl.gz --without stalls --json",
     replay_tables, st_cmd_replay},
    {"report", "what a session found and why: in the terminal, or as one HTML page to send", "[SESSION…] [-o FILE]",
     "SESSION is the beginning of a session's id, a family (its latest session), or latest (the default). With -o a page is "
     "written that needs no network and is readable without scripts: the verdict, whether it can be trusted, why the winner is "
     "faster, what the profile says, the landscape of all configurations, the search, failures, samples, the source by where "
     "warps wait, and all data. Several sessions are compared in one report.",
     "simtune report -o report.html\n"
     "simtune report scan\n"
     "simtune report 019ad3c1 --format md\n"
     "simtune report 019ad3c1 01a22cda -o compared.html",
     report_tables, st_cmd_report},
    {"show", "one candidate with samples, counters and outcome", "ID",
     "ID is the beginning of a candidate's id, as query and the summary of a run print it.", "simtune show 019ad3c1", NULL,
     st_cmd_show},
    {"explain", "why a winner, or any candidate, takes its time: what its warps wait for, and what to change",
     "[FAMILY|ID] [options]|--stall NAME",
     "Shows what the warps wait for, the findings of the rules with their evidence, the source lines that wait, what to "
     "change and what the store says that such changes brought, and the ncu command that shows the same. Without a word "
     "it takes the newest session, of a family its newest winner against the default; ID is the beginning of the id "
     "of a candidate or a session. Needs no GPU, and says whose device it was. What is estimated is marked as an estimate. --stall "
     "tells of one stall reason what it means, what articles call it and get wrong, what moves it, and shows an example.",
     "simtune explain reduce\n"
     "simtune explain scan --type f32 --size 256Mi\n"
     "simtune explain reduce --size 16Mi --config \"BLOCK=256 VEC=1\"\n"
     "simtune explain --stall execution_dependency",
     explain_tables, st_cmd_explain},
    {"tour", "what articles on warp stalls show, as short tables with figures of the store", "[STOP] [options]",
     "Accumulators in arithmetic and in memory, Hillis-Steele against Blelloch, atomics against a scan, special functions "
     "against fast forms: what articles say, what was measured, with its stalls, and why where it is less than promised.",
     "simtune tour\n"
     "simtune tour scans --json\n"
     "simtune tour --measure",
     tour_tables, st_cmd_tour},
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
    {"verify", "measure a header again, or ask whether a header or a lock is still the best that is known",
     "HEADER [FILE.cu] [options] | --check HEADER|LOCK [FILE.cu…]",
     "Compiles the kernels that stand in the header, with NVRTC or with nvcc as a build does, checks their answers, and "
     "measures them by turns with the template's default and the store's best on this device: each row is better, the "
     "same, worse, or cannot be told, by the rule of compare. Exit 4 when a row is worse or does not work here. With nvcc "
     "both compilers take part, so that registers and spills are seen side by side; NVCC_APPEND_FLAGS adds flags of a "
     "build. "
     "--check needs no GPU: it prints each row for which the store chooses something else now, and ends with exit 6 when "
     "it knows something faster, has measured what was predicted, or the template has changed. Files of kernels that do "
     "not ship are named behind the header.",
     "simtune verify include/simtune_reduce.h\n"
     "simtune verify include/simtune_reduce.h --compiler nvcc --type f32 --size 3Mi,16Mi\n"
     "simtune verify --check simtune.lock\n"
     "simtune verify --check include/simtune_reduce.h --strict",
     verify_tables, st_cmd_verify},
    {"predict", "a static choice for a device class without history, marked as predicted",
     "FAMILY… --arch ARCHS [options] | --leave-one-out [FAMILY…]",
     "Compiles a few dozen configurations for the arch, drops those that spill or fit no SM, and ranks the rest by a model of "
     "launches, memory traffic and bytes in flight over the data sheet of the class; where a measured device has history of "
     "the problem, by how that ranked them. The choices are stored, so that emit has them; headers, queries and locks say "
     "PREDICTED, and a measurement takes their place. Nothing runs, no GPU is needed. --leave-one-out does the same for each "
     "device that was measured, without a look at its own times, and prints what the choice would have lost there. The "
     "model is of the cold cache: a choice by the warm one (--warm of emit and lock) takes a measurement.",
     "simtune predict reduce scan --arch 80,100\n"
     "simtune predict --leave-one-out\n"
     "simtune emit reduce --arch 80,90,100",
     predict_tables, st_cmd_predict},
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
