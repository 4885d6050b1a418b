#!/usr/bin/env python3
"""Inputs that crash the engine: tried twice, then in quarantine, and the pool goes on.

    poison_daemon.py BERTHD-PLANTED BERTHD BERTH

BERTHD-PLANTED is berthd with mistakes planted in its engine (tests/planted/planted.c); it is
started again whenever it ends, as a service manager does. All the while a client submits good work
with idempotency keys and repeats what got no answer; what was acknowledged is there at the end.
"""
import http.client
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from kill_daemon import Connection, call

POOL = """kind: Pool
name: poisoned
planes: {training: {}}
nodes:
  - {name: "n[1-4]", plane: training, devices: {model: H100-80, count: 8}, cpu: 400, ram: 512Gi}
"""
POLICY = """kind: Policy
preset: equal
classes: {training: {rank: 1}}
default_class: training
tenants: {web: {}, lab: {}}
"""
WAIT_S = 60                             # a sanitized one on a busy machine is slow
ASSERT, FAULT, HANG, EXIT, EXPLAIN = ("31.337", "31.338", "31.339", "31.340", "31.341")
findings = []


def find(text):
    findings.append(text)
    print("FOUND:", text, file=sys.stderr)


def until(check, what):
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline:
        try:
            value = check()
            if value:
                return value
        except (OSError, http.client.HTTPException):
            pass
        time.sleep(0.02)
    raise SystemExit(f"waited in vain until {what}")


def work(name, cores="1", tenant="web", seconds="0.1"):
    return {"kind": "Workload", "name": name, "tenant": tenant,
            "each": {"devices": 1, "model": "H100-80", "cpu": float(cores)},
            "run": {"command": ["sleep", seconds]}}


class Service(threading.Thread):
    """A berthd that is started again, until it is ended by us."""

    all = []

    def __init__(self, program, folder, environment=None):
        super().__init__(daemon=True)
        self.program, self.folder = program, folder
        self.environment = dict(os.environ, **(environment or {}))
        self.socket, self.store = f"{folder}/s", f"{folder}/pool.db"
        self.statuses, self.ending = [], False
        for name, text in (("pool.yaml", POOL), ("policy.yaml", POLICY)):
            with open(f"{folder}/{name}", "w", encoding="utf-8") as file:
                file.write(text)
        self.process = self.launch()
        self.start()
        Service.all.append(self)
        self.until_up()

    def launch(self):
        with open(f"{self.folder}/log", "ab") as log:
            return subprocess.Popen(
                [self.program, "--store", self.store, "--listen", f"unix:{self.socket}",
                 "--simulate", "--tick", "100ms", "--decide-limit", "400ms", "--pool",
                 f"{self.folder}/pool.yaml", "--policy", f"{self.folder}/policy.yaml"],
                stderr=log, env=self.environment,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)))

    def run(self):
        while True:
            status = self.process.wait()
            self.statuses.append(status)
            if self.ending:
                return
            if len(self.statuses) > 100:
                find("it was started again and again")
                return
            self.process = self.launch()

    def until_up(self):
        until(lambda: self.ask("GET", "/v1/version")[0] == 200, "berthd answers")

    def end(self):
        self.ending = True
        self.process.send_signal(signal.SIGTERM)
        self.join()
        return self.statuses[-1]

    def kill(self):
        """Nothing of it is left, whatever it was about to do."""
        self.ending = True
        while self.is_alive():
            self.process.kill()
            self.join(0.1)

    def ask(self, method, path, body=None, headers=None):
        connection = Connection(self.socket)
        try:
            return call(connection, method, path, body, headers)
        finally:
            connection.close()

    def ask_surely(self, method, path, body=None):
        """As a client does that gets no answer: again. And how often it got none."""
        lost = 0
        deadline = time.monotonic() + WAIT_S
        while time.monotonic() < deadline:
            crashes = len(self.statuses)
            try:
                return (*self.ask(method, path, body), lost)
            except (OSError, http.client.HTTPException):
                until(lambda: len(self.statuses) > crashes, f"{method} {path} had its effect")
                self.until_up()
                lost += 1
        raise SystemExit(f"{method} {path}: no answer")

    def quarantine(self):
        return self.ask("GET", "/v1/quarantine")[1]["quarantine"]


class GoodWork(threading.Thread):
    """Submits, and remembers what was acknowledged."""

    def __init__(self, service):
        super().__init__(daemon=True)
        self.service, self.ends = service, threading.Event()
        self.acked, self.refused, self.count = {}, [], 0

    def run(self):
        while not self.ends.wait(0.01):
            self.count += 1
            key = f"good-{self.count}"
            while not self.ends.is_set():
                try:
                    status, answer = self.service.ask("POST", "/v1/workloads", work(key),
                                                      {"Idempotency-Key": key})
                except (OSError, http.client.HTTPException, ValueError):
                    time.sleep(0.01)
                    continue
                if status == 503:
                    continue
                if status != 201:
                    self.refused.append((status, answer))
                    break
                self.acked[answer["id"]] = key
                break

    def check(self):
        """Ends it; all that was acknowledged is there, once, and has ended or will."""
        self.ends.set()
        self.join()
        if self.refused:
            find(f"good work was refused: {self.refused[0]}")
        if len(self.acked) < 5:
            find(f"only {len(self.acked)} went on beside it")
        names = {}
        for number, key in self.acked.items():
            status, answer = self.service.ask("GET", f"/v1/workloads/{number}")
            if status != 200 or answer["name"] != key:
                find(f"acknowledged work {number} is lost: {status} {answer}")
            names.setdefault(key, set()).add(number)
        if any(len(numbers) > 1 for numbers in names.values()):
            find("a key made two workloads")


