#!/usr/bin/env python3
"""Finds types of the same name that two files define in one namespace. The linker does not report them: it keeps the member functions of one class,
and the other class runs the wrong code (C++'s one-definition rule). Examines lib, suites, app and tests; types in unnamed namespaces and in
functions are a file's own. Prints one line per name and exits with 1. --self-test proves on made-up text that it can fail."""

import re
import sys
from pathlib import Path

NOT_CODE = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*', re.S | re.M)
TOKEN = re.compile(r"[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*|::|\[\[.*?\]\]|.", re.S)
KEYWORDS = ("class", "struct", "union", "enum")


def without_template(head):
    """Returns the head of a definition without its `template <...>`."""
    while head and head[0] == "template":
        depth, at = 0, 1
        for at, token in enumerate(head[1:], 1):
            depth += (token == "<") - (token == ">")
            if depth == 0:
                break
        head = head[at + 1:]
    return head


def type_name(head):
    """Returns the name of the type that a brace after these tokens begins; None if it begins something else."""
    head = without_template([token for token in head if not token.startswith("[[")])
    while head and head[0] in ("typedef", "static", "const", "constexpr", "inline"):
        head = head[1:]
    if not head or head[0] not in KEYWORDS:
        return None
    rest = head[1:]
    if head[0] == "enum" and rest[:1] in (["class"], ["struct"]):
        rest = rest[1:]
    if rest[:1] == ["alignas"]:
        rest = rest[rest.index(")") + 1:]
    if not rest or not re.match(r"[A-Za-z_]", rest[0]):
        return None
    name, rest = rest[0], rest[1:]
    if rest[:1] == ["<"]:  # a specialisation is a type of its own
        name, rest = name + "".join(rest[:rest.index(">") + 1]), rest[rest.index(">") + 1:]
    if rest[:1] == ["final"]:
        rest = rest[1:]
    return name if rest[:1] in ([], [":"]) else None


def definitions(text):
    """Returns the types that a file defines for other files, with their namespaces."""
    found, scopes, head = [], [], []  # scopes: (the namespace's name or "", whether other files see it)
    for token in TOKEN.findall(NOT_CODE.sub(" ", text)):
        if token.isspace():
            continue
        if token == "{":
            seen = all(visible for _, visible in scopes)
            if "namespace" in head[:2] and "(" not in head:
                name = head[-1] if head[-1] != "namespace" else ""
                scopes.append((name, name != ""))
            else:
                name = type_name(head)
                if name and seen:
                    found.append("::".join([scope for scope, _ in scopes] + [name]))
                scopes.append(("", False))
            head = []
        elif token == "}":
            if scopes:
                scopes.pop()
            head = []
        elif token == ";":
            head = []
        else:
            head.append(token)
    return found


def breaches(files):
    """Returns (name, files) of every type that several of the files define; `files` are (path, text)."""
    places = {}
    for path, text in files:
        for name in definitions(text):
            places.setdefault(name, set()).add(path)
    return sorted((name, sorted(paths)) for name, paths in places.items() if len(paths) > 1)


def check_tree(root):
    files = [file for folder in ("lib", "suites", "app", "tests") for file in sorted((root / folder).rglob("*.?pp"))]
    if not files:
        print(f"{root}: no source files found")
        return 1
    bad = breaches((file.relative_to(root).as_posix(), file.read_text(encoding="utf-8")) for file in files)
    for name, paths in bad:
        print(f"{name} is defined in {' and in '.join(paths)}")
    print(f"{len(files)} files, {len(bad)} names taken twice")
    return 1 if bad else 0


MUST_FAIL = [
    ("namespace mgpu {\nclass Pace {\n  int a;\n};\n}\n", "namespace mgpu {\nclass Pace final : public Base {};\n}\n"),
    ("namespace mgpu {\nstruct A { enum class B { x }; };\n}\n", "namespace mgpu {\nenum class A : int { x };\n}\n"),
    ("namespace mgpu::test { struct A {}; }\n", "namespace mgpu { namespace test { struct A {}; } }\n"),
    ("namespace mgpu {\ntemplate <class T, int N>\nclass [[nodiscard]] A {};\n}\n", "namespace mgpu {\nunion A { int x; };\n}\n"),
    ("namespace mgpu {\nint f() { return '{'; }\nstruct A {};\n}\n", "namespace mgpu {\n// }\nconst char* s = \"}\";\nstruct A {};\n}\n"),
    ("struct A {};\n", "#define X {\nstruct alignas(64) A {};\n"),
    ("namespace mgpu {\nstruct Outer::A {};\n}\n", "namespace mgpu {\nstruct Outer::A {};\n}\n"),
]
MUST_PASS = [
    ("namespace mgpu {\nnamespace {\nclass A {};\n}\n}\n", "namespace mgpu {\nclass A {};\n}\n"),
    ("namespace mgpu {\nclass A;\nstruct A* make(struct A x) { return {}; }\n}\n", "namespace mgpu {\nclass A {};\n}\n"),
    ("namespace a {\nclass A {};\n}\n", "namespace b {\nclass A {};\n}\n"),
    ("namespace a {\nvoid f() {\n  struct A {};\n}\n}\n", "namespace a {\nclass A {};\n}\n"),
    ("namespace a {\nstruct B { struct A {}; };\n}\n", "namespace a {\nclass A {};\n}\n"),
    ("namespace a {\ntemplate <>\nstruct A<int> {};\n}\n", "namespace a {\ntemplate <class T>\nstruct A {};\n}\n"),
    ("namespace a {\nenum class A { b };\nconstexpr auto c = 1'000'000;\n}\n", "namespace a {\ninline constexpr A b{1};\n}\n"),
]


def self_test():
    wrong = 0
    for expected, cases in ((True, MUST_FAIL), (False, MUST_PASS)):
        for one, other in cases:
            if bool(breaches([("a.hpp", one), ("b.hpp", other)])) != expected:
                wrong += 1
                print(f"{'not found' if expected else 'wrongly found'}: {one!r} and {other!r}")
    print(f"{len(MUST_FAIL) + len(MUST_PASS)} made-up pairs of files, {wrong} judged wrongly")
    return 1 if wrong else 0


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        sys.exit(self_test())
    if sys.argv[1:]:
        sys.exit("usage: check_names.py [--self-test]")
    sys.exit(check_tree(Path(__file__).resolve().parent.parent))
