// SPDX-License-Identifier: Apache-2.0
// Numbers and words (tuner/base/text.h): st_text_to_int against a reading of its own with 128 bits,
// st_text_add_size and back, and "did you mean".
//
// The input: a number, then words, each on a line.
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

__extension__ typedef __int128 wide;

enum { WORDS_MOST = 32 };

// Decimal digits at *text; -1 when there are none or the number is beyond 2^64.
static wide digits(const char **text)
{
    wide number = -1;
    for (; **text >= '0' && **text <= '9'; ++*text) {
        number = (number < 0 ? 0 : number) * 10 + (**text - '0');
        if (number >> 64) // stays beyond, however many digits follow
            number = (wide)1 << 64;
    }
    return number >> 64 ? -2 : number;
}

static bool expected_number(const char *text, wide *out)
{
    static const char *const suffixes[] = {"", "Ki", "Mi", "Gi", "Ti", "K", "k", "M", "G", "T"};
    static const wide factors[] = {1,    1ll << 10, 1ll << 20, 1ll << 30,  1ll << 40,
                                   1000, 1000,      1000000,   1000000000, 1000000000000};
    bool negative = *text == '-';
    text += negative;
    wide number = digits(&text);
    if (number < 0 || number > INT64_MAX)
        return false;
    if (*text == '^') {
        text++;
        wide exponent = digits(&text), power = 1;
        if (exponent < 0 || exponent > 63 || *text)
            return false;
        for (wide i = 0; i < exponent && power <= INT64_MAX; i++)
            power *= number;
        number = power;
    } else {
        size_t suffix = 0;
        while (suffix < 10 && strcmp(text, suffixes[suffix]) != 0)
            suffix++;
        if (suffix == 10)
            return false;
        number *= factors[suffix];
    }
    *out = negative ? -number : number;
    return number <= INT64_MAX;
}

static void check_number(const char *text)
{
    wide expected = 0;
    int64_t got = 0;
    bool is_number = expected_number(text, &expected);
    FUZZ_MUST(st_text_to_int(text, &got) == is_number, "`%s` is%s a number", text,
              is_number ? "" : " not");
    if (!is_number)
        return;
    FUZZ_MUST(got == (int64_t)expected, "`%s` is %lld, not %lld", text, (long long)expected,
              (long long)got);
    if (got < 0)
        return;
    int64_t again = -1;
    st_text printed;
    st_text_init(&printed);
    st_text_add_size(&printed, (uint64_t)got);
    FUZZ_MUST(!printed.failed && st_text_to_int(printed.data, &again) && again == got,
              "%lld is printed as %s", (long long)got, st_text_string(&printed));
    st_text_release(&printed);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *words[WORDS_MOST + 1];
    size_t count = 0;
    while (count <= WORDS_MOST && (words[count] = fuzz_line(&data, &size)) != NULL)
        count++;
    for (size_t i = 0; i < count; i++)
        check_number(words[i]);
    if (count) {
        int nearest = st_text_nearest(words[0], (const char *const *)words + 1, count - 1);
        FUZZ_MUST(nearest >= -1 && nearest < (int)count - 1, "the nearest is number %d", nearest);
        // A word that differs in case alone is as near as can be.
        for (size_t i = 1; i < count; i++)
            FUZZ_MUST(nearest >= 0 || !*words[0] || strlen(words[0]) >= 64 ||
                          strcmp(words[i], words[0]) != 0,
                      "`%s` is not near itself", words[0]);
    }
    for (size_t i = 0; i < count; i++)
        free(words[i]);
    return 0;
}
