"""Stories of what breaks, and of operators who change things while work runs."""
import os
import shutil
import signal
import subprocess
import threading
import time

from e2e_story import BEATS, POLICY, Relay, Story, check
from live_pool import until


def story_controller_restarts(programs, folder):
    """berthd ends, is killed, reads its policy again: work goes on and nobody notices."""
    with Story(programs, folder) as it:
        it.submit("goes-on")
        start = it.wait_said("goes-on", "start")[0]
        it.wait("goes-on", "running")
        check(it.pool.kill_berthd(signal.SIGTERM) == 0, "berthd ends badly")
        it.pool.start_berthd()
        it.wait("goes-on", "running")
        it.pool.kill_berthd()
        beats = len(it.said("goes-on", "beat"))
        it.wait_said("goes-on", "beat", beats + 3)
        it.pool.start_berthd()
        it.wait("goes-on", "running")
        revision = it.pool.json("pool")["policy_revision"]
        it.pool.write("policy.yaml", POLICY % dict(it.terms, limit=1))
        it.pool.berthd.process.send_signal(signal.SIGHUP)
        until(lambda: it.pool.json("pool")["policy_revision"] == revision + 1, "the new policy")
        it.pool.write("policy.yaml", "kind: Policy\ntenants: {lab: {limt: 1}}\n")
        it.pool.berthd.process.send_signal(signal.SIGHUP)
        until(lambda: "limt" in it.pool.berthd.words(), "berthd says what is wrong")
        check(it.pool.json("pool")["policy_revision"] == revision + 1, "a bad policy is in force")
        it.pool.write("policy.yaml", POLICY % dict(it.terms, limit=1))
        it.go("goes-on")
        it.wait("goes-on", "succeeded")
        check(it.said("goes-on", "start") == [start], "it was started again")


def story_agent_restarts(programs, folder):
    """An agent is killed: work goes on or ends, and the next agent takes it over."""
    with Story(programs, folder) as it:
        for name in ("goes-on", "ends"):
            it.submit(name)
            it.wait(name, "running")
        agent = it.pool.agents["n1"]
        agent.end(signal.SIGKILL)
        beats = len(it.said("goes-on", "beat"))
        it.go("ends")
        it.wait_said("ends", "end")
        it.wait_said("goes-on", "beat", beats + 3)
        agent.start()
        it.wait("ends", "succeeded")
        check(it.row("goes-on")["state"] == "running", "it was not taken over")
        it.go("goes-on")
        it.wait("goes-on", "succeeded")
        check(len(it.said("goes-on", "start")) == 1, "it was started again")


def story_node_cut_off(programs, folder):
    """Long: a node is cut off for longer than its lease: its work is gone before it starts elsewhere."""
    with Story(programs, folder, nodes=2, lease="6s") as it:
        it.submit("moves", devices=2)
        node = it.wait_said("moves", "start")[0][3]
        it.pool.berth("cancel", "moves")
        it.wait("moves", "cancelled")
        agent = it.pool.agents[node]                            # from now on through a relay
        agent.end(signal.SIGTERM)
        relay = Relay(os.path.join(folder, "relay"), it.pool.socket)
        relay.start()
        agent.command[agent.command.index("--url") + 1] = f"unix:{folder}/relay"
        agent.start()
        other = "n2" if node == "n1" else "n1"
        it.pool.berth("drain", other)
        until(lambda: [row for row in it.pool.json("pool", "--nodes")["nodes"]
                       if row["name"] == node and row["state"] == "up"], "the node is there")
        it.submit("lost", devices=2)
        it.wait_said("lost", "beat")
        it.wait("lost", "running")
        it.pool.berth("undrain", other)
        relay.cut()
        second = it.wait_said("lost", "start", 2)[1]
        check(second[3] == other, f"it is on {second[3]}")
        first = it.said("lost", "start")[0]
        check(not os.path.exists(f"/proc/{first[2]}"), "the old process is still there")
        relay.is_cut = False
        until(lambda: [row for row in it.pool.json("pool", "--nodes")["nodes"]
                       if row["name"] == node and row["state"] == "up"], "the node is back")
        it.submit("back", devices=2)
        check(it.wait_said("back", "start")[0][3] == node, "it does not take work again")
        for name in ("lost", "back"):
            it.go(name)
            it.wait(name, "succeeded")


