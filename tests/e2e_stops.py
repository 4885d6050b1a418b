"""Stories of work that is told to stop: preemption, drains, cancels, limits of time."""
import json
import os
import subprocess
import time
from pathlib import Path

from e2e_story import BEATS, Story, check, ms_of
from live_pool import until

# Saves when it is told to, works on a little, and ends; goes on from where it was.
SAVES = r"""
saved=saved.$BERTH_RANK
[ -e "$saved" ] && say "resumes" "$(cat "$saved")"
told() {
        say told; cp "$BERTH_NOTICE_FILE" notice
        echo 42 >"$saved"; touch "$BERTH_CHECKPOINT_FILE"; say saved
        n=0; while [ $n -lt 20 ]; do sleep 0.05; n=$((n + 1)); done
        say leaves; exit 75
}
trap told USR1
""" + BEATS
# Takes note of what it is told, and goes on.
DEAF = r"""
trap 'say told' USR1
trap 'say term' TERM
""" + BEATS
SIGNAL = {"every": "1h", "within": "1s", "signal": "USR1"}


def check_lost(story, name, least, most):
    """What its last requeue says is lost is between these."""
    rows = story.events(name, "requeued")
    check(rows, f"{name} was not queued again")
    lost = rows[-1]["lost_ms"]
    check(least - 100 <= lost <= most + 100, f"lost_ms is {lost}, not from {least} to {most}")


def span_of(row, run):
    """When the run of that number began and ended, as the pool says it."""
    it = row["runs"][run - 1]
    return ms_of(it["started"]), ms_of(it["ended"])


def story_preempted_and_saved(programs, folder):
    """A promise takes the place of work that saves when told; it goes on from there."""
    with Story(programs, folder, notice="60s") as it:
        it.submit("victim", SAVES, devices=2, checkpoint=SIGNAL)
        it.wait_said("victim", "beat", 40)      # runs for far longer than it may lose
        it.submit("promised", devices=2, tenant="web")
        row = it.wait("victim", "stopping", "queued")
        check(row["state"] == "queued" or row["notice"]["cause"] == "preemption", f"cause of {row}")
        it.wait("promised", "running")
        started = it.wait_said("promised", "start")[0]
        leaves = it.wait_said("victim", "leaves")[0]
        notice = open(it.pool.jobs + "/notice", encoding="utf-8").read()
        check('"until_ms"' in notice and '"preemption"' in notice, f"the notice file is {notice}")
        check(started[0] >= leaves[0], "two had the devices")
        check(started[0] < json.loads(notice)["until_ms"], "it waited for the end of the notice")
        row = it.wait("victim", "queued")
        check(row["stops"] == 1, f"stops are {row['stops']}")
        _, ended = span_of(row, 1)
        check(ended >= leaves[0], "it has ended before it left")
        check_lost(it, "victim", ended - it.said("victim", "saved")[0][0],
                   ended - it.said("victim", "told")[0][0])
        it.go("promised")
        it.wait("promised", "succeeded")
        check(it.wait_said("victim", "resumes")[0][2] == "42", "it lost its checkpoint")
        it.go("victim")
        it.wait("victim", "succeeded")
        check(len(it.said("victim", "told")) == 1, "it was told more than once")


def refused_logs(it, *words):
    """Exit status and standard error of `berth logs` that has nothing to show."""
    done = subprocess.run([it.pool.programs["berth"], "logs", *map(str, words)],
                          capture_output=True, text=True, check=False, timeout=60,
                          env=dict(os.environ, BERTH_URL=it.pool.url))
    check(done.returncode != 0 and done.stdout == "", f"logs {words}: {done.stdout}")
    return done.returncode, done.stderr


