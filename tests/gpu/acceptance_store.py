# SPDX-License-Identifier: Apache-2.0
"""What tests/gpu/acceptance.sh asks of a store, by its views alone.

    acceptance_store.py outcomes STORE PARAMETER   one line a value of PARAMETER: VALUE OUTCOME
    acceptance_store.py count STORE                candidates of the newest session
    acceptance_store.py session STORE              its id, status, candidates, measured, first and last second
    acceptance_store.py sessions STORE             number of sessions
    acceptance_store.py winners STORE              number of winners by a cold cache, of all sessions
    acceptance_store.py counters STORE             values of counters, of all sessions
    acceptance_store.py before STORE MS            candidates of the newest session measured before MS
    acceptance_store.py ids STORE                  ids of all ended sessions
    acceptance_store.py best STORE                 id of the newest cold winner
    acceptance_store.py each STORE PARAMETER,…     one correct candidate of each combination of values: ID NAME
"""
import json
import sqlite3
import sys

NEWEST = "(SELECT session_id FROM simtune_sessions ORDER BY started_ms DESC LIMIT 1)"


def rows(store, query, *values):
    connection = sqlite3.connect(f"file:{store}?mode=ro", uri=True, timeout=5)
    try:
        return connection.execute(query, values).fetchall()
    finally:
        connection.close()


def outcomes(store, parameter):
    found = rows(store, f"SELECT parameters, outcome FROM simtune_candidates WHERE session_id = {NEWEST}")
    for parameters, outcome in sorted(found):
        print(json.loads(parameters).get(parameter), outcome)


def each(store, parameters):
    chosen = {}
    for identity, words in rows(store, f"""SELECT candidate_id, parameters FROM simtune_candidates
            WHERE session_id = {NEWEST} AND outcome = 'correct' ORDER BY candidate_id"""):
        name = "-".join(str(json.loads(words).get(parameter)) for parameter in parameters.split(","))
        chosen.setdefault(name, identity)
    for name, identity in sorted(chosen.items()):
        print(identity, name)


def one(store, query, *values):
    print(rows(store, query, *values)[0][0])


def session(store):
    query = f"""SELECT s.session_id, s.status,
      (SELECT count(*) FROM simtune_candidates c WHERE c.session_id = s.session_id),
      (SELECT count(*) FROM simtune_candidates c WHERE c.session_id = s.session_id AND c.outcome = 'correct'),
      (SELECT min(taken_ms) FROM simtune_measurements m WHERE m.session_id = s.session_id AND m.phase = 'screen')
        - s.started_ms,
      (SELECT max(taken_ms) FROM simtune_measurements m WHERE m.session_id = s.session_id AND m.phase = 'screen')
        - s.started_ms
      FROM simtune_sessions s WHERE s.session_id = {NEWEST}"""
    identity, status, candidates, correct, first, last = rows(store, query)[0]
    print(identity, status, candidates, correct, (first or 0) / 1e3, (last or 0) / 1e3)


def main():
    command, store, rest = sys.argv[1], sys.argv[2], sys.argv[3:]
    try:
        if command == "outcomes":
            outcomes(store, rest[0])
        elif command == "each":
            each(store, rest[0])
        elif command == "count":
            one(store, f"SELECT count(*) FROM simtune_candidates WHERE session_id = {NEWEST}")
        elif command == "session":
            session(store)
        elif command == "sessions":
            one(store, "SELECT count(*) FROM simtune_sessions")
        elif command == "winners":
            one(store, "SELECT count(DISTINCT problem) FROM simtune_winners WHERE cache = 'cold'")
        elif command == "counters":
            one(store, "SELECT count(value) FROM simtune_counters")
        elif command == "before":
            one(store, f"""SELECT count(*) FROM simtune_measurements WHERE session_id = {NEWEST}
                AND phase = 'screen' AND cache = 'cold' AND taken_ms < ?""", int(rest[0]))
        elif command == "ids":
            for (identity,) in rows(store, "SELECT session_id FROM simtune_sessions WHERE status = 'finished'"):
                print(identity)
        elif command == "best":
            one(store, "SELECT candidate_id FROM simtune_winners WHERE cache = 'cold' ORDER BY taken_ms DESC LIMIT 1")
        else:
            sys.exit(__doc__)
    except (sqlite3.Error, IndexError) as error:
        print(f"0 # {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
