#!/usr/bin/env python3
"""Makes the log of a small, varied pool, which every later version must read and decide alike.

    log_fixture.py BERTHD BERTH FOLDER

FOLDER gets pool.export, and expect.json: what replay says of it, the program's version, and each
workload with its state. Once for each release (CONTRIBUTING.md); a folder that is there is not
touched. tests/upgrade.py reads them.
"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests"))
from kill_daemon import Connection, call    # pylint: disable=wrong-import-position

POOL = """kind: Pool
name: fixture
planes: {training: {}, lab: {}}
nodes:
  - {name: "gpu-[01-03]", plane: training, rack: r1, devices: {model: H100-80, count: 8}, cpu: 96,
     ram: 1024Gi, labels: {driver: "570"}}
  - {name: lab-01, plane: lab, devices: {model: A100-40, count: 2}, cpu: 32, ram: 256Gi}
prices: {H100-80: 2.40, A100-40: 1.10}
currency: EUR
"""
POLICY = """kind: Policy
preset: protected
classes:
  critical: {rank: 1, methods: [whole], stop: never}
  training: {rank: 2, methods: [whole], stop: for_protect, notice: 1s, exempt: 0s}
  notebook: {rank: 3, methods: [slice, share], stop: always, notice: 1s}
default_class: training
tenants:
  research: {protect: {H100-80: 8}, limit: {H100-80: 24, jobs: 50}, weight: 2, trust: internal,
             tenants: {nlp: {}, vision: {}}}
  web: {protect: {H100-80: 8}, limit: {any: 24}, trust: internal}
principals:
  - {name: ana, tenants: {research: tenant-admin}}
