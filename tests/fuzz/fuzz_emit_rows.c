// SPDX-License-Identifier: Apache-2.0
// The provenance block of headers as comparisons read it (st_emit_rows), without a template. Ids of accepted rows are
// whole, numbers are possible, and what st_emit_read accepts of any template this accepts too.
#include "tests/fuzz/fuzz.h"

#include "tuner/base/hash.h"
#include "tuner/base/json.h"
#include "tuner/base/memory.h"
#include "tuner/emit.h"
#include "tuner/emit_rows.h"

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

static void check_id(const char *id)
{
    FUZZ_MUST(!*id || (strlen(id) == 32 && strspn(id, "0123456789abcdef") == 32), "%s is no id", id);
}

static st_code check_row(void *context, const st_provenance_row *row, st_error *error)
{
    (void)error;
    ++*(size_t *)context;
    check_id(row->session);
    check_id(row->candidate);
    FUZZ_MUST(row->family[0] && row->problem[0] && row->configuration && row->device && row->driver && row->compiler &&
                  row->template_hash,
              "a row without a text");
    FUZZ_MUST(strcmp(row->cache, "cold") == 0 || strcmp(row->cache, "warm") == 0, "a cache of %s", row->cache);
    FUZZ_MUST((row->cc == -1 || row->cc >= 1) && (row->sm_count == -1 || row->sm_count >= 1) && row->measured_ms >= -1,
              "an impossible number");
    return ST_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    st_error error = {0};
    size_t count = 0, again = 0, choice_count = 0;
    st_choice *choices = NULL;
    const char *path = fuzz_file(data, size);
    st_code code = st_emit_rows(path, check_row, &count, &error);
    if (code != ST_OK) {
        fuzz_check_error(code, &error);
        FUZZ_MUST(strstr(error.what, path), "the message names no file: %s", error.what);
    }
    FUZZ_MUST(st_emit_rows(path, check_row, &again, NULL) == code && again == count, "another answer");
    if (code == ST_OK && st_emit_read(tmpl, path, NULL, &choices, &choice_count, NULL) == ST_OK)
        FUZZ_MUST(choice_count == count, "%zu rows, %zu choices", count, choice_count);
    st_free(choices);
    return 0;
}