def story_logs_of_runs_before(programs, folder):
    """What a run wrote before it was preempted can be read: while it waits, and ever after."""
    script = ('trap "echo told; exit 75" USR1; echo "began $BERTH_EPOCH"; echo oops >&2; ' + BEATS)
    with Story(programs, folder, notice="60s") as it:
        it.submit("victim", script, devices=2, checkpoint=SIGNAL)
        it.wait_said("victim", "beat", 10)
        follows = subprocess.Popen([programs["berth"], "logs", "-f", "victim"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env=dict(os.environ, BERTH_URL=it.pool.url))
        it.submit("promised", devices=2, tenant="web")
        it.wait("promised", "running")
        it.wait("victim", "queued")
        first = f"began {it.said('victim', 'start')[0][4]}\ntold\n"
        check(it.pool.berth("logs", "victim") == first, "the run before, while it waits")
        it.go("promised")
        again = it.wait_said("victim", "start", 2)[1]
        second = f"began {again[4]}\n"
        it.wait("victim", "running")
        until(lambda: it.pool.berth("logs", "victim") == second, "it writes anew")
        for words in (["--previous"], ["--run", -1], ["--run", 1]):
            check(it.pool.berth("logs", "victim", *words) == first, f"logs {words}")
        check(it.pool.berth("logs", "victim", "--run", 1, "--tail", 1) == "told\n", "its tail")
        check(it.pool.berth("logs", "victim", "-p", "--stderr") == "oops\n", "its standard error")
        code, text = refused_logs(it, "victim", "--run", 3)
        check((code, "no run 3" in text) == (3, True), f"run 3: {code} {text}")
        it.go("victim")
        it.wait("victim", "succeeded")
        out, words = follows.communicate(timeout=60)
        check(out == first + second and words.endswith("berth: run 2\n"),
              f"not both are followed: {out}{words}")
        check(it.pool.berth("logs", "victim", "--run", 1) == first, "run 1 after the end")
        check(it.pool.berth("logs", "victim") == second, "run 2 after the end")
        runs = it.row("victim")["runs"]
        check([(row["run"], row["epoch"], row["cause"], row["nodes"]) for row in runs] ==
              [(1, int(first.split()[1]), "stopped", ["n1"]),
               (2, int(again[4]), "exited", ["n1"])], f"{runs}")
        check("stopped" in it.pool.berth("status", "victim"), "status does not list its runs")
        for path in Path(it.pool.folder).glob(f"**/ended/*.0.{runs[0]['epoch']}/std*"):
            path.unlink()                       # as when it is older than is kept
        code, text = refused_logs(it, "victim", "--run", 1)
        check((code, "has nothing of what run 1" in text) == (3, True), f"removed: {code} {text}")
        it.pool.kill_berthd()
        it.pool.start_berthd()
        check(it.row("victim")["runs"] == runs, "a restart has changed its runs")


def story_preempted_and_deaf(programs, folder):
    """Long: a victim that stays gets TERM when its notice is over, and KILL ten seconds later."""
    with Story(programs, folder, notice="2s") as it:
        it.submit("victim", DEAF, devices=2, checkpoint=SIGNAL)
        begin = it.wait_said("victim", "beat")[0][0]
        it.submit("promised", devices=2, tenant="web")
        notice = it.wait("victim", "stopping")["notice"]
        it.wait("promised", "running")
        end = it.said("victim", "beat")[-1][0]
        term = it.said("victim", "term")
        check(len(it.said("victim", "told")) == 1, "it was not told once")
        check(term and term[0][0] >= ms_of(notice["until"]), "TERM before the notice was over")
        # It is killed before it would have said the next; on a busy machine that is later.
        times = [row[0] for row in it.said("victim")]
        pause = max(b - a for a, b in zip(times, times[1:]))
        check(end + pause >= term[0][0] + 9500, "KILL before ten seconds were over")
        check(it.wait_said("promised", "start")[0][0] >= end, "two had the devices")
        started, ended = span_of(it.wait("victim", "queued"), 1)
        check_lost(it, "victim", end - begin, ended - started)  # all was lost


def story_gang_preempted(programs, folder):
    """A place of a gang is promised to others: all of it saves, leaves and comes back."""
    with Story(programs, folder, nodes=2, devices=1, notice="60s", protect=1) as it:
        it.submit("gang", SAVES, members=2, checkpoint=SIGNAL)
        for member in (0, 1):
            it.wait_said("gang", "beat", member=member)
        it.submit("promised", tenant="web")
        it.wait("promised", "running")
        left = [it.wait_said("gang", "leaves", member=member)[0][0] for member in (0, 1)]
        check(it.wait_said("promised", "start")[0][0] >= max(left), "it did not wait for all")
        check(it.wait("gang", "queued")["stops"] == 1, "it was not stopped once")
        it.go("promised")
        for member in (0, 1):
            resumes = it.wait_said("gang", "resumes", member=member)[0]
            check(resumes[2] == "42", f"member {member} lost what it had saved")
        it.go("gang")
        it.wait("gang", "succeeded")


def story_controller_dies_in_a_notice(programs, folder):
    """Long: berthd is killed while a notice runs: it is not repeated or prolonged, and it holds."""
    with Story(programs, folder, notice="15s") as it:
        it.submit("victim", DEAF.replace("'say term'", "'say term; exit 0'"), devices=2,
                  checkpoint=SIGNAL)
        it.wait_said("victim", "beat")
        it.submit("promised", devices=2, tenant="web")
        notice = it.wait("victim", "stopping")["notice"]
        it.wait_said("victim", "told")
        it.pool.kill_berthd()
        time.sleep(0.5)
        it.pool.start_berthd()
        again = it.row("victim")
        check(again["notice"] == notice, f"the notice was {notice} and is {again}")
        it.wait("promised", "running")
        term = it.said("victim", "term")
        check(len(it.said("victim", "told")) == 1, "it was told twice")
        check(term and term[0][0] >= ms_of(notice["until"]), "TERM before the notice was over")
        check(it.wait_said("promised", "start")[0][3] == "n1", "the place went to somebody else")
        it.wait("victim", "queued")
        check(it.row("victim")["stops"] == 1, "it counts twice")


def story_controller_away_when_a_notice_ends(programs, folder):
    """The agent keeps to a notice while berthd is away."""
    with Story(programs, folder, notice="4s", lease="60s") as it:
        it.submit("victim", DEAF.replace("'say term'", "'say term; exit 0'"), devices=2,
                  checkpoint=SIGNAL)
        it.wait_said("victim", "beat")
        it.submit("promised", devices=2, tenant="web")
        it.wait_said("victim", "told")
        until_ms = ms_of(it.events("victim", "noticed")[0]["until"])
        it.pool.kill_berthd()
        check(it.wait_said("victim", "term")[0][0] >= until_ms, "TERM before it was over")
        it.pool.start_berthd()
        it.wait("promised", "running")
        check(it.wait("victim", "queued")["stops"] == 1, "it was not stopped once")


def story_notice_withdrawn(programs, folder):
    """Whoever the room was made for goes: the victim may stay, and its notice file goes."""
    with Story(programs, folder, notice="60s") as it:
        it.submit("victim", DEAF + "", devices=2, checkpoint=SIGNAL)
        it.wait_said("victim", "beat")
        it.submit("promised", devices=2, tenant="web")
        it.wait("victim", "stopping")
        it.wait_said("victim", "told")
        it.pool.berth("cancel", "promised")
        check(it.wait("victim", "running")["notice"] is None, "the notice is still there")
        it.go("victim")
        check(it.wait("victim", "succeeded")["stops"] == 0, "it counts as stopped")


def story_drain_with_a_deadline(programs, folder):
    """A node is empty by its deadline, its work goes on elsewhere; then it takes work again."""
    with Story(programs, folder, nodes=2, notice="1s") as it:
        it.submit("moves", SAVES, devices=2, checkpoint=SIGNAL)
        node = it.wait_said("moves", "start")[0][3]
        other = "n2" if node == "n1" else "n1"
        by = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 40))
        it.pool.berth("drain", node, "--by", by, "--reason", "fan")
        again = it.wait_said("moves", "start", 2)[1]
        check(again[3] == other, f"it went to {again[3]}")
        check(it.said("moves", "leaves")[-1][0] <= ms_of(by), "the node was not empty by then")
        it.submit("later", devices=2)
        row = it.wait("later", "queued")
        check(row["verdict"] == "WAIT_CAPACITY", f"a drained node: {row['verdict']}")
        it.pool.berth("undrain", node)
        check(it.wait_said("later", "start")[0][3] == node, "the node does not take work again")
        for name in ("moves", "later"):
            it.go(name)
            it.wait(name, "succeeded")


