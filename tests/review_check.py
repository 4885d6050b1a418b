#!/usr/bin/env python3
"""Counts what happened in a pool again, from its log alone, and compares it with the store's days.

    review_check.py BERTHD [--rounds N] [--seed N]
    review_check.py --self-test

A real berthd with simulated nodes is given work of several tenants and classes, some of which it
refuses, stops or cancels, and is ended, mostly by SIGKILL, between and behind its snapshots. Every
other time those are taken from it, so that it comes back by the whole log and all its notes. Then
nothing but the records is read, in an own way: whoever is wrong, the two differ. Each round is
compared up to the newest note, the end as a whole.
"""
import argparse
import collections
import json
import os
import random
import signal
import sqlite3
import sys
import tempfile
import time

from live_pool import Pool

UNITS = 126000
DAY = 86400000
POOL = """kind: Pool
name: counted
planes: {training: {}}
nodes:
  - {name: "h[1-2]", plane: training, devices: {model: H100-80, count: 8}, cpu: 64, ram: 512Gi}
  - {name: "a1", plane: training, devices: {model: A100-40, count: 4}, cpu: 64, ram: 512Gi}
"""
POLICY = """kind: Policy
preset: protected
default_class: training
classes:
  training: {rank: 1, notice: 1s, exempt: 0s, stops_per_day: 1000}
  batch: {rank: 2, notice: 1s, exempt: 0s, stops_per_day: 1000, stop: always}
tenants:
  web: {protect: {H100-80: 8}}
  lab: {tenants: {a: {}, b: {classes: [batch]}}}
reservations:
  - {name: show, tenant: lab/a, devices: {H100-80: 4}, from: %s, until: %s}
"""
TENANTS = ["web", "lab", "lab/a", "lab/b"]      # as the policy numbers them: parents first
CLASSES = ["training", "batch"]
MODEL_OF = {"h": "H100-80", "a": "A100-40"}     # by the first letter of a node's name
RESERVED_TENANT, RESERVED_UNITS = 2, 4 * UNITS


# ---- the story ----

class Story(Pool):
    def __init__(self, berthd, folder, seed):
        day = int(time.time()) // 86400 * 86400
        stamp = lambda at: time.strftime("%Y-%m-%dT%H:%MZ", time.gmtime(at))
        super().__init__({"berthd": berthd, "berth": "", "berth-agent": ""}, folder, POOL,
                         POLICY % (stamp(day - 86400), stamp(day + 3 * 86400)), (), "--simulate",
                         "--tick", "100ms", "--nodes-max", "16", "--workloads-max", "1000",
                         "--snapshot-every", "100")
        self.random, self.ids = random.Random(seed), []

    def submit(self):
        draw = self.random
        tenant = draw.choice(["web", "lab/a", "lab/b"])
        model = draw.choice(["model: H100-80", "model: H100-80", "model: A100-40", "model: '*'"])
        text = (f"kind: Workload\nname: w{len(self.ids)}\ntenant: {tenant}\n"
                f"class: {draw.choice(CLASSES)}\nmembers: {draw.choice([1, 1, 1, 2])}\n"
                f"each: {{devices: {draw.choice([0, 1, 2, 4, 8, 9])}, {model}}}\n"
                f"run: {{command: [sleep, \"{draw.choice([0.1, 0.3, 5])}\"]}}\n")
        status, answer = self.ask("POST", "/v1/workloads", text)
        if status == 201:
            self.ids.append(answer["id"])

    def lose_snapshots(self):
        base = sqlite3.connect(self.store)
        with base:
            base.execute("DELETE FROM snapshot_chunks")
            base.execute("DELETE FROM snapshots")
        base.close()

    def live(self, steps):
        for _ in range(steps):
            what = self.random.random()
            if what < 0.8:
                self.submit()
            elif what < 0.9 and self.ids:
                self.ask("DELETE", f"/v1/workloads/{self.random.choice(self.ids)}")
            elif self.ids:
                self.ask("POST", f"/v1/workloads/{self.random.choice(self.ids)}/restart", "{}")
            time.sleep(self.random.random() * 0.03)


