// SPDX-License-Identifier: Apache-2.0
// The pages of a damaged store (st_salvage_open). The input is not the file, which would be too large for a corpus, but
// what is done to a sound one: its first byte says where it is cut off (255: nowhere), then come groups of four bytes,
// an offset and what the byte there is changed by. Whatever is saved is a sound store.
#include "tests/fuzz/fuzz.h"

#include "db/inspect.h"
#include "db/salvage.h"
#include "tests/unit/reports/session_fixture.h"
#include "tuner/base/json.h"
#include "tuner/base/memory.h"

#include <string.h>
#include <unistd.h>

static st_text whole;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    st_error error = {0};
    st_store *store = NULL;
    fixture_session session;
    char path[] = "/tmp/simtune-fuzz-salvage-XXXXXX";
    (void)argc, (void)argv;
    st_json_setup();
    int file = mkstemp(path);
    FUZZ_MUST(file >= 0, "no temporary file");
    close(file);
    FUZZ_MUST(st_store_open(path, ST_STORE_WRITE, &store, &error) == ST_OK &&
                  fixture_reduce(store, &session, &error) == ST_OK, "%s", error.what);
    st_store_close(store);
    st_text_init(&whole);
    FUZZ_MUST(st_text_read_file(&whole, path, &error) == ST_OK, "%s", error.what);
    unlink(path);
    return 0;
}

static void check_saved(st_store *store, const st_salvage_report *report)
{
    st_error error = {0};
    st_text findings, words;
    bool sound = false;
    st_text_init(&findings);
    st_text_init(&words);
    FUZZ_MUST(st_store_check(store, &sound, &findings, &error) == ST_OK && sound, "%s%s", error.what,
              st_text_string(&findings));
    st_salvage_describe(report, &words);
    FUZZ_MUST(!report->complete || words.length == 0, "complete, but %s", st_text_string(&words));
    st_text_release(&words);
    st_text_release(&findings);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    st_error error = {0};
    st_salvage_report report;
    st_store *store = NULL;
    size_t length = size && data[0] < 255 ? whole.length * data[0] / 255 : whole.length;
    char *bytes = st_malloc(length + 1);
    FUZZ_MUST(bytes, "no memory");
    memcpy(bytes, whole.data, length);
    for (size_t i = 1; i + 4 <= size && length; i += 4)
        bytes[((size_t)data[i] << 16 | (size_t)data[i + 1] << 8 | data[i + 2]) % length] ^= (char)data[i + 3];
    st_code code = st_salvage_open(fuzz_file(bytes, length), &store, &report, &error);
    if (code == ST_OK)
        check_saved(store, &report);
    else
        fuzz_check_error(code, &error);
    st_salvage_close(store);
    st_free(bytes);
    return 0;
}