def story_agent_away_for_long(programs, folder):
    """Long: no agent for longer than the lease: work starts elsewhere, and what is left ends."""
    with Story(programs, folder, nodes=2, lease="6s") as it:
        it.submit("lost", devices=2)
        node = it.wait_said("lost", "start")[0][3]
        it.wait("lost", "running")
        agent = it.pool.agents[node]
        agent.end(signal.SIGKILL)
        first, second = it.wait_said("lost", "start", 2)[:2]
        check(second[3] != node, "it is on the same node")
        agent.start()
        until(lambda: not os.path.exists(f"/proc/{first[2]}"), "the old run has ended")
        it.submit("next", devices=2)
        check(it.wait_said("next", "start")[0][3] == node, "the node does not take work again")
        check(it.row("lost")["state"] == "running", "the second run was ended too")
        stop = it.row("lost")["last_stop"]
        check(stop["cause"] == "lost" and stop["node"] == node and f"with node {node}" in
              stop["text"], f"it is not told with which node it was lost: {stop}")


def story_lost_answer(programs, folder):
    """The answer is lost: the command asks again, and there is one workload."""
    with Story(programs, folder) as it:
        relay = Relay(os.path.join(folder, "relay"), it.pool.socket)
        relay.loses = True
        relay.start()
        url, it.pool.url = it.pool.url, f"unix:{folder}/relay"
        threading.Thread(target=lambda: (until(lambda: relay.lost, "an answer is lost"),
                                         setattr(relay, "loses", False)), daemon=True).start()
        row = it.submit("once")
        it.pool.url = url
        check(relay.lost >= 1, "no answer was lost")
        rows = [row["id"] for row in it.pool.json("status", "--all")["workloads"]]
        check(rows == [row["id"]], f"there are {rows}")
        body = {"kind": "Workload", "name": "again", "tenant": "lab",
                "each": {"devices": 0, "cpu": 1},
                "run": {"command": ["true"]}}
        first = it.pool.ask("POST", "/v1/workloads", body, Idempotency_Key="k1")
        it.pool.kill_berthd()
        it.pool.start_berthd()
        second = it.pool.ask("POST", "/v1/workloads", body, Idempotency_Key="k1")
        check(first == second and first[0] == 201, f"{first} and then {second}")
        other = it.pool.ask("POST", "/v1/workloads", dict(body, name="other"), Idempotency_Key="k1")
        check(other[0] == 409, f"another request with the same key: {other}")


def story_policy_changes(programs, folder):
    """A lower limit stops nothing that runs, and holds for what comes; a rollback undoes it."""
    with Story(programs, folder) as it:
        before = it.pool.json("pool")["policy_revision"]
        it.submit("runs", devices=1)
        it.wait("runs", "running")
        path = it.pool.write("lower.yaml", POLICY % dict(it.terms, limit=1))
        it.pool.berth("apply", path, "--reason", "budget")
        it.submit("waits", devices=1)
        row = it.wait("waits", "queued")
        check(row["verdict"] == "WAIT_QUOTA", f"{row['verdict']}")
        time.sleep(0.5)
        check(it.row("runs")["state"] == "running", "a lower limit stopped it")
        check(not it.said("waits"), "it started above the limit")
        it.pool.berth("policy", "rollback", before)
        it.wait("waits", "running")
        bad = it.pool.write("bad.yaml", "kind: Policy\ntenants: {lab: {limt: {H100-80: 1}}}\n")
        it.pool.berth("apply", bad, status=2)
        check(len(it.said("runs", "start")) == 1, "it was started again")
        for name in ("runs", "waits"):
            it.go(name)
            it.wait(name, "succeeded")


def story_freeze(programs, folder):
    """A frozen pool starts nothing and lets run what runs; it can be cancelled and submitted."""
    with Story(programs, folder) as it:
        it.submit("runs", devices=1)
        it.wait("runs", "running")
        it.pool.berth("freeze", "--reason", "storage")
        it.submit("waits", devices=1)
        time.sleep(0.6)
        check(it.row("waits")["state"] == "queued" and not it.said("waits"), "it started")
        check(it.pool.json("pool")["frozen"], "it does not say so")
        it.go("runs")
        it.wait("runs", "succeeded")
        it.pool.kill_berthd()
        it.pool.start_berthd()
        time.sleep(0.4)
        check(it.row("waits")["state"] == "queued", "the freeze is forgotten")
        it.pool.berth("unfreeze")
        it.wait("waits", "running")
        it.go("waits")
        it.wait("waits", "succeeded")


