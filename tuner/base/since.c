// SPDX-License-Identifier: Apache-2.0
// Points in time as people write them: 2026-11-01, 2026-11-01T14:30Z, 30d, yesterday.
#include "tuner/base/clock.h"
#include "tuner/base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const char remedy[] = "write 2026-11-01, 2026-11-01T14:30 (with Z or +01:00 for another zone), today, yesterday, "
                             "or an age: 90min, 12h, 30d, 6w, 1y";

// "30d": that long ago. False when it is no age.
static bool read_age(const char *text, int64_t *ms)
{
    static const struct {
        const char *unit;
        int64_t ms;
    } units[] = {{"s", 1000},          {"min", 60000},           {"h", 3600000},
                 {"d", 86400000},      {"w", 7 * 86400000ll},    {"y", 365 * 86400000ll}};
    size_t digits = strspn(text, "0123456789");
    if (!digits || digits > 7) // ten million years are enough
        return false;
    int64_t count = 0;
    for (size_t i = 0; i < digits; i++)
        count = count * 10 + (text[i] - '0');
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(text + digits, units[i].unit) == 0) {
            *ms = count * units[i].ms;
            return true;
        }
    return false;
}

// As many digits as asked for, then the end of the number.
static bool take_number(const char **at, int digits, int *out)
{
    *out = 0;
    for (int i = 0; i < digits; i++, ++*at) {
        if (!isdigit((unsigned char)**at))
            return false;
        *out = *out * 10 + (**at - '0');
    }
    return true;
}

static bool take(const char **at, char what)
{
    if (**at != what)
        return false;
    ++*at;
    return true;
}

// "14:30", "14:30:05", "14:30:05.250" (the fraction is left out).
static bool take_time(const char **at, struct tm *when)
{
    if (!take_number(at, 2, &when->tm_hour) || !take(at, ':') || !take_number(at, 2, &when->tm_min))
        return false;
    if (take(at, ':') && !take_number(at, 2, &when->tm_sec))
        return false;
    if (**at == '.' && isdigit((unsigned char)(*at)[1]))
        *at += 1 + strspn(*at + 1, "0123456789");
    return when->tm_hour < 24 && when->tm_min < 60 && when->tm_sec < 60;
}

// "Z", "+01:00", "-0530": seconds east of Greenwich.
static bool take_zone(const char **at, int *seconds)
{
    int hours, minutes, sign = **at == '-' ? -1 : 1;
    *seconds = 0;
    if (take(at, 'Z') || take(at, 'z'))
        return true;
    if ((**at != '+' && **at != '-') || (++*at, !take_number(at, 2, &hours)))
        return false;
    (void)take(at, ':');
    if (!take_number(at, 2, &minutes) || hours > 14 || minutes > 59)
        return false;
    *seconds = sign * (hours * 3600 + minutes * 60);
    return true;
}

static bool read_date(const char *at, int64_t *ms)
{
    struct tm when = {.tm_mday = 1, .tm_isdst = -1};
    int zone = 0;
    bool zoned = false;
    if (!take_number(&at, 4, &when.tm_year) || !take(&at, '-') || !take_number(&at, 2, &when.tm_mon))
        return false;
    if (take(&at, '-') && !take_number(&at, 2, &when.tm_mday))
        return false;
    if (*at == 'T' || *at == 't' || *at == ' ') {
        at++;
        if (!take_time(&at, &when))
            return false;
        zoned = *at != '\0';
        if (zoned && !take_zone(&at, &zone))
            return false;
    }
    struct tm given = when;
    when.tm_year -= 1900;
    when.tm_mon -= 1;
    time_t seconds = zoned ? timegm(&when) : mktime(&when);
    // The 31st of February would have become a day of March.
    bool real = when.tm_mday == given.tm_mday && when.tm_mon == given.tm_mon - 1 && given.tm_year >= 1971;
    *ms = ((int64_t)seconds - zone) * 1000;
    return !*at && real;
}

static int64_t midnight(int64_t now_ms, int days_ago)
{
    time_t now = (time_t)(now_ms / 1000);
    struct tm when;
    localtime_r(&now, &when);
    when.tm_mday -= days_ago;
    when.tm_hour = when.tm_min = when.tm_sec = 0;
    when.tm_isdst = -1;
    return (int64_t)mktime(&when) * 1000;
}

st_code st_clock_since(const char *text, int64_t now_ms, int64_t *unix_ms, st_error *error)
{
    int64_t age;
    if (strcmp(text, "today") == 0 || strcmp(text, "yesterday") == 0)
        *unix_ms = midnight(now_ms, text[0] == 'y');
    else if (read_age(text, &age))
        *unix_ms = now_ms > age ? now_ms - age : 0;
    else if (!read_date(text, unix_ms))
        return st_fail(error, ST_USAGE, remedy, "\"%s\" is no point in time", text);
    if (*unix_ms > now_ms)
        return st_fail(error, ST_USAGE, "give a day that is over, or check this machine's clock",
                       "%s lies in the future", text);
    return ST_OK;
}
