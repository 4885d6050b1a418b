#!/usr/bin/env python3
"""Logs that earlier versions wrote are read, decided alike, and gone on with by this one.

    upgrade.py BERTHD BERTH FOLDER

Each folder in FOLDER has the pool.export and the expect.json that tools/log_fixture.py made with a
released version. It is imported, checked and replayed; berthd starts on it, once with its snapshots
and once from its facts alone, shows the same work and takes more.
"""
import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

from kill_daemon import ENDED, LEGAL, Connection, call

WAIT_S = 60
findings = []


def find(name, text):
    findings.append(f"{name}: {text}")


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False)


def ask(path, method, target, body=None):
    connection = Connection(path)
    try:
        return call(connection, method, target, body)
    finally:
        connection.close()


def start(berthd, store, folder):
    path = f"{folder}/s"
    with open(f"{folder}/log", "ab") as log:
        process = subprocess.Popen([berthd, "--store", store, "--listen", f"unix:{path}",
                                    "--simulate", "--tick", "200ms", "--keep-records", "0",
                                    "--keep-ended", "0"], stderr=log)
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if ask(path, "GET", "/v1/version")[0] == 200:
                return process, path
        except OSError:
            time.sleep(0.02)
    process.kill()
    with open(f"{folder}/log", encoding="utf-8") as log:
        raise SystemExit("berthd does not start on it:\n" + log.read()[-2000:])


def check_served(name, berthd, store, folder, expect):
    """What had ended is as it was; what lived is there; and work goes on."""
    process, path = start(berthd, store, folder)
    try:
        for number, (title, tenant, state) in expect["workloads"].items():
            status, row = ask(path, "GET", f"/v1/workloads/{number}")
            if status != 200 or (row["name"], row["tenant"]) != (title, tenant):
                find(name, f"workload {number} is not the one it was: {row}")
            elif row["state"] != state and (state in ENDED or row["state"] not in LEGAL):
                find(name, f"workload {number} was {state} and is {row['state']}")
        for target in ("/v1/pool", "/v1/tenants", "/v1/usage", "/v1/tokens",
                       "/v1/policy/revisions", "/v1/nodes"):
            status, row = ask(path, "GET", target)
            if status != 200:
                find(name, f"{target}: {status} {row}")
        status, row = ask(path, "POST", "/v1/workloads", {
            "kind": "Workload", "name": "newer", "tenant": "web", "each": {"devices": 1},
            "run": {"command": ["sleep", "0.1"]}})
        if status != 201:
            find(name, f"new work is not taken: {status} {row}")
    finally:
        process.send_signal(signal.SIGTERM)
        if process.wait() != 0:
            find(name, "berthd did not end well")


def check_log(name, berthd, berth, folder, work):
    with open(f"{folder}/expect.json", encoding="utf-8") as file:
        expect = json.load(file)
    export = f"{folder}/pool.export"
    for way in ("with snapshots", "from facts"):
        store = f"{work}/{name}-{way.split()[-1]}.db"
        told = run(berth, "store", "import", export, store)
        if told.returncode != 0 or expect["head"] not in told.stdout + told.stderr:
            find(name, f"import: {told}")
            return
        if way == "from facts":
            with sqlite3.connect(store) as base:
                base.execute("DELETE FROM snapshot_chunks")
                base.execute("DELETE FROM snapshots")
            base.close()
        check_served(f"{name}, {way}", berthd, store, work, expect)
        told = run(berth, "store", "check", store)
        if told.returncode != 0:
            find(name, f"check after it was served {way}: {told.stdout}{told.stderr}")
        told = run(berth, "replay", "--log", store, "--quiet")
        if told.returncode != 0 and expect["replay"]["same"]:
            find(name, f"replay after it was served {way}: {told.stdout}{told.stderr}")
    told = run(berth, "replay", "--log", export, "--json", "-")
    if json.loads(told.stdout) != expect["replay"]:
        find(name, f"replay: {told.stdout}{told.stderr}; it was {expect['replay']}")


def check_can_fail(berth, folder, work):
    """One byte of the first log is changed: it must be found."""
    with open(f"{folder}/pool.export", "rb") as file:
        data = bytearray(file.read())
    data[len(data) // 2] ^= 1
    with open(f"{work}/bad", "wb") as file:
        file.write(data)
    if run(berth, "store", "import", f"{work}/bad", f"{work}/bad.db").returncode == 0:
        find("a changed byte", "is not found")


def main():
    berthd, berth, logs = sys.argv[1:4]
    names = sorted(os.listdir(logs))
    if not names:
        find(logs, "there is no log")
    with tempfile.TemporaryDirectory(prefix="berth-upgrade-") as work:
        for name in names:
            check_log(name, berthd, berth, f"{logs}/{name}", work)
        check_can_fail(berth, f"{logs}/{names[0]}", work)
    print("\n".join(findings) if findings else f"{', '.join(names)}: read, and gone on with")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
