#!/usr/bin/env python3
"""Checks that the engine library needs nothing but a short list of symbols from outside.

    symbols.py LIST LIBRARY   one line per symbol that is not on the list, exit 1 if there is any
    symbols.py --self-test    checks the checker

LIST holds one symbol a line; '#' starts a comment.
"""
import os
import subprocess
import sys
import tempfile


def read_list(path):
    with open(path, encoding="utf-8") as file:
        words = [line.partition("#")[0].strip() for line in file]
    return {word for word in words if word}


def needed(nm_output):
    """symbol -> the objects that need it, without what the library itself defines."""
    wanted, defined, member = {}, set(), "?"
    for line in nm_output.splitlines():
        if line.endswith(":"):
            member = line[:-1]
            continue
        words = line.split()
        if len(words) < 2:
            continue
        kind, name = words[-2], words[-1]
        if kind in ("U", "w", "v"):
            wanted.setdefault(name, []).append(member)
        elif kind.isupper():
            defined.add(name)
    return {name: where for name, where in wanted.items() if name not in defined}


def check(allowed, nm_output):
    return [f"{name} is not on the list; needed by {', '.join(sorted(set(where)))}"
            for name, where in sorted(needed(nm_output).items()) if name not in allowed]


def self_test():
    output = """
pool.c.o:
                 U fopen
                 U memcpy
                 U pool_find
                 w __gmon_start__
0000000000000000 t helper
0000000000000010 T pool_new

find.c.o:
0000000000000000 T pool_find
"""
    findings = check({"memcpy", "__gmon_start__"}, output)
    if findings != ["fopen is not on the list; needed by pool.c.o"]:
        return f"one finding about fopen wanted, got {findings}"
    if check({"memcpy", "__gmon_start__", "fopen"}, output):
        return "no finding wanted when all are on the list"
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "list")
        with open(path, "w", encoding="utf-8") as file:
            file.write("# a list\n\n  memcpy  # copies\nstrlen\n")
        if read_list(path) != {"memcpy", "strlen"}:
            return f"the list reads as {read_list(path)}"
    return None


def main():
    if sys.argv[1:] == ["--self-test"]:
        problem = self_test()
        if problem:
            print("symbols self-test:", problem)
            return 1
        return 0
    if len(sys.argv) != 3:
        print(__doc__)
        return 2
    listed, library = sys.argv[1:]
    output = subprocess.run(["nm", library], check=True, capture_output=True, text=True).stdout
    if not needed(output) and " T " not in output:
        print(f"{library}: nothing in it; is it the right file?")
        return 1
    findings = check(read_list(listed), output)
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
