// SPDX-License-Identifier: Apache-2.0
// The plain row sums that two_sizes.cu is held against: backwards, one block.
extern "C" __global__ void plain_row_sums(const int *in, int *expected, unsigned long long rows,
                                          unsigned long long columns)
{
    for (unsigned long long row = threadIdx.x; row < rows; row += blockDim.x) {
        int sum = 0;
        for (unsigned long long c = columns; c-- > 0;)
            sum += in[row * columns + c];
        expected[row] = sum;
    }
}
