// SPDX-License-Identifier: Apache-2.0
// What several commands need: the store with the shipped history, and the device that the user means.
#include "reports/format.h"
#include "tuner/base/memory.h"
#include "tuner/base/paths.h"
#include "tuner/cli/cli.h"
#include "tuner/cli/shipped.h"
#include "tuner/gpu/emu.h"
#include "tuner/gpu/gpu.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

// Without it the first run would hide what is shipped.
static st_code bring_shipped(const char *path, st_store **store, st_error *error)
{
    st_code code = path ? ST_OK : st_shipped_bring(*store, error);
    if (code != ST_OK) {
        st_store_close(*store);
        *store = NULL;
    }
    return code;
}

st_code st_cli_store(st_cli *cli, st_store_mode mode, st_store **out, st_error *error)
{
    const char *path = st_parsed_text(cli->parsed, "db");
    st_code code = st_store_open(path, mode, out, error);
    if (code == ST_OK && mode == ST_STORE_WRITE)
        code = bring_shipped(path, out, error);
    if (code != ST_NOTHING || path || mode == ST_STORE_WRITE)
        return code;
    return st_shipped_open(out, error); // no store yet: what is shipped is all that is known
}

st_code st_cli_store_aside(st_cli *cli, st_store **out, st_error *error)
{
    const char *path = st_parsed_text(cli->parsed, "db");
    st_code code = st_store_open_aside(path, out, error);
    return code == ST_OK ? bring_shipped(path, out, error) : code;
}

void st_cli_print(const st_cli *cli, FILE *to, const char *text)
{
    bool colour = to == cli->out && cli->colour, unicode = st_cli_is_unicode();
    if (unicode && st_report_is_safe(text, colour)) {
        fputs(text, to);
        return;
    }
    st_text safe, plain;
    st_text_init(&safe);
    st_text_init(&plain);
    st_report_safe(&safe, text, colour);
    if (!unicode)
        st_report_ascii(&plain, st_text_string(&safe));
    fputs(st_text_string(unicode ? &safe : &plain), to);
    st_text_release(&safe);
    st_text_release(&plain);
}

void st_cli_tell(const st_cli *cli, FILE *to, const char *format, ...)
{
    va_list arguments;
    char *text = NULL;
    va_start(arguments, format);
    int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (length >= 0)
        st_cli_print(cli, to, text);
    free(text);
}

void st_cli_say(const st_cli *cli, const st_error *error)
{
    fputs("simtune: ", cli->talk);
    st_cli_print(cli, cli->talk, error->what);
    fputs(error->remedy[0] ? "\n  " : "\n", cli->talk);
    st_cli_print(cli, cli->talk, error->remedy);
    fputs(error->remedy[0] ? "\n" : "", cli->talk);
}

bool st_cli_is_unicode(void)
{
    static const char *const variables[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *value = getenv(variables[i]);
        if (value && value[0]) // the first one that is set decides
            return strcasestr(value, "UTF-8") || strcasestr(value, "UTF8");
    }
    return false;
}

// --- archs ---------------------------------------------------------------------------------------------------

st_code st_cli_arch(const char *word, int *cc, st_error *error)
{
    const char *digits = strncmp(word, "sm_", 3) == 0        ? word + 3
                         : strncmp(word, "compute_", 8) == 0 ? word + 8
                                                             : word;
    int64_t number;
    if (strchr(word, ','))
        return st_fail(error, ST_USAGE, "name one, like sm_90, and run it again for the next", "one arch only, not %s",
                       word);
    size_t length = strspn(digits, "0123456789");
    bool fine = length >= 2 && length <= 3 && (digits[length] == '\0' ||
                                               ((digits[length] == 'a' || digits[length] == 'f') && !digits[length + 1]));
    char plain[8];
    snprintf(plain, sizeof plain, "%.*s", (int)(fine ? length : 0), digits);
    if (!fine || !st_text_to_int(plain, &number) || number < 75 || number > 129)
        return st_fail(error, ST_USAGE, "name an arch like sm_80, sm_90, sm_100, or auto", "there is no arch %s",
                       word);
    *cc = (int)number;
    return ST_OK;
}

