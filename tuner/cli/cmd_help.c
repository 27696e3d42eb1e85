// SPDX-License-Identifier: Apache-2.0
// Help, the manual page and completions, all out of the table of commands.
#include "tuner/base/version.h"
#include "tuner/cli/cli.h"

#include <string.h>

static void list_commands(FILE *out)
{
    fprintf(out, "simtune finds the fastest correct configuration of a CUDA kernel on the GPU at hand, says why it\n"
                 "is fastest, and writes it as a header.\n\n"
                 "Begin with\n  simtune reduce --arch auto\n\nCommands\n");
    for (const st_command *row = st_commands; row->name; row++)
        fprintf(out, "  %-12s %s\n", row->name, row->summary);
    fprintf(out, "\nsimtune help COMMAND shows a command's options. Exit codes: 0 done, 1 failed, 2 usage,\n"
                 "3 nothing valid, 4 regression, 5 counters denied, 6 stale, 130 interrupted.\n");
}

// troff: a leading dot or quote, backslashes and hyphens mean something.
static void man_text(FILE *out, const char *text)
{
    bool start = true;
    for (; *text; text++) {
        if (start && (*text == '.' || *text == '\''))
            fputs("\\&", out);
        start = *text == '\n';
        if (*text == '\\')
            fputs("\\e", out);
        else if (*text == '-')
            fputs("\\-", out);
        else
            fputc(*text, out);
    }
}

static void man_options(FILE *out, const st_option *table)
{
    for (const st_option *row = table; row->name; row++) {
        fprintf(out, ".TP\n");
        if (row->letter)
            fprintf(out, "\\fB\\-%c\\fR, ", row->letter);
        fprintf(out, "\\fB\\-\\-");
        man_text(out, row->name);
        fprintf(out, "\\fR");
        if (row->value)
            fprintf(out, " \\fI%s\\fR", row->value);
        fprintf(out, "\n");
        man_text(out, row->help);
        fprintf(out, "\n");
    }
}

static void print_manual(FILE *out)
{
    fprintf(out, ".TH SIMTUNE 1 \"\" \"simtune %s\" \"User Commands\"\n.SH NAME\n"
                 "simtune \\- profiling\\-guided auto\\-tuner for CUDA kernels\n.SH SYNOPSIS\n"
                 ".B simtune\n\\fICOMMAND\\fR [\\fIOPTIONS\\fR]\n.SH COMMANDS\n",
            SIMTUNE_VERSION);
    for (const st_command *row = st_commands; row->name; row++) {
        fprintf(out, ".SS \"simtune %s ", row->name);
        man_text(out, row->usage);
        fprintf(out, "\"\n");
        man_text(out, row->summary);
        fprintf(out, ".\n");
        if (row->description[0]) {
            fprintf(out, ".PP\n");
            man_text(out, row->description);
            fprintf(out, "\n");
        }
        for (size_t i = 0; row->tables && row->tables[i]; i++)
            man_options(out, row->tables[i]);
        fprintf(out, ".PP\n.nf\n");
        man_text(out, row->examples);
        fprintf(out, "\n.fi\n");
    }
    fprintf(out, ".SH COMMON OPTIONS\n");
    man_options(out, st_options_common);
    fprintf(out, ".SH EXIT STATUS\n0 done; 1 failed; 2 usage; 3 nothing valid; 4 regression found; 5 counters "
                 "demanded but denied; 6 stale; 130 interrupted.\n"
                 ".SH FILES\n$XDG_DATA_HOME/simtune/history.db: the store.\n"
                 "$XDG_CACHE_HOME/simtune: compiled kernels.\n");
}

static void print_bash(FILE *out)
{
    fprintf(out, "_simtune()\n{\n    local cur=${COMP_WORDS[COMP_CWORD]}\n    if [ \"$COMP_CWORD\" = 1 ]; then\n"
                 "        COMPREPLY=($(compgen -W \"reduce");
    for (const st_command *row = st_commands; row->name; row++)
        fprintf(out, " %s", row->name);
    fprintf(out, "\" -- \"$cur\"))\n        return\n    fi\n    local options=\n    case ${COMP_WORDS[1]} in\n");
    for (const st_command *row = st_commands; row->name; row++) {
        fprintf(out, "    %s%s) options=\"", row->name, strcmp(row->name, "tune") == 0 ? "|reduce" : "");
        for (size_t i = 0; row->tables && row->tables[i]; i++)
            for (const st_option *option = row->tables[i]; option->name; option++)
                fprintf(out, "--%s ", option->name);
        for (const st_option *option = st_options_common; option->name; option++)
            fprintf(out, "--%s%s", option->name, option[1].name ? " " : "");
        fprintf(out, "\" ;;\n");
    }
    fprintf(out, "    esac\n    case $cur in\n    -*) COMPREPLY=($(compgen -W \"$options\" -- \"$cur\")) ;;\n"
                 "    *) COMPREPLY=($(compgen -f -- \"$cur\")) ;;\n    esac\n}\ncomplete -F _simtune simtune\n");
}

st_code st_cmd_help(st_cli *cli, st_error *error)
{
    if (st_parsed_flag(cli->parsed, "man")) {
        print_manual(cli->out);
        return ST_OK;
    }
    if (st_parsed_flag(cli->parsed, "bash")) {
        print_bash(cli->out);
        return ST_OK;
    }
    if (!cli->parsed->word_count) {
        list_commands(cli->out);
        return ST_OK;
    }
    const char *word = cli->parsed->words[0];
    const st_command *command = st_command_find(word);
    if (!command && st_command_is_family(word))
        command = st_command_find("tune");
    if (!command)
        return st_fail(error, ST_USAGE, "simtune help lists the commands", "there is no command %s", word);
    st_text text;
    st_text_init(&text);
    st_command_help(command, &text);
    fputs(st_text_string(&text), cli->out);
    st_text_release(&text);
    return ST_OK;
}

st_code st_cmd_version(st_cli *cli, st_error *error)
{
    (void)error;
    fprintf(cli->out, "simtune %s\n", SIMTUNE_VERSION);
    return ST_OK;
}
