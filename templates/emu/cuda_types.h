// SPDX-License-Identifier: Apache-2.0
// CUDA's built-in vector types and dim3, with CUDA's alignments.
#ifndef SIMTUNE_CUDA_TYPES_H
#define SIMTUNE_CUDA_TYPES_H

typedef simtune_emu_index uint3;
struct dim3 {
    unsigned x, y, z;
    dim3(unsigned vx = 1, unsigned vy = 1, unsigned vz = 1) : x(vx), y(vy), z(vz) {}
    dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
};

// name, element, alignment of the 2-vector and of the 4-vector
#define SIMTUNE_EMU_VECTORS(X)                                                                     \
    X(char, signed char, 2, 4)                                                                     \
    X(uchar, unsigned char, 2, 4)                                                                  \
    X(short, short, 4, 8)                                                                          \
    X(ushort, unsigned short, 4, 8)                                                                \
    X(int, int, 8, 16)                                                                             \
    X(uint, unsigned, 8, 16)                                                                       \
    X(long, long, 16, 16)                                                                          \
    X(ulong, unsigned long, 16, 16)                                                                \
    X(longlong, long long, 16, 16)                                                                 \
    X(ulonglong, unsigned long long, 16, 16)                                                       \
    X(float, float, 8, 16)                                                                         \
    X(double, double, 16, 16)

#define SIMTUNE_EMU_VECTOR(name, element, align2, align4)                                          \
    struct name##1 {                                                                               \
        element x;                                                                                 \
    };                                                                                             \
    struct __attribute__((aligned(align2))) name##2 {                                              \
        element x, y;                                                                              \
    };                                                                                             \
    struct __attribute__((aligned(align4))) name##4 {                                              \
        element x, y, z, w;                                                                        \
    };                                                                                             \
    SIMTUNE_EMU_INLINE name##1 make_##name##1(element x) {                                         \
        name##1 v = {x};                                                                           \
        return v;                                                                                  \
    }                                                                                              \
    SIMTUNE_EMU_INLINE name##2 make_##name##2(element x, element y) {                              \
        name##2 v = {x, y};                                                                        \
        return v;                                                                                  \
    }                                                                                              \
    SIMTUNE_EMU_INLINE name##4 make_##name##4(element x, element y, element z, element w) {        \
        name##4 v = {x, y, z, w};                                                                  \
        return v;                                                                                  \
    }
SIMTUNE_EMU_VECTORS(SIMTUNE_EMU_VECTOR)
#undef SIMTUNE_EMU_VECTOR

#define SIMTUNE_EMU_VECTOR3(name, element)                                                         \
    struct name##3 {                                                                               \
        element x, y, z;                                                                           \
    };                                                                                             \
    SIMTUNE_EMU_INLINE name##3 make_##name##3(element x, element y, element z) {                   \
        name##3 v = {x, y, z};                                                                     \
        return v;                                                                                  \
    }
SIMTUNE_EMU_VECTOR3(char, signed char)
SIMTUNE_EMU_VECTOR3(uchar, unsigned char)
SIMTUNE_EMU_VECTOR3(short, short)
SIMTUNE_EMU_VECTOR3(ushort, unsigned short)
SIMTUNE_EMU_VECTOR3(int, int)
SIMTUNE_EMU_VECTOR3(long, long)
SIMTUNE_EMU_VECTOR3(ulong, unsigned long)
SIMTUNE_EMU_VECTOR3(longlong, long long)
SIMTUNE_EMU_VECTOR3(ulonglong, unsigned long long)
SIMTUNE_EMU_VECTOR3(float, float)
SIMTUNE_EMU_VECTOR3(double, double)
#undef SIMTUNE_EMU_VECTOR3
SIMTUNE_EMU_INLINE uint3 make_uint3(unsigned x, unsigned y, unsigned z) {
    uint3 v = {x, y, z};
    return v;
}

#endif
