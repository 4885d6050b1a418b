#!/usr/bin/env python3
"""Counts a ledger again from the facts of a replay, and compares it to the unit-millisecond.

    ledger_check.py FACTS LEDGER [--showback FILE] [--focus FILE]    files of `berth replay`
    ledger_check.py --run BERTH                                      a small history of its own

What is lent and unlent follows from the policy, which the facts do not hold: not looked at.

It shares nothing with the engine but docs/ledger.md: devices are followed one by one, and their
time is put down whenever something about them changes. Knows whole devices only, as histories do.
"""
import csv
import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict

import focus_check

DEVICE = 126000
DAY_MS, HOUR_MS = 86400000, 3600000
SHAPES_MAX = 64
BUCKETS = ("delivered overhead allocated_idle allocated_unmeasured reserved_unused draining "
           "reconfiguring foreign unhealthy stranded free").split()
STOPS = {"protect": "for_promise", "order": "for_order", "time_slice": "for_time_slice",
         "gather": "for_wide_work"}
REFUNDED = set(STOPS.values()) | {"node_lost", "drained"}
OWN = {"failed", "cancelled", "time_limit", "idle", "asked"}


class Node:
    def __init__(self, model, devices):
        self.model, self.devices = model, devices
        self.drained = self.down = False
        self.broken = 0
        self.held_for = None                    # workload
        self.kept = {}                          # device: plan
        self.parts = defaultdict(list)          # device: [(workload, method, units)]
        self.since = 0
        self.buckets = {}                       # (device, bucket): (units, workload it is kept for)


class Work:
    def __init__(self, fact, shape):
        self.tenant, self.cls, self.shape = fact["tenant"], fact["class"], shape
        self.nodes = []                         # where it runs, once for each member
        self.standing = None
        self.overhead_until = 0
        self.notice_until = self.plan = None


