#!/usr/bin/env python3
"""An hour in the life of a pool, with everything that goes wrong in it.

    live_hour.py BUILD [--seconds N] [--seed N] [--folder DIR]

A real berthd and real agents have a mixed load at a modest rate: arrays, gangs, shares, services,
preemptions, cancels, holds, drains, freezes, policies, tokens. berthd and the agents are killed at
random and started again; sometimes an agent stays away for longer than its lease. Every device is
guarded by a lock file that its work takes: the work itself says when two have one device.

At the end all that was acknowledged must be there, no process may be left, the store must be whole,
and the log, decided again, must give the same facts, here and after an export and an import. The
folder is kept when something was found.
"""
import argparse
import collections
import http.client
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import live_pool
from live_pool import ENDED, Pool, Trouble, until

POOL = """kind: Pool
name: hour
planes: {training: {}, lab: {}}
nodes:
  - {name: "gpu-[1-3]", plane: training, rack: r1, devices: {model: H100-80, count: 4},
     cpu: 64, ram: 512Gi}
  - {name: lab-1, plane: lab, rack: r2, devices: {model: A100-40, count: 2}, cpu: 32, ram: 256Gi}
prices: {H100-80: 2.40, A100-40: 1.10}
currency: EUR
"""
POLICY = """kind: Policy
preset: protected
classes:
  training: {rank: 2, methods: [whole], stop: for_protect, notice: 3s, exempt: 1s,
             stops_per_day: unlimited}
  batch: {rank: 3, methods: [whole, slice, share], stop: always, notice: 2s, exempt: 1s,
          stops_per_day: unlimited, above_limit: spare}
  careful: {rank: 1, methods: [whole], stop: never, on_lost_contact: continue}
default_class: training
rules: {stop_rate: {pct: 100, per: 10m}}
tenants:
  web: {protect: {H100-80: 4}, weight: %d}
  lab: {protect: {H100-80: 2}, tenants: {a: {}, b: {limit: {H100-80: 6}}}}
principals:
  - {name: ana, tenants: {lab/a: submitter}}
"""
NODES = ("gpu-1", "gpu-2", "gpu-3", "lab-1")
LEASE_S = 10
# The work: each device has a lock, each epoch of a member starts once, USR1 makes a checkpoint.
JOB = r"""
cd "$JOBS" || exit 9
me=$BERTH_WORKLOAD.$BERTH_MEMBER.$BERTH_EPOCH
(set -C; : >"started.$me") 2>/dev/null || echo "epoch $me is started twice" >>violations
if [ "$1" = whole ]; then
        fd=3
        for d in $(echo "$BERTH_DEVICES" | tr , ' '); do
                eval "exec $fd>lock.$BERTH_NODE.$d"
                flock -n $fd || echo "device $d of $BERTH_NODE has two: $me" >>violations
                fd=$((fd + 1))
        done
fi
trap 'touch "$BERTH_CHECKPOINT_FILE"; echo "$me" >>checkpoints' USR1
[ "$3" = deaf ] && trap '' TERM
sleep "$2" & wait $!
while kill -0 $! 2>/dev/null; do wait $!; done
[ "$3" = fails ] && exit 3
: >"done.$BERTH_WORKLOAD.$BERTH_MEMBER"
"""