def story_preempted_by_an_operator(programs, folder):
    """An operator stops work with notice; it waits, and starts again."""
    with Story(programs, folder, notice="60s") as it:
        it.submit("work", SAVES, checkpoint=SIGNAL)
        it.wait_said("work", "beat")
        it.pool.berth("preempt", "work", status=2)              # why?
        it.pool.berth("preempt", "work", "--reason", "repair")
        it.wait_said("work", "resumes")
        it.go("work")
        check(it.wait("work", "succeeded")["stops"] <= 1, "it was stopped more than once")


def story_cancelled_in_each_state(programs, folder):
    """Queued, starting, running, told to stop: what is cancelled ends, and nothing is left."""
    with Story(programs, folder, notice="60s") as it:
        it.submit("running", devices=2)
        it.wait_said("running", "beat")
        it.submit("queued", devices=2)
        it.wait("queued", "queued")
        it.pool.berth("cancel", "queued", "--reason", "not needed")
        it.wait("queued", "cancelled")
        it.pool.berth("cancel", "running")
        it.wait("running", "cancelled")
        with it.paused("n1"):
            it.submit("starting", devices=2)
            it.wait("starting", "starting")
            it.pool.berth("cancel", "starting")
        it.wait("starting", "cancelled")
        check(not it.said("queued"), "what was cancelled in the queue has run")
        it.submit("stopping", DEAF.replace("'say term'", "'say term; exit 0'"), devices=2,
                  checkpoint=SIGNAL)
        it.wait_said("stopping", "beat")
        it.submit("promised", devices=2, tenant="web")
        it.wait("stopping", "stopping")
        it.pool.berth("cancel", "stopping")
        it.wait("stopping", "cancelled")
        it.wait("promised", "running")
        it.pool.berth("cancel", "promised")
        it.wait("promised", "cancelled")
        it.must_be_gone()
        it.pool.berth("cancel", "running", status=3)            # it has ended


