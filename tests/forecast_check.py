#!/usr/bin/env python3
"""The process that makes a dry run's forecast: it crashes, hangs, grows, lies, and is left alone.

    forecast_check.py BERTHD-PLANTED

BERTHD-PLANTED is berthd with mistakes planted in its engine (tests/planted/planted.c), some of
which only a forecast meets. Whatever that process does, berthd stays, says in a sentence why there
is no forecast, and keeps no child, dead or alive, and no handle of it.
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from kill_daemon import Connection
from worker_check import Berthd, need, until

POLICY = """kind: Policy
preset: equal
default_class: training
tenants: {web: {}}
principals:
  - {name: ada, tenants: {web: submitter}}
  - {name: bob, tenants: {web: submitter}}
  - {name: cyd, tenants: {web: submitter}}
  - {name: dan, tenants: {web: submitter}}
"""
PERSONS = ("ada", "bob", "cyd", "dan")
ASSERT, HANG, GROW = ("31.342", "31.343", "31.344")
MEMORY_MIB = 300        # of a sanitized one, too, while it is well

# What a process in its place may not do: a line of shell, and the sentence that tells of it.
LIES = (
    ("true", "said what it may not: no line, or more than one"),
    ("echo", "said what it may not: no line"),
    ("echo forecast 10 10 1", "said what it may not: a forecast of fewer"),
    ("echo forecast 10 9 -1 5", "said what it may not: a forecast whose numbers cannot be"),
    ("echo none; echo none", "said what it may not: no line, or more than one"),
    ("printf 'none \\377\\n'", "said what it may not: a sentence"),
    ("exec head -c 1000000 /dev/zero", "ended by signal 13 (Broken pipe)"),
    ("echo forecast 10 10 1 2; exit 3", "ended with 3"),
    ("exec 1>&-; exec sleep 600", "did not come to an end within 5 s"),
)


class Forecasts(Berthd):
    """A full pool, in which what is asked for would wait."""

    policy = POLICY

    def __init__(self, program, folder, *more):
        os.mkdir(folder)
        super().__init__(program, folder, "--no-worker", "--worker-memory", str(MEMORY_MIB), *more)
        for number in range(2):
            self.submit(f"full-{number}", devices=8, seconds=90000)

    def document(self, cores="1"):
        return {"kind": "Workload", "name": "asked", "tenant": "web",
                "each": {"devices": 1, "model": "H100-80", "cpu": float(cores)},
                "run": {"command": ["true"]}}

    def begin(self, cores="1", token=None):
        """A dry run that is asked for; its answer is not waited for."""
        connection = Connection(self.socket)
        headers = {"Content-Type": "application/json"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        connection.request("POST", "/v1/workloads?dry_run=true", json.dumps(self.document(cores)),
                           headers)
        return connection

    def forecast(self, cores="1", token=None):
        answer = self.begin(cores, token).getresponse()
        text = answer.read().decode()
        need(answer.status == 200, f"dry run: {answer.status} {text}")
        return json.loads(text)["forecast"]

    def fails(self, cores, sentence):
        told = self.forecast(cores)
        need(told["futures"] == 0 and told["starts"] is None, f"a forecast of nothing: {told}")
        need(sentence in (told["none"] or ""), f"'{told['none']}' does not say '{sentence}'")

    def children(self):
        """Of all its threads; a dead one counts."""
        pids = []
        for task in os.listdir(f"/proc/{self.process.pid}/task"):
            try:
                with open(f"/proc/{self.process.pid}/task/{task}/children",
                          encoding="utf-8") as file:
                    pids += file.read().split()
            except OSError:
                continue                        # a thread that went
        return [int(pid) for pid in pids]

    def child(self):
        found = []
        until("a process makes a forecast",
              lambda: found.extend(pid for pid in self.children()
                                   if name_of(pid) == "berthd-forecast") or found)
        return found[0]

    def count(self, outcome):
        return int(self.metric(f'berth_forecasts_total{{outcome="{outcome}"}}'))

    def handles(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))


def name_of(pid):
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
            return file.read().strip()
    except OSError:
        return ""


def is_gone(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


def in_a_thread(work):
    said = []
    thread = threading.Thread(target=lambda: said.append(work()), daemon=True)
    thread.start()
    return thread, said


# ---- the stories ----

def is_made(berthd):
    told = berthd.forecast()
    need(told["none"] is None and told["futures"] >= 3, f"the forecast is {told}")
    need(berthd.count("made") == 1 and berthd.children() == [], "a process is left")


def crashes(berthd):
    berthd.fails(ASSERT, "the process that makes it ended by signal 6 (Aborted)")
    need("berthd: no forecast: pid=" in berthd.log(), f"nobody tells of it: {berthd.log()}")
    for number, name in ((signal.SIGKILL, "9 (Killed)"), (signal.SIGTERM, "15 (Terminated)")):
        thread, said = in_a_thread(lambda: berthd.forecast(HANG))
        os.kill(berthd.child(), number)
        thread.join()
        need(f"ended by signal {name}" in said[0]["none"], f"killed by {number}: {said[0]}")


def hangs(berthd):
    thread, said = in_a_thread(lambda: berthd.forecast(HANG))
    os.kill(berthd.child(), signal.SIGSTOP)
    thread.join()
    need("did not come to an end within 5 s" in said[0]["none"], f"stopped: {said[0]}")


def grows(berthd):
    berthd.fails(GROW, f"the process that makes it held more than the {MEMORY_MIB} MiB that it may")


def nobody_waits_any_more(berthd):
    before = berthd.count("given_up")
    connection = berthd.begin(HANG)
    pid = berthd.child()
    connection.close()
    until("who asked has gone, and so has the process", lambda: is_gone(pid))
    until("it counts", lambda: berthd.count("given_up") == before + 1)


def several_at_once(berthd):
    tokens = [berthd.json("POST", "/v1/tokens", {"principal": name, "role": "submitter",
                                                 "tenant": "web"}, 201)["token"]
              for name in PERSONS]
    asked = [in_a_thread(lambda token=token: berthd.forecast(token=token)) for token in tokens * 2]
    most = 0
    last = set()
    while any(thread.is_alive() for thread, _ in asked):
        # Its threads are looked at one after the other: only who is there twice was there at once.
        now = set(berthd.children())
        most, last = max(most, len(now & last)), now
        time.sleep(0.01)
    for _, said in asked:
        need(said and said[0]["none"] is None, f"one of eight at once: {said}")
    need(most <= 1, f"{most} processes at once")


def ends_with_berthd(berthd, number):
    connection = berthd.begin(HANG)
    pid = berthd.child()
    berthd.end(number)
    until(f"it goes with berthd, by {number}", lambda: is_gone(pid))
    connection.close()
    berthd.start()


def leaves_nothing(berthd, handles):
    need(berthd.children() == [], f"children are left: {berthd.children()}")
    until(f"{handles} handles, as before", lambda: berthd.handles() <= handles)


def lies(program, folder):
    path = os.path.join(folder, "liar")
    berthd = Forecasts(program, os.path.join(folder, "lies"), "--forecast-program-for-tests", path,
                       "--forecast-limit-for-tests", "5s")
    berthd.fails("1", "the process that makes it was not started: ")
    handles = berthd.handles()
    for line, sentence in LIES:
        with open(path + "-new", "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\n{line}\n")
        os.chmod(path + "-new", 0o700)
        os.rename(path + "-new", path)
        berthd.fails("1", sentence)
    need(berthd.count("failed") == len(LIES) + 1, "lies are counted")
    leaves_nothing(berthd, handles)
    berthd.end()


def by_hand(berthd, store, question, parent=None):
    return subprocess.run([berthd.program, "forecast", "--store", store, "--parent",
                           str(parent or os.getpid())], input=question, capture_output=True,
                          text=True, check=False)


def tells_what_is_wrong_with_the_store(berthd):
    document = json.dumps(berthd.document())
    told = by_hand(berthd, berthd.store, f"999999 1 json\n{document}")
    need("another store lies in its place" in told.stdout, f"an older store: {told}")
    told = by_hand(berthd, berthd.store + "-none", f"1 1 json\n{document}")
    need(told.stdout.startswith("none the store cannot be read now: "), f"no store: {told}")
    told = by_hand(berthd, berthd.store, "nonsense")
    need(told.stdout.startswith("none a question without its record"), f"nonsense: {told}")
    told = by_hand(berthd, berthd.store, f"1 1 json\n{document}", parent=1)
    need((told.returncode, told.stdout) == (1, ""), f"another's child: {told}")


def main():
    program = sys.argv[1]
    folder = tempfile.mkdtemp(prefix="berth-forecast-")
    try:
        berthd = Forecasts(program, os.path.join(folder, "pool"), "--forecast-limit-for-tests",
                           "20s")
        is_made(berthd)
        handles, pid = berthd.handles(), berthd.process.pid
        crashes(berthd)
        grows(berthd)
        nobody_waits_any_more(berthd)
        several_at_once(berthd)
        leaves_nothing(berthd, handles)
        need(berthd.process.poll() is None and berthd.process.pid == pid, "berthd has ended")
        ends_with_berthd(berthd, signal.SIGKILL)
        ends_with_berthd(berthd, signal.SIGTERM)
        berthd.end()
        need(berthd.process.returncode == 0, f"berthd ended with {berthd.process.returncode}")
        tells_what_is_wrong_with_the_store(berthd)
        berthd.more = (*berthd.more, "--forecast-limit-for-tests", "5s")
        berthd.start()
        hangs(berthd)
        leaves_nothing(berthd, handles)
        lies(program, folder)
    finally:
        for one in Berthd.all:
            if one.process.poll() is None:
                one.process.kill()
                one.process.wait()
    shutil.rmtree(folder)
    print("a forecast is made by a process, and nothing that befalls it befalls berthd")


if __name__ == "__main__":
    main()
