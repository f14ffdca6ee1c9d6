#!/usr/bin/env python3
"""Writes the tables of lib/report/FIELDS.md, every field of a result file, from what the program itself says (`mgpu-bench schema result`).

usage: fields_table.py BINARY [--check] [--page FILE]     exit 0; exit 1 with --check when one differs; exit 2 for bad input

A field that has no definition, or a number whose unit is not known, is bad input. A number has the unit that its schema names, else that in which its
name, or that of an object around it, ends.
"""

import sys

from metrics_table import ROOT, update

ENDINGS = (("bytes_per_s", "bytes/s"), ("_per_s", "1/s"), ("_bytes", "bytes"), ("bytes", "bytes"), ("_ns", "ns"), ("_mhz", "MHz"), ("_w", "W"), ("_j", "J"),
           ("_c", "°C"), ("_ppb", "ppb"), ("_percent", "%"))
NUMBERS = {"integer", "number"}


def target(schema):
    """Returns the name of the definition to which the schema refers, or null or that; None if it refers to none."""
    refers = next((one["$ref"] for one in (schema, *schema.get("oneOf", ())) if "$ref" in one), None)
    return refers and refers.rsplit("/", 1)[1]


def types(schema):
    found = schema.get("type", [])
    return [found] if isinstance(found, str) else found


def type_words(schema):
    """Returns "list of integer", "`gpu` or `cpu`", "[run](#run) or null"."""
    if target(schema):
        return f"[{target(schema)}](#{target(schema)})" + (" or null" if "oneOf" in schema else "")
    if "enum" in schema:
        return " or ".join("null" if word is None else f"`{word}`" for word in schema["enum"])
    if "const" in schema:
        return f"`{schema['const']}`"
    if "oneOf" in schema:
        return " or ".join(map(type_words, schema["oneOf"]))
    if "array" in types(schema):
        return f"list of {type_words(schema['items'])}" + (" or null" if "null" in types(schema) else "")
    return " or ".join(types(schema))


def is_number(schema):
    inner = ([schema["items"]] if "items" in schema else []) + schema.get("oneOf", [])
    return bool(NUMBERS & set(types(schema))) or any(map(is_number, inner))


def unit(schema, path, around):
    """Returns the unit of a number; "" of other fields, None if it is not known. `path`: names from the outermost object to the field."""
    if "unit" in schema:
        return schema["unit"]
    if not is_number(schema) and target(schema) != "gauge" or "items" in schema.get("items", {}):  # cells of tables have units in their names
        return ""
    ending = next((words for name in reversed(path) for end, words in ENDINGS if name.endswith(end)), None)
    whole = "integer" in types(schema) or "integer" in types(schema.get("items", {})) or target(schema) == "gauge"
    return ending or ("1" if whole or around == "gauge" else None)


def rows(schema, path, section, definitions, wrong):
    """Yields a line of a table for each property of an object, and those of objects in it."""
    for name, inner in schema.get("properties", {}).items():
        own = [*path, name]
        full = ".".join(own)
        meaning = inner.get("description") or definitions.get(target(inner) or target(inner.get("items", {})) or "", {}).get("description")
        its_unit = unit(inner, own, section)
        if not meaning or its_unit is None:
            wrong.append(f"{section}: {full} has no {'definition' if not meaning else 'unit'}")
        optional = "" if name in schema.get("required", ()) else ", optional"
        cells = [f"`{full}`", type_words(inner) + optional, its_unit or "", (meaning or "").replace("|", "\\|")]
        yield "| " + " | ".join(cells) + " |"
        yield from rows(inner, own, section, definitions, wrong)
        if "items" in inner:
            yield from rows(inner["items"], [*path, name + "[]"], section, definitions, wrong)


def tables(schema):
    wrong, text = [], ""
    for name, one in {"document": schema, **schema["definitions"]}.items():
        note = one.get("description", "")
        text += f"\n## {name}\n\n" + (f"{note}\n\n" if note else "") + "| name | type | unit | definition |\n|---|---|---|---|\n"
        text += "".join(line + "\n" for line in rows(one, [], name, schema["definitions"], wrong))
    if wrong:
        raise ValueError("; ".join(wrong))
    return text


if __name__ == "__main__":
    sys.exit(update("fields_table", ["schema", "result"], tables, ROOT / "lib/report/FIELDS.md", ("<!-- begin: schema result -->\n", "<!-- end -->")))
