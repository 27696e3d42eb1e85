// SPDX-License-Identifier: Apache-2.0
// Runs one fuzz target without libFuzzer, with any compiler: replay RUNS FOLDER|FILE…
// Every file is given as it is, then RUNS mutations of them, the same ones every time. What ends the process
// leaves its input in crash-TARGET beside the working folder's other files and says so.
#include "tests/fuzz/fuzz.h"

#include "tuner/base/memory.h"
#include "tuner/base/statistics.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct input {
    uint8_t *bytes;
    size_t size;
} input;

static input *inputs;
static size_t input_count, input_capacity;

// --- the input that is being tried, for whoever ends the process -------------------------------------------
static const uint8_t *current;
static size_t current_size;

static void keep_input(void)
{
    static const char name[] = "crash-" FUZZ_TARGET;
    int file = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    bool kept = file >= 0 && write(file, current, current_size) == (ssize_t)current_size;
    if (file >= 0)
        close(file);
    dprintf(2, "replay: the input (%zu bytes) %s %s\n", current_size,
            kept ? "is kept in" : "could not be kept in", name);
}

static void on_signal(int number)
{
    keep_input();
    signal(number, SIG_DFL);
    raise(number);
}

// AddressSanitizer's, where it is linked in.
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

static void run_one(const uint8_t *bytes, size_t size)
{
    // A block of its own, so that reading beyond it is seen.
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy)
        fuzz_fail("no memory");
    memcpy(copy, bytes, size);
    current = copy;
    current_size = size;
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

// --- the corpus --------------------------------------------------------------------------------------------
static void add_file(const char *path)
{
    st_error error = {0};
    st_text text;
    st_text_init(&text);
    if (st_text_read_file(&text, path, &error) != ST_OK)
        fuzz_fail("%s", error.what);
    inputs = st_grow(inputs, &input_capacity, input_count + 1, sizeof *inputs);
    if (!inputs)
        fuzz_fail("no memory");
    inputs[input_count].size = text.length;
    inputs[input_count++].bytes = (uint8_t *)st_text_take(&text);
}

static int is_shown(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static void add_path(const char *path)
{
    struct stat about;
    struct dirent **entries;
    if (stat(path, &about) != 0)
        fuzz_fail("%s is not there", path);
    if (!S_ISDIR(about.st_mode)) {
        add_file(path);
        return;
    }
    int count = scandir(path, &entries, is_shown, alphasort);
    for (int i = 0; i < count; i++) {
        char *file = st_format("%s/%s", path, entries[i]->d_name);
        add_path(file);
        st_free(file);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
}

// --- mutations ---------------------------------------------------------------------------------------------
static size_t below(st_random *random, size_t bound)
{
    return (size_t)st_random_below(random, bound ? bound : 1);
}

// A piece of an input: a word of it, a line, or any bytes.
static void take_piece(st_random *random, const input *from, const uint8_t **piece, size_t *length)
{
    size_t begin = below(random, from->size), end = begin;
    const char *stops = below(random, 2) ? "\n" : " \n\"(){}[],:=";
    if (below(random, 3) == 0) {
        end = begin + below(random, from->size - begin + 1);
        end = end - begin > 64 ? begin + 64 : end;
    } else {
        while (begin > 0 && !strchr(stops, from->bytes[begin - 1]))
            begin--;
        while (end < from->size && !strchr(stops, from->bytes[end]))
            end++;
        end = end - begin > 400 ? begin + 400 : end;
    }
    *piece = from->bytes ? from->bytes + begin : NULL;
    *length = end - begin;
}

static void replace(st_text *text, size_t at, size_t removed, const void *bytes, size_t length)
{
    st_text made;
    st_text_init(&made);
    st_text_add_bytes(&made, text->data ? text->data : "", at);
    st_text_add_bytes(&made, bytes, length);
    if (text->length > at + removed)
        st_text_add_bytes(&made, text->data + at + removed, text->length - at - removed);
    if (made.failed)
        fuzz_fail("no memory");
    st_text_release(text);
    *text = made;
}

static void mutate_once(st_random *random, st_text *text)
{
    static const char *const odd[] = {"0",
                                      "-1",
                                      "9223372036854775807",
                                      "-9223372036854775808",
                                      "99999999999999999999",
                                      "1e999",
                                      "NaN",
                                      "null",
                                      "\xff",
                                      "\xc3",
                                      "\\",
                                      "\"",
                                      "%s",
                                      "2^63",
                                      "\n"};
    size_t at = below(random, text->length + 1), left = text->length - at;
    size_t removed = below(random, (left < 40 ? left : 40) + 1);
    const uint8_t *piece;
    size_t length;
    uint8_t byte = (uint8_t)below(random, 256);
    switch (below(random, 8)) {
    case 0: // a byte
        replace(text, at, left > 0, &byte, 1);
        break;
    case 1: // a bit
        if (left)
            text->data[at] = (char)(text->data[at] ^ 1 << below(random, 8));
        break;
    case 2: // a piece goes
        replace(text, at, removed, "", 0);
        break;
    case 3: { // what programs trip over
        const char *what = odd[below(random, sizeof odd / sizeof *odd)];
        replace(text, at, below(random, 2) ? removed : 0, what, strlen(what));
        break;
    }
    case 4: // cut off
        if (below(random, 4) == 0)
            replace(text, at, left, "", 0);
        break;
    case 5: { // a number becomes another
        size_t digit = at;
        while (digit < text->length && (text->data[digit] < '0' || text->data[digit] > '9'))
            digit++;
        if (digit < text->length)
            text->data[digit] = (char)('0' + below(random, 10));
        break;
    }
    default: // a piece of another
        take_piece(random, &inputs[below(random, input_count)], &piece, &length);
        replace(text, at, below(random, 2) ? removed : 0, piece ? (const char *)piece : "", length);
        break;
    }
}

static void run_mutations(size_t runs)
{
    enum { LONGEST = 64 << 10 };
    st_random random;
    st_random_seed(&random, 20261130);
    for (size_t i = 0; i < runs; i++) {
        const input *from = &inputs[below(&random, input_count)];
        st_text text;
        st_text_init(&text);
        st_text_add_bytes(&text, from->bytes ? (const char *)from->bytes : "", from->size);
        for (size_t more = 1 + below(&random, 5); more > 0 && !text.failed; more--)
            mutate_once(&random, &text);
        if (!text.failed && text.length <= LONGEST)
            run_one((const uint8_t *)st_text_string(&text), text.length);
        st_text_release(&text);
    }
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "%s: RUNS FOLDER|FILE…\n", argv[0]);
        return 2;
    }
    LLVMFuzzerInitialize(&argc, &argv);
    signal(SIGABRT, on_signal);
    signal(SIGSEGV, __sanitizer_set_death_callback ? SIG_DFL : on_signal);
    if (__sanitizer_set_death_callback)
        __sanitizer_set_death_callback(keep_input);
    for (int i = 2; i < argc; i++)
        add_path(argv[i]);
    if (!input_count)
        fuzz_fail("there is no input");
    run_one((const uint8_t *)"", 0);
    for (size_t i = 0; i < input_count; i++)
        run_one(inputs[i].bytes, inputs[i].size);
    size_t runs = strtoul(argv[1], NULL, 10);
    run_mutations(runs);
    printf("%s: %zu inputs and %zu mutations of them\n", FUZZ_TARGET, input_count, runs);
    for (size_t i = 0; i < input_count; i++)
        st_free(inputs[i].bytes);
    st_free(inputs);
    return 0;
}
