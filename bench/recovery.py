#!/usr/bin/env python3
"""How long berthd takes to come back, with a long log and many live jobs.

    recovery.py BUILD [--facts N] [--live N]

On 5,000 simulated nodes of 8 devices jobs of a second run until the log has so many facts (three a
job); then so many are submitted that stay. berthd is killed and started again: from the log alone,
from a snapshot, and from a snapshot with as many records behind it as there are at most
(--snapshot-every). The times are berthd's own, as it logs them, and the processor time of its
start.
"""
import argparse
import os
import re
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests"))
from live_pool import Pool, Trouble, until

POOL = """kind: Pool
nodes:
  - {name: "n[00001-05000]", devices: {model: H100-80, count: 8}, cpu: 96, ram: 1024Gi}
"""
POLICY = """kind: Policy
preset: equal
tenants: {%s}
"""
TENANTS = 50
TASKS = 2000                            # of one request
SNAPSHOT_EVERY = 200000                 # records: berthd's own choice


class Bench:
    def __init__(self, options, folder):
        self.pool = Pool({"berthd": os.path.join(options.build, "berthd"), "berth-agent": "",
                          "berth": ""}, folder, POOL,
                         POLICY % ", ".join(f"t{number:02}: {{}}" for number in range(TENANTS)),
                         (), "--simulate", "--requests-per-s", "0", "--snapshot-every")
        self.arrays = 0

    def start(self, snapshot_every=100000000):
        """What berthd says of its recovery: milliseconds, records and facts behind the snapshot."""
        berthd = self.pool.berthd
        berthd.command = berthd.command[:berthd.command.index("--snapshot-every") + 1]
        berthd.command.append(str(snapshot_every))
        self.pool.start_berthd()
        found = re.findall(r"recovered .*records=(\d+) facts=(\d+) workloads=(\d+) ms=(\d+)",
                           berthd.words())[-1]
        return dict(zip(("records", "facts", "workloads", "ms"), map(int, found)),
                    cpu_ms=round(berthd.cpu_now() * 1000))

    def submit(self, tasks, seconds):
        self.arrays += 1
        body = {"kind": "Workload", "name": f"a{self.arrays}",
                "class": "training",
                "tenant": f"t{self.arrays % TENANTS:02}", "array": f"1-{tasks}",
                "each": {"devices": 1, "cpu": 1 + self.arrays % 30},
                "run": {"command": ["sleep", seconds]}}
        status, answer = self.pool.ask("POST", "/v1/workloads", body)
        if status != 201:
            raise Trouble(f"{status} {answer}")

    def churn(self, jobs):
        while jobs > 0:
            self.submit(min(jobs, TASKS), "1")
            jobs -= TASKS
            until(lambda: self.pool.get("/v1/pool")["running"] < 30000, "there is room")

    def settle(self, live):
        until(lambda: (it := self.pool.get("/v1/pool"))["running"] == live and not it["waiting"],
              f"{live} jobs run")


def show(name, it):
    print(f"recovery.{name}_ms {it['ms']} ms  ({it['cpu_ms']} ms of processor time; "
          f"{it['facts']} facts in {it['records']} records, {it['workloads']} live)", flush=True)


def run(bench, options):
    begin = time.monotonic()
    bench.start()
    bench.churn(options.facts // 3)
    bench.settle(0)
    for _ in range(options.live // TASKS):
        bench.submit(TASKS, "86400")
    bench.settle(options.live)
    print(f"the log is made: {time.monotonic() - begin:.0f} s, "
          f"{os.path.getsize(bench.pool.store) / 1e6:.0f} MB", flush=True)
    bench.pool.kill_berthd()
    it = bench.start()
    show("log", it)
    if it["facts"] < options.facts:
        raise Trouble(f"the log has {it['facts']} facts")
    bench.pool.kill_berthd(15)          # leaves a snapshot
    show("snapshot", bench.start(SNAPSHOT_EVERY))
    records = it["records"] / it["facts"] * 3           # of a job
    bench.churn(int(SNAPSHOT_EVERY * 0.95 / records))
    bench.settle(options.live)
    bench.pool.kill_berthd()
    show("snapshot_and_log", bench.start(SNAPSHOT_EVERY))


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("build")
    parser.add_argument("--facts", type=int, default=1000000)
    parser.add_argument("--live", type=int, default=10000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="berth-recovery-") as folder:
        bench = Bench(options, folder)
        try:
            run(bench, options)
        finally:
            bench.pool.end()
    return 0


if __name__ == "__main__":
    sys.exit(main())
