// SPDX-License-Identifier: Apache-2.0
// Lock files (tuner/lock.h), for the template tests/data/emit_total.cu with a hash of zeros. What is read and printed
// again is read as the same, and prints the same bytes; rows that become choices come back from a lock that they
// are put into.
#include "tests/fuzz/fuzz.h"

#include "tuner/base/json.h"
#include "tuner/base/memory.h"
#include "tuner/lock.h"

#include <string.h>

static st_template *tmpl;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    st_error error = {0};
    (void)argc, (void)argv;
    st_json_setup();
    FUZZ_MUST(st_template_load(SIMTUNE_SOURCE_FOLDER "/tests/data/emit_total.cu", &tmpl, &error) == ST_OK, "%s",
              error.what);
    memset(tmpl->hash, '0', ST_HASH_TEXT - 1);
    return 0;
}

static void print(st_lock *lock, st_text *out)
{
    FUZZ_MUST(st_lock_print(lock, out, NULL) == ST_OK, "what was read cannot be printed");
}

// Printed and read again: the same lines, the same bytes.
static void check_text(st_lock *lock)
{
    st_text first, second;
    st_lock again;
    st_error error = {0};
    st_text_init(&first);
    st_text_init(&second);
    print(lock, &first);
    st_code code = st_lock_read(fuzz_file(first.data, first.length), &again, &error);
    FUZZ_MUST(code == ST_OK && again.count == lock->count, "our own lock is refused: %s", error.what);
    print(&again, &second);
    FUZZ_MUST(first.length == second.length && memcmp(first.data, second.data, first.length) == 0,
              "what was read prints differently");
    st_lock_release(&again);
    st_text_release(&first);
    st_text_release(&second);
}

// Put into an empty lock, they come back.
static void check_choices(const st_choice *choices, size_t count, const char *cache)
{
    st_lock lock;
    st_lock_init(&lock);
    lock.path = st_strdup("fuzz.lock");
    st_choice *again = NULL;
    size_t dropped, again_count = 0;
    st_error error = {0};
    FUZZ_MUST(st_lock_put(&lock, tmpl, cache, choices, count, &dropped, &error) == ST_OK && !dropped, "%s",
              error.what);
    FUZZ_MUST(st_lock_choices(&lock, tmpl, cache, &again, &again_count, &error) == ST_OK, "%s", error.what);
    FUZZ_MUST(again_count && again_count <= count, "%zu rows became %zu", count, again_count);
    st_text text;
    st_text_init(&text);
    print(&lock, &text);
    st_text_release(&text);
    st_free(again);
    st_lock_release(&lock);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const caches[] = {"cold", "warm"};
    st_lock lock;
    st_error error = {0};
    const char *path = fuzz_file(data, size);
    st_code code = st_lock_read(path, &lock, &error);
    if (code) {
        fuzz_check_error(code, &error);
        FUZZ_MUST(strstr(error.what, path), "the message names no file: %s", error.what);
    } else {
        check_text(&lock);
    }
    for (int i = 0; code == ST_OK && i < 2; i++) {
        st_choice *choices = NULL;
        size_t count = 0;
        st_error why = {0};
        st_code found = st_lock_choices(&lock, tmpl, caches[i], &choices, &count, &why);
        if (found)
            fuzz_check_error(found, &why);
        else
            check_choices(choices, count, caches[i]);
        st_free(choices);
    }
    st_lock_release(&lock);
    return 0;
}
