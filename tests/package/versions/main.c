// SPDX-License-Identifier: Apache-2.0
#include <stddef.h>
#include <stdio.h>

const char *choice_of_one(size_t n);
const char *choice_of_two(size_t n);

int main(void)
{
    printf("%s\n%s\n", choice_of_one(1000000), choice_of_two(1000000));
    return 0;
}
