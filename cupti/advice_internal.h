// SPDX-License-Identifier: Apache-2.0
// Private to cupti/: what the rules' conditions and st_advise share.
#ifndef SIMTUNE_CUPTI_ADVICE_INTERNAL_H
#define SIMTUNE_CUPTI_ADVICE_INTERNAL_H

#include "cupti/advice.h"

// Appends to a finding's evidence, with "; " between two parts. What does not fit is left out whole.
void st_evidence(st_finding *finding, const char *format, ...) ST_PRINTF(2, 3);
// The share of samples that wait for this reason while nothing is issued; where samples were not taken, its share of
// the warps' latency times the cycles without an instruction. NaN unknown.
double st_idle_share(const st_profile_view *view, int stall);
// Takes the moves of a role out of a finding.
void st_drop_move(st_finding *finding, st_role role);

// Conditions of rules that are no stall's own (advice_checks.c).
bool st_rule_at_limit(const st_profile_view *view, st_finding *finding);
bool st_rule_issue_bound(const st_profile_view *view, st_finding *finding);
bool st_rule_memory_wait(const st_profile_view *view, st_finding *finding);
bool st_rule_arithmetic_wait(const st_profile_view *view, st_finding *finding);
bool st_rule_pipe_busy(const st_profile_view *view, st_finding *finding);
bool st_rule_enough_warps(const st_profile_view *view, st_finding *finding);
bool st_rule_bank_conflicts(const st_profile_view *view, st_finding *finding);
bool st_rule_special_functions(const st_profile_view *view, st_finding *finding);
bool st_rule_spills(const st_profile_view *view, st_finding *finding);
bool st_rule_occupancy(const st_profile_view *view, st_finding *finding);
bool st_rule_divergence(const st_profile_view *view, st_finding *finding);
bool st_rule_uncoalesced(const st_profile_view *view, st_finding *finding);
bool st_rule_extra_traffic(const st_profile_view *view, st_finding *finding);
bool st_rule_tail(const st_profile_view *view, st_finding *finding);
bool st_rule_atomics(const st_profile_view *view, st_finding *finding);

#endif
