#!/usr/bin/env python3
"""The worker process beside a real berthd: it plans, foretells, is killed, stopped, and lies.

    worker_check.py BERTHD BERTH [--jobs N]

Whatever the worker does, the pool takes and starts work; what a worker may not say is in no log;
and the log, decided again, gives the same facts.
"""
import argparse
import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time

from kill_daemon import Connection, is_alive

POOL = """kind: Pool
name: watched
planes: {training: {}}
nodes:
  - {name: "n[1-2]", plane: training, devices: {model: H100-80, count: 8}, cpu: 64, ram: 512Gi}
prices: {H100-80: 2.50}
"""
POLICY = """kind: Policy
preset: protected
default_class: training
tenants: {web: {protect: {H100-80: 8}}, lab: {}}
"""
PATIENCE_S = 60         # a sanitized program on a busy machine is slow

# What a worker may not say; each is put on the socket of a worker that does nothing else.
LIES = {
    "noise": "b'\\xff\\x00 no line of ours\\n' * 20",
    "no JSON": "b'input 1 1 {\\n' * 20",
    "other input": "b'input 1 1 {\"input\":\"cancelled\",\"workload\":1}\\n' * 20",
    "estimate out of bounds": "b'input 1 %d {\"input\":\"eta_set\",\"workload\":3,\"p50_ms\":9,"
                              "\"p90_ms\":1}\\n' % (time.time() * 1000) * 20",
    "unknown model":
        "b'input 1 1 {\"input\":\"demand_plan_set\",\"plan\":{\"models_len\":64}}\\n' * 20",
    "of the future":
        "b'input 999999999 1 {\"input\":\"demand_plan_set\",\"plan\":{\"hash\":1}}\\n' * 20",
    "no end": "b'x' * (3 << 20)",
    "a flood": "b'\\n' * 100000",
}


class Berthd:
    all = []
    policy = POLICY

    def __init__(self, program, folder, *more):
        self.program, self.folder, self.more = program, folder, more
        self.socket = os.path.join(folder, "s")
        self.store = os.path.join(folder, "pool.db")
        for name, text in (("pool.yaml", POOL), ("policy.yaml", self.policy)):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        Berthd.all.append(self)
        self.start()

    def start(self):
        log = open(os.path.join(self.folder, "log"), "a", encoding="utf-8")
        self.process = subprocess.Popen(
            [self.program, "--store", self.store, "--listen", "unix:" + self.socket, "--simulate",
             "--tick", "100ms", "--requests-per-s", "0", "--nodes-max", "16", "--workloads-max",
             "2000", "--pool", os.path.join(self.folder, "pool.yaml"), "--policy",
             os.path.join(self.folder, "policy.yaml"), *self.more], stderr=log)
        until("berthd answers", lambda: self.is_healthy())

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        self.process.wait(PATIENCE_S)

    def ask(self, method, path, body=None):
        connection = Connection(self.socket)
        connection.request(method, path, json.dumps(body) if body else None,
                           {"Content-Type": "application/json"} if body else {})
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text

    def json(self, method, path, body=None, status=200):
        got, text = self.ask(method, path, body)
        need(got == status, f"{method} {path}: {got} {text}")
        return json.loads(text)

    def is_healthy(self):
        try:
            return self.ask("GET", "/healthz")[0] == 200
        except OSError:
            return False

    def worker(self):
        return self.json("GET", "/healthz")["worker"]

    def metric(self, name):
        for line in self.ask("GET", "/metrics")[1].splitlines():
            if line.startswith(name + " "):
                return float(line.split()[1])
        return fail(f"no metric {name}")

    def worker_pid(self):
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children",
                  encoding="utf-8") as file:
            pids = file.read().split()
        return int(pids[0]) if pids else 0

    def submit(self, name, devices=1, seconds=0.2, status=201):
        return self.json("POST", "/v1/workloads",
                         {"kind": "Workload", "name": name, "tenant": "web",
                          "each": {"devices": devices, "model": "H100-80"},
                          "run": {"command": ["sleep", str(seconds)]}}, status)

    def log(self):
        with open(os.path.join(self.folder, "log"), encoding="utf-8") as file:
            return file.read()


def fail(what):
    sys.exit(f"{os.path.basename(sys.argv[0])}: {what}")


def need(good, what):
    if not good:
        fail(what)


def until(what, look):
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        if look():
            return
        time.sleep(0.05)
    fail(f"it never came about: {what}")


def takes_work(berthd, name):
    """A workload is taken, starts and ends."""
    ident = berthd.submit(name)["id"]
    until(f"{name} has ended",
          lambda: berthd.json("GET", f"/v1/workloads/{ident}")["state"] == "succeeded")


def inputs_of_worker(berthd):
    store = sqlite3.connect(f"file:{berthd.store}?mode=ro", uri=True)
    rows = store.execute("SELECT CAST(body AS TEXT) FROM log WHERE kind = 'input' "
                         "AND actor = 'worker' ORDER BY seq").fetchall()
    store.close()
    return [json.loads(row[0]) for row in rows]


