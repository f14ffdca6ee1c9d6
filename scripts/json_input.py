"""JSON files as the scripts read them: correct in form, or refused with one line and exit 2, as the tool itself refuses bad input.

The form is the published JSON Schema (lib/report/*.schema.json), limited to the features that those schemas use. Needs nothing but Python."""

import gzip
import json
import os
import re
import sys
import traceback
import zlib
from pathlib import Path

HERE = Path(__file__).resolve().parent
SCHEMAS = HERE / "schemas" if (HERE / "schemas").is_dir() else HERE.parent / "lib" / "report"  # installed, or in the source tree
MOST = 1e30  # largest magnitude of any number: beyond it a figure is damaged
# Characters that control a terminal, and invisible ones that reorder or join the text around them; joiners are allowed, because scripts and emoji
# need them.
NOT_SHOWN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]")
# Errors that a file of correct form can still cause in arithmetic: sizes that do not fit each other, divisions by a time of 0.
MISFITS = (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError)


def plain(text):
    """Escapes a text so that a terminal or a page may show it."""
    def escaped(match):
        code = ord(match.group())
        return f"\\x{code:02x}" if code < 0xa0 else f"\\u{{{code:x}}}"
    return NOT_SHOWN.sub(escaped, str(text))


def refuse(message):
    """Prints one line and exits with 2."""
    print(plain(f"{Path(sys.argv[0]).name}: {message}"), file=sys.stderr)
    sys.exit(2)


def missing(module, error):
    """Returns what to say if a module cannot be imported: there may be another Python that has it."""
    return f"{module} is missing in {sys.executable} ({error}); Debian: apt-get install python3-{module}, for /usr/bin/python3"


def saved(name):
    """Returns the file that `last`, `last~1` and so on mean to mgpu-bench: the results that it saved by itself, in order of their start. Returns
    every other name unchanged."""
    asked = re.fullmatch(r"last(?:~(\d+))?", str(name))
    if not asked:
        return name
    state = os.environ.get("XDG_STATE_HOME", "")
    folder = (Path(state) if os.path.isabs(state) else Path.home() / ".local" / "state") / "mgpu-bench"
    form = re.compile(r"(\d{4}-\d\d-\d\dT\d{6}Z)(?:\.(\d+))?-[a-z0-9_+]+\.json\.gz")
    known = sorted((match[1], int(match[2] or 1), match[0]) for match in map(form.fullmatch, os.listdir(folder) if folder.is_dir() else []) if match)
    index = int(asked[1] or 0)
    if index >= len(known):
        refuse(f"{name}: there are {len(known)} results in {folder}")
    return folder / known[-1 - index][2]


def load(name):
    """Returns the contents of the file (`last` too), decompressed if it begins like a gzip file; refuses it if it cannot be read or is not JSON.
    NaN and Infinity are not JSON."""
    def none(word):
        raise ValueError(f"{word} is not a number")

    try:
        content = Path(saved(name)).read_bytes()
        text = gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content
        return json.loads(text.decode("utf-8"), parse_constant=none)
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        refuse(f"{name}: is a damaged gzip file: {error}")
    except OSError as error:
        refuse(f"{name}: cannot be read: {error.strerror}")
    except UnicodeDecodeError:
        refuse(f"{name}: is not JSON: it is not UTF-8")
    except RecursionError:
        refuse(f"{name}: is not JSON that anything wrote: it is nested too deep")
    except (ValueError, MemoryError) as error:
        refuse(f"{name}: is not JSON: {str(error).splitlines()[0] if str(error) else type(error).__name__}")


def shown(value):
    return "a list" if isinstance(value, list) else "an object" if isinstance(value, dict) else json.dumps(value)[:48]


def in_range(value):
    return isinstance(value, int) and abs(value) < 10**30 or isinstance(value, float) and abs(value) < MOST


TYPES = {"object": lambda v: isinstance(v, dict), "array": lambda v: isinstance(v, list), "string": lambda v: isinstance(v, str),
         "boolean": lambda v: isinstance(v, bool), "null": lambda v: v is None,
         "integer": lambda v: isinstance(v, int) and not isinstance(v, bool) and in_range(v),
         "number": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool) and in_range(v)}


