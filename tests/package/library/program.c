// SPDX-License-Identifier: Apache-2.0
#include <stddef.h>
#include <stdio.h>

const char *choice_for(int cc, int sm_count, size_t n);

int main(void)
{
    printf("%s\n", choice_for(90, 132, 1000000));
    return 0;
}
