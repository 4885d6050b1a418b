"""Stories of work that runs: jobs, gangs, shares, arrays, services, and how they end."""
import hashlib
import os
import signal
import subprocess
import time

from e2e_story import BEATS, PRELUDE, Story, check
from live_pool import until


def berth_wait(it, *words):
    """Exit status and standard error of `berth submit --wait`."""
    done = subprocess.run([it.pool.programs["berth"], "submit", "--wait", "--tenant", "lab",
                           "--devices", "1", *words], capture_output=True, text=True, check=False,
                          timeout=120, env=dict(os.environ, BERTH_URL=it.pool.url))
    return done.returncode, done.stderr


def story_submit_and_wait(programs, folder):
    """The exit status of `berth submit --wait` is that of the work."""
    with Story(programs, folder) as it:
        rows = [(["--", "true"], 0, "succeeded"),
                (["--name", "seven", "--", "sh", "-c", "exit 7"], 7, "failed"),
                (["--name", "killed", "--", "sh", "-c", "kill -KILL $$"], 6, "failed"),
                (["--time-limit", "1s", "--", "sleep", "60"], 6, "timed_out"),
                (["--name", "nobody", "--", "/no/such/program"], 6, "failed")]
        for words, status, state in rows:
            got, text = berth_wait(it, *words)
            check((got, state in text) == (status, True), f"{words}: exit status {got}:\n{text}")
        check(berth_wait(it, "--model", "A100-40", "--", "true")[0] == 2, "it cannot fit")
        check(berth_wait(it, "--time-limit", "soon", "--", "true")[0] == 2, "it is no time")
        waiting = subprocess.Popen([programs["berth"], "submit", "--wait", "--tenant", "lab",
                                    "--name", "gone", "--devices", "1", "--", "sleep", "60"],
                                   env=dict(os.environ, BERTH_URL=it.pool.url),
                                   stderr=subprocess.PIPE, text=True)
        until(lambda: [row for row in it.pool.json("status")["workloads"]
                       if row["name"] == "gone" and row["state"] == "running"], "it runs")
        it.pool.berth("cancel", "gone")
        check(waiting.wait(60) == 6, "the end of cancelled work")
        check("cancelled" in waiting.stderr.read(), "it does not say so")


def files_with(folder, text, but):
    """The files below it that hold the text, but for those below `but`."""
    found = []
    for place, _, names in os.walk(folder):
        for path in (os.path.join(place, name) for name in names):
            if path.startswith(but) or not os.path.isfile(path):
                continue
            try:
                with open(path, "rb") as file:
                    if text.encode() in file.read():
                        found.append(path)
            except FileNotFoundError:
                pass                    # others write and rename there
    return found


def story_secrets(programs, folder):
    """Work reads the secrets that it names and the node holds; they are written nowhere."""
    first, second = "korrekt-pferd-batterie-1", "korrekt-pferd-batterie-2"
    look = (r'secret=$BERTH_SECRETS/hf-token; say size $(wc -c <"$secret"); '
            r'say sum $(sha256sum <"$secret"); ')
    with Story(programs, folder) as it:
        def submit(name, script):
            it.submit(name, run={"command": ["sh", "-c", PRELUDE + script],
                                 "secrets": ["hf-token"], "env": {"JOBS": it.pool.jobs}})

        def nowhere():
            for secret in (first, second):
                held = files_with(folder, secret, it.pool.path("secrets-"))
                check(not held, f"the secret stands in {held}")

        def sums(name):
            return [row[2] for row in it.wait_said(name, "sum")]

        submit("before", look)
        said = it.wait("before", "failed")["reason"]
        check("node n1 has no secret 'hf-token' for account" in said, said)
        check(not it.said("before"), "it ran without its secret")
        it.pool.put_secret("n1", "hf-token", first)
        submit("reads", look + BEATS)
        check(sums("reads") == [hashlib.sha256(first.encode()).hexdigest()], "another secret")
        it.wait("reads", "running")
        beside = it.pool.berth("attach", "reads", "--", "sh", "-c",
                               'cat "$BERTH_SECRETS/hf-token" | sha256sum')
        check(beside.split()[0] == sums("reads")[0], f"a program beside it reads {beside}")
        it.pool.agents["n1"].end(signal.SIGKILL)
        it.pool.put_secret("n1", "hf-token", second)
        it.pool.agents["n1"].start()
        it.pool.berth("restart", "reads", "--reason", "a new token")
        after = until(lambda: sums("reads")[1:], "it starts again")
        check(after == [hashlib.sha256(second.encode()).hexdigest()], "not the new secret")
        it.wait("reads", "running")
        nowhere()
        it.go("reads")
        it.wait("reads", "succeeded")
        status = it.pool.ask("POST", "/v1/workloads", {
            "kind": "Workload", "name": "wrong", "tenant": "lab", "each": {"devices": 1},
            "run": {"command": ["true"], "secrets": ["../hf-token"]}})
        check(status[0] == 400 and "no name of a secret" in status[1]["detail"], str(status))
        nowhere()
        it.pool.kill_berthd(signal.SIGTERM)     # the store is in its file now
        nowhere()
        check(files_with(folder, "hf-token", it.pool.path("secrets-")), "nothing was looked at")
        it.pool.start_berthd()


