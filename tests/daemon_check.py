#!/usr/bin/env python3
"""berthd as a service: sockets that are handed to it, readiness, reload, a disk that is full.

    daemon_check.py BERTHD

Each is tried on the program itself, as a service manager would do it. A finding is a line; exit 1
if there is any.
"""
import http.client
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from kill_daemon import Connection, call

POOL = """kind: Pool
name: p
planes: {training: {}}
nodes:
  - {name: "n[1-2]", plane: training, devices: {model: H100-80, count: 8}, cpu: 32, ram: 512Gi}
"""
POLICY = """kind: Policy
preset: equal
classes: {training: {rank: 1}}
default_class: training
tenants: {web: {}}
"""
# Who calls it by a shell that becomes it has the number that LISTEN_PID must be.
HANDED = 'LISTEN_FDS=1 LISTEN_PID=$$ exec "$@" 3<&%d'
WAIT_S = 60                             # a sanitized one on a busy machine is slow
findings = []


def expect(holds, words):
    if not holds:
        findings.append(words)
        print("FOUND:", words, file=sys.stderr)


def until(look, words):
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline:
        try:
            if it := look():
                return it
        except (OSError, http.client.HTTPException):
            pass
        time.sleep(0.02)
    raise SystemExit(f"waited in vain until {words}")


def ask(path, what, method="GET", body=None):
    connection = Connection(path)
    try:
        return call(connection, method, what, body)
    finally:
        connection.close()


class Service:
    """One berthd with simulated nodes, and its words."""

    def __init__(self, berthd, folder, *options, fd=None, **how):
        self.path = os.path.join(folder, "s")
        self.policy = os.path.join(folder, "policy.yaml")
        self.log = os.path.join(folder, "log")
        pool = os.path.join(folder, "pool.yaml")
        for name, text in ((pool, POOL), (self.policy, POLICY)):
            with open(name, "w", encoding="utf-8") as file:
                file.write(text)
        command = [berthd, "--store", os.path.join(folder, "pool.db"), "--simulate", "--no-worker",
                   "--tick", "100ms", "--pool", pool, "--policy", self.policy, *options]
        if fd is not None:
            command = ["sh", "-c", HANDED % fd, "sh", *command]
            how["pass_fds"] = (fd,)
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log,
                                            stdin=subprocess.DEVNULL, **how)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        status = self.process.wait(WAIT_S)
        expect(status == 0, f"it ended with {status}: {self.words()}")

    def words(self):
        with open(self.log, encoding="utf-8") as file:
            return file.read()

    def until_ready(self):
        until(lambda: self.process.poll() is not None or ask(self.path, "/readyz")[0] == 200,
              "it answers")
        expect(self.process.poll() is None, f"it ended at once: {self.words()}")


def a_socket_is_taken_over(berthd, folder, named):
    """Named by --listen or not: it is the one that was handed over, and stays behind."""
    path = os.path.join(folder, "s")
    with socket.socket(socket.AF_UNIX) as ours:
        ours.bind(path)
        ours.listen(8)
        inode = os.stat(path).st_ino
        options = ["--listen", f"unix:{path}"] if named else []
        with Service(berthd, folder, *options, fd=ours.fileno()) as it:
            it.until_ready()
            expect("descriptor=3" in it.words(), f"it does not say which socket: {it.words()}")
        expect(os.path.exists(path) and os.stat(path).st_ino == inode,
               f"the service manager's socket is gone (named: {named})")


def it_tells_the_manager(berthd, folder):
    """Ready, alive, reloading, stopping; and what was read anew holds."""
    told = []
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(os.path.join(folder, "notify"))

        def listen():
            while "STOPPING=1" not in told:
                told.extend(manager.recv(4096).decode().split("\n"))

        env = {**os.environ, "NOTIFY_SOCKET": os.path.join(folder, "notify"),
               "WATCHDOG_USEC": "60000000"}
        listener = threading.Thread(target=listen, daemon=True)
        listener.start()
        with Service(berthd, folder, "--listen", f"unix:{folder}/s", env=env) as it:
            until(lambda: "READY=1" in told, "it says that it is ready")
            with open(it.policy, "a", encoding="utf-8") as file:
                file.write("alerts: {queue_age: 7d}\n")
            # At once: the revision of the start may be on its way to the disk yet.
            it.process.send_signal(signal.SIGHUP)
            until(lambda: "RELOADING=1" in told and told.count("READY=1") == 2,
                  "it says that it reads anew, and has")
            until(lambda: ask(it.path, "/v1/pool")[1]["policy_revision"] == 2,
                  "the policy's file is in force")
            until(lambda: "WATCHDOG=1" in told, "it says that it is alive")
        listener.join(WAIT_S)
        expect("STOPPING=1" in told, "it does not say that it stops")


