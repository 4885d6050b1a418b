#!/usr/bin/env python3
"""Checks who includes whom, and that every source file is built.

    arrows.py ROOT         checks the tree; one line per finding, exit 1 if there is any
    arrows.py --self-test  checks the checker on made-up trees
"""
import os
import re
import sys
import tempfile

# folder: the folders whose headers it may include, itself aside.
#   name         any header of that folder
#   name(a,b)    only the headers a.h, b.h of it
#   name@worker  only from files whose name starts with "worker"
# A folder may stand there several times: each word allows what it says.
# Keep in step with the picture in ARCHITECTURE.md.
ARROWS = {
    "base":       "",
    "engine":     "base(arena,err,map,mem,num,str)",
    "proto":      "base engine",
    "store":      "base",
    "net":        "base",
    "device":     "base engine(geometry,model,units)",
    "trace":      "base engine proto",
    "sim":        "base engine proto store device trace",
    "plan":       "base engine proto sim",
    "controller": "base engine proto store net sim(log_pool) sim@worker plan@worker",
    "agent":      "base device proto net",
    "gateway":    "base engine(geometry,model,units) proto net store",
    "cli":        "base proto net store trace sim plan",
}

# What a program begins with stands in the top meson.build.
PROGRAMS = {("agent", "main.c"), ("cli", "main.c"), ("controller", "main.c")}

# The engine is a pure library: no file, clock, chance, thread or floating point; these suffice.
ENGINE_SYSTEM = {"assert.h", "inttypes.h", "limits.h", "stdalign.h", "stdarg.h", "stdbool.h",
                 "stddef.h", "stdint.h", "stdlib.h", "stdnoreturn.h", "string.h"}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
ARROW = re.compile(r"([a-z]+)(?:\(([a-z_,]+)\))?(?:@([a-z]+))?$")


def allowed(folder, file_name, target, header):
    if target == folder:
        return True
    for word in ARROWS[folder].split():
        name, headers, only = ARROW.match(word).groups()
        if (name == target and (not headers or header in headers.split(",")) and
                (not only or file_name.startswith(only))):
            return True
    return False


def check_file(root, folder, path, findings):
    place = os.path.relpath(path, root)
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            kind, name = match.groups()
            where = f"{place}:{number}"
            target, _, rest = name.partition("/")
            if kind == "<":
                if folder == "engine" and name not in ENGINE_SYSTEM:
                    findings.append(f"{where}: <{name}> has no place in the engine")
                elif target in ARROWS and rest:
                    findings.append(f'{where}: write "{name}", not <{name}>')
            elif target not in ARROWS or "/" in rest or not rest.endswith(".h"):
                findings.append(f'{where}: "{name}" is not of the form "folder/file.h"')
            elif not allowed(folder, os.path.basename(path), target, rest[:-2]):
                findings.append(f'{where}: {folder}/ may not include "{name}"; '
                                f'it may use: {ARROWS[folder] or "nothing of ours"}')


def check_tree(root):
    findings = []
    for folder in ARROWS:
        top = os.path.join(root, folder)
        if not os.path.isdir(top):
            continue
        build_file = os.path.join(top, "meson.build")
        listed = ""
        if os.path.exists(build_file):
            with open(build_file, encoding="utf-8") as file:
                listed = file.read()
        for directory, _, names in sorted(os.walk(top)):
            for name in sorted(names):
                if not name.endswith((".c", ".h")):
                    continue
                path = os.path.join(directory, name)
                check_file(root, folder, path, findings)
                inside = os.path.relpath(path, top)
                if (name.endswith(".c") and f"'{inside}'" not in listed and
                        (folder, inside) not in PROGRAMS):
                    findings.append(f"{folder}/{inside}: not listed in {folder}/meson.build")
    return findings


def self_test():
    cases = [  # file, its text, part of the finding that must come (None: none may come)
        ("engine/a.c", '#include "base/err.h"\n#include <stdint.h>\n', None),
        ("engine/a.c", '#include "base/doc.h"\n', 'may not include "base/doc.h"'),
        ("engine/a.c", '#include "sim/run.h"\n', 'may not include "sim/run.h"'),
        ("engine/a.c", "#include <math.h>\n", "no place in the engine"),
        ("engine/a.c", "#include <stdio.h>\n", "no place in the engine"),
        ("base/a.c", '#include "engine/model.h"\n', "nothing of ours"),
        ("base/a.c", "  #  include   <yaml.h>\n", None),
        ("proto/a.h", '#include "engine/anything.h"\n', None),
        ("proto/a.c", '#include "trace/openb.h"\n', "may not include"),
        ("device/a.c", '#include "engine/model.h"\n', None),
        ("device/a.c", '#include "engine/pool.h"\n', "may not include"),
        ("controller/worker_plan.c", '#include "plan/lp.h"\n', None),
        ("controller/api.c", '#include "plan/lp.h"\n', "may not include"),
        ("controller/api.c", '#include "sim/log_pool.h"\n', None),
        ("controller/api.c", '#include "sim/run.h"\n', "may not include"),
        ("controller/worker_plan.c", '#include "sim/run.h"\n', None),
        ("cli/a.c", '#include "engine/pool.h"\n', "may not include"),
        ("sim/a.c", '#include "run.h"\n', 'not of the form "folder/file.h"'),
        ("sim/a.c", '#include "../base/err.h"\n', 'not of the form "folder/file.h"'),
        ("sim/a.c", "#include <base/err.h>\n", "not <base/err.h>"),
        ("sim/b.c", "", "not listed"),
        ("cli/main.c", "", None),
    ]
    for name, text, wanted in cases:
        with tempfile.TemporaryDirectory() as root:
            os.makedirs(os.path.join(root, os.path.dirname(name)))
            with open(os.path.join(root, name), "w", encoding="utf-8") as file:
                file.write(text)
            with open(os.path.join(root, os.path.dirname(name), "meson.build"), "w",
                      encoding="utf-8") as file:
                file.write("'a.c', 'worker_plan.c', 'api.c'")
            findings = check_tree(root)
            good = not findings if wanted is None else (
                len(findings) == 1 and wanted in findings[0])
            if not good:
                return f"{name} with {text!r}: wanted {wanted!r}, got {findings}"
    return None


def main():
    if sys.argv[1:] == ["--self-test"]:
        problem = self_test()
        if problem:
            print("arrows self-test:", problem)
            return 1
        return 0
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    findings = check_tree(sys.argv[1])
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