def story_gang(programs, folder):
    """Three members start together or not at all, know each other, and end together."""
    script = (r'say rank "$RANK" "$WORLD_SIZE" "$BERTH_RANK" "$BERTH_ADDRESSES" "$MASTER_ADDR" '
              r'"$MASTER_PORT" "$CUDA_VISIBLE_DEVICES"; '
              r'[ "$RANK" = 1 ] && { while [ ! -e gang.fail ]; do sleep 0.05; done; exit 5; }; ' +
              BEATS)
    with Story(programs, folder, nodes=3) as it:
        with it.paused("n3"):
            it.submit("gang", script, devices=2, members=3)
            it.wait("gang", "starting")
            until(lambda: {place["phase"] for place in it.row("gang")["places"]
                           if place["node"] != "n3"} == {"ready"}, "two of three are ready")
            time.sleep(0.3)
            check(not any(it.said("gang", member=member) for member in range(3)),
                  "a member did not wait for the others")
        ranks = [it.wait_said("gang", "rank", member=member)[0] for member in range(3)]
        check([row[2] for row in ranks] == ["0", "1", "2"], f"ranks: {ranks}")
        check({row[3] for row in ranks} == {"3"}, "the world is not three")
        check(len({row[5:8] for row in ranks}) == 1, f"they do not agree: {ranks}")
        nodes = [it.said("gang", "start", member)[0][3] for member in range(3)]
        check(ranks[0][5].split(",") == nodes and ranks[0][6] == nodes[0],
              f"addresses {ranks[0]} of {nodes}")
        open(os.path.join(it.pool.jobs, "gang.fail"), "w", encoding="ascii").close()
        row = it.wait("gang", "failed")
        check(row["exit_code"] == 5, f"exit code {row['exit_code']}")
        it.must_be_gone()


def story_share(programs, folder):
    """Two jobs share a device where their class allows it, each with its limits."""
    script = (r'say limits "$CUDA_MPS_ACTIVE_THREAD_PERCENTAGE" '
              r'"$CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"; ' + BEATS)
    with Story(programs, folder, devices=1, protect=1) as it:
        for name, part in (("half", 0.5), ("quarter", 0.25)):
            it.submit(name, script, each={"share": part}, **{"class": "batch"})
        limits = [it.wait_said(name, "limits")[0][2] for name in ("half", "quarter")]
        check(limits == ["50", "25"], f"limits: {limits}")
        for name in ("half", "quarter"):
            it.wait(name, "running")
        check(it.row("half")["state"] == "running", "not both run")
        nodes = it.pool.json("pool", "--nodes")["nodes"]
        device = nodes[0]["devices"][0]
        check(device["state"] == "shared" and len(device["holders"]) == 2, f"{device}")
        it.submit("third", each={"share": 0.5}, **{"class": "batch"})
        check(it.wait("third", "queued")["verdict"] == "WAIT_CAPACITY", "three halves fit")
        it.go("half")
        it.wait("third", "running")
        for name in ("quarter", "third"):
            it.go(name)
            it.wait(name, "succeeded")
        check(it.pool.json("pool")["models"][0]["free"] in ("1", 1), f"{it.pool.json('pool')}")


