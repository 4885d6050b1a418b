#!/usr/bin/env python3
"""Tells what happens to people's work, with a real berthd, real agents and real processes.

    e2e.py BERTHD BERTH-AGENT BERTH [STORY ...] [--at-once N] [--list]

Each story is a function of e2e_work.py, e2e_stops.py or e2e_faults.py with a pool of its own; what
came of it is looked up with the command and in the files that the work wrote. Several are told at
once: they wait most of the time. The folder of a story that fails is kept.
"""
import argparse
import concurrent.futures
import os
import shutil
import sys
import tempfile
import time
import traceback

import e2e_faults
import e2e_stops
import e2e_work
from live_pool import Trouble


def stories():
    """By name; the longest come first, so that they are not the last to end."""
    found = {}
    for module in (e2e_stops, e2e_faults, e2e_work):
        for name, it in vars(module).items():
            if callable(it) and name.startswith("story_"):
                found[name[len("story_"):]] = it
    return dict(sorted(found.items(), key=lambda item: item[1].__doc__.startswith("Long") is False))


def tell(name, story, programs):
    folder = tempfile.mkdtemp(prefix="berth-e2e-")
    begin, words = time.monotonic(), None
    try:
        story(programs, folder)
    except Trouble as trouble:
        words = str(trouble)
    except Exception:
        words = traceback.format_exc()
    took = time.monotonic() - begin
    if words:
        print(f"FAILED {name} ({took:.1f} s): {words}\n  its folder: {folder}", flush=True)
        return False
    shutil.rmtree(folder)
    print(f"ok {name} ({took:.1f} s)", flush=True)
    return True


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    for name in ("berthd", "agent", "berth"):
        parser.add_argument(name)
    parser.add_argument("story", nargs="*")
    parser.add_argument("--at-once", type=int, default=6)
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    chosen = stories()
    if options.list:
        print("\n".join(f"{name}: {it.__doc__.splitlines()[0]}" for name, it in chosen.items()))
        return 0
    for name in options.story:
        if name not in chosen:
            parser.error(f"there is no story '{name}'; --list names them")
    chosen = {name: it for name, it in chosen.items() if name in (options.story or chosen)}
    programs = {name: os.path.abspath(path) for name, path in
                (("berthd", options.berthd), ("berth-agent", options.agent),
                 ("berth", options.berth))}
    begin = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(options.at_once) as workers:
        good = list(workers.map(lambda item: tell(*item, programs), chosen.items()))
    print(f"{sum(good)} of {len(good)} stories are as they should be, "
          f"{time.monotonic() - begin:.0f} s")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
