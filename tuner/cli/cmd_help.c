// SPDX-License-Identifier: Apache-2.0
// Help, the manual page and completions, all out of the table of commands and the families that ship.
#include "tuner/base/memory.h"
#include "tuner/base/version.h"
#include "tuner/cli/cli_answers.h"
#include "tuner/cli/families.h"

#include <string.h>

// Prints what was built; false when memory was out.
static st_code print_text(FILE *out, st_text *text, st_error *error)
{
    bool failed = text->failed;
    if (!failed)
        fputs(st_text_string(text), out);
    st_text_release(text);
    return failed ? st_fail_memory(error, "printing help") : ST_OK;
}

static st_code list_commands(FILE *out, st_error *error)
{
    st_text families;
    st_text_init(&families);
    st_families_add(&families, " ");
    fprintf(out, "simtune finds the fastest correct configuration of a CUDA kernel on the GPU at hand, says why it\n"
                 "is fastest, and writes it as a header.\n\n"
                 "Begin with\n  simtune reduce --arch auto\n\nCommands\n");
    for (const st_command *row = st_commands; row->name; row++)
        fprintf(out, "  %-12s %s\n", row->name, row->summary);
    fprintf(out, "\nFamilies, each a command that tunes it\n  ");
    st_code code = print_text(out, &families, error);
    fprintf(out, "\n\nsimtune help COMMAND shows a command's options. Exit codes: 0 done, 1 failed, 2 usage,\n"
                 "3 nothing valid, 4 regression, 5 counters denied, 6 stale, 130 interrupted.\n");
    return code;
}

// The code point at *text, which moves on; bytes that are no UTF-8 stand for themselves.
static unsigned code_point(const char **text)
{
    const unsigned char *at = (const unsigned char *)*text;
    int more = at[0] >= 0xf0 ? 3 : at[0] >= 0xe0 ? 2 : at[0] >= 0xc0 ? 1 : 0;
    unsigned code = more ? at[0] & (0x3fu >> more) : at[0];
    int length = 1;
    for (; length <= more && (at[length] & 0xc0) == 0x80; length++)
        code = code << 6 | (at[length] & 0x3f);
    *text += length;
    return code;
}

// troff: a leading dot or quote, backslashes and hyphens mean something; letters beyond ASCII by their number, so
// that the page is read right in any locale.
static void man_text(FILE *out, const char *text)
{
    bool start = true;
    while (*text) {
        unsigned code = code_point(&text);
        if (start && (code == '.' || code == '\''))
            fputs("\\&", out);
        start = code == '\n';
        if (code == '\\')
            fputs("\\e", out);
        else if (code == '-')
            fputs("\\-", out);
        else if (code > 126)
            fprintf(out, "\\[u%04X]", code);
        else
            fputc((int)code, out);
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

static st_code print_manual(FILE *out, st_error *error)
{
    st_text families;
    st_text_init(&families);
    st_families_add(&families, ", ");
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
    fprintf(out, ".SH FAMILIES\nEach is a command: \\fBsimtune\\fR \\fIFAMILY\\fR is "
                 "\\fBsimtune tune\\fR \\fIFAMILY\\fR.\n.PP\n");
    st_code code = print_text(out, &families, error);
    fprintf(out, "\n");
    fprintf(out, ".SH EXIT STATUS\n0 done; 1 failed; 2 usage; 3 nothing valid; 4 regression found; 5 counters "
                 "demanded but denied; 6 stale; 130 interrupted.\n"
                 ".SH FILES\n$XDG_DATA_HOME/simtune/history.db: the store.\n"
                 "$XDG_CACHE_HOME/simtune: compiled kernels.\n");
    return code;
}

// Commands whose words are families or files.
static bool takes_families(const st_command *command)
{
    return strstr(command->usage, "FAMILY") != NULL;
}

static st_code print_bash(FILE *out, st_error *error)
{
    st_text families, text;
    st_text_init(&families);
    st_text_init(&text);
    st_families_add(&families, " ");
    st_text_addf(&text, "_simtune()\n{\n    local cur=${COMP_WORDS[COMP_CWORD]}\n    local families=\"%s\"\n"
                        "    if [ \"$COMP_CWORD\" = 1 ]; then\n        COMPREPLY=($(compgen -W \"$families",
                 st_text_string(&families));
    for (const st_command *row = st_commands; row->name; row++)
        st_text_addf(&text, " %s", row->name);
    st_text_add(&text, "\" -- \"$cur\"))\n        return\n    fi\n    local options= words=\n"
                       "    case ${COMP_WORDS[1]} in\n");
    for (const st_command *row = st_commands; row->name; row++) {
        st_text_addf(&text, "    %s", row->name);
        if (row->run == st_cmd_tune)
            for (const char *at = st_text_string(&families); *at; at++)
                st_text_addf(&text, "%s%c", at == st_text_string(&families) ? "|" : "", *at == ' ' ? '|' : *at);
        st_text_add(&text, ") options=\"");
        for (size_t i = 0; row->tables && row->tables[i]; i++)
            for (const st_option *option = row->tables[i]; option->name; option++)
                st_text_addf(&text, "--%s ", option->name);
        for (const st_option *option = st_options_common; option->name; option++)
            st_text_addf(&text, "--%s%s", option->name, option[1].name ? " " : "");
        st_text_addf(&text, "\"%s ;;\n", takes_families(row) ? " words=$families" : "");
    }
    st_text_add(&text, "    esac\n    case $cur in\n    -*) COMPREPLY=($(compgen -W \"$options\" -- \"$cur\")) ;;\n"
                       "    *) COMPREPLY=($(compgen -W \"$words\" -- \"$cur\") $(compgen -f -- \"$cur\")) ;;\n"
                       "    esac\n}\ncomplete -F _simtune simtune\n");
    text.failed = text.failed || families.failed;
    st_text_release(&families);
    return print_text(out, &text, error);
}

// --- JSON --------------------------------------------------------------------------------------------------------

static json_t *options_json(const st_command *command)
{
    json_t *list = json_array();
    bool whole = list;
    for (size_t i = 0; whole; i++) {
        const st_option *table = command->tables ? command->tables[i] : NULL;
        bool last = !table; // the common ones come at the end
        for (const st_option *row = last ? st_options_common : table; row->name && whole; row++) {
            char letter[2] = {row->letter, '\0'};
            whole = json_array_append_new(list, json_pack("{s:s, s:o, s:o, s:b, s:s}", "name", row->name, "letter",
                                                          st_json_text_or_null(letter), "value",
                                                          st_json_text_or_null(row->value), "repeats",
                                                          (int)row->repeats, "help", row->help)) == 0;
        }
        if (last)
            break;
    }
    if (whole)
        return list;
    json_decref(list);
    return NULL;
}

static json_t *command_json(const st_command *command)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:o}", "name", command->name, "summary", command->summary, "usage",
                     command->usage, "description", command->description, "examples", command->examples, "options",
                     options_json(command));
}

