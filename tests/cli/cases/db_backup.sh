# SPDX-License-Identifier: Apache-2.0
# Copies of the store, which replace nothing unasked.
store
t simtune db backup copy.db --db history.db
json simtune db backup other.db --db history.db --json
t simtune db check --db copy.db
t simtune db backup copy.db --db history.db
t simtune db backup copy.db --force --db history.db
t simtune db backup history.db --force --db history.db
mkdir folder
t simtune db backup folder --db history.db
t simtune db backup missing/copy.db --db history.db
t simtune db backup copy.db --db missing.db
t simtune db backup --db history.db
t simtune db --db history.db
t simtune db tidy --db history.db
left