def story_broken_device(programs, folder):
    """Long: a device breaks: its work waits again and starts on another one."""
    with Story(programs, folder) as it:
        it.submit("work", BEATS)
        device = it.wait_said("work", "start")[0][5]
        it.wait("work", "running")
        state = os.path.join(folder, "agent-n1", "sim-broken")
        with open(state, "w", encoding="ascii") as file:
            file.write(device + "\n")
        second = it.wait_said("work", "start", 2)[1]
        check(second[5] != device, "on the broken device")
        check(it.pool.json("pool")["models"][0]["unhealthy"] in ("1", 1), "it is not said")
        os.unlink(state)
        until(lambda: it.pool.json("pool")["models"][0]["unhealthy"] in ("0", 0), "it is whole")
        it.go("work")
        it.wait("work", "succeeded")


def story_up_and_down(programs, folder):
    """`make up` is a pool that works; `make down` ends it, and what runs in it."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools", "up.sh")
    words = ["sh", script, os.path.dirname(programs["berthd"]), folder]
    url = f"unix:{folder}/berthd.sock"

    def run(*command):
        done = subprocess.run(command, text=True, capture_output=True, check=False, timeout=120,
                              env=dict(os.environ, BERTH_URL=url))
        check(done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    check("hello from hello" in run(*words), "it does not greet")
    try:
        run(programs["berth"], "submit", "--tenant", "research", "--class", "training",
            "--devices", "1", "--workdir", folder, "--name", "stays", "--", "sh", "-c",
            "echo $$ >pid; exec sleep 600")
        pid = until(lambda: os.path.exists(f"{folder}/pid") and
                    open(f"{folder}/pid", encoding="ascii").read().strip(), "it runs")
    finally:
        run(*words, "down")
    check(not os.path.exists(f"/proc/{pid}"), "what ran in it goes on")


def story_store_restored(programs, folder):
    """Long: the store is an older copy: work begins at once, and nothing begins twice unsaid."""
    with Story(programs, folder, nodes=3) as it:
        def number(name):
            return it.row(name)["id"]

        for name in ("stays", "ends", "anew"):
            it.submit(name)
            it.wait(name, "running")
        it.submit("held", hold=True)
        it.pool.berth("store", "backup", it.pool.store, it.pool.path("backup.db"))
        it.submit("over")
        it.pool.berth("release", "held")
        for name in ("ends", "over", "held"):
            it.wait(name, "running")
            it.go(name)
            it.wait(name, "succeeded")
        it.submit("later")
        late = it.wait_said("later", "start")[0][3]
        it.wait("later", "running")
        it.pool.berth("restart", "anew")
        it.wait_said("anew", "start", 2)
        it.wait("anew", "running")
        highest = number("later")
        check(it.pool.kill_berthd(signal.SIGTERM) == 0, "berthd ends badly")
        os.makedirs(it.pool.path("old"))
        for end in ("", "-wal", "-shm"):
            if os.path.exists(it.pool.store + end):
                os.rename(it.pool.store + end, it.pool.path(f"old/pool.db{end}"))
        shutil.copy(it.pool.path("backup.db"), it.pool.store)

        new = ["at-once", "new-0", "new-1", "new-2"]
        with it.paused(late):
            it.pool.start_berthd()
            for name in new:
                it.submit(name)
            until(lambda: [name for name in new if it.said(name, "start")][1:],
                  "new work begins though a node is late")
        for name in (*new, "anew", "stays"):
            it.wait(name, "running")
        it.wait("ends", "succeeded")
        pid = it.said("later", "start")[0][2]
        until(lambda: not os.path.exists(f"/proc/{pid}"), "what the store does not know has ended")
        check({it.said(name, "start")[0][3] for name in new} >= {late}, "none on the late node")
        ran = until(lambda: it.events("held", "ran_before"), "that held has run before is said")
        check(ran[0]["node"] == it.said("held", "start")[0][3], f"it ran elsewhere: {ran}")
        for name, starts in (("stays", 1), ("ends", 1), ("over", 1), ("later", 1), ("held", 1), ("anew", 3),
                             *((name, 1) for name in new)):
            check(len(it.said(name, "start")) == starts,
                  f"{name} was started {len(it.said(name, 'start'))} times")
        causes = [row["cause"] for row in it.events("anew", "requeued")]
        check(causes == ["lost"], f"why it begins anew is not said: {causes}")
        alerts = it.pool.json("alerts")["alerts"]
        check(any(row["kind"] == "store_behind" and row["subject"] == late for row in alerts),
              f"that the store is behind is not said: {alerts}")
        for name in (*new, "anew", "stays"):
            it.go(name)
            it.wait(name, "succeeded")
        it.submit("next")
        check(number("next") > highest, f"{number('next')} was given before, up to {highest}")
        it.pool.berth("release", "held")
        for name in ("next", "held"):
            it.go(name)
            it.wait(name, "succeeded")
