# SPDX-License-Identifier: Apache-2.0
# The list of commands, and the help of each.
t simtune
t simtune --help
for command in tune query show repro emit templates devices doctor db help version; do
    t simtune $command --help
done
t simtune help reduce
t simtune --version
