// SPDX-License-Identifier: Apache-2.0
// Shared by the files that write the report as JSON: pieces that append, and the parts of the document.
#ifndef SIMTUNE_REPORTS_REPORT_JSON_INTERNAL_H
#define SIMTUNE_REPORTS_REPORT_JSON_INTERNAL_H

#include "reports/report.h"

typedef struct json_out {
    st_text *out;
    bool for_page; // safe between <script> and </script>: no "<" stands in it
    int64_t first_ms; // of the session that is being written: its first measurement
} json_out;

// --- report_json_out.c. Unknown is null: "", NaN, and what is below 0.
void json_out_raw(json_out *to, const char *json);
void json_out_string(json_out *to, const char *text);
void json_out_number(json_out *to, double value);
void json_out_share(json_out *to, double value);  // shares and ratios, which nobody knows to more than 4 digits
void json_out_whole(json_out *to, int64_t value);
void json_out_key(json_out *to, const char *name); // all but the first of an object
void json_out_put_string(json_out *to, const char *name, const char *text);
void json_out_put_number(json_out *to, const char *name, double value);
void json_out_put_share(json_out *to, const char *name, double value);
void json_out_put_whole(json_out *to, const char *name, int64_t value);
void json_out_document(json_out *to, const json_t *value); // as the store has it

// --- report_json_result.c: the result of a problem in one state of the cache, null where nothing was measured
void json_out_result(json_out *to, const st_reported_session *session, const st_reported_problem *problem, int cache);

#endif