class Form:
    """A schema. With `holes`, missing and null fields and unknown words are accepted, and only types are checked."""

    def __init__(self, name, holes=False):
        file = SCHEMAS / f"{name}.schema.json"
        try:
            self.root = json.loads(file.read_text(encoding="utf-8"))
        except OSError as error:
            refuse(f"{file}: cannot be read: {error.strerror}; this script needs it")
        self.holes = holes

    def breach(self, value):
        """Returns where the value breaks the schema, and why, in one line; None if it does not."""
        return self._breach(value, self.root, "")

    def _breach(self, value, schema, path):
        if "$ref" in schema:
            schema = self.root["definitions"][schema["$ref"].rsplit("/", 1)[1]]
        where = path or "it"
        if self.holes and value is None:
            return None
        kinds = schema.get("type")
        kinds = [kinds] if isinstance(kinds, str) else kinds
        if kinds and not any(TYPES[kind](value) for kind in kinds):
            return f"{where}: {shown(value)}; expected: {' or '.join(kinds)}"
        return self._rules(value, schema, where) or self._parts(value, schema, path)

    def _rules(self, value, schema, where):
        if self.holes:
            return None
        if "const" in schema and value != schema["const"] or "enum" in schema and value not in schema["enum"]:
            return f"{where}: {shown(value)}; expected: {schema.get('const', schema.get('enum'))}"
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            for word, wrong in (("minimum", lambda v, m: v < m), ("maximum", lambda v, m: v > m), ("exclusiveMinimum", lambda v, m: v <= m)):
                if word in schema and wrong(value, schema[word]):
                    return f"{where}: {shown(value)}; expected: {word} {schema[word]}"
        if isinstance(value, list) and not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            return f"{where}: a list of {len(value)}; expected: {schema.get('minItems', 0)} or more"
        if isinstance(value, str) and "pattern" in schema and not re.search(schema["pattern"], value):
            return f"{where}: {shown(value)}; expected: {schema['pattern']}"
        if "oneOf" in schema and sum(self._breach(value, one, where) is None for one in schema["oneOf"]) != 1:
            return f"{where}: {shown(value)} is not accepted"
        for one in schema.get("allOf", ()):
            found = self._breach(value, one, where)
            if found:
                return found
        if "if" in schema:
            branch = "then" if self._breach(value, schema["if"], where) is None else "else"
            return self._breach(value, schema.get(branch, {}), where)
        return None

    def _parts(self, value, schema, path):
        if isinstance(value, dict):
            for key in () if self.holes else schema.get("required", ()):
                if key not in value:
                    return f"{path}.{key}: missing".lstrip(".")
            known, other = schema.get("properties", {}), schema.get("additionalProperties", {})
            for key, inner in value.items():
                rule = known.get(key, other)
                if rule is False and not self.holes:
                    return f"{path}: unknown key {shown(key)}"
                found = self._breach(inner, rule, f"{path}.{key}".lstrip(".")) if isinstance(rule, dict) else None
                if found:
                    return found
        elif isinstance(value, list) and isinstance(schema.get("items"), dict):
            rule = schema["items"]
            if set(rule) <= {"type", "description"}:  # cells of tables, which are numerous
                kinds = rule.get("type")
                kinds = [kinds] if isinstance(kinds, str) else kinds or list(TYPES)
                tests = [TYPES[kind] for kind in kinds]
                if all(any(test(inner) for test in tests) or (self.holes and inner is None) for inner in value):
                    return None
            for k, inner in enumerate(value):
                found = self._breach(inner, rule, f"{path}[{k}]")
                if found:
                    return found
        return None


def check_header(name, document):
    if not isinstance(document, dict) or document.get("schema") != "mgpu-bench/result":
        refuse(f"{name}: is not a result file of mgpu-bench (\"schema\" is not \"mgpu-bench/result\")")
    if document.get("schema_version") != 3:
        refuse(f"{name}: has schema version {document.get('schema_version')}; "
               "this script reads version 3: measure again")
    for key in ("runs", "devices"):
        if not isinstance(document.get(key), list) or not all(isinstance(entry, dict) for entry in document[key]):
            refuse(f"{name}: \"{key}\" is not a list of objects")


def result(name, holes=False, links=False):
    """Returns a result file, or refuses it. `holes`: see Form. `links`: whether `mgpu-bench links` made it."""
    document = load(name)
    check_header(name, document)
    breach = Form("result", holes).breach(document)
    if breach:
        refuse(f"{name}: {breach}")
    if is_links(document) and not links:
        refuse(f"{name}: was made by links; expected: a result of run or simulate")
    return document


def is_links(document):
    """Returns true if `mgpu-bench links` made the result."""
    if not isinstance(document, dict):
        return False
    runs = document.get("runs")
    return "paths" in document or isinstance(runs, list) and any(isinstance(run, dict) and "link" in run for run in runs)


def is_form(name, form):
    """Returns true if the file says that it has the form of that schema: "scaling", "trend"."""
    document = load(name)
    return isinstance(document, dict) and document.get("schema") == f"mgpu-bench/{form}"


def formed(name, form):
    """Returns a file that has the form of that schema, or refuses it."""
    document = load(name)
    breach = Form(form).breach(document)
    if breach:
        refuse(f"{name}: {breach}")
    return document


def guarded(files, work):
    """Returns the result of `work`; if the contents of the files make it fail, refuses them with the place in the script."""
    try:
        return work()
    except MISFITS as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        where = f"{Path(place.filename).name}:{place.lineno}"
        refuse(f"{', '.join(map(str, files))}: holds what does not fit together ({what.splitlines()[0]}, at {where})")
