// SPDX-License-Identifier: Apache-2.0
// A compile process without sanitizers, whatever the tests are built with: NVRTC under AddressSanitizer
// takes twice the time, and it is not NVRTC that is tested here.
#include "tuner/base/json.h"
#include "tuner/gpu/compile.h"

int main(void)
{
    st_json_setup();
    return st_compile_child(3);
}
