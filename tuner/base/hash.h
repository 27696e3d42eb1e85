// SPDX-License-Identifier: Apache-2.0
// Content hashes (XXH3, 128 bits) for caches and stable ids. Not cryptographic: a hash names content
// that we made ourselves, it does not defend against forgery.
#ifndef SIMTUNE_BASE_HASH_H
#define SIMTUNE_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define ST_HASH_TEXT 33 // 32 hex digits and a NUL

typedef struct st_hash st_hash; // a running hash

st_hash *st_hash_new(void); // NULL: no memory
void st_hash_free(st_hash *hash);
void st_hash_bytes(st_hash *hash, const void *bytes, size_t length);
// Adds a field with its length, so that ("ab","c") and ("a","bc") differ. NULL is a field of its own.
void st_hash_field(st_hash *hash, const char *text);
void st_hash_number(st_hash *hash, int64_t number);
void st_hash_text(const st_hash *hash, char out[ST_HASH_TEXT]);

// In one go.
void st_hash_of(const void *bytes, size_t length, char out[ST_HASH_TEXT]);
// A fresh id of the same form: milliseconds since 1970 in the first 12 digits (so ids sort by time),
// then random. Returns 0, or -1 when the system gives no randomness.
int st_hash_fresh_id(char out[ST_HASH_TEXT]);

#endif