def story_time_limit(programs, folder):
    """What runs longer than it said is ended."""
    with Story(programs, folder) as it:
        it.submit("long", "trap 'say term; exit 3' TERM\n" + BEATS, time_limit="3s")
        row = it.wait("long", "timed_out")
        check(row["exit_code"] is None or row["cause"] == "timed_out", f"{row}")
        term, (started, _) = it.said("long", "term"), span_of(row, 1)
        check(term and term[0][0] >= started + 3000, f"it was ended too early: {row}, {term}")
        it.must_be_gone()


def story_deaf_to_term(programs, folder):
    """Long: cancelled work that ignores TERM, with children that left its session, is killed."""
    with Story(programs, folder) as it:
        it.submit("deaf", "trap '' TERM; setsid sh -c 'trap \"\" TERM; sleep 77' & " + BEATS)
        it.wait_said("deaf", "beat")
        it.pool.berth("cancel", "deaf")
        check(it.row("deaf")["state"] == "cancelling", "not cancelling")
        it.wait("deaf", "cancelled")
        check(not it.pool.work(), "it counts as gone, and it is not")


def story_hold_release_restart(programs, folder):
    """What is held waits until it is released; a restart runs it anew."""
    with Story(programs, folder) as it:
        it.submit("held", hold=True)
        check(it.row("held")["verdict"] == "HELD", "it is not held")
        it.pool.berth("release", "held")
        first = it.wait_said("held", "start")[0]
        it.wait_said("held", "beat")
        it.pool.berth("restart", "held")
        second = it.wait_said("held", "start", 2)[1]
        check(second[4] != first[4], "the same epoch")
        it.go("held")
        it.wait("held", "succeeded")
        it.submit("later", hold=False)
        it.wait_said("later", "beat")
        it.wait("later", "running")
        it.pool.berth("hold", "later")                          # running work goes on
        check(it.row("later")["state"] == "running", "a hold stopped it")
        it.go("later")
        it.wait("later", "succeeded")


