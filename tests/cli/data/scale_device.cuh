// SPDX-License-Identifier: Apache-2.0
static __device__ float scale_one(float x)
{
    return 3.0f * x;
}