class Run:
    def __init__(self, head):
        self.head = head
        self.start, self.end = max(head["from"], 0), head["until"]
        self.now = self.start
        self.nodes, self.work, self.plans = {}, {}, {}
        self.shapes = []                        # [devices, last used]
        self.standing_shapes, self.revised = [], None
        self.came = False                       # a shape that is not among them
        self.waiting = set()
        self.idle = defaultdict(int)            # model: units free or stranded now
        self.pool = defaultdict(int)            # (day, model, bucket)
        # (day, tenant, class, model, method, standing, what)
        self.rows = defaultdict(int)

    # ---- putting time down ----

    def split(self, begin, end):
        """The days of a stretch of time."""
        while begin < end:
            stop = min(end, begin - begin % DAY_MS + DAY_MS)
            yield begin // DAY_MS, stop - begin
            begin = stop

    def put(self, begin, end, model, bucket, units, row=None):
        for day, length in self.split(begin, end):
            self.pool[day, model, bucket] += units * length
            if row:
                self.rows[(day,) + row + (bucket,)] += units * length

    def row_of(self, number, model, method="-"):
        work = self.work[number]
        return (work.tenant, work.cls, model, method, work.standing if method != "-" else "-")

    def phases(self, work, begin, end):
        works = min(max(work.overhead_until, begin), end)
        ends = end if work.notice_until is None else min(max(work.notice_until, works), end)
        return works, ends

    def flush(self, node):
        begin, end = node.since, self.now
        node.since = end
        if begin == end:
            return
        for day, length in self.split(begin, end):
            self.pool[day, node.model, "capacity"] += node.devices * DEVICE * length
        for parts in node.parts.values():
            for number, method, units in parts:
                row = self.row_of(number, node.model, method)
                works, ends = self.phases(self.work[number], begin, end)
                self.put(begin, works, node.model, "overhead", units, row)
                self.put(works, ends, node.model, "allocated_unmeasured", units, row)
                self.put(ends, end, node.model, "draining", units, row)
        for (_, bucket), (units, number) in node.buckets.items():
            row = self.row_of(number, node.model) if number is not None else None
            self.put(begin, end, node.model, bucket, units, row)

    def look(self, node):
        """In which buckets the units are that nobody holds."""
        for (_, bucket), (units, _) in node.buckets.items():
            if bucket in ("free", "stranded"):
                self.idle[node.model] -= units
        node.buckets, open_devices = {}, []
        for device in range(node.devices):
            left = DEVICE - sum(units for _, _, units in node.parts[device])
            number = None
            if left == 0:
                continue
            if node.down or node.broken >> device & 1:
                bucket = "unhealthy"
            elif node.drained:
                bucket = "draining"
            elif device in node.kept:
                bucket, number = "reserved_unused", self.plans[node.kept[device]]["workload"]
            elif node.held_for is not None:
                bucket, number = "reserved_unused", node.held_for
            else:
                bucket = "free"
                open_devices.append((device, left))
            node.buckets[device, bucket] = (left, number)
        whole = [device for device, left in open_devices if left == DEVICE]
        usable = len(whole)
        for devices in sorted(self.standing_shapes, reverse=True):
            usable -= usable // devices * devices
        if self.standing_shapes:
            gone = set(whole[:usable]) | {d for d, left in open_devices if left < DEVICE}
            for device in gone:
                node.buckets[device, "stranded"] = node.buckets.pop((device, "free"))
        self.idle[node.model] += sum(units for (_, bucket), (units, _) in node.buckets.items()
                                     if bucket in ("free", "stranded"))

    def change(self, *nodes):
        """For a with-block in which these nodes change."""
        run = self

        class Change:
            def __enter__(self):
                for node in nodes:
                    run.flush(node)

            def __exit__(self, *_):
                for node in nodes:
                    run.look(node)
        return Change()

    def advance(self, at):
        at = min(max(at, self.now), self.end)
        if self.waiting:
            for day, length in self.split(self.now, at):
                for model, units in self.idle.items():
                    self.pool[day, model, "idle_wanted"] += units * length
        self.now = at

    # ---- standing shapes ----

    def use(self, shape):
        self.shapes[shape][1] = max(self.shapes[shape][1], self.now)

    def revise(self):
        if self.revised is not None and self.now - self.revised < HOUR_MS and not self.came:
            return
        self.revised, self.came = self.now, False
        for number, work in self.work.items():
            if work.nodes or number in self.waiting:
                self.use(work.shape)
        recent = sorted((-used, n) for n, (devices, used) in enumerate(self.shapes)
                        if devices > 0 and self.now - used <= DAY_MS)
        shapes = [self.shapes[n][0] for _, n in recent[:SHAPES_MAX]]
        if sorted(shapes) != sorted(self.standing_shapes):
            with self.change(*self.nodes.values()):
                self.standing_shapes = shapes

    # ---- facts ----

    def lose(self, number, fact):
        work, day = self.work[number], self.now // DAY_MS
        begin = min(max(self.now - fact["lost_ms"], self.start), self.now)
        works, ends = self.phases(work, begin, self.now)
        cause, by = fact["cause"], None
        if cause == "stopped" and work.plan is not None:
            cause, by = STOPS[self.plans[work.plan]["cause"]], self.plans[work.plan]["workload"]
        else:
            cause = {"stopped": "time_limit", "timed_out": "time_limit", "lost": "node_lost",
                     "exited": "failed"}.get(cause, cause)
        if cause not in REFUNDED | OWN:
            raise ValueError(f"a loss of no known cause: {cause}")
        for node in {id(n): n for n in work.nodes}.values():
            for parts in node.parts.values():
                for holder, method, units in parts:
                    lost = units * (ends - works)
                    if holder != number or lost == 0:
                        continue
                    row = (day,) + self.row_of(number, node.model, method)
                    self.pool[day, node.model, "lost"] += lost
                    self.rows[row + ("lost_" + cause,)] += lost
                    if cause in REFUNDED:
                        self.rows[row + ("refunded",)] += lost
                    if by is not None:
                        row = (day,) + self.row_of(by, node.model)
                        self.rows[row + ("caused_loss",)] += lost

    def ends(self, number, fact):
        work = self.work[number]
        nodes = list({id(n): n for n in work.nodes}.values())
        if work.nodes and fact["lost_ms"] > 0:
            self.lose(number, fact)
        with self.change(*nodes):
            for node in nodes:
                for device in node.parts:
                    node.parts[device] = [p for p in node.parts[device] if p[0] != number]
        work.nodes, work.standing, work.overhead_until = [], None, 0
        work.notice_until = work.plan = None
        self.waiting.discard(number)

    def fact(self, fact):
        kind = fact["fact"]
        self.advance(fact["t"])
        number = fact.get("workload")
        node = self.nodes.get(fact.get("node"))
        if kind == "node_set":
            node = node or self.nodes.setdefault(fact["node"], Node(fact["model"], 0))
            if node.devices == 0:
                node.since = self.now
            with self.change(node):
                node.model, node.devices = fact["model"], fact["devices"]
                node.drained, node.broken, node.down = fact["drained"], fact["broken"], False
        elif kind == "node_down":
            with self.change(node):
                node.down = True
        elif kind == "node_gone":
            self.flush(node)
            node.devices = 0
            self.look(node)
        elif kind == "queued":
            devices = [d for d, _ in self.shapes]
            if fact["devices"] not in devices:
                self.shapes.append([fact["devices"], -DAY_MS * 2])
                devices.append(fact["devices"])
            self.work[number] = Work(fact, devices.index(fact["devices"]))
            self.waiting.add(number)
            if fact["devices"] > 0 and len(self.standing_shapes) < SHAPES_MAX and \
                    fact["devices"] not in self.standing_shapes:
                self.came = True
        elif kind == "refused":
            if number in self.waiting:
                self.waiting.discard(number)
                del self.work[number]
        elif kind == "allocated":
            work = self.work[number]
            self.waiting.discard(number)
            work.standing = fact["standing"]
            with self.change(node):
                for device, method, units in fact["parts"]:
                    node.parts[device].append((number, method, units))
            work.nodes.append(node)
            self.use(work.shape)
        elif kind == "overhead":
            self.work[number].overhead_until = fact["until"]
        elif kind == "released":
            self.ends(number, fact)
            del self.work[number]
        elif kind == "requeued":
            self.ends(number, fact)
            self.waiting.add(number)
        elif kind == "standing_set":
            with self.change(*self.work[number].nodes):
                self.work[number].standing = fact["standing"]
        elif kind == "preemption_planned":
            self.plans[fact["plan"]] = {"workload": number, "cause": fact["cause"], "kept": []}
        elif kind == "place_kept":
            with self.change(node):
                for device, _, _ in fact["parts"]:
                    node.kept[device] = fact["plan"]
            self.plans[fact["plan"]]["kept"] += [(node, d) for d, _, _ in fact["parts"]]
        elif kind == "noticed":
            work = self.work[number]
            with self.change(*work.nodes):
                work.notice_until = fact["until"]
                work.plan = fact.get("plan", work.plan)
        elif kind == "notice_withdrawn":
            work = self.work[number]
            with self.change(*work.nodes):
                work.notice_until = None
        elif kind == "preemption_ended":
            self.plan_ends(fact["plan"])
        elif kind in ("node_held", "node_let_go"):
            with self.change(node):
                node.held_for = number if kind == "node_held" else None
        elif kind == "time_set":
            self.revise()

    def plan_ends(self, number):
        for node, device in self.plans[number]["kept"]:
            with self.change(node):
                node.kept.pop(device, None)
        for work in self.work.values():
            if work.plan == number and work.nodes:
                with self.change(*work.nodes):
                    work.notice_until = work.plan = None

    def finish(self):
        self.advance(self.end)
        for node in self.nodes.values():
            self.flush(node)