# ---- counting again ----

class Count:
    """Rows as the store has them, from records alone."""

    def __init__(self):
        self.rows = collections.Counter()
        self.works, self.nodes, self.names, self.models = {}, {}, {}, {}
        self.words = 0
        self.now, self.asked, self.has_policy = 0, None, False

    def add(self, work, measure, detail, amount, at):
        tenant = TENANTS[work["tenant"]] if self.has_policy else ""
        class_ = CLASSES[work["class"]] if self.has_policy else ""
        self.rows[at // DAY * DAY, tenant, class_, self.model_of(work), measure, detail] += amount

    def model_of(self, work):
        if not work["devices"]:
            return ""
        if work["places"]:
            return self.models[self.nodes[work["places"][min(work["places"])]]]
        mask = work["models"]
        return self.models.get(mask.bit_length() - 1, "") if mask and mask & (mask - 1) == 0 else ""

    @staticmethod
    def work_of(request):
        need = request.get("need", {})
        return {"tenant": request.get("tenant", 0), "class": request.get("class", 0),
                "devices": need.get("devices", 0), "models": need.get("models", 0), "places": {},
                "attained": 0, "saved": 0, "units": 0, "inside": None}

    def see_input(self, body):
        self.asked = body.get("request") if body["input"] == "submitted" else None

    def see_facts(self, body, at):
        for name in body.get("words", {}).get("name", []):
            self.words += 1
            self.names[self.words] = name
        for fact in body["facts"]:
            getattr(self, "fact_" + fact["fact"], lambda *_: None)(fact, at)

    def fact_node_set(self, fact, _):
        desc = fact["desc"]
        model = desc.get("model", 0)
        self.nodes[fact.get("node", 0)] = model
        self.models[model] = MODEL_OF[self.names[desc["name"]][0]]

    def fact_policy_in_force(self, *_):
        self.has_policy = True

    def fact_queued(self, fact, at):
        work = self.work_of(fact["request"])
        work["since"] = at
        self.works[fact["request"]["workload"]] = work

    def fact_refused(self, fact, at):
        gate = fact.get("gate", "ALLOWED")
        work = self.works.pop(fact["workload"], None)
        if work is None:
            assert self.asked["workload"] == fact["workload"]
            work = self.work_of(self.asked)
        self.add(work, "refused", gate, 1, at)

    def fact_allocated(self, fact, at):
        place = fact["place"]
        work = self.works[place["workload"]]
        first = not work["places"]
        work["places"][place.get("member", 0)] = place.get("node", 0)
        work["units"] += UNITS * len(place.get("parts", []))
        self.stand(work, place)
        if not first:
            return
        wait = at - work["since"]
        below = 1
        while below * 1000 <= wait:
            below *= 2
        self.add(work, "starts", "", 1, at)
        self.add(work, "wait_ms", "", wait, at)
        self.add(work, "waits_below", str(below), 1, at)

    @staticmethod
    def stand(work, fact):
        protected = fact.get("standing", "protected") == "protected"
        work["inside"] = fact.get("promise_tenant", 0) if protected else None

    def fact_standing_set(self, fact, _):
        self.stand(self.works[fact["workload"]], fact)

    def restored(self, work, at):
        if work["places"] and work["attained"] > 0 and work["saved"] == 0:
            self.add(work, "restores", "", 1, at)

    def fact_checkpoint_set(self, fact, at):
        work = self.works[fact["workload"]]
        self.restored(work, at)
        self.add(work, "checkpoints", "", 1, at)
        work["saved"] = fact["saved_ms"]

    def fact_released(self, fact, at):
        work = self.works.pop(fact["workload"])
        cause = fact.get("cause", "exited")
        if cause == "exited":
            self.restored(work, at)
        self.add(work, "ended", cause, 1, at)

    def fact_requeued(self, fact, at):
        work = self.works[fact["workload"]]
        self.add(work, "stopped", fact.get("cause", "exited"), 1, at)
        work.update(places={}, units=0, inside=None, saved=0, since=at,
                    attained=fact.get("attained_ms", 0))

    def fact_time_set(self, fact, _):
        """The reservation is open all the time; lab/a has no promise beside it."""
        until = fact["now_ms"]
        at, self.now = self.now, until
        if at == 0:
            return
        used = sum(work["units"] for work in self.works.values()
                   if work["inside"] == RESERVED_TENANT and
                   self.model_of(work) == "H100-80")
        used = min(used, RESERVED_UNITS)
        key = (TENANTS[RESERVED_TENANT], "", "H100-80", "reserved")
        while at < until:
            end = min((at // DAY + 1) * DAY, until)
            for detail, units in (("promised", RESERVED_UNITS), ("used", used),
                                  ("others", RESERVED_UNITS - used)):
                self.rows[(at // DAY * DAY,) + key + (detail,)] += units * (end - at)
            at = end


def read_store(path):
    """What was counted again up to the newest note, and what the store has."""
    base = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    records = base.execute("SELECT seq, kind, at_ms, body FROM records ORDER BY seq").fetchall()
    stored = collections.Counter()
    for day, tenant, class_, model, measure, detail, amount in base.execute(
            "SELECT day_ms, tenant, class, model, measure, detail, amount FROM review_days"):
        if measure == "reserved" and detail in ("lent", "unused"):
            detail = "others"           # what the ledger tells apart
        stored[day, tenant, class_, model, measure, detail] += amount
    base.close()
    notes = [seq for seq, kind, _, body in records
             if kind == 4 and b"usage_until_ms" in body]
    count = Count()
    for seq, kind, at, body in records:
        if not notes or seq > notes[-1]:
            break
        if kind == 1:
            count.see_input(json.loads(body))
        elif kind == 2:
            count.see_facts(json.loads(body), at)
    return count.rows, stored


def compare(counted, stored):
    findings = []
    for key in sorted(set(counted) | set(stored)):
        if counted[key] != stored[key]:
            findings.append(f"{key[1:]}: {stored[key]} in the store, {counted[key]} by the log")
    return findings


def tell(story, rounds, seed):
    for number in range(rounds):
        story.start_berthd()
        story.live(25)
        last = number == rounds - 1
        story.kill_berthd(signal.SIGTERM if last or number % 4 == 2 else signal.SIGKILL)
        if number % 2 == 1 and not last:
            story.lose_snapshots()
        counted, stored = read_store(story.store)
        findings = compare(counted, stored)
        if findings:
            sys.exit(f"seed {seed}, round {number}:\n  " + "\n  ".join(findings[:20]))
    wanted = {"starts", "wait_ms", "waits_below", "refused", "ended", "stopped", "reserved"}
    missing = wanted - {key[4] for key in stored}
    if missing:
        sys.exit(f"seed {seed}: the story shows no {', '.join(sorted(missing))}")
    print(f"{rounds} rounds, {len(stored)} rows, {sum(1 for k in stored if k[4] == 'refused')} "
          f"of refusals: all as the log says (seed {seed})")


def run(berthd, rounds, seed):
    with tempfile.TemporaryDirectory(prefix="berth-review-") as folder:
        story = Story(os.path.abspath(berthd), folder, seed)
        try:
            tell(story, rounds, seed)
        finally:
            story.end()


def self_test():
    counted = collections.Counter({(0, "web", "", "", "starts", ""): 2})
    assert not compare(counted, counted)
    assert compare(counted, collections.Counter({(0, "web", "", "", "starts", ""): 3}))
    assert compare(counted, collections.Counter())
    assert compare(collections.Counter(), counted)
    print("a wrong sum is found")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("berthd", nargs="?")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--self-test", action="store_true")
    options = parser.parse_args()
    if options.self_test:
        self_test()
    else:
        run(options.berthd, options.rounds, options.seed)


if __name__ == "__main__":
    main()
