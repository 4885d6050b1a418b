#!/usr/bin/env python3
"""What a policy says of how long things are kept, in a berthd that runs.

    retention_check.py BERTHD BERTH

Work ends in a real berthd; while it is down its rows are dated back. Then policies come and go,
and are rolled back, without a restart: what is too old by the one in force is gone after the next
prune, and nothing else is. berthd is killed and started in between; its own --keep-ended would
leave nothing.
"""
import json
import re
import signal
import sqlite3
import sys
import tempfile

from live_pool import Pool, until

DAY_MS = 86400000
POOL = """kind: Pool
name: kept
planes: {training: {}}
nodes:
  - {name: n1, plane: training, devices: {model: H100-80, count: 8}, cpu: 64, ram: 512Gi}
"""
POLICY = "kind: Policy\npreset: equal\ntenants: {web: {}}\n"
WORK = """kind: Workload
name: %s
tenant: web
class: training
each: {devices: 1, model: H100-80}
run: {command: [sleep, "0.1"]}
"""
AGES = {"d60": 60, "d40": 40, "d20": 20, "d0": 0}      # days since their end


def expect(holds, words):
    if not holds:
        sys.exit(f"not so: {words}")


class Kept(Pool):
    def __init__(self, berthd, berth, folder):
        super().__init__({"berthd": berthd, "berth": berth, "berth-agent": ""}, folder, POOL, None,
                         (), "--simulate", "--no-worker", "--tick", "100ms", "--nodes-max", "16",
                         "--workloads-max", "100")
        self.usual, self.ids = self.berthd.command, {}

    def start(self, *options):
        self.berthd.command = [*self.usual, *options]
        self.start_berthd()

    def put(self, retention):
        status, answer = self.ask("PUT", "/v1/policy", POLICY + retention)
        expect(status == 200, f"'{retention}' is taken: {answer}")
        return answer["revision"]

    def pruned(self, revision, ended):
        """After two more prunes by that revision: the first has ended, as chores go one by one."""
        line = f"removing what is old: .* ended={ended} .* policy={revision}$"

        def count():
            with open(self.berthd.log, encoding="utf-8") as log:
                return len(re.findall(line, log.read(), re.MULTILINE))
        before = count()
        until(lambda: count() >= before + 3, f"it prunes: {line}")

    def known(self):
        return {name for name, number in self.ids.items()
                if self.ask("GET", f"/v1/workloads/{number}")[0] == 200}

    def check(self, revision, ended, *names):
        self.pruned(revision, ended)
        expect(self.known() == set(names), f"{names} are known, not {self.known()}")
        answer = self.ask("GET", "/v1/pool")[1]
        expect(answer["policy_revision"] == revision, answer)
        expect(answer["retention"]["ended"] == ended, answer["retention"])

    def work(self):
        for name in AGES:
            status, answer = self.ask("POST", "/v1/workloads", WORK % name)
            expect(status == 201, answer)
            self.ids[name] = answer["id"]
        for number in self.ids.values():
            until(lambda: self.ask("GET", f"/v1/workloads/{number}")[1]["state"] ==
                  "succeeded", f"{number} ends")

    def date_back(self):
        base = sqlite3.connect(self.store)
        with base:
            for name, days in AGES.items():
                base.execute("UPDATE objects SET ended_ms = ended_ms - ? WHERE kind = 1 AND id = ?",
                             (days * DAY_MS, self.ids[name]))
        base.close()


def what_cannot_be_is_refused(it):
    for text, sentence in (
            ("retention: {review: 12mo}",
             "policy:4: field 'retention.review': '12mo' is too short"),
            ("retention: {ended: 0}", "write 1d to 36500d, or unlimited")):
        status, answer = it.ask("PUT", "/v1/policy", POLICY + text)
        expect(status == 422 or status == 400, (status, answer))
        expect(sentence in answer["detail"], answer["detail"])


def story(it):
    it.start()
    months = it.put("retention: {ended: 30d, review: 2y}\n")
    what_cannot_be_is_refused(it)
    for_ever = it.put("retention: {ended: unlimited}\n")
    it.work()
    it.kill_berthd(signal.SIGKILL)
    it.date_back()
    often = ("--prune-every-for-tests", "100ms", "--keep-ended", "1")
    it.start(*often)
    it.check(for_ever, "unlimited", "d60", "d40", "d20", "d0")
    it.check(it.put("retention: {ended: 50d}\n"), "50d", "d40", "d20", "d0")
    it.berth("policy", "rollback", str(months))
    back = it.ask("GET", "/v1/pool")[1]
    expect(back["retention"] == {"records": "30d", "ended": "30d", "review": "24mo",
                                 "by_policy": ["ended", "review"]}, back["retention"])
    shown = it.berth("policy", "show")
    expect("# kept: records 30d, ended 30d (policy), review 24mo (policy)\n" in shown, shown)
    expect("\nretention: {ended: 30d, review: 2y}\n" in shown, shown)
    shown = it.json("policy", "show")
    expect(shown["retention"] == back["retention"], shown)
    it.check(back["policy_revision"], "30d", "d20", "d0")
    it.kill_berthd(signal.SIGKILL)
    it.start(*often)
    it.check(back["policy_revision"], "30d", "d20", "d0")
    it.check(it.put(""), "1d", "d0")    # it says nothing: as berthd was started
    it.kill_berthd(signal.SIGTERM)


def main(berthd, berth):
    with tempfile.TemporaryDirectory(prefix="berth-retention-") as folder:
        it = Kept(berthd, berth, folder)
        try:
            story(it)
        finally:
            it.end()
    print("what is kept follows the policy: put, rolled back, and after kills")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
