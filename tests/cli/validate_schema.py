"""Validate a JSON file against a JSON Schema file: exit 0 and silence, or exit 1 and one line per
violation.

usage: validate_schema.py FILE SCHEMA_FILE [--exact]

--exact: the schema must refuse the file with any key of any object taken away, or with one added
that it does not know.

Needs python3-jsonschema (4.10 of Debian 12 is enough). The schema is held to draft-07 and to
2020-12 alike: it promises to use only what means the same in both. """

import functools
import json
import sys

import jsonschema


def refuse_constant(name):
    raise ValueError(f"{name} is not JSON")


def objects(value, place="$"):
    """Yields all objects inside, with their places; the elements of a list share one place."""
    if isinstance(value, dict):
        yield place, value
    for key, inner in value.items() if isinstance(value,
            dict) else [("*", v) for v in value] if isinstance(value, list) else []:
        yield from objects(inner, f"{place}.{key}")


def let_through(document, validator):
    """Returns the changes that the schema would not notice, one line each. One object is tested for
    all with its place and keys, since lists are long."""
    seen = set()
    for place, value in objects(document):
        kind = (place, *value)
        if kind in seen:
            continue
        seen.add(kind)
        before = dict(value)
        for key in before:
            del value[key]
            if validator.is_valid(document):
                yield f"{place}: nobody would miss {key!r}"
            value[key] = before[key]
        value["no such key"] = "x"
        if validator.is_valid(document):
            yield f"{place}: an unknown key is accepted"
        del value["no such key"]


@functools.cache
def validators_of(text):
    schema = json.loads(text)
    for kind in (kinds := (jsonschema.Draft7Validator, jsonschema.Draft202012Validator)):
        kind.check_schema(schema)
    return [kind(schema) for kind in kinds]


def violations(document_file, schema_file, exact=False):
    """Returns a line per violation."""
    try:
        with open(document_file, encoding="utf-8") as file:
            document = json.load(file, parse_constant=refuse_constant)
        with open(schema_file, encoding="utf-8") as file:
            validators = validators_of(file.read())
    except (OSError, ValueError) as error:
        return [str(error)]
    found = []
    for validator in validators:
        name = type(validator).__name__
        found += [f"{name}: {error.json_path}: {error.message[:200]}" for error
                  in validator.iter_errors(document)]
        if exact and not found:
            found += [f"{name}: {line}" for line in let_through(document, validator)]
    return found


def main():
    if len(sys.argv) not in (3, 4) or sys.argv[3:] not in ([], ["--exact"]):
        print(__doc__, file=sys.stderr)
        return 2
    found = violations(sys.argv[1], sys.argv[2], exact=len(sys.argv) == 4)
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
