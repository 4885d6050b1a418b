#!/usr/bin/env python3
"""How long a submit waits while somebody asks for a review of a year.

    review.py BUILD [--tenants N] [--days N] [--hours N] [--slice N] [--seconds N] [--rounds N]

The store of a berthd with simulated nodes is filled with what so many tenants of four classes leave
in so many days: eight measures a day, and two rows of usage in each of some hours of it. Then one
client submits, one request behind the other, by turns alone and while another one asks for the
review of all of it, again and again (--slice: in questions of so many days). Shown are both, of the
same run, and their ratio.
"""
import argparse
import multiprocessing
import os
import signal
import sqlite3
import statistics
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests"))
from kill_daemon import Connection, call
from live_pool import Pool, Trouble

POOL = """kind: Pool
nodes:
  - {name: "n[001-100]", devices: {model: H100-80, count: 8}, cpu: 96, ram: 1024Gi}
"""
POLICY = """kind: Policy
preset: equal
tenants: {%s}
"""
DAY_MS = 86400000
NUMBERS = "WITH RECURSIVE number(n) AS (VALUES (0) UNION ALL SELECT n + 1 FROM number LIMIT {})"
FILL = (
    NUMBERS + """ INSERT INTO review_days
    SELECT day.n * 86400000 + :from, 't' || printf('%03d', tenant.n), 'c' || class.n, 'H100-80',
           measure.column1, measure.column2, 1 + (day.n + tenant.n) % 7
    FROM number AS day, number AS tenant, number AS class,
         (VALUES ('starts', ''), ('wait_ms', ''), ('waits_below', '4'), ('waits_below', '64'),
                 ('refused', 'LIMIT'), ('ended', 'exited'), ('ended', 'failed'),
                 ('stopped', 'stopped')) AS measure
    WHERE day.n < :days AND tenant.n < :tenants AND class.n < 4""",
    NUMBERS + """ INSERT INTO usage_hours
    SELECT (day.n * 24 + hour.n) * 3600000 + :from, 't' || printf('%03d', tenant.n), 'H100-80',
           'c' || class.n, 'whole', bucket.column1, 1000000 + day.n
    FROM number AS day, number AS hour, number AS tenant, number AS class,
         (VALUES ('delivered'), ('lost_failed')) AS bucket
    WHERE day.n < :days AND hour.n < :hours AND tenant.n < :tenants AND class.n < 4""",
)


def fill(store, options, from_ms):
    database = sqlite3.connect(store, isolation_level=None)
    database.execute("PRAGMA synchronous = OFF")
    database.execute("BEGIN")
    for text in FILL:
        database.execute(text.format(max(options.days, options.tenants)),
                         {"from": from_ms, "days": options.days, "tenants": options.tenants,
                          "hours": options.hours})
    database.execute("COMMIT")
    counts = [database.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
              for table in ("review_days", "usage_hours")]
    database.close()
    return counts


def day_of(at_ms):
    return time.strftime("%Y-%m-%d", time.gmtime(at_ms / 1000))


def review(socket, options, from_ms, asks, rests, times):
    """Another process: the review of all days, while it may."""
    connection = Connection(socket, 120)
    while True:
        if not asks.is_set():
            rests.set()
            asks.wait()
            rests.clear()
        begun = time.monotonic()
        for first in range(0, options.days, options.slice):
            last = min(first + options.slice, options.days)
            connection.request("GET", f"/v1/review?from={day_of(from_ms + first * DAY_MS)}"
                                      f"&until={day_of(from_ms + last * DAY_MS)}")
            answer = connection.getresponse()
            body = answer.read()
            if answer.status != 200:
                raise Trouble(f"{answer.status} {body}")
        times.put(time.monotonic() - begun)


def submit(connection, seconds, ret_times):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        begun = time.monotonic()
        status, answer = call(connection, "POST", "/v1/workloads",
                              {"kind": "Workload", "name": "w", "tenant": "t000",
                               "class": "training",
                               "each": {"devices": 1}, "run": {"command": ["sleep", "0.2"]}})
        if status != 201:
            raise Trouble(f"{status} {answer}")
        ret_times.append(time.monotonic() - begun)


def show(name, times):
    times = sorted(times)
    p50, p99 = (times[int(len(times) * part)] * 1000 for part in (0.5, 0.99))
    print(f"review.submit_{name} p50 {p50:.2f} ms, p99 {p99:.2f} ms, "
          f"most {times[-1] * 1000:.2f} ms ({len(times)} submits)", flush=True)
    return p99


def run(options, folder):
    pool = Pool({"berthd": os.path.join(options.build, "berthd"), "berth-agent": "", "berth": ""},
                folder, POOL, POLICY % ", ".join(f"t{number:03}: {{}}" for number in
                                                 range(options.tenants)),
                (), "--simulate", "--requests-per-s", "0", "--no-worker")
    from_ms = (int(time.time() * 1000) // DAY_MS - options.days + 1) * DAY_MS
    times = {False: [], True: []}
    asks, rests, reviews = multiprocessing.Event(), multiprocessing.Event(), multiprocessing.Queue()
    try:
        pool.start_berthd()
        pool.berthd.end(signal.SIGTERM)
        counts = fill(os.path.join(folder, "pool.db"), options, from_ms)
        print(f"review.rows {counts[0]} by the day, {counts[1]} by the hour", flush=True)
        pool.start_berthd()
        socket = pool.socket
        asker = multiprocessing.Process(target=review, daemon=True,
                                        args=(socket, options, from_ms, asks, rests, reviews))
        asker.start()
        connection = Connection(socket, 120)
        for turn in range(2 * options.rounds):
            busy = turn % 2 == 1
            if busy:
                asks.set()
            else:
                rests.wait()
            time.sleep(0.2)
            submit(connection, options.seconds, times[busy])
            asks.clear()
        rests.wait()
    finally:
        findings = pool.end()
    if findings:
        raise Trouble("\n".join(findings))
    spent = []
    while not reviews.empty():
        spent.append(reviews.get())
    print(f"review.answer p50 {statistics.median(spent) * 1000:.0f} ms ({len(spent)} reviews of "
          f"{options.days} days in questions of {options.slice})")
    alone, beside = show("alone", times[False]), show("beside_reviews", times[True])
    print(f"review.p99_ratio {beside / alone:.2f}")


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("build")
    for name, usual in (("tenants", 200), ("days", 395), ("hours", 6), ("slice", 395),
                        ("seconds", 5), ("rounds", 3)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="berth-bench-review-") as folder:
        run(options, folder)


if __name__ == "__main__":
    main()