# ---- files ----

def read_facts(path):
    """Runs by what their rows of the tables begin with."""
    runs, run = {}, None
    with open(path, encoding="utf-8") as file:
        for line in file:
            fact = json.loads(line)
            if "run" in fact:
                head = fact["run"]
                run = Run(head)
                runs[head["policy"], head["placement"], str(head["seed"])] = run
            elif fact["t"] < run.end:
                run.fact(fact)
    for run in runs.values():
        run.finish()
    return runs


def day_text(day):
    import datetime
    return (datetime.date(1970, 1, 1) + datetime.timedelta(days=day)).isoformat()


def sums(counted, what):
    """{(day text or total, key ...): {column: sum}}"""
    tables = defaultdict(lambda: defaultdict(int))
    for key, value in counted.items():
        day, rest, column = day_text(key[0]), key[1:-1], key[-1]
        if value and column in what:
            tables[(day,) + rest][column] += value
            tables[("total",) + rest][column] += value
    return tables


def compare(name, path, runs, keys, tables_of):
    """Each number of a table against the one counted here. Returns the number of differences."""
    bad = compared = 0
    seen = set()
    tables = {run: tables_of(runs[run]) for run in runs}
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            run = (row["policy"], row["placement"], row["seed"])
            key = (row["day"],) + tuple(row[k] for k in keys)
            if row.get("class") == "-":         # what a tenant lends: not counted here
                continue
            mine = tables[run].get(key, {})
            seen.add((run, key))
            for column, text in row.items():
                if not column.endswith("_unit_ms") or column in ("lent_unit_ms", "unlent_unit_ms"):
                    continue
                compared += 1
                if int(text) != mine.get(column[:-len("_unit_ms")], 0):
                    bad += 1
                    print(f"{name}: {run} {key} {column}: {text}, counted "
                          f"{mine.get(column[:-len('_unit_ms')], 0)}")
            if name == "ledger":
                buckets = sum(int(row[b + "_unit_ms"]) for b in BUCKETS)
                if buckets != int(row["capacity_unit_ms"]):
                    bad += 1
                    print(f"{name}: {run} {key}: the buckets add up to {buckets}")
    for run in tables:
        for key in tables[run]:
            if (run, key) not in seen:
                bad += 1
                print(f"{name}: {run} {key} is not there")
    print(f"{name}: {compared} numbers, {bad} differences")
    return bad + (compared == 0)


