#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# name_of.sh HEADER OUTPUT: writes "#define SIMTUNE_OTHER simtune_<hash>" of a generated header.
set -e
name=$(grep -o 'namespace simtune_[0-9a-f]\{8\}' "$1" | head -n 1 | cut -d ' ' -f 2)
test -n "$name"
printf '#define SIMTUNE_OTHER %s\n' "$name" > "$2"