class Hour:
    def __init__(self, options, folder):
        self.options = options
        self.random = random.Random(options.seed)
        build = os.path.abspath(options.build)
        self.pool = Pool({name: os.path.join(build, name) for name in
                          ("berthd", "berth-agent", "berth")}, folder, POOL, POLICY % 1, NODES,
                         "--tick", "500ms", "--lease", f"{LEASE_S}s", "--snapshot-every", "5000")
        self.counts = collections.Counter()
        self.acked, self.cancelled, self.own = {}, set(), []
        self.drained, self.tokens, self.names = set(), [], 0
        self.frozen = False
        self.slowest_s = 0.0
        self.findings = []

    def find(self, text):
        print("found:", text, flush=True)
        self.findings.append(text)

    # ---- one request, until it is answered ----

    def change(self, method, path, body=None, **headers):
        """Sent with a key until there is an answer; a berthd that is down is started again."""
        self.names += 1
        key = f"k{self.options.seed}-{self.names}"
        end = time.monotonic() + 60
        while time.monotonic() < end:
            self.revive()
            try:
                status, answer = self.pool.ask(method, path, body, Idempotency_Key=key, **headers)
                if status != 503:
                    return status, answer
            except (OSError, http.client.HTTPException):
                pass
            self.counts["repeated"] += 1
            time.sleep(0.05)
        raise Trouble(f"{method} {path} is not answered for a minute:\n{self.pool.berthd.words()}")

    def revive(self):
        if not self.pool.berthd.alive():
            begin = time.monotonic()
            self.pool.start_berthd()
            self.slowest_s = max(self.slowest_s, time.monotonic() - begin)

    def wanted(self, status, answer, what, *statuses):
        if status not in statuses:
            self.find(f"{what}: {status} {answer}")
        return status < 300

    # ---- what users do ----

    def draw(self):
        pick = self.random.choice
        kind = pick(["one", "one", "one", "wide", "gang", "wide", "array", "share", "slice", "cpu",
                     "service", "fails", "deaf", "limited"])
        how = kind if kind in ("fails", "deaf") else "well"
        whole = "" if kind in ("share", "slice", "cpu") else "whole"
        seconds = pick(["0.2", "1", "2", "4", "8", "15"])
        self.names += 1
        body = {"kind": "Workload", "name": f"{kind}-{self.names}",
                "tenant": pick(["web", "lab/a", "lab/b"]), "class": pick(["training", "batch"]),
                "each": {"devices": pick([1, 1, 2]), "model": "H100-80", "cpu": 1},
                "checkpoint": {"every": "10s", "within": "1s", "signal": "USR1"},
                "retries": 2 if kind == "fails" else 20,
                "run": {"command": ["sh", "-c", JOB, "job", whole, seconds, how],
                        "env": {"JOBS": self.pool.jobs}}}
        if kind == "gang":
            body["members"] = pick([2, 3])
        elif kind == "wide":
            body["each"]["devices"] = 4
        elif kind == "array":
            body["array"] = pick(["1-4", "1-6%2"])
        elif kind == "share":
            body["class"], body["each"] = "batch", {"share": 0.25, "model": "A100-40"}
        elif kind == "slice":
            body["class"], body["each"] = "batch", {"profile": "1g.5gb"}
        elif kind == "cpu":
            body["each"] = {"devices": 0, "cpu": 2}
        elif kind == "service":
            body["service"] = {"replicas": 2, "port": 8000}
            body["run"]["command"][5] = "20"
            del body["retries"], body["checkpoint"]
        elif kind == "limited":
            body["time_limit"] = "2s"
        elif kind == "one" and self.random.random() < 0.2:
            body["class"] = "careful"
        return body

    def submit(self):
        body = self.draw()
        headers = {}
        if self.tokens and body["tenant"] == "lab/a":
            headers["Authorization"] = "Bearer " + self.random.choice(self.tokens)["token"]
        status, answer = self.change("POST", "/v1/workloads", body, **headers)
        if not self.wanted(status, answer, f"submit of {body['name']}", 201):
            return
        rows = answer.get("workloads") or [answer]
        for row in rows:
            self.acked[row["id"]] = body
            self.own.append(row["id"])
        self.counts["submitted"] += len(rows)
        self.counts["of " + body["name"].split("-")[0]] += len(rows)

    def some(self):
        self.own = self.own[-60:]
        return self.random.choice(self.own) if self.own else None

    def cancel(self, number=None):
        number = number or self.some()
        if number:
            status, answer = self.change("DELETE", f"/v1/workloads/{number}")
            if self.wanted(status, answer, f"cancel of {number}", 200, 404, 409):
                self.cancelled.add(number)
                self.counts["cancelled"] += 1

    def act_on(self, verb):
        number = self.some()
        if number:
            status, answer = self.change("POST", f"/v1/workloads/{number}/{verb}",
                                         Berth_Reason="the hour")
            if self.wanted(status, answer, f"{verb} of {number}", 200, 404, 409, *(
                    [400] if "has not started" in str(answer) else [])):
                self.counts[verb] += 1

    def hold(self):
        self.act_on(self.random.choice(["hold", "release", "release"]))

    def drain(self):
        if self.drained and self.random.random() < 0.7:
            node = self.drained.pop()
            verb, body = "undrain", {}
        else:
            node, verb = self.random.choice(NODES), "drain"
            by = time.time() + self.random.choice([4, 10])
            body = {} if self.random.random() < 0.5 else {"by": time.strftime(
                "%Y-%m-%dT%H:%M:%SZ", time.gmtime(by))}
            self.drained.add(node)
        status, answer = self.change("POST", f"/v1/nodes/{node}/{verb}", body)
        if status == 400 and "is down" in answer["detail"]:
            self.drained.add(node)                              # until it is back
        elif self.wanted(status, answer, verb, 200):
            self.counts[verb] += 1

    def freeze(self):
        self.frozen = not self.frozen
        self.wanted(*self.change("POST", "/v1/freeze", {"frozen": self.frozen}), "freeze", 200)
        self.counts["freeze"] += 1

    def policy(self):
        if self.random.random() < 0.3:
            revision = self.pool.get("/v1/policy/revisions")["revisions"][-1]["revision"]
            self.wanted(*self.change("POST", "/v1/policy/rollback", {"revision": revision}),
                        "rollback", 200)
        else:
            path = self.pool.write("policy.yaml", POLICY % self.random.choice([1, 2, 5]))
            self.pool.berth("apply", path)
        self.counts["policies"] += 1

    def token(self):
        if len(self.tokens) > 2:
            old = self.tokens.pop(0)
            self.wanted(*self.change("DELETE", f"/v1/tokens/{old['id']}"), "revoke", 200)
            status, _ = self.change("GET", "/v1/workloads", Authorization="Bearer " + old["token"])
            if status != 401:
                self.find(f"a revoked token is answered with {status}")
        status, answer = self.change("POST", "/v1/tokens", {"principal": "ana", "role": "submitter",
                                                            "tenant": "lab/a"})
        if self.wanted(status, answer, "token", 201) and answer.get("token"):
            self.tokens.append(answer)
        self.counts["tokens"] += 1

    def look(self):
        """What people look at while it goes on."""
        number = self.some()
        for words in (["status"], ["queue"], ["pool", "--nodes"], ["usage"], ["tenants"],
                      ["explain", number] if number else ["idle"]):
            done = subprocess.run([self.pool.programs["berth"], *map(str, words)], text=True,
                                  env=dict(os.environ, BERTH_URL=self.pool.url), timeout=60,
                                  capture_output=True, check=False)
            if done.returncode not in (0, 3, 4, 5):
                self.find(f"berth {words}: {done.returncode} {done.stderr}")
        self.counts["looks"] += 1

    # ---- what goes wrong ----

    def kill_berthd(self):
        if self.random.random() < 0.2:
            status = self.pool.kill_berthd(signal.SIGTERM)
            if status:
                self.find(f"berthd ends badly: {status}\n{self.pool.berthd.words()}")
            self.counts["berthd ended"] += 1
        else:
            self.pool.kill_berthd()
            self.counts["berthd killed"] += 1
        time.sleep(self.random.choice([0, 0, 0.3, 2]))
        self.revive()
        if self.random.random() < 0.2:
            self.pool.berthd.process.send_signal(signal.SIGHUP)

    def kill_agent(self):
        node = self.random.choice(NODES)
        agent = self.pool.agents[node]
        if not agent.alive():
            return
        agent.end(signal.SIGKILL)
        self.counts["agents killed"] += 1
        if self.random.random() < 0.1:
            self.counts["agents away for longer than a lease"] += 1
            self.away[node] = time.monotonic() + LEASE_S * 1.5
        else:
            self.away[node] = time.monotonic() + self.random.choice([0, 0.2, 2])

    def bring_back(self, at_once=False):
        for node, when in list(self.away.items()):
            if at_once or time.monotonic() >= when:
                self.pool.agents[node].start()
                del self.away[node]

    # ---- the whole ----

    def live(self):
        acts = [(30, self.submit), (6, self.cancel), (2, lambda: self.act_on("restart")),
                (2, lambda: self.act_on("preempt")), (4, self.hold), (2, self.drain),
                (0.5, self.freeze), (1, self.policy), (1, self.token), (1, self.look)]
        self.away = {}
        begin = time.monotonic()
        next_kill, next_agent = begin + 3, begin + 2
        longest = min(40, self.options.seconds / 3)
        said = begin
        while (now := time.monotonic()) < begin + self.options.seconds:
            self.bring_back()
            self.random.choices([act for _, act in acts], [weight for weight, _ in acts])[0]()
            if self.frozen and self.random.random() < 0.2:
                self.freeze()
            if now > next_kill:
                self.kill_berthd()
                next_kill = now + self.random.uniform(longest / 8, longest)
            if now > next_agent:
                self.kill_agent()
                next_agent = now + self.random.uniform(longest / 10, longest * 0.75)
            if now > said + 300:
                said = now
                print(f"{now - begin:5.0f} s: {self.words()}", flush=True)
            self.check_violations()
            time.sleep(self.random.uniform(0, 2 / self.options.rate))
        self.bring_back(at_once=True)

    def check_violations(self):
        path = os.path.join(self.pool.jobs, "violations")
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                self.find("the work says: " + file.read())
            os.rename(path, path + f".{time.time():.0f}")

    def all_rows(self):
        rows, after = {}, 0
        while True:
            page = self.pool.get("/v1/workloads?state=all&limit=1000" +
                                 (f"&after={after}" if after else ""))
            for row in page["workloads"]:
                if row["id"] in rows:
                    self.find(f"workload {row['id']} is listed twice")
                rows[row["id"]] = row
            after = page.get("next")
            if not after:
                return rows

    def settle(self):
        """What is there comes to its end, or is cancelled; then nothing is left."""
        for node in NODES:
            until(lambda node=node: self.change("POST", f"/v1/nodes/{node}/undrain", {})[0] == 200,
                  f"{node} takes work again")
        self.change("POST", "/v1/freeze", {"frozen": False})
        patience = time.monotonic() + min(90, self.options.seconds / 2)
        least, fell = float("inf"), 0
        while live := {number: row for number, row in self.all_rows().items()
                       if row["state"] not in ENDED}:
            late = time.monotonic() > patience
            if not late or len(live) < least:
                least, fell = len(live), time.monotonic()
            elif time.monotonic() > fell + 60:
                raise Trouble(f"{len(live)} workloads are cancelled, and none ends for a minute: "
                              f"{list(live.values())[:3]}")
            for number, row in live.items():
                if late or row["state"] == "held" or "service" in self.acked[number]:
                    self.cancel(number)
                    self.counts["cancelled at the end"] += late
            time.sleep(0.5)
        try:
            until(lambda: not self.pool.left(), "no process of the work is left")
        except Trouble:
            self.find(f"{len(self.pool.left())} processes are left: {self.pool.left()[:10]}")

    def check_rows(self):
        rows = self.all_rows()
        for number, body in self.acked.items():
            row = rows.pop(number, None)
            if not row:
                self.find(f"workload {number} was acknowledged and is not there")
                continue
            self.counts[row["state"]] += 1
            done = all(os.path.exists(os.path.join(self.pool.jobs, f"done.{number}.{member}"))
                       for member in range(body.get("members", 1)))
            if row["state"] == "succeeded" and not done:
                self.find(f"workload {number} succeeded, and its processes did not")
            if row["state"] == "cancelled" and number not in self.cancelled:
                self.find(f"workload {number} was cancelled by nobody")
            if row["state"] in ("lost", "stopped", "refused") or (
                    row["state"] == "failed" and not body["name"].startswith("fails")) or (
                    row["state"] == "timed_out" and "time_limit" not in body):
                self.find(f"workload {number} ({body['name']}) is {row['state']}: "
                          f"{row['cause']}")
            self.counts["stops"] += row["stops"]
        for number, row in rows.items():
            self.find(f"workload {number} ({row['name']}) was never acknowledged")

    def replayed(self, store):
        text = self.pool.berth("replay", "--quiet", "--log", store)
        found = re.search(r"(\d+) inputs decided again: the same (\d+) facts, hash (\w+)", text)
        if not found:
            raise Trouble("the log does not replay: " + text)
        return found.groups()

    def check_store(self):
        self.pool.berth("store", "check", self.pool.store)
        self.pool.berth("store", "export", self.pool.store, self.pool.path("export"))
        self.pool.berth("store", "check", self.pool.path("export"))
        self.pool.berth("store", "import", self.pool.path("export"), self.pool.path("other.db"))
        facts = {self.replayed(self.pool.path(name)) for name in ("pool.db", "export", "other.db")}
        if len(facts) != 1:
            self.find(f"the log and its copies differ: {facts}")
        inputs, count, chain = facts.pop()
        self.counts.update({"inputs": int(inputs), "facts": int(count)})
        print(f"replayed: {inputs} inputs, {count} facts, hash {chain}; the same after export and "
              "import")

    def words(self):
        return " ".join(f"{name.replace(' ', '_')}={count}" for name, count in
                        sorted(self.counts.items()) if not name.startswith("of "))

    def run(self):
        begin = time.monotonic()
        self.pool.start()
        try:
            self.live()
            self.revive()
            lived = time.monotonic() - begin
            cpu = {name: child.cpu_s + child.cpu_now() for name, child in
                   [("berthd", self.pool.berthd), *self.pool.agents.items()]}
            self.settle()
            self.check_violations()
            self.check_rows()
        finally:
            for trouble in self.pool.end():
                self.find(trouble)
        self.check_store()
        print(f"{lived:.0f} s: {self.words()}")
        print(f"of one core: berthd {100 * cpu.pop('berthd') / lived:.1f} %, agents "
              f"{100 * sum(cpu.values()) / lived:.1f} %; slowest start {self.slowest_s:.2f} s; "
              f"store {os.path.getsize(self.pool.store) / 1e6:.1f} MB")


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("build")
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--rate", type=float, default=3, help="acts a second")
    parser.add_argument("--folder", help="is kept")
    options = parser.parse_args()
    folder = options.folder or tempfile.mkdtemp(prefix="berth-hour-")
    os.makedirs(folder, exist_ok=True)
    hour = Hour(options, folder)
    try:
        hour.run()
    except Trouble as trouble:
        hour.find(str(trouble))
    if hour.findings:
        print(f"seed {options.seed}; all is kept in {folder}")
    elif not options.folder:
        shutil.rmtree(folder)
    return 1 if hour.findings else 0


if __name__ == "__main__":
    sys.exit(main())
