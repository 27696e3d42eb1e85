// SPDX-License-Identifier: Apache-2.0
// Points in time: what is read, and what is refused.
#include "tuner/base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define NOW 1796040000000 // 2026-11-30T12:00:00Z

static void zone(const char *name)
{
    setenv("TZ", name, 1);
    tzset();
}

static void points_in_time_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t ms;
    } rows[] = {{"2026-11-01", 1793491200000},
                {"2026-11", 1793491200000},
                {"2026-11-01T14:30", 1793543400000},
                {"2026-11-01 14:30:05", 1793543405000},
                {"2026-11-01T14:30:05.999Z", 1793543405000},
                {"2026-11-01T14:30+01:00", 1793539800000},
                {"2026-11-01T14:30-0530", 1793563200000},
                {"2024-02-29", 1709164800000},
                {"today", 1795996800000},
                {"yesterday", 1795910400000},
                {"0s", NOW},
                {"90min", NOW - 5400000},
                {"12h", NOW - 43200000},
                {"30d", NOW - 2592000000},
                {"6w", NOW - 3628800000},
                {"1y", NOW - 31536000000},
                {"9999999y", 0}};
    zone("UTC");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t ms = -1;
        st_error error = {0};
        if (st_clock_since(rows[i].text, NOW, &ms, &error) != ST_OK || ms != rows[i].ms)
            fail_msg("%s: %lld %s", rows[i].text, (long long)ms, error.what);
    }
}

static void a_date_is_of_this_machines_zone(void **state)
{
    (void)state;
    int64_t ms;
    zone("XXX-02:00"); // two hours east
    assert_int_equal(st_clock_since("2026-11-01", NOW, &ms, NULL), ST_OK);
    assert_int_equal(ms, 1793491200000 - 7200000);
    assert_int_equal(st_clock_since("2026-11-01T00:00Z", NOW, &ms, NULL), ST_OK);
    assert_int_equal(ms, 1793491200000);
    zone("UTC");
}

static void what_is_no_point_in_time_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "never", "2026", "2026-13-01", "2026-02-30", "2026-11-31", "2026-00-10",
                                        "2026-11-01T25:00", "2026-11-01T10", "2026-11-01T10:61", "2026-11-01x",
                                        "2026-11-01T10:00+15:00", "2026-11-01T10:00Zz", "1969-12-31", "30", "30x", "-3d",
                                        "1234567890d", "d", "3 d", "2026-11-30T12:01Z", "2999-01-01"};
    zone("UTC");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        int64_t ms;
        st_error error = {0};
        if (st_clock_since(texts[i], NOW, &ms, &error) != ST_USAGE)
            fail_msg("%s was read", texts[i]);
        assert_true(error.what[0] && error.remedy[0]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(points_in_time_are_read),
                                       cmocka_unit_test(a_date_is_of_this_machines_zone),
                                       cmocka_unit_test(what_is_no_point_in_time_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