"""
POLICY_SECOND = {
    "preset": "equal", "default_class": "training",
    "classes": {"critical": {"rank": 1, "methods": ["whole"], "stop": "never"},
                "training": {"rank": 2, "methods": ["whole"], "order": "shortest"},
                "notebook": {"rank": 3, "methods": ["slice", "share"]}},
    "tenants": {"research": {"weight": 3, "trust": "internal",
                             "tenants": {"nlp": {}, "vision": {}}},
                "web": {"budget": {"device_hours": 100, "per": "month", "on_empty": "demote"},
                        "trust": "internal"}},
    "reservations": [{"name": "launch", "tenant": "web", "devices": {"H100-80": 8},
                      "from": "2035-01-04T08:00Z", "until": "2035-01-08T18:00Z", "unused": "lend"}],
    "principals": [{"name": "ana", "tenants": {"research": "tenant-admin"}}]}
WAIT_S = 30


class Pool:
    def __init__(self, berthd, folder):
        self.berthd, self.folder, self.socket = berthd, folder, f"{folder}/s"
        for name, text in (("pool.yaml", POOL), ("policy.yaml", POLICY)):
            with open(f"{folder}/{name}", "w", encoding="utf-8") as file:
                file.write(text)
        self.start()

    def start(self):
        with open(f"{self.folder}/log", "ab") as log:
            self.process = subprocess.Popen(
                [self.berthd, "--store", f"{self.folder}/pool.db", "--listen",
                 f"unix:{self.socket}", "--simulate", "--tick", "200ms", "--snapshot-every", "100",
                 "--nodes-max", "16", "--workloads-max", "200", "--pool",
                 f"{self.folder}/pool.yaml", "--policy", f"{self.folder}/policy.yaml"], stderr=log)
        self.until(self.answers, "it answers")

    def answers(self):
        try:
            return self.ask("GET", "/v1/version")
        except OSError:
            return None

    def end(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        self.process.wait()

    def ask(self, method, path, body=None, status=(200, 201), headers=None):
        connection = Connection(self.socket)
        got, answer = call(connection, method, path, body, headers)
        connection.close()
        if got not in status:
            raise SystemExit(f"{method} {path}: {got} {answer}")
        return answer

    def until(self, check, what):
        deadline = time.monotonic() + WAIT_S
        while time.monotonic() < deadline:
            if value := check():
                return value
            time.sleep(0.05)
        raise SystemExit(f"waited in vain until {what}")

    def submit(self, name, tenant, each, seconds, **more):
        body = {"kind": "Workload", "name": name, "tenant": tenant, "each": each,
                "run": {"command": ["sleep", str(seconds)]}, **more}
        return self.ask("POST", "/v1/workloads", body, status=(201, 422)).get("id")

    def until_state(self, number, *states):
        return self.until(lambda: self.ask("GET", f"/v1/workloads/{number}")["state"] in states,
                          f"{number} is {states}")


WHOLE = {"devices": 1, "model": "H100-80", "cpu": 4, "ram": "16Gi"}


def story(pool):
    """Documents, gangs, an array, a service, slices, shares, preemption, drain, a crash, tokens."""
    first = pool.submit("first", "research/nlp", WHOLE, 0.3)
    gang = pool.submit("gang", "research/nlp", {**WHOLE, "devices": 8}, 900, members=3,
                       checkpoint={"every": "10m", "within": "30s", "signal": "USR1"})
    pool.until_state(first, "succeeded")
    pool.until_state(gang, "running")
    pool.submit("cut", "research/vision", {"devices": 1, "profile": "1g.5gb", "cpu": 1}, 1.5,
                **{"class": "notebook"}, where={"plane": "lab"})
    pool.submit("shared", "research/vision", {"devices": 1, "model": "A100-40", "share": 0.25,
                                              "memory": "5Gi", "cpu": 1}, 900,
                **{"class": "notebook"})
    wanted = pool.submit("wanted", "web", {**WHOLE, "devices": 8}, 1.5, **{"class": "critical"})
    pool.until_state(wanted, "running")                 # the gang was stopped for its promise
    pool.submit("never", "web", {"devices": 9, "model": "A100-40"}, 1)
    pool.submit("array", "research", WHOLE, 0.5, array="1-3")
    pool.submit("after", "research", WHOLE, 0.5, after=["array"], time_limit="1h", retries=1)
    held = pool.submit("held", "web", WHOLE, 900)
    pool.ask("POST", f"/v1/workloads/{held}/hold", {})
    pool.end(signal.SIGKILL)
    pool.start()
    pool.ask("POST", f"/v1/workloads/{held}/release", {})
    pool.ask("POST", "/v1/tokens", {"principal": "ana", "role": "viewer", "tenant": "research"})
    pool.ask("POST", "/v1/nodes/gpu-03/drain", {"by": "2030-01-01T00:00:00Z"})
    pool.ask("POST", "/v1/freeze", {"frozen": True, "plane": "lab"})
    pool.ask("PUT", "/v1/policy", {"kind": "Policy", **POLICY_SECOND})
    gone = pool.submit("gone", "web", WHOLE, 900)
    pool.until_state(gone, "running", "queued")
    pool.ask("DELETE", f"/v1/workloads/{gone}")
    pool.until_state(wanted, "succeeded")
    pool.until_state(gone, "cancelled")
    pool.ask("POST", "/v1/nodes/gpu-03/undrain", {})
    pool.ask("POST", "/v1/freeze", {"frozen": False, "plane": "lab"})
    time.sleep(1)


def workloads(pool):
    rows = pool.ask("GET", "/v1/workloads?state=all&limit=1000")["workloads"]
    return {str(row["id"]): [row["name"], row["tenant"], row["state"]] for row in rows}


def head_of(run):
    """Number and hash of the newest record, as export and import print them."""
    return (run.stdout + run.stderr).split(": ", 1)[1].strip()


def main():
    if len(sys.argv) != 4 or os.path.exists(sys.argv[3]):
        print(__doc__)
        return 2
    berthd, berth, out = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="berth-fixture-") as folder:
        pool = Pool(berthd, folder)
        story(pool)
        pool.end()
        pool.start()                    # as it is after a start: what a later version must show
        version = pool.ask("GET", "/v1/version")["version"]
        shown = workloads(pool)
        pool.end(signal.SIGKILL)
        os.makedirs(out)
        head = subprocess.run([berth, "store", "export", f"{folder}/pool.db", f"{out}/pool.export"],
                              check=True, capture_output=True, text=True)
        replay = subprocess.run([berth, "replay", "--log", f"{out}/pool.export", "--json", "-"],
                                check=True, capture_output=True, text=True).stdout
    with open(f"{out}/expect.json", "w", encoding="utf-8") as file:
        json.dump({"version": version, "head": head_of(head), "replay": json.loads(replay),
                   "workloads": shown}, file, indent=1, sort_keys=True)
        file.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