def a_full_disk_is_told(berthd, folder):
    """In the log and by health, once; and nothing that was acknowledged is lost."""
    def submit(path, number, size):
        return ask(path, "/v1/workloads", "POST", {
            "kind": "Workload", "name": f"w{number}", "tenant": "web", "each": {"devices": 1},
            "run": {"command": ["sleep", "1000"], "env": {"BIG": "x" * size}}})[0]

    def limit_of(process, to):
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (to, resource.RLIM_INFINITY))

    def limit(to):
        resource.setrlimit(resource.RLIMIT_FSIZE, (to, resource.RLIM_INFINITY))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)   # writes fail, and kill nobody

    taken = 0
    with Service(berthd, folder, "--listen", f"unix:{folder}/s",
                 preexec_fn=lambda: limit(1 << 20)) as it:
        it.until_ready()
        for number in range(200):
            if submit(it.path, number, 30000) != 201:
                break
            taken += 1
        limit_of(it.process, 1)         # not even the small write of a new try has room
        until(lambda: ask(it.path, "/healthz")[0] == 503, "health says that the store has failed")
        expect(len(ask(it.path, "/v1/workloads?limit=1000")[1]["workloads"]) == taken,
               "what was not acknowledged is shown")
        until(lambda: "store failed: " in it.words(), "the log says that the store failed")
        said = it.words().count("store failed: ")
        time.sleep(1.5)                 # it tries every second
        expect(it.words().count("store failed: ") == said, "the failure is said again and again")
        limit_of(it.process, resource.RLIM_INFINITY)
        until(lambda: "berthd: store works again" in it.words(),
              "the log says that it works again")
        until(lambda: submit(it.path, 999, 1) == 201, "work is taken again")
        names = {row["name"] for row in ask(it.path, "/v1/workloads?limit=1000")[1]["workloads"]}
        expect(taken > 0 and {f"w{n}" for n in range(taken)} <= names, "acknowledged work is lost")


def reads_go_on(berthd, folder):
    """Through every failure of the store and every time that it works again."""
    refused, answered, ended = [], [0, 0], threading.Event()

    def read(path, reader):
        connection = Connection(path)
        while not ended.is_set():
            for what in ("/v1/workloads", "/v1/pool", "/v1/usage"):
                status, answer = call(connection, "GET", what)
                answered[reader] += status == 200
                if status != 200 and len(refused) < 10:
                    refused.append((what, status, answer))
        connection.close()

    with Service(berthd, folder, "--requests-per-s", "0",
                 "--listen", f"unix:{folder}/s",
                 preexec_fn=lambda: signal.signal(signal.SIGXFSZ, signal.SIG_IGN)) as it:
        it.until_ready()
        readers = [threading.Thread(target=read, args=(it.path, n), daemon=True)
                   for n in range(2)]
        for reader in readers:
            reader.start()
        for _ in range(3):
            # Its log has room, and the store's has none.
            for limit, words in ((8192, "store failed: "), (resource.RLIM_INFINITY, "works again")):
                said = it.words().count(words)
                resource.prlimit(it.process.pid, resource.RLIMIT_FSIZE,
                                 (limit, resource.RLIM_INFINITY))
                until(lambda: it.words().count(words) > said, f"it says '{words}'")
                before = list(answered)
                until(lambda: all(now > then for now, then in zip(answered, before)),
                      f"reads are answered behind '{words}'")
        ended.set()
        for reader in readers:
            reader.join(WAIT_S)
        expect(not refused, f"reads were refused: {refused}")


def main(berthd):
    stories = ((a_socket_is_taken_over, False), (a_socket_is_taken_over, True),
               (it_tells_the_manager,), (a_full_disk_is_told,), (reads_go_on,))
    for story, *rest in stories:
        with tempfile.TemporaryDirectory() as folder:
            story(berthd, folder, *rest)
    return bool(findings)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
