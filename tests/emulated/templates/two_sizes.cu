// SPDX-License-Identifier: Apache-2.0
// Sums of the rows of a matrix: two size axes, and a reference of its own.
//
// simtune: family    two_sizes
// simtune: axis      rows = 16 32
// simtune: axis      columns = 64 100
// simtune: param     BLOCK = 32 64
// simtune: default   BLOCK=32
// simtune: buffer    in       : input i32[rows * columns]
// simtune: buffer    out      : output i32[rows]
// simtune: buffer    expected : expected i32[rows]
// simtune: launch    row_sums grid=ceil_div(rows,BLOCK) block=BLOCK args=in,out,rows,columns
// simtune: reference plain_row_sums file=two_sizes_reference.cu grid=1 block=256 args=in,expected,rows,columns
// simtune: compare   out with expected
// simtune: bytes     rows * columns * 4 + rows * 4
#ifndef BLOCK
#define BLOCK 32
#endif
extern "C" __global__ void row_sums(const int *in, int *out, unsigned long long rows, unsigned long long columns)
{
    unsigned long long row = (unsigned long long)blockIdx.x * BLOCK + threadIdx.x;
    if (row >= rows)
        return;
    int sum = 0;
    for (unsigned long long c = 0; c < columns; c++)
        sum += in[row * columns + c];
    out[row] = sum;
}
