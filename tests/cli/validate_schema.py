"""Validate a JSON file against a JSON Schema file: exit 0 and silence, or exit 1 and one line per violation.

usage: validate_schema.py FILE SCHEMA_FILE

Needs python3-jsonschema (4.10 of Debian 12 is enough). The schema is held to draft-07 and to 2020-12 alike: it promises to use only
what means the same in both.
"""

import json
import sys

import jsonschema


def refuse_constant(name):
    raise ValueError(f"{name} is not JSON")


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        with open(sys.argv[1], encoding="utf-8") as file:
            document = json.load(file, parse_constant=refuse_constant)
        with open(sys.argv[2], encoding="utf-8") as file:
            schema = json.load(file)
    except (OSError, ValueError) as error:
        print(error)
        return 1
    bad = False
    for validator in (jsonschema.Draft7Validator, jsonschema.Draft202012Validator):
        validator.check_schema(schema)
        for error in validator(schema).iter_errors(document):
            bad = True
            print(f"{validator.__name__}: {error.json_path}: {error.message[:200]}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