def expect(what, got, wanted):
    if got != wanted:
        find(f"{what}: {got}, not {wanted}")


def refused_at_third(service, method, path, body, of, sign):
    """Twice it crashes berthd; the third time it is refused."""
    before = len(service.statuses)
    status, answer, lost = service.ask_surely(method, path, body)
    expect(f"{path} {of}: crashes", (lost, len(service.statuses) - before), (2, 2))
    expect(f"{path} {of}: status", (status, answer["type"]), (422, "/problems/quarantined"))
    entry = service.quarantine()[-1]
    alerts = until(lambda: [it for it in service.ask("GET", "/v1/alerts")[1]["alerts"]
                            if it["kind"] == "quarantined_input" and
                            it["subject"] == str(entry["id"])], "an alert is raised")
    if entry["kind"] not in alerts[0]["text"]:
        find(f"the alert does not say what: {alerts}")
    if f"berth quarantine release {entry['id']}" not in answer["detail"]:
        find(f"the refusal shows no way out: {answer}")
    expect("entry", (entry["of"], entry["state"], len(entry["crashes"])), (of, "held", 2))
    if not entry["by"]:
        find(f"it does not say who asked: {entry}")
    for crash in entry["crashes"]:
        expect("signal, and who asked", (crash["signal"], crash["by"]), (sign, entry["by"]))
        if len(crash["stack"]) < 3:
            find(f"a crash without its stack: {crash}")
    return entry


# ---- the stories ----

def poisoned_submits(service):
    for name, cores, sign in (("asserts", ASSERT, "SIGABRT"), ("faults", FAULT, "SIGSEGV"),
                              ("hangs", HANG, "SIGABRT")):
        entry = refused_at_third(service, "POST", "/v1/workloads", work(name, cores), "input",
                                 sign)
        expect("what", entry["what"], f"'{name}' of web")
    # A sweep: other names, in which the engine sees no difference.
    expect("one of a sweep", service.ask("POST", "/v1/workloads", work("next", ASSERT))[0], 422)
    # Alike, and not the same: tried for itself.
    other = work("asserts", ASSERT, tenant="lab")
    before = len(service.statuses)
    try:
        service.ask("POST", "/v1/workloads", other)
        find("the same of another tenant was refused for this one")
    except (OSError, http.client.HTTPException):
        until(lambda: len(service.statuses) == before + 1, "it crashed")
        service.until_up()
    expect("suspect", service.quarantine()[-1]["state"], "suspect")


def poisoned_end(service):
    before = len(service.statuses)
    # It may have ended, and crashed berthd, before the answer has come.
    number = until(lambda: service.ask("POST", "/v1/workloads", work("ends", EXIT),
                                       {"Idempotency-Key": "ends"})[1].get("id"), "it is taken")
    state = until(lambda: (it := service.ask("GET", f"/v1/workloads/{number}")[1]["state"]) ==
                  "quarantined" and it, "its end is in quarantine")
    expect("state", state, "quarantined")
    expect("crashes by an end", len(service.statuses) - before, 2)
    expect("listed", [it["id"] for it in service.ask(
        "GET", "/v1/workloads?state=quarantined")[1]["workloads"]], [number])


def poisoned_read(service):
    number = service.ask("POST", "/v1/workloads",
                         work("explained", EXPLAIN, seconds="900"))[1]["id"]
    refused_at_third(service, "GET", f"/v1/workloads/{number}/explain", None, "request", "SIGABRT")
    expect("another read", service.ask("GET", "/v1/pool")[0], 200)
    # As it was a moment ago: in a thread beside the loop.
    time.sleep(0.01)
    now = time.time()
    at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now * 1000) % 1000:03}Z"
    entry = refused_at_third(service, "GET", f"/v1/workloads/{number}/explain?at={at}", None,
                             "request", "SIGABRT")
    expect("kind, what", (entry["kind"], entry["what"]),
           (f"GET /v1/workloads/{number}/explain", f"?at={at}"))
    expect("another one of then", service.ask("GET", f"/v1/idle?at={at}")[0], 200)


