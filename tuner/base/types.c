// SPDX-License-Identifier: Apache-2.0
#include "tuner/base/types.h"

#include <string.h>

static const st_type types[ST_TYPE_COUNT] = {
    {ST_F32, "f32", 4, true, true, 0x1p-24, "float", "float", NULL, "float float32 fp32 single"},
    {ST_F64, "f64", 8, true, true, 0x1p-53, "double", "double", NULL, "double float64 fp64"},
    {ST_I32, "i32", 4, false, true, 0, "int", "int", NULL, "int int32 s32"},
    {ST_U32, "u32", 4, false, false, 0, "unsigned int", "unsigned int", NULL, "uint unsigned uint32"},
    {ST_I64, "i64", 8, false, true, 0, "long long", "long long", NULL, "long int64 s64"},
    {ST_U64, "u64", 8, false, false, 0, "unsigned long long", "unsigned long long", NULL,
     "ulong uint64"},
    {ST_F16, "f16", 2, true, true, 0x1p-11, "simtune_half", "__half", "<cuda_fp16.h>",
     "half float16 fp16"},
    {ST_BF16, "bf16", 2, true, true, 0x1p-8, "simtune_bfloat16", "__nv_bfloat16",
     "<cuda_bf16.h>", "bfloat16 nv_bfloat16"},
    {ST_U8, "u8", 1, false, false, 0, "unsigned char", "unsigned char", NULL, "byte uchar uint8"},
};

const st_type *st_type_of(st_type_id id)
{
    return &types[id];
}

static int in_list(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = list; *at;) {
        size_t span = strcspn(at, " ");
        if (span == length && strncmp(at, word, length) == 0)
            return 1;
        at += span;
        at += strspn(at, " ");
    }
    return 0;
}

const st_type *st_type_find(const char *name)
{
    for (int i = 0; i < ST_TYPE_COUNT; i++)
        if (strcmp(types[i].name, name) == 0 || in_list(types[i].old_names, name))
            return &types[i];
    return NULL;
}
