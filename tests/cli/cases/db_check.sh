# SPDX-License-Identifier: Apache-2.0
# What check says of a file that is sound and of rows that are not.
store
json simtune db check --db history.db --json
sql history.db "PRAGMA ignore_check_constraints = ON;
    UPDATE problem SET text = text || ' x=1' WHERE problem_key = 1;
    INSERT INTO metric (name) VALUES ('nobody');
    UPDATE winner SET winner_ns = 1 WHERE cache = 'warm'"
t simtune db check --db history.db
json simtune db check --db history.db --json