def showback_of(run):
    rows = defaultdict(int, run.rows)
    for key, value in run.rows.items():
        if key[-1] in ("overhead", "allocated_unmeasured", "draining") and \
                key[-2] in ("standard", "spare"):
            rows[key[:-1] + ("borrowed",)] += value
    return rows


def compare_focus(path, run):
    """A bill's rows of a bucket add up to the ledger's, by day, tenant and class."""
    mine, bill = defaultdict(int), defaultdict(int)
    for (day, model, bucket), value in run.pool.items():
        if bucket in BUCKETS:
            mine[day_text(day), model, "", "", bucket] += value
    for (day, tenant, cls, model, _, _, bucket), value in run.rows.items():
        if bucket in BUCKETS:
            mine[day_text(day), model, tenant, cls, bucket] += value
            mine[day_text(day), model, "", "", bucket] -= value
        elif bucket == "refunded":
            mine[day_text(day), model, tenant, cls, "lost"] -= value
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            tags = json.loads(row["Tags"])
            bill[row["ChargePeriodStart"][:10], row["SkuId"], row["SubAccountId"],
                 tags.get("class", ""), row["x_LedgerBucket"]] += int(row["x_UnitMs"])
    bad = 0
    for key in set(mine) | set(bill):
        if mine[key] != bill[key]:
            bad += 1
            print(f"focus: {key}: {bill[key]}, counted {mine[key]}")
    print(f"focus: {len(bill)} sums, {bad} differences")
    return bad + (not bill)


def check(facts, ledger, showback=None, focus=None):
    runs = read_facts(facts)
    pool = set(BUCKETS) | {"capacity", "lost", "idle_wanted"}
    bad = compare("ledger", ledger, runs, ("model",), lambda run: sums(run.pool, pool))
    if showback:
        bad += compare("showback", showback, runs,
                       ("tenant", "class", "model", "method", "standing"),
                       lambda run: sums(showback_of(run), {c for *_, c in showback_of(run)}))
    if focus:
        bad += compare_focus(focus, next(iter(runs.values())))
    return bad


# ---- a history of its own ----

POLICY = """kind: Policy
preset: protected
classes:
  training: {rank: 1, methods: [whole], stop: for_protect, notice: 5m, exempt: 10m,
             stops_per_day: 9, order: shortest, hold_after: 10m, time_slice: {levels: [20m, 2h]}}
tenants:
  a: {protect: {V100: 8}}
  b: {}
"""

