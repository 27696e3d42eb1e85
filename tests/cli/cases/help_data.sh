# SPDX-License-Identifier: Apache-2.0
# The manual, the completions, and help for programs.
t simtune help --man
t simtune help --bash
json simtune help version --json
json simtune version --json
simtune help --json >all.json && python3 "$CHECK_JSON" all.json | grep -E '^(    "|        \{|            "name")|AS ITS'
t simtune help query show
t simtune help --man --bash
t simtune help --man query
t simtune help nosuch --json
# What is printed completes.
simtune help --bash >simtune.bash && . ./simtune.bash
complete_as() {
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
    _simtune
    echo "$* -> ${COMPREPLY[*]}"
}
complete_as simtune ""
complete_as simtune re
complete_as simtune reduce --d
complete_as simtune query red
complete_as simtune emit --w
complete_as simtune db --
