#!/usr/bin/env python3
"""Kills berthd under load, again and again, and looks for what it had promised.

    kill_daemon.py BERTHD [--rounds N] [--seed N] [--agents] [--shim FILE [--unsafe]]

Clients submit and cancel over the unix socket without a pause, each request with an idempotency key,
and repeat what got no answer. After each SIGKILL and restart: every acknowledged workload is there in
a legal state, every acknowledged cancel holds, no key made two workloads, no device is above its
capacity, and the list of all is complete.

--agents: nodes have agents (small ones, in this process) that start real processes. Then also: no
device is used by two processes, and at the end none is left.
--shim: preloads tests/shim/forget.c; after each kill, what was not synced is taken out of the files.
--unsafe: the store is opened so that commits are not synced. Then losses must be found: exit status 0
means that they were.
"""
import argparse
import http.client
import json
import os
import random
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

import kill_agents

POOL = """kind: Pool
name: killed
planes: {training: {}}
nodes:
  - {name: "n[1-6]", plane: training, devices: {model: H100-80, count: 8}, cpu: 64, ram: 512Gi}
"""
POLICY = """kind: Policy
preset: protected
default_class: training
tenants:
  web: {protect: {H100-80: 16}}
  lab: {protect: {H100-80: 8}, tenants: {a: {}, b: {}}}
"""
LEGAL = {"queued", "held", "starting", "running", "stopping", "cancelling", "succeeded", "failed",
         "cancelled", "timed_out", "lost", "refused", "stopped"}
ENDED = {"succeeded", "failed", "cancelled", "timed_out", "lost", "refused", "stopped"}
CLIENTS = 4
OWN_MAX = 100           # of each client, live or long over; then it cancels one for each new one


class Connection(http.client.HTTPConnection):
    def __init__(self, path, seconds=60):
        super().__init__("berthd", timeout=seconds)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def call(connection, method, path, body=None, headers=None):
    """Status and decoded body. OSError or HTTPException where there was no answer. A text is sent
    as it is, a YAML document; anything else as JSON."""
    headers = dict(headers or {})
    if body is not None and not isinstance(body, str):
        body = json.dumps(body)
        headers["Content-Type"] = "application/json"
    connection.request(method, path, body, headers)
    answer = connection.getresponse()
    data = answer.read()
    return answer.status, json.loads(data) if data else None


class Daemon:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.socket = os.path.join(folder, "berthd.sock")
        self.store = os.path.join(folder, "pool.db")
        self.undo = os.path.join(folder, "undo")
        self.process = None
        if options.shim:                # LD_PRELOAD is a list, split at blanks: none in its path
            self.shim = os.path.join(folder, "shim.so")
            os.symlink(os.path.abspath(options.shim), self.shim)
        for name, text in (("pool.yaml", POOL), ("policy.yaml", POLICY)):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)

    def command(self):
        command = [self.options.berthd, "--store", self.store, "--listen", "unix:" + self.socket,
                   "--tick", "200ms", "--snapshot-every", "1000", "--requests-per-s", "0",
                   "--lease", "5s",
                   "--pool", os.path.join(self.folder, "pool.yaml"),
                   "--policy", os.path.join(self.folder, "policy.yaml")]
        if not self.options.agents:
            command.append("--simulate")
        if self.options.unsafe:
            command.append("--unsafe-store-for-tests")
        return command

    def start(self):
        environment = dict(os.environ)
        if self.options.shim:
            environment.update(LD_PRELOAD=self.shim,
                               FORGET_FILES=self.store, FORGET_UNDO=self.undo)
        with open(os.path.join(self.folder, "log"), "ab") as log:
            self.process = subprocess.Popen(self.command(), stderr=log, env=environment)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise SystemExit("berthd does not start:\n" + self.last_words())
            try:
                connection = Connection(self.socket)
                if call(connection, "GET", "/v1/pool")[0] == 200:
                    connection.close()
                    return
            except (OSError, http.client.HTTPException):
                time.sleep(0.005)
        raise SystemExit("berthd does not answer after its start:\n" + self.last_words())

    def last_words(self):
        with open(os.path.join(self.folder, "log"), encoding="utf-8", errors="replace") as file:
            return "".join(file.readlines()[-20:])

    def kill(self):
        status = self.process.poll()
        if status is not None:
            raise SystemExit(f"berthd ended by itself ({status}):\n" + self.last_words())
        worker = self.children()
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        if self.options.shim:
            # Power that fails takes the worker too: what it still has mapped would be read again.
            while any(is_alive(pid) for pid in worker):
                time.sleep(0.001)
            self.lose_unsynced()

    def children(self):
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children",
                  encoding="ascii") as file:
            return file.read().split()

    def lose_unsynced(self):
        """Takes back what no sync followed, newest first: forget.c says how it is written."""
        for name in os.listdir(self.folder):
            if not name.startswith("undo."):
                continue
            path = os.path.join(self.folder, name)
            with open(path, "rb") as file:
                data = file.read()
            os.unlink(path)
            records, at = [], 0
            while at + 20 <= len(data):
                offset, size, count = struct.unpack_from("<qqI", data, at)
                records.append((offset, size, data[at + 20:at + 20 + count]))
                at += 20 + count
            target = os.path.join(self.folder, name[len("undo."):])
            if records and os.path.exists(target):
                with open(target, "r+b") as file:
                    for offset, size, old in reversed(records):
                        file.seek(offset)
                        file.write(old)
                        file.truncate(size)


