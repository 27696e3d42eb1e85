// SPDX-License-Identifier: Apache-2.0
// Shared by the files of comparisons and by their tests.
#ifndef SIMTUNE_DB_COMPARE_INTERNAL_H
#define SIMTUNE_DB_COMPARE_INTERNAL_H

#include "db/compare.h"
#include "db/store_internal.h"

// The statements as texts; the tests look at their plans. kind -1: the history of all.
st_code st_compare_sql(int kind, const st_compare_filter *filter, st_text *sql, st_error *error);
extern const char st_compare_shared_phase_sql[], st_compare_standing_sql[], st_compare_common_round_sql[], st_compare_round_sql[],
    st_compare_lost_sql[];
st_code st_compare_baselines_sql(const st_compare_filter *filter, st_text *sql, st_error *error);
st_code st_compare_acknowledgements_sql(int64_t baseline_key, const st_compare_filter *filter, st_text *sql,
                                        st_error *error);
// Appends " AND s.device_key IN (…)" for what the filter says of devices.
void st_compare_add_device(const st_compare_filter *filter, st_text *sql);
// Binds :name where the statement has it.
void st_compare_bind_text(st_statement *statement, const char *name, const char *value);
void st_compare_bind_int(st_statement *statement, const char *name, int64_t value);
void st_compare_bind_filter(st_statement *statement, const st_compare_filter *filter);

#endif