// Of one command, or of all.
static st_code print_json(st_cli *cli, const st_command *only, st_error *error)
{
    st_list names, paths;
    json_t *commands = json_array(), *families = json_array();
    st_code code = st_families(&names, &paths, error);
    bool whole = commands && families;
    for (const st_command *row = only ? only : st_commands; row->name && whole; row++) {
        whole = json_array_append_new(commands, command_json(row)) == 0;
        if (only)
            break;
    }
    for (size_t i = 0; i < names.count && whole; i++)
        whole = json_array_append_new(families, json_string(names.items[i])) == 0;
    if (code == ST_OK)
        code = st_cli_print_json(cli, whole ? json_pack("{s:s, s:O, s:O}", "schema", "simtune.help/1", "commands",
                                                        commands, "families", families)
                                            : NULL,
                                 error);
    json_decref(commands);
    json_decref(families);
    st_list_free(&names);
    st_list_free(&paths);
    return code;
}

st_code st_cmd_help(st_cli *cli, st_error *error)
{
    bool man = st_parsed_flag(cli->parsed, "man"), bash = st_parsed_flag(cli->parsed, "bash");
    if (cli->parsed->word_count > 1)
        return st_fail(error, ST_USAGE, "one command at a time", "help takes no %s", cli->parsed->words[1]);
    if ((int)man + bash + cli->json > 1 || ((man || bash) && cli->parsed->word_count))
        return st_fail(error, ST_USAGE, "each prints one whole text", "--man and --bash stand alone");
    if (man)
        return print_manual(cli->out, error);
    if (bash)
        return print_bash(cli->out, error);
    if (!cli->parsed->word_count)
        return cli->json ? print_json(cli, NULL, error) : list_commands(cli->out, error);
    const char *word = cli->parsed->words[0];
    const st_command *command = st_command_find(word);
    if (!command && st_command_is_family(word))
        command = st_command_find("tune");
    if (!command)
        return st_fail(error, ST_USAGE, "simtune help lists the commands", "there is no command %s", word);
    if (cli->json)
        return print_json(cli, command, error);
    st_text text;
    st_text_init(&text);
    st_command_help(command, &text);
    return print_text(cli->out, &text, error);
}

st_code st_cmd_version(st_cli *cli, st_error *error)
{
    if (cli->parsed->word_count)
        return st_fail(error, ST_USAGE, "see `simtune version --help`", "version takes no %s", cli->parsed->words[0]);
    if (cli->json)
        return st_cli_print_json(cli, json_pack("{s:s, s:s}", "schema", "simtune.version/1", "version",
                                                SIMTUNE_VERSION),
                                 error);
    fprintf(cli->out, "simtune %s\n", SIMTUNE_VERSION);
    return ST_OK;
}
