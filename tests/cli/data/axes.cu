// SPDX-License-Identifier: Apache-2.0
// Every kind of axis, for the tests of the command line. Nothing is compiled.
//
// simtune: family   axes
// simtune: summary  elements below a limit
// simtune: axis     T = f32 i32
// simtune: axis     kind = exclusive inclusive
// simtune: axis     order = ordered any
// simtune: axis     n = 64Ki 1Mi
// simtune: axis     percent = 50 1 100 data
// simtune: problem  order == ordered or kind == exclusive
// simtune: param    BLOCK = 128 256   role tlp
// simtune: default  BLOCK=128
// simtune: buffer   x : input T[n]
// simtune: buffer   y : output T[n]
// simtune: launch   axes grid=ceil_div(n,BLOCK) block=BLOCK args=x,y,n
// simtune: bytes    n * 2 * size_of_T
extern "C" __global__ void axes(const T *x, T *y, unsigned long long n)
{
    const unsigned long long at = blockIdx.x * (unsigned long long)BLOCK + threadIdx.x;
    if (at < n)
        y[at] = x[at];
}