class Book:
    """What was acknowledged; and what was asked, and got no answer yet."""

    def __init__(self):
        self.lock = threading.Lock()
        self.acked = {}                 # id: name
        self.cancelled = set()
        self.by_key = {}                # key: id
        self.repeated = self.errors = 0
        self.findings = []
        self.losses = 0

    def find(self, text, loss=False):
        with self.lock:
            self.losses += loss
            if len(self.findings) < 20:
                self.findings.append(text)

    def submitted(self, key, answer):
        with self.lock:
            there = self.by_key.get(key)
            self.by_key[key] = answer["id"]
            self.acked[answer["id"]] = key
        if there not in (None, answer["id"]):
            self.find(f"key {key} made workloads {there} and {answer['id']}")


class Client(threading.Thread):
    def __init__(self, number, daemon, book, seed):
        super().__init__(daemon=True)
        self.number, self.server, self.book = number, daemon, book
        self.random = random.Random(seed * 100 + number)
        self.ends = threading.Event()
        self.paused = threading.Event()
        self.idle = threading.Event()
        self.count = 0
        self.own = []
        self.pending = None             # a request that is to be repeated

    def run(self):
        connection = None
        while not self.ends.is_set():
            if self.paused.is_set():
                self.idle.set()
                time.sleep(0.002)
                continue
            self.idle.clear()
            try:
                if not connection:
                    connection = Connection(self.server.socket)
                self.ask(connection)
            except (OSError, http.client.HTTPException, ValueError):
                if connection:
                    connection.close()
                connection = None
                time.sleep(0.002)
        self.idle.set()

    def ask(self, connection):
        time.sleep(0.002)               # a load that the checks can follow
        if not self.pending and self.own and (len(self.own) > OWN_MAX or
                                              self.random.random() < 0.2):
            self.cancel(connection)
            return
        if self.pending:
            self.book.repeated += 1
        self.pending = self.pending or self.draw()
        key, body = self.pending
        status, answer = call(connection, "POST", "/v1/workloads", body, {"Idempotency-Key": key})
        if status == 503:
            self.book.errors += 1
            time.sleep(0.01)
            return
        self.pending = None
        if status != 201:
            self.book.find(f"submit: {status} {answer}")
            return
        self.book.submitted(key, answer)
        self.own.append(answer["id"])

    def draw(self):
        self.count += 1
        key = f"c{self.number}-{self.count}"
        seconds = self.random.choice(["0.05", "0.2", "1", "5"])
        return key, {"kind": "Workload", "name": key,
                     "tenant": self.random.choice(["web", "lab/a", "lab/b"]),
                     "members": self.random.choice([1, 1, 2]),
                     "each": {"devices": self.random.choice([1, 1, 2, 8]), "model": "H100-80"},
                     "run": {"command": ["sleep", seconds]}}

    def cancel(self, connection):
        number = self.own.pop(0 if len(self.own) > OWN_MAX else
                              self.random.randrange(len(self.own)))
        status, answer = call(connection, "DELETE", f"/v1/workloads/{number}")
        if status == 200:
            with self.book.lock:
                self.book.cancelled.add(number)
        elif status not in (404, 503):
            self.book.find(f"cancel of {number}: {status} {answer}")


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


# ---- what must hold after a restart ----

def check_works(connection, book, numbers):
    for number in numbers:
        is_cancelled = number in book.cancelled         # before: clients go on
        status, answer = call(connection, "GET", f"/v1/workloads/{number}")
        if status != 200:
            book.find(f"workload {number} was acknowledged: {status} {answer}", loss=True)
        elif answer["name"] != book.acked[number]:
            book.find(f"workload {number} was '{book.acked[number]}', and is '{answer['name']}'",
                      loss=True)
        elif answer["state"] not in LEGAL:
            book.find(f"workload {number} is '{answer['state']}'")
        elif is_cancelled and answer["state"] not in ENDED | {"cancelling", "stopping"}:
            book.find(f"workload {number} was cancelled, and is '{answer['state']}'", loss=True)


