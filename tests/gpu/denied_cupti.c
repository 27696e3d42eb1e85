// SPDX-License-Identifier: Apache-2.0
// A CUPTI that is denied: every function is that of the real library, which is loaded as this one's dependency,
// but for those that would begin to collect. They answer as on a machine that keeps its counters for
// administrators. Name it in SIMTUNE_LIBCUPTI. tests/gpu/acceptance.sh builds it like this, so that nothing has
// to be found at link time:
//
//     cc -shared -fPIC -Wl,-soname,libcupti.so.13 -x c /dev/null -o libcupti.so.13
//     cc -shared -fPIC -Wl,--no-as-needed denied_cupti.c libcupti.so.13 -o libcupti_denied.so
enum { CUPTI_ERROR_INSUFFICIENT_PRIVILEGES = 35 };

int cuptiPCSamplingEnable(void *parameters);
int cuptiRangeProfilerEnable(void *parameters);

int cuptiPCSamplingEnable(void *parameters) {
    (void)parameters;
    return CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
}

int cuptiRangeProfilerEnable(void *parameters) {
    (void)parameters;
    return CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
}
