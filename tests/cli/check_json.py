#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints a JSON document of simtune one key a line, and says what in it is not as its schema has it.

Usage: check_json.py FILE        one document; exit 1 unless it is as schemas/NAME.json says
       check_json.py --schemas   checks the schemas themselves, and that a golden case has a document of each

The document names its schema: "schema": "simtune.NAME/VERSION". Words that schemas share stand in common.json.
"""
import json
import pathlib
import re
import sys

import jsonschema

SCHEMAS = pathlib.Path(__file__).resolve().parent / "schemas"
NAME = re.compile(r"simtune\.([a-z_]+)/([1-9][0-9]*)")


def schema_of(name):
    schema = json.loads((SCHEMAS / f"{name}.json").read_text())
    shared = json.loads((SCHEMAS / "common.json").read_text())
    schema["$defs"] = {**shared["$defs"], **schema.get("$defs", {})}
    return schema


def strict(constant):
    raise ValueError(f"{constant} is not JSON")


def check(text):
    """The document and what is wrong with it."""
    try:
        document = json.loads(text, parse_constant=strict)
    except ValueError as why:
        return None, [f"NOT JSON: {why}"]
    match = NAME.fullmatch(str(document.get("schema"))) if isinstance(document, dict) else None
    if match and match[1] == "common":
        match = None
    if not match or not (SCHEMAS / f"{match[1]}.json").exists():
        return document, ["NO SCHEMA: " + str(document.get("schema") if isinstance(document, dict) else document)]
    errors = jsonschema.Draft202012Validator(schema_of(match[1])).iter_errors(document)
    return document, [f"NOT AS ITS SCHEMA: {'/'.join(map(str, e.absolute_path)) or 'document'}: {e.message}"
                      for e in sorted(errors, key=lambda e: list(map(str, e.absolute_path)))]


def check_schemas():
    """Each is a schema, names itself, and leaves no key open."""
    wrong = []
    shown = "".join(path.read_text() for path in (SCHEMAS.parent / "cases").glob("*.out"))
    for path in sorted(SCHEMAS.glob("*.json")):
        if path.stem == "common":
            continue
        schema = schema_of(path.stem)
        jsonschema.Draft202012Validator.check_schema(schema)
        if f'"schema": "simtune.{path.stem}/' not in shown:
            wrong.append(f"{path.name}: no golden case has such a document")
        if not NAME.fullmatch(schema["properties"]["schema"]["const"]) or \
                schema["properties"]["schema"]["const"].split(".")[1].split("/")[0] != path.stem:
            wrong.append(f"{path.name}: its name is not that of its documents")

        def look(at, where):
            if isinstance(at, list):
                for value in at:
                    look(value, where)
            if isinstance(at, dict):
                if "properties" in at and (at.get("additionalProperties") is not False or
                                           sorted(at.get("required", [])) != sorted(at["properties"])):
                    wrong.append(f"{path.name}: {where}: a key may be missing, or another one there")
                for key, value in at.items():
                    look(value, f"{where}/{key}")
        look(schema, "")
    return wrong


def main():
    if sys.argv[1] == "--schemas":
        wrong = check_schemas()
        print("\n".join(wrong) or "the schemas are right")
        return 1 if wrong else 0
    document, wrong = check(pathlib.Path(sys.argv[1]).read_text())
    if document is not None:
        print(json.dumps(document, indent=4, sort_keys=True))
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
