// SPDX-License-Identifier: Apache-2.0
// Conclusions (winners) and the form of samples. Invariants: 1. samples are 8 bytes each, little-endian
// IEEE 754, on every machine; 2. a winner is a conclusion: of the same session (resumed), problem and cache
// the later one replaces the earlier; what it was concluded from stays.
#include "db/store_internal.h"

#include "tuner/base/memory.h"

#include <string.h>

unsigned char *st_samples_encode(const double *samples, size_t count)
{
    unsigned char *blob = count <= (size_t)INT32_MAX / 8 ? st_malloc(count * 8) : NULL;
    for (size_t i = 0; blob && i < count; i++) {
        uint64_t bits;
        memcpy(&bits, &samples[i], sizeof bits);
        for (int byte = 0; byte < 8; byte++)
            blob[i * 8 + (size_t)byte] = (unsigned char)(bits >> (8 * byte));
    }
    return blob;
}

double *st_samples_decode(const void *blob, size_t bytes, size_t *count)
{
    const unsigned char *at = blob;
    *count = bytes / 8;
    double *samples = st_malloc(*count * sizeof *samples);
    for (size_t i = 0; samples && i < *count; i++, at += 8) {
        uint64_t bits = 0;
        for (int byte = 0; byte < 8; byte++)
            bits |= (uint64_t)at[byte] << (8 * byte);
        memcpy(&samples[i], &bits, sizeof bits);
    }
    return samples;
}

static st_code upsert_winner(st_store *store, const st_winner_row *row, st_error *error)
{
    st_statement statement;
    st_code code = st_statement_open(
        store, &statement,
        "INSERT INTO winner (session_key, problem_key, cache, winner_key, default_key, winner_ns,"
        " default_ns, speedup, speedup_low, speedup_high, tied, ties, bytes, note)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (session_key, problem_key, cache) DO UPDATE SET"
        " winner_key = excluded.winner_key, default_key = excluded.default_key,"
        " winner_ns = excluded.winner_ns, default_ns = excluded.default_ns,"
        " speedup = excluded.speedup, speedup_low = excluded.speedup_low,"
        " speedup_high = excluded.speedup_high, tied = excluded.tied, ties = excluded.ties,"
        " bytes = excluded.bytes, note = excluded.note",
        "storing a winner", error);
    if (code == ST_OK) {
        st_bind_int(&statement, row->session_key);
        st_bind_int(&statement, row->problem_key);
        st_bind_text(&statement, row->cache);
        st_bind_int(&statement, row->winner_key);
        st_bind_known_int(&statement, row->default_key);
        st_bind_real(&statement, row->winner_ns);
        st_bind_real(&statement, row->default_ns);
        st_bind_real(&statement, row->speedup);
        st_bind_real(&statement, row->speedup_low);
        st_bind_real(&statement, row->speedup_high);
        st_bind_int(&statement, row->tied);
        st_bind_known_text(&statement, row->ties_json);
        st_bind_real(&statement, row->bytes);
        st_bind_known_text(&statement, row->note);
        code = st_statement_run(&statement, error);
    }
    st_statement_close(&statement);
    return code;
}

st_code st_store_winner(st_store *store, const st_winner_row *row, st_error *error)
{
    st_code code = st_store_begin(store, error);
    if (code == ST_OK)
        code = st_store_finish(store, upsert_winner(store, row, error), error);
    return code;
}

bool st_backend_is_hardware(const char *backend)
{
    return backend && strcmp(backend, "cuda") == 0;
}
