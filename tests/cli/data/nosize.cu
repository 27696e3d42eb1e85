// SPDX-License-Identifier: Apache-2.0
// A kernel without a size and without words, for the tests of the command line. Nothing is compiled.
//
// simtune: family   nosize
// simtune: axis     T = f32
// simtune: param    BLOCK = 64 128
// simtune: default  BLOCK=64
// simtune: buffer   y : output T[1]
// simtune: launch   nosize grid=1 block=BLOCK args=y
// simtune: bytes    size_of_T
extern "C" __global__ void nosize(T *y)
{
    if (threadIdx.x == 0)
        y[0] = T(1);
}