def story_array_and_after(programs, folder):
    """Tasks of an array, two at once; what comes after them starts when all have ended well."""
    script = ('say index "$BERTH_ARRAY_INDEX"; say runs; while [ ! -e sweep.go ]; do sleep 0.05; done; '
              'sleep 0.3; say done; ls -d *.0 >"seen.$BERTH_WORKLOAD"')
    with Story(programs, folder, devices=4) as it:
        rows = it.submit("sweep", script, array="1-4%2")
        it.submit("after", 'say came "$(grep -c done sweep.0)"', after=["sweep"])
        check(len(rows) == 4, f"{rows}")
        check(it.row("after")["verdict"] == "HELD", "it does not wait")
        it.wait_said("sweep", "runs", 2)
        it.go("sweep")
        it.wait("after", "succeeded")
        check(it.said("after", "came")[0][2] == "4", "it did not wait for all")
        at_once = most = 0
        for row in sorted(it.said("sweep")):
            at_once += {"runs": 1, "done": -1}.get(row[1], 0)
            most = max(most, at_once)
        check(most == 2, f"{most} ran at once")
        indexes = sorted(row[2] for row in it.said("sweep", "index"))
        check(indexes == ["1", "2", "3", "4"], f"tasks are told that they are {indexes}")
        it.submit("bad", BEATS + "exit 1")
        it.submit("never", after=["bad"])
        it.go("bad")
        it.wait("bad", "failed")
        it.wait("never", "refused")
        check(not it.said("never"), "it came after what failed")


def story_retries(programs, folder):
    """What fails is tried again, as often as it said."""
    with Story(programs, folder) as it:
        it.submit("third", '[ "$(grep -c start third.0)" = 3 ]', retries=2)
        it.wait("third", "succeeded")
        check(len(it.said("third", "start")) == 3, "it did not run three times")
        it.submit("never", "exit 4", retries=1)
        row = it.wait("never", "failed")
        check(row["exit_code"] == 4, f"{row}")
        check(len(it.said("never", "start")) == 2, "it did not run twice")


def story_service(programs, folder):
    """Long: replicas stay: one that is killed comes back, the other goes on."""
    with Story(programs, folder) as it:
        rows = it.submit("serve", 'cp /dev/null "r.$BERTH_WORKLOAD.$$"; ' + BEATS,
                         service={"replicas": 2, "port": 8000})
        check(len(rows) == 2, f"{rows}")
        starts = it.wait_said("serve", "start", 2)
        os.kill(int(starts[0][2]), signal.SIGKILL)
        again = it.wait_said("serve", "start", 3)[2]
        check(again[4] not in (starts[0][4], starts[1][4]), "the epoch of another run")
        os.kill(int(starts[1][2]), 0)                           # it is there
        until(lambda: [row["state"] for row in it.pool.json("status")["workloads"]] ==
              ["running", "running"], "both run")
        for row in rows:
            it.pool.berth("cancel", row["id"])
        until(lambda: not it.pool.json("status")["workloads"], "nothing is live")
        it.must_be_gone()


def story_logs(programs, folder):
    """`berth logs -f` shows all that is written, as it is written, and ends with the work."""
    script = ('n=0; while [ $n -lt 20 ]; do echo "line $n"; echo "to err $n" >&2; n=$((n + 1)); '
              'sleep 0.05; done; while [ ! -e talks.go ]; do sleep 0.05; done; printf last')
    with Story(programs, folder) as it:
        it.submit("talks", script)
        it.wait("talks", "running")
        follows = subprocess.Popen([programs["berth"], "logs", "-f", "talks"],
                                   stdout=subprocess.PIPE, text=True,
                                   env=dict(os.environ, BERTH_URL=it.pool.url))
        check([follows.stdout.readline() for _ in range(20)] ==
              [f"line {n}\n" for n in range(20)], "other lines")
        it.pool.kill_berthd()                                   # and it goes on
        it.pool.start_berthd()
        it.go("talks")
        check(follows.stdout.read() == "last", "the last line is not there")
        check(follows.wait(60) == 0, "it ends badly")
        it.wait("talks", "succeeded")
        check(it.pool.berth("logs", "talks", "--tail", 2) == "line 19\nlast", "the tail")
        check(it.pool.berth("logs", "talks", "--stderr").count("to err") == 20, "standard error")
