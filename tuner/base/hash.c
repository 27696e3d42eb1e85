// SPDX-License-Identifier: Apache-2.0
#include "tuner/base/hash.h"

#include "tuner/base/clock.h"
#include "tuner/base/memory.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <xxhash.h>

struct st_hash {
    XXH3_state_t *state;
};

st_hash *st_hash_new(void)
{
    st_hash *hash = st_malloc(sizeof *hash);
    if (!hash)
        return NULL;
    hash->state = st_fault_here(ST_FAULT_ALLOCATION) ? NULL : XXH3_createState();
    if (!hash->state) {
        st_free(hash);
        return NULL;
    }
    XXH3_128bits_reset(hash->state);
    return hash;
}

void st_hash_free(st_hash *hash)
{
    if (!hash)
        return;
    XXH3_freeState(hash->state);
    st_free(hash);
}

void st_hash_bytes(st_hash *hash, const void *bytes, size_t length)
{
    XXH3_128bits_update(hash->state, bytes, length);
}

void st_hash_number(st_hash *hash, int64_t number)
{
    unsigned char bytes[8]; // little endian on every machine
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)((uint64_t)number >> (8 * i));
    st_hash_bytes(hash, bytes, sizeof bytes);
}

void st_hash_field(st_hash *hash, const char *text)
{
    st_hash_number(hash, text ? (int64_t)strlen(text) : -1);
    if (text)
        st_hash_bytes(hash, text, strlen(text));
}

static void print(XXH128_hash_t value, char out[ST_HASH_TEXT])
{
    snprintf(out, ST_HASH_TEXT, "%016llx%016llx", (unsigned long long)value.high64,
             (unsigned long long)value.low64);
}

void st_hash_text(const st_hash *hash, char out[ST_HASH_TEXT])
{
    print(XXH3_128bits_digest(hash->state), out);
}

void st_hash_of(const void *bytes, size_t length, char out[ST_HASH_TEXT])
{
    print(XXH3_128bits(bytes, length), out);
}

int st_hash_fresh_id(char out[ST_HASH_TEXT])
{
    unsigned char random[10];
    if (st_fault_here(ST_FAULT_SYSTEM) || getrandom(random, sizeof random, 0) != sizeof random)
        return -1;
    int at = snprintf(out, ST_HASH_TEXT, "%012llx", (unsigned long long)st_clock_unix_ms());
    for (size_t i = 0; i < sizeof random; i++)
        at += snprintf(out + at, ST_HASH_TEXT - (size_t)at, "%02x", random[i]);
    return 0;
}
