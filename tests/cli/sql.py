# SPDX-License-Identifier: Apache-2.0
"""Runs SQL on a store and prints the rows: sql.py STORE TEXT. Without foreign keys, so that damage can be done."""
import sqlite3
import sys

store = sqlite3.connect(sys.argv[1])
store.execute("PRAGMA foreign_keys = OFF")
for statement in sys.argv[2].split(";"):
    for row in store.execute(statement):
        print(*row)
store.commit()