def outlives(service, planted, berthd, berth, folder):
    """What is held stays held; with a program that has no such mistake, what is released goes."""
    held = [it["id"] for it in service.quarantine() if it["state"] == "held"]
    expect("a clean end", service.end(), 0)
    service = Service(berthd, folder)
    expect("held after a restart",
           [it["id"] for it in service.quarantine() if it["state"] == "held"], held)
    for name, cores in (("asserts", ASSERT), ("hangs", HANG)):
        expect(f"{name}, still held", service.ask("POST", "/v1/workloads", work(name, cores))[0],
               422)
    expect("with too long a reason", service.ask("DELETE", f"/v1/quarantine/{held[0]}",
                                                 headers={"Berth-Reason": "x" * 300})[0], 400)
    expect("nothing is let go",
           [it["id"] for it in service.quarantine() if it["state"] == "held"], held)
    environment = dict(os.environ, BERTH_URL=f"unix:{service.socket}")
    for number in held:
        told = subprocess.run([berth, "quarantine", "release", str(number), "--reason", "upgraded"],
                              env=environment, capture_output=True, text=True, check=False)
        expect("release", (told.returncode, told.stderr), (0, ""))
    for name, cores in (("asserts", ASSERT), ("faults", FAULT), ("hangs", HANG)):
        expect(f"{name}, released", service.ask("POST", "/v1/workloads", work(name, cores))[0], 201)
    alerts = service.ask("GET", "/v1/alerts")[1]["alerts"]
    if any(it["kind"] == "quarantined_input" for it in alerts):
        find(f"what is released still fires: {alerts}")
    ended = service.ask("GET", "/v1/workloads?name=ends&state=all")[1]["workloads"][0]["id"]
    until(lambda: service.ask("GET", f"/v1/workloads/{ended}")[1]["state"] == "succeeded",
          "the end that was released is told")
    listed = subprocess.run([berth, "quarantine", "list"], env=environment, capture_output=True,
                            text=True, check=True).stdout
    if "suspect" not in listed or " held " in listed:
        find(f"berth quarantine list: {listed}")
    return service


def poisoned_ticks(service, mark):
    with open(mark, "w", encoding="utf-8"):
        pass
    health = until(lambda: (it := service.ask("GET", "/healthz")) and "quarantine" in it[1] and it,
                   "ticks are in quarantine")
    expect("health", health[0], 503)
    expect("crashes by ticks", len(service.statuses), 2)
    number = service.ask("POST", "/v1/workloads", work("beside"))[1]["id"]
    until(lambda: service.ask("GET", f"/v1/workloads/{number}")[1]["state"] == "succeeded",
          "work goes on without ticks")
    os.unlink(mark)
    entry, = service.quarantine()
    expect("entry", (entry["kind"], entry["state"]), ("time_ticked", "held"))
    service.ask("DELETE", f"/v1/quarantine/{entry['id']}")
    until(lambda: service.ask("GET", "/healthz")[0] == 200, "time goes on")
    # Once, and then it passes: no suspect.
    before = len(service.statuses)
    with open(mark + ".once", "w", encoding="utf-8"):
        pass
    until(lambda: len(service.statuses) > before, "a tick crashes")
    until(lambda: service.ask("GET", "/healthz")[0] == 200 and service.quarantine() == [],
          "a tick that passes is no suspect")


def poisoned_state(service, mark):
    """Inputs of three kinds crash: then none is taken, and reads go on."""
    runs = service.ask("POST", "/v1/workloads", work("runs", seconds="900"))[1]["id"]
    service.ask_surely("POST", "/v1/workloads", work("asserts", ASSERT))
    poisoned_end(service)
    with open(mark, "w", encoding="utf-8"):
        pass
    entry = until(lambda: next((it for it in service.quarantine() if it["of"] == "engine"), None),
                  "the engine is held")
    status, answer = service.ask("POST", "/v1/workloads", work("any"))
    expect("while it is held", (status, answer["type"]), (422, "/problems/quarantined"))
    expect("what runs", service.ask("GET", f"/v1/workloads/{runs}")[1]["state"], "running")
    crashes = len(service.statuses)
    time.sleep(0.5)
    expect("crashes while it is held", len(service.statuses), crashes)
    os.unlink(mark)
    expect("release", service.ask("DELETE", f"/v1/quarantine/{entry['id']}")[0], 200)
    expect("after it", service.ask("POST", "/v1/workloads", work("any"))[0], 201)


def main():
    planted, berthd, berth = sys.argv[1:4]
    folder = tempfile.mkdtemp(prefix="berth-poison-")
    marks = [f"{folder}/mark-{story}" for story in ("ticks", "state")]
    try:
        for name in ("submits", "ticks", "state"):
            os.mkdir(f"{folder}/{name}")
        service = Service(planted, f"{folder}/submits")
        good = GoodWork(service)
        good.start()
        poisoned_submits(service)
        poisoned_end(service)
        poisoned_read(service)
        good.check()
        service = outlives(service, planted, berthd, berth, f"{folder}/submits")
        service.end()
        service = Service(planted, f"{folder}/ticks", {"BERTH_PLANTED": marks[0]})
        poisoned_ticks(service, marks[0])
        service.end()
        service = Service(planted, f"{folder}/state", {"BERTH_PLANTED": marks[1]})
        poisoned_state(service, marks[1])
        service.end()
    finally:
        for service in Service.all:
            service.kill()
        if findings or sys.exc_info()[0]:
            print(f"see {folder}", file=sys.stderr)
        else:
            shutil.rmtree(folder)
    print(f"{len(good.acked)} went on beside it, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