// --- the device ------------------------------------------------------------------------------------------------

static bool contains_ignoring_case(const char *text, const char *part)
{
    size_t length = strlen(part);
    for (; *text; text++)
        if (strncasecmp(text, part, length) == 0)
            return true;
    return false;
}

bool st_cli_is_ordinal(const char *wish)
{
    int64_t number; // from 100 on it is a part of a name: "4090"
    return st_text_to_int(wish, &number) && number >= 0 && number < 100;
}

static bool is_meant(const st_device_facts *facts, const char *wish)
{
    int64_t number;
    if (st_cli_is_ordinal(wish) && st_text_to_int(wish, &number))
        return number == facts->ordinal;
    return strncasecmp(facts->uuid, wish, strlen(wish)) == 0 || contains_ignoring_case(facts->name, wish);
}

// Counts devices; a driver that is absent is no device, one that is broken is an error.
static st_code count_devices(const st_gpu_operations *ops, int *count, st_error *error)
{
    st_error why = {0};
    st_code code = ops->count(count, &why);
    if (code == ST_NOTHING) {
        *count = 0;
        return ST_OK;
    }
    if (code != ST_OK) {
        if (error)
            *error = why;
        return st_error_prefix(error, "a GPU driver is here but cannot be used") == ST_NO_MEMORY
                   ? ST_NO_MEMORY
                   : (error ? (error->code = ST_NOTHING) : ST_NOTHING);
    }
    return ST_OK;
}

bool st_cli_wants_emulated(const st_cli *cli)
{
    const char *wish = st_parsed_text(cli->parsed, "device");
    return wish && strncmp(wish, "emu", 3) == 0;
}

st_code st_cli_find_device(st_cli *cli, st_cli_device *out, st_error *error)
{
    const char *wish = st_parsed_text(cli->parsed, "device"), *arch = st_parsed_text(cli->parsed, "arch");
    *out = (st_cli_device){.backend = "cuda"};
    int cc = -1, count = 0;
    st_code code = arch && strcmp(arch, "auto") != 0 ? st_cli_arch(arch, &cc, error) : ST_OK;
    if (st_cli_wants_emulated(cli)) {
        static const char checking[] = "emu-check";
        out->backend = "emu";
        if (strncmp(wish, checking, sizeof checking - 1) == 0)
            st_emu_set_checking(true); // for the workers and compilers that are started from now on, too
        const char *colon = strchr(wish, ':');
        wish = colon ? colon + 1 : "0";
    }
    const st_gpu_operations *ops = st_gpu_backend(out->backend);
    if (code == ST_OK && !ops)
        code = st_fail(error, ST_FAILED, NULL, "this program was built without the backend %s", out->backend);
    if (code == ST_OK)
        code = count_devices(ops, &count, error);
    for (int i = 0; i < count && code == ST_OK && !out->present; i++) {
        st_device_facts facts;
        code = ops->facts(i, &facts, error);
        if (code == ST_OK && (!wish || is_meant(&facts, wish)) && (cc < 0 || facts.cc == cc)) {
            out->present = true;
            out->ordinal = i;
            out->facts = facts;
        }
    }
    if (code == ST_OK && wish && !out->present && count) {
        char of[32] = "";
        if (cc > 0)
            snprintf(of, sizeof of, " of sm_%d", cc);
        code = st_fail(error, ST_NOTHING, "simtune devices lists them", "no device here is %s%s; there %s %d",
                       st_parsed_text(cli->parsed, "device"), of, count == 1 ? "is" : "are", count);
    } else if (code == ST_OK && wish && !out->present)
        code = st_fail(error, ST_NOTHING, "simtune doctor says why", "there is no device %s: no GPU is usable here",
                       wish);
    return code;
}
