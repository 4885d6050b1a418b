#!/usr/bin/env python3
"""Writes a small store as SQL, so that later versions of the schema have something to migrate.

    store_fixture.py BUILD/tests/unit/test_store_migrate > tests/fixtures/store-vN.sql

The program makes the store (it knows its content and checks it later); here it becomes text that can
be read and compared. Run once for each released version of the schema, and never again for an old one.
"""
import os
import sqlite3
import subprocess
import sys
import tempfile


def dump(path, out):
    db = sqlite3.connect(path)
    for pragma in ("application_id", "user_version"):
        number = db.execute(f"PRAGMA {pragma}").fetchone()[0]
        out.write(f"PRAGMA {pragma} = {number};\n")
    for line in db.iterdump():
        out.write(line + "\n")


def main():
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "store")
        subprocess.run([sys.argv[1]], env={**os.environ, "BERTH_FIXTURE": path}, check=True)
        dump(path, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