def check_list(connection, book):
    """All pages of all workloads: complete, without doubles; each key made one workload."""
    seen, names, after = set(), {}, 0
    while True:
        path = "/v1/workloads?state=all&limit=1000" + (f"&after={after}" if after else "")
        status, answer = call(connection, "GET", path)
        if status != 200:
            book.find(f"list: {status} {answer}")
            return
        for row in answer["workloads"]:
            if row["id"] in seen:
                book.find(f"workload {row['id']} is listed twice")
            if row["name"] in names:
                book.find(f"'{row['name']}' is workload {names[row['name']]} and {row['id']}")
            seen.add(row["id"])
            names[row["name"]] = row["id"]
        after = answer.get("next")
        if not after:
            break
    with book.lock:
        missing = [number for number in book.acked if number not in seen]
    if missing:
        book.find(f"{len(missing)} acknowledged workloads are not listed, e.g. {missing[:5]}",
                  loss=True)


def check_nodes(connection, book):
    status, answer = call(connection, "GET", "/v1/nodes")
    if status != 200 or len(answer["nodes"]) != 6:
        book.find(f"nodes: {status} {answer}")
        return
    for node in answer["nodes"]:
        for device in node["devices"]:
            holders = device["holders"]
            if float(device["used"]) > 1 or len(holders) > 1:
                book.find(f"{node['name']} device {device['index']} is used {device['used']} by "
                          f"{holders}")


def check_second(daemon, book):
    """Another one on the same file is kept out."""
    other = subprocess.run(daemon.command() + ["--listen", "unix:" + daemon.socket + ".2"],
                           stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    if other.returncode == 0 or "is held by process" not in other.stderr:
        book.find(f"a second controller: {other.returncode} {other.stderr}")


def wait_idle(clients):
    for client in clients:
        client.paused.set()
    for client in clients:
        if not client.idle.wait(60):
            raise SystemExit(f"client {client.number} has no answer for a minute")


def run(options, folder):
    chance = random.Random(options.seed)
    daemon, book = Daemon(options, folder), Book()
    daemon.start()
    if not options.unsafe and not options.shim:
        check_second(daemon, book)
    agents = kill_agents.start(daemon.socket, 6, book) if options.agents else []
    clients = [Client(c, daemon, book, options.seed) for c in range(CLIENTS)]
    for client in clients:
        client.start()
    begin, checked, slowest = time.monotonic(), set(), 0.0
    for number in range(options.rounds):
        time.sleep(chance.uniform(0.02, options.longest))
        daemon.kill()
        start = time.monotonic()
        daemon.start()
        slowest = max(slowest, time.monotonic() - start)
        whole = number % 20 == 19 or number == options.rounds - 1
        if whole:
            wait_idle(clients)
        with book.lock:
            fresh = [n for n in book.acked if n not in checked]
            fresh += chance.sample(sorted(book.cancelled), min(5, len(book.cancelled)))
        connection = Connection(daemon.socket)
        check_works(connection, book, fresh)
        check_nodes(connection, book)
        if whole:
            check_list(connection, book)
        for client in clients:
            client.paused.clear()
        checked.update(fresh)
        connection.close()
        if book.findings and (book.losses or not options.unsafe):
            break
    took = time.monotonic() - begin
    for client in clients:
        client.ends.set()
        client.join(60)
    if agents:
        kill_agents.finish(agents, daemon, book)
    daemon.process.send_signal(signal.SIGTERM)
    if daemon.process.wait(60) != 0:
        book.find("berthd ends badly:\n" + daemon.last_words())
    print(f"kills={number + 1} acknowledged={len(book.acked)} cancelled={len(book.cancelled)} "
          f"repeated={book.repeated} told_to_retry={book.errors} losses={book.losses} "
          f"findings={len(book.findings)} slowest_start_ms={slowest * 1000:.0f} "
          f"seconds={took:.1f}" + (" " + kill_agents.words(agents) if agents else ""))
    return book


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("berthd")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--longest", type=float, default=0.3, help="seconds between two kills")
    parser.add_argument("--agents", action="store_true")
    parser.add_argument("--shim")
    parser.add_argument("--unsafe", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="berth-kill-") as folder:
        book = run(options, folder)
    for finding in book.findings[:20 if not options.unsafe else 3]:
        print("found:", finding)
    if options.unsafe:
        print("losses are found, as they must be" if book.losses else
              "nothing is synced, and no loss was found: this test finds nothing")
        return 0 if book.losses else 1
    return 1 if book.findings else 0


if __name__ == "__main__":
    sys.exit(main())