SCENARIO = """kind: Replay
name: ledger
pool: {nodes: 4, devices_per_node: 8, model: V100, prices: {V100: 2.5}, currency: EUR}
workload:
  jobs_csv: jobs.csv
  columns: {submit: at, duration: ran, devices: gpus, tenant: team}
  checkpoint: {every: 30m, restart: 90s, share_pct: 60}
policies: [POLICIES]
seeds: SEEDS
"""


def history():
    """Days of work for 32 devices: too much by day, little by night, in the end odd widths only."""
    lines, seed, at = ["at,ran,gpus,team"], 1, 1704067200 + 40000
    for i in range(420):
        seed = seed * 1103515245 + 12345 & 0x7fffffff
        busy = at % 86400 > 30000
        at += 1 + (seed >> 8) % ((900 if busy else 3600) * (3 if i >= 250 else 1))
        sizes = (1, 1, 1, 2, 4, 8, 8, 16, 3) if i < 250 else (8, 3, 3, 5, 8, 3, 5, 8, 5)
        size = sizes[(seed >> 4) % 9]
        lines.append(f"{at},{60 + (seed >> 6) % 7000},{size},{'abb'[(seed >> 12) % 3]}")
    return "\n".join(lines) + "\n"


def rows_of(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def run_own(berth):
    with tempfile.TemporaryDirectory() as folder:
        def path(name):
            return os.path.join(folder, name)

        def write(name, text):
            with open(path(name), "w", encoding="utf-8") as file:
                file.write(text)

        write("jobs.csv", history())
        write("p.yaml", POLICY)
        write("many.yaml", SCENARIO.replace("POLICIES", "default, p.yaml, fifo").replace(
            "SEEDS", "1..2"))
        write("one.yaml", SCENARIO.replace("POLICIES", "p.yaml").replace("SEEDS", "3"))
        for name, extra in ("many", []), ("one", ["--focus", path("focus.csv")]):
            subprocess.run([berth, "replay", path(name + ".yaml"), "--quiet", "--facts",
                            path("facts"), "--ledger", path("ledger.csv"), "--showback",
                            path("showback.csv"), "--report", path("report.txt")] + extra,
                           check=True, stdout=subprocess.DEVNULL)
            if check(path("facts"), path("ledger.csv"), path("showback.csv"),
                     path("focus.csv") if extra else None):
                return 1
            if extra and focus_check.report(path("focus.csv"), path("ledger.csv")):
                return 1
            with open(path("facts"), encoding="utf-8") as file:
                text = file.read()
            if not any(row["stranded_unit_ms"] != "0" for row in rows_of(path("ledger.csv"))):
                print("nothing was stranded: it tests too little")
                return 1
            for word in ("preemption_planned", "place_kept", "node_held", "overhead", "requeued"):
                if f'"fact":"{word}"' not in text:
                    print(f"the history of {name}.yaml has no '{word}': it tests too little")
                    return 1
        # A window of a millisecond is a charge period of a second, not of nothing.
        write("jobs.csv", "at,ran,gpus,team\n1704067200.5,60,8,a\n")
        subprocess.run([berth, "replay", path("one.yaml"), "--focus", path("focus.csv"),
                        "--ledger", path("short.csv")], check=True, stdout=subprocess.DEVNULL)
        if focus_check.report(path("focus.csv"), path("short.csv")):
            return 1
        # One number changed must be found.
        with open(path("ledger.csv"), encoding="utf-8") as file:
            lines = file.read().split("\n")
        fields = lines[2].split(",")
        fields[-4] = str(int(fields[-4]) + 1)
        write("ledger.csv", "\n".join(lines[:2] + [",".join(fields)] + lines[3:]))
        if not check(path("facts"), path("ledger.csv")):
            print("a changed number was not found")
            return 1
    return 0


def main():
    arguments = sys.argv[1:]
    if len(arguments) == 2 and arguments[0] == "--run":
        return run_own(arguments[1])
    if len(arguments) < 2 or len(arguments) % 2:
        print(__doc__, file=sys.stderr)
        return 2
    rest = dict(zip(arguments[2::2], arguments[3::2]))
    return min(1, check(arguments[0], arguments[1], rest.get("--showback"), rest.get("--focus")))


if __name__ == "__main__":
    sys.exit(main())