def plans_and_foretells(berthd, jobs):
    wide = [berthd.submit(f"wide-{number}", devices=8, seconds=600)["id"] for number in range(2)]
    for number in range(jobs):
        berthd.submit(f"job-{number}", devices=1 + number % 4, seconds=0.1)
    until("a plan is entered", lambda: berthd.metric("berth_worker_plans_total") > 0)
    until("estimates are entered", lambda: berthd.metric("berth_worker_estimates_total") > 0)
    for ident in wide:
        berthd.json("DELETE", f"/v1/workloads/{ident}")
    plan = berthd.json("GET", "/v1/pool")["plan"]
    need(plan["arrivals"] >= 64 and plan["shapes"] > 0, f"the plan is {plan}")
    kinds = {it["input"] for it in inputs_of_worker(berthd)}
    need(kinds == {"eta_set", "demand_plan_set"}, f"a worker entered {kinds}")


def a_dry_run_says_terms_and_price(berthd):
    answer = berthd.json("POST", "/v1/workloads?dry_run=true",
                         {"kind": "Workload", "name": "try", "tenant": "web", "time_limit": "2h",
                          "each": {"devices": 4, "model": "H100-80"}, "run": {"command": ["true"]}})
    price = answer["price"]["models"][0]
    need(price["per_hour"] == "10.00" and price["for_time_limit"] == "20.00", f"price {price}")
    need(answer["terms"]["class"] == "training", f"terms {answer['terms']}")


def is_started_anew(berthd, what, hurt):
    until("there is a worker", lambda: berthd.worker_pid() > 0)
    before, pid = berthd.worker()["starts"], berthd.worker_pid()
    hurt(pid)
    takes_work(berthd, what)
    until(f"{what}: a new one", lambda: berthd.worker()["starts"] > before and
          berthd.worker()["up"] and berthd.worker_pid() not in (0, pid))
    need(berthd.worker()["trouble"], f"{what}: nobody says why the one before ended")
    takes_work(berthd, what + "-after")


def goes_with_its_parent(berthd):
    pid = berthd.worker_pid()
    berthd.end(signal.SIGKILL)
    until("the worker goes with berthd", lambda: not is_alive(pid))
    plan_before = [it for it in inputs_of_worker(berthd) if it["input"] == "demand_plan_set"][-1]
    berthd.start()
    plan = berthd.json("GET", "/v1/pool")["plan"]
    need(plan["arrivals"] >= plan_before["plan"]["revision"], f"after a kill the plan is {plan}")


def does_not_outlive_who_was_gone_before(berthd):
    """Its socket stays open, and no signal comes: only who its parent is tells it."""
    ours, its = socket.socketpair()
    worker = subprocess.Popen([berthd.program, "worker", "--store", berthd.store, "--fd",
                               str(its.fileno()), "--tick-ms", "100", "--parent", "1"],
                              pass_fds=[its.fileno()])
    its.close()
    try:
        need(worker.wait(PATIENCE_S) == 1, "a worker whose berthd is gone ends with no error")
    except subprocess.TimeoutExpired:
        worker.kill()
        fail("a worker whose berthd was gone before it began stays")
    ours.close()


def decides_the_same_again(berthd, berth):
    done = subprocess.run([berth, "replay", "--log", berthd.store], capture_output=True, text=True,
                          check=False)
    need(done.returncode == 0, f"replay: {done.stdout}{done.stderr}")


def write_liar(folder, lie):
    path = os.path.join(folder, "liar")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"#!{sys.executable}\nimport socket, time\n"
                   f"s = socket.socket(fileno=3)\n"
                   f"for _ in range(600):\n    try:\n        s.sendall({lie})\n"
                   f"    except OSError:\n        break\n    time.sleep(0.1)\n")
    os.chmod(path, 0o700)
    return path


def lies(program, berth, folder):
    """A liar each beside a pool of its own, all at once."""
    pools = {}
    for number, (name, lie) in enumerate(LIES.items()):
        place = os.path.join(folder, str(number))
        os.mkdir(place)
        pools[name] = Berthd(program, place, "--worker-program-for-tests", write_liar(place, lie))
        pools[name].submit("first", seconds=60)
        pools[name].submit("full", devices=8, seconds=60)
        pools[name].submit("waits", devices=8, seconds=60)
    for name, berthd in pools.items():
        until(f"{name}: it is ended", lambda: berthd.worker()["trouble"] is not None)
        takes_work(berthd, "honest")
        need(not inputs_of_worker(berthd), f"{name}: the log has {inputs_of_worker(berthd)}")
        need(berthd.metric("berth_worker_plans_total") == 0, f"{name}: a plan was entered")
        need("berthd: worker ended" in berthd.log(), f"{name}: berthd says nothing of it")
        berthd.end()
        decides_the_same_again(berthd, berth)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("berthd")
    parser.add_argument("berth")
    parser.add_argument("--jobs", type=int, default=80)
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="berth-worker-")
    berthd = Berthd(options.berthd, folder, "--worker-silence-for-tests", "5s")
    try:
        plans_and_foretells(berthd, options.jobs)
        a_dry_run_says_terms_and_price(berthd)
        is_started_anew(berthd, "killed", lambda pid: os.kill(pid, signal.SIGKILL))
        is_started_anew(berthd, "stopped", lambda pid: os.kill(pid, signal.SIGSTOP))
        goes_with_its_parent(berthd)
        does_not_outlive_who_was_gone_before(berthd)
        berthd.end()
        decides_the_same_again(berthd, options.berth)
        lies(options.berthd, options.berth, folder)
    finally:
        for one in Berthd.all:
            if one.process.poll() is None:
                one.process.kill()
    shutil.rmtree(folder)
    print("the worker plans and foretells, and the pool does not depend on it")


if __name__ == "__main__":
    main()
