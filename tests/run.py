#!/usr/bin/env python3
"""Builds and tests once per compiler, then sums up.

    run.py gcc:FOLDER clang:FOLDER

gcc builds as users get it (-O2, asserts on); clang with the address and undefined-behaviour
sanitizers. The last line is "N passed, N failed" with ", N skipped" behind it if there were any;
the exit status is 1 when anything failed. A build that fails counts as one failure.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zlib

SETUP = {
    "gcc": [],
    "clang": ["-Db_sanitize=address,undefined", "-Db_lundef=false"],
}
TITLE = {
    "gcc": "gcc, -O2, asserts on",
    "clang": "clang, ASan and UBSan",
}
# What a test says of its own mistake may stand far above its end: cmocka, Python, a sanitizer.
MISTAKE = re.compile(r"\b(ERROR|Error|error):|\[ +(LINE|ERROR) +\]|^AssertionError|runtime error")
GOOD = ("OK", "EXPECTEDFAIL")


def build(compiler, folder):
    environment = dict(os.environ, CC=compiler)
    if not os.path.exists(os.path.join(folder, "build.ninja")):
        command = ["meson", "setup", folder] + SETUP[compiler]
        if subprocess.run(command, env=environment, stdout=subprocess.DEVNULL).returncode != 0:
            subprocess.run(command, env=environment)
            return False
    return subprocess.run(["ninja", "-C", folder, "--quiet"]).returncode == 0


def scratch(folder):
    """Where the tests of that build write: cleared first, since who is killed leaves things behind.
    Not in the build folder: sockets lie there, whose paths must be short."""
    number = zlib.crc32(f"{os.getuid()} {os.path.abspath(folder)}".encode())
    path = os.path.join(tempfile.gettempdir(), f"berth-test-{number:08x}")
    shutil.rmtree(path, ignore_errors=True)
    os.makedirs(path, mode=0o755, exist_ok=True)
    return path


def run(folder):
    """One record per test, as meson logs them."""
    environment = dict(os.environ, TMPDIR=scratch(folder))
    log = os.path.join(folder, "meson-logs", "testlog.json")
    if os.path.exists(log):
        os.remove(log)
    # What is no timed test shall not fail on a machine that is a third as fast.
    subprocess.run(["meson", "test", "-C", folder, "--no-rebuild", "--quiet",
                    "--timeout-multiplier", "3"], env=environment,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if not os.path.exists(log):
        return []
    with open(log, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def report(compiler, tests, seconds):
    """Prints a row per suite, then what failed; returns (passed, failed, skipped)."""
    suites = {}
    for test in tests:
        name = test["name"].split(" / ")[0].split(":")[-1]
        row = suites.setdefault(name, [0, 0, 0, 0.0])
        result = test["result"]
        row[0 if result in GOOD else 2 if result == "SKIP" else 1] += 1
        row[3] += test["duration"]
    print(f"\n{TITLE[compiler]} ({seconds:.0f} s)")
    print(f"  {'suite':<12}{'passed':>8}{'failed':>8}{'skipped':>9}{'seconds':>9}")
    for name, row in sorted(suites.items()):
        print(f"  {name:<12}{row[0]:>8}{row[1]:>8}{row[2]:>9}{row[3]:>9.1f}")
    for test in tests:
        if test["result"] not in GOOD + ("SKIP",):
            print(f"\n  FAILED {test['name']} ({test['result'].lower()})")
            lines = (test.get("stdout", "") + test.get("stderr", "")).splitlines()
            for line in [it for it in lines[:-40] if MISTAKE.search(it)][:20] + lines[-40:]:
                print("    " + line)
    return [sum(row[column] for row in suites.values()) for column in range(3)]


def main():
    total = [0, 0, 0]
    if len(sys.argv) < 2:
        print(__doc__)
        return 2
    for name in [it for it in os.environ if it.startswith("BERTH_") and it != "BERTH_DATA"]:
        del os.environ[name]            # what the user works with is nothing to the tests
    for word in sys.argv[1:]:
        compiler, _, folder = word.partition(":")
        start = time.monotonic()
        if not build(compiler, folder):
            print(f"\n{TITLE[compiler]}: the build failed")
            counts = [0, 1, 0]
        else:
            tests = run(folder)
            counts = report(compiler, tests, time.monotonic() - start)
            if not tests:
                print("  no test ran")
                counts = [0, 1, 0]
        total = [a + b for a, b in zip(total, counts)]
    skipped = f", {total[2]} skipped" if total[2] else ""
    print(f"\n{total[0]} passed, {total[1]} failed{skipped}")
    return 1 if total[1] else 0


if __name__ == "__main__":
    sys.exit(main())
