#!/usr/bin/env python3
"""Terminals beside running work, as a user has them: real controller, real agent, real terminals.

attach_check.py BERTHD BERTH_AGENT BERTH [--long]

--long: what takes a minute, instead of the rest.
"""
import fcntl
import http.client
import json
import os
import pty
import pwd
import re
import resource
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time

POOL = """kind: Pool
name: small
planes: {training: {}}
nodes:
  - {name: n1, plane: training, devices: {model: H100-80, count: 8}, cpu: 96, ram: 1024Gi}
"""
POLICY = """kind: Policy
preset: equal
classes:
  training: {rank: 1, notice: 2s}
  steady: {rank: 2, on_lost_contact: continue}
default_class: training
tenants: {alpha: {}, zebra: {}}
principals:
  - {name: vera, tenants: {alpha: viewer}}
  - {name: sam, tenants: {alpha: submitter}}
  - {name: mona, tenants: {alpha: tenant-admin}}
  - {name: zoe, tenants: {zebra: tenant-admin}}
"""
WAIT_S = 60                             # a sanitized program on a busy machine is slow


def until(what, words):
    end = time.monotonic() + WAIT_S
    while not (it := what()):
        if time.monotonic() > end:
            raise TimeoutError(f"waited in vain until {words}")
        time.sleep(0.02)
    return it


class World:
    """A controller, its one agent, and a job that sleeps."""

    def __init__(self, folder):
        self.folder, self.socket, self.processes = folder, f"{folder}/s", []

    def begin(self, berthd, agent, berth, *more):
        folder, self.berth, self.tokens = self.folder, berth, {}
        self.env = dict(os.environ, BERTH_URL=f"unix:{self.socket}", TERM="xterm")
        for name, text in (("pool.yaml", POOL), ("policy.yaml", POLICY)):
            with open(f"{folder}/{name}", "w", encoding="utf-8") as file:
                file.write(text)
        self.berthd = self.spawn("berthd", berthd, "--store", f"{folder}/pool.db", "--listen",
                                 f"unix:{self.socket}", "--pool", f"{folder}/pool.yaml",
                                 "--policy", f"{folder}/policy.yaml", "--tick", "100ms", *more)
        until(lambda: self.call("pool").returncode == 0, "berthd answers")
        self.agent = self.spawn("agent", agent, "--url", f"unix:{self.socket}", "--node", "n1",
                                "--pool", f"{folder}/pool.yaml", "--state", f"{folder}/agent",
                                "--runs-as", "self", "--cgroup", "none", "--stop-runs")
        until(lambda: self.ask("GET", "/v1/pool")[1]["nodes_up"] == 1, "its node is there")
        self.tokens = {name: self.ask("POST", "/v1/tokens", {
            "principal": name, "role": role, "tenant": tenant})[1]["token"]
            for name, role, tenant in (("vera", "viewer", "alpha"), ("sam", "submitter", "alpha"),
                                       ("mona", "tenant-admin", "alpha"), ("zoe", "tenant-admin", "zebra"))}
        self.id = self.submit("sleeper")

    def spawn(self, name, *command):
        with open(f"{self.folder}/{name}.log", "wb") as log:
            self.processes.insert(0, subprocess.Popen(
                command, stderr=log, stdout=log, restore_signals=name != "berthd"))
        return self.processes[0]

    def call(self, *words, **more):
        return subprocess.run([self.berth, *words], env=self.env, capture_output=True,
                              timeout=WAIT_S, **more)

    def ask(self, method, path, body=None, token=None):
        connection = http.client.HTTPConnection("localhost", timeout=WAIT_S)
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.settimeout(WAIT_S)
        connection.sock.connect(self.socket)
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body)
        connection.request(method, path, body=body, headers={
            "Content-Type": "application/json",
            **({"Authorization": f"Bearer {self.tokens[token]}"} if token else {})})
        answer = connection.getresponse()
        got = answer.read()
        connection.close()
        return answer.status, json.loads(got) if "json" in answer.getheader("Content-Type", "") \
            else got

    def submit(self, name, token="sam", kind="training"):
        document = {"kind": "Workload", "name": name, "tenant": "alpha", "class": kind,
                    "each": {"devices": 1},
                    "run": {"command": ["sleep", "1000"], "env": {"MARK": name},
                            "workdir": self.folder}}
        status, it = self.ask("POST", "/v1/workloads", document, token)
        assert status == 201, it
        it = it["id"]
        until(lambda: self.ask("GET", f"/v1/workloads/{it}")[1]["state"] == "running", "it runs")
        return it

    def end(self):
        for process in self.processes:
            process.terminate()
            process.wait(timeout=WAIT_S)


class Terminal:
    """A terminal with `berth attach` in it."""

    def __init__(self, world, *words):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execve(world.berth, ["berth", "attach", *words], world.env)
        self.seen = b""

    def resize(self, rows, columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, text):
        os.write(self.fd, text)

    def shows(self, text):
        end = time.monotonic() + WAIT_S
        while text not in self.seen:
            assert time.monotonic() < end, f"never shows {text}: {self.seen[-300:]}"
            if select.select([self.fd], [], [], 0.05)[0]:
                try:
                    self.seen += os.read(self.fd, 65536)
                except OSError:
                    break
        assert text in self.seen, f"ends without {text}: {self.seen[-300:]}"
        self.seen = self.seen.split(text, 1)[1]

    def has_come(self, text, seconds):
        """Whether it is shown so soon; nothing is taken away."""
        end = time.monotonic() + seconds
        while text not in self.seen and time.monotonic() < end:
            if select.select([self.fd], [], [], 0.05)[0]:
                self.seen += os.read(self.fd, 65536)
        return text in self.seen

    def until_line(self):
        """What stands before the next line break."""
        while b"\r\n" not in self.seen:
            self.seen += os.read(self.fd, 65536)
        line, self.seen = self.seen.split(b"\r\n", 1)
        return line

    def mode(self):
        return termios.tcgetattr(self.fd)

    def code(self):
        while True:                     # what it still writes must be read
            done, status = os.waitpid(self.pid, os.WNOHANG)
            if done:
                return os.waitstatus_to_exitcode(status)
            if select.select([self.fd], [], [], 0.02)[0]:
                try:
                    self.seen += os.read(self.fd, 65536)
                except OSError:
                    time.sleep(0.01)


# ---- without a terminal ----

def an_agent_that_was_stopped_waits_on(world):
    """While its supervisor has not answered yet: stopped and continued, it hears it all the same."""
    it = world.call("attach", str(world.id), "--", "sh", "-c", "echo $PPID", input=b"")
    supervisor = int(it.stdout)
    os.kill(supervisor, signal.SIGSTOP)
    with subprocess.Popen([world.berth, "attach", str(world.id), "--", "echo", "well"],
                          env=world.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as it:
        for _ in range(20):
            time.sleep(0.05)
            world.agent.send_signal(signal.SIGSTOP)
            world.agent.send_signal(signal.SIGCONT)
        os.kill(supervisor, signal.SIGCONT)
        out, words = it.communicate(timeout=WAIT_S)
        assert (it.returncode, out) == (0, b"well\n"), (it.returncode, out, words)


def plain_pipes(world):
    """Input, output, exit codes."""
    def run(*words, **more):
        return world.call("attach", str(world.id), "--", *words, **more)

    it = run("sh", "-c", "echo $MARK $BERTH_WORKLOAD; pwd; exit 7", input=b"")
    assert (it.returncode, it.stdout.split()) == (
        7, [b"sleeper", str(world.id).encode(), world.folder.encode()]), it
    assert run("sh", "-c", "kill -9 $$", input=b"").returncode == 128 + 9
    it = run("no-such-program", input=b"")
    assert it.returncode == 127 and b"no-such-program" in it.stdout, it
    assert run("sh", "-c", "echo out; echo err >&2", input=b"").stdout == b"out\nerr\n"
    data = os.urandom(1_500_000)        # more than all that waits on the way
    assert run("cat", input=data).stdout == data, "what comes back is not what was sent"
    it = run("sh", "-c", "cat >/dev/null; echo end", input=b"x" * 300_000)
    assert it.stdout == b"end\n", it


def what_is_left_behind_keeps_nobody(world):
    it = world.call("attach", "sleeper", "-t", "alpha", "--", "sh", "-c",
                    "sleep 77 & echo $!; exit 5", input=b"")
    assert it.returncode == 5, it
    os.kill(int(it.stdout), signal.SIGKILL)     # it was there: its run's, until that ends


def much(world):
    """More than a person may ask in one go, both ways; and its node's exchange goes on."""
    data = os.urandom(8_000_000)
    it = world.call("attach", str(world.id), "--", "cat", input=data)
    assert it.returncode == 0 and it.stdout == data, (it.returncode, len(it.stdout), it.stderr)
    assert world.ask("GET", "/v1/pool")[1]["nodes_up"] == 1


def much_that_was_written(world):
    """Its node is still heard of: what it hands on takes nothing of that."""
    document = {"kind": "Workload", "name": "writer", "tenant": "alpha", "class": "training",
                "run": {"command": ["sh", "-c", "head -c 12000000 /dev/zero; sleep 1000"]},
                "each": {"devices": 1}}
    work = world.ask("POST", "/v1/workloads", document, "sam")[1]["id"]
    until(lambda: world.ask("GET", f"/v1/workloads/{work}")[1]["state"] == "running", "it runs")
    until(lambda: len(world.call("logs", str(work)).stdout) == 12_000_000, "all of it is there")
    with open(f"{world.folder}/agent.log", encoding="utf-8") as log:
        assert "does not answer" not in log.read(), "it was not answered"
    assert world.call("cancel", str(work)).returncode == 0


# ---- with a terminal ----

def a_shell(world):
    """Windows, Ctrl-C, the exit code; the mode of the terminal comes back."""
    shell = pwd.getpwuid(os.geteuid()).pw_shell
    it = Terminal(world, str(world.id), *([] if shell.endswith("sh") else ["--", "sh"]))
    is_of_size = b"until [ \"$(stty size)\" = '%s' ]; do sleep 0.1; done; stty size\r"
    it.resize(33, 99)
    it.type(b"PS1='$ '; " + is_of_size % b"33 99")
    it.shows(b"33 99\r\n")
    it.resize(20, 50)
    it.type(is_of_size % b"20 50")
    it.type(b"tty; echo $TERM-$MARK\r")
    for text in (b"20 50\r\n", b"/dev/pts/", b"xterm-sleeper\r\n"):
        it.shows(text)
    it.type(b"echo begins; sleep 1000\r")
    it.shows(b"begins\r\n")
    time.sleep(0.3)                     # until it is the program in front
    it.type(b"\x03")
    it.shows(b"^C")
    # What is typed just then goes with it: again, until it is heard.
    until(lambda: it.type(b"echo goes on $((1 + 1))\r") or it.has_come(b"goes on 2\r\n", 1),
          "the shell goes on")
    it.type(b"~")                       # not at the beginning of a line any more: the shell's
    it.type(b"\x7f")
    it.type(b"exit 9\r")
    assert it.code() == 9


def latency(world):
    """The best of many: a busy machine adds to it, and nothing can be said of that here."""
    it = Terminal(world, str(world.id), "--", "cat")
    it.type(b"ready\r")
    it.shows(b"ready\r\nready\r\n")
    took = []
    for _ in range(40):
        begin = time.monotonic()
        it.type(b"x")
        it.shows(b"x")
        took.append(time.monotonic() - begin)
    print(f"a key is seen after {1000 * sorted(took)[20]:.2f} ms (median), "
          f"{1000 * max(took):.2f} ms at most")
    assert min(took) < 0.05, took
    it.type(b"\r\x04")                  # Ctrl-D
    assert it.code() == 0


def closed_by_hand(world):
    it = Terminal(world, str(world.id), "--", "sh", "-c", "echo $$; sleep 1000")
    mode = None
    it.shows(b"\r\n")
    mode = it.mode()
    it.type(b"~?")
    it.shows(b"one tilde")
    it.type(b"~.")
    assert it.code() == 0
    assert it.mode() != mode and it.mode()[3] & termios.ECHO, "the terminal stays raw"


def its_own_terminal_goes(world):
    """Nothing can be said any more: the pool closes it after a while."""
    it = Terminal(world, str(world.id), "--", "sh", "-c", "echo up; sleep 1000")
    it.shows(b"up\r\n")
    os.kill(it.pid, signal.SIGHUP)
    assert it.code() == -signal.SIGHUP
    assert it.mode()[3] & termios.ECHO, "the terminal stays raw"


def ended_by_a_signal(world):
    it = Terminal(world, str(world.id), "--", "sh", "-c", "echo up; sleep 1000")
    it.shows(b"up\r\n")
    assert not it.mode()[3] & termios.ECHO
    os.kill(it.pid, signal.SIGTERM)     # it closes its session too
    assert it.code() == 130
    assert it.mode()[3] & termios.ECHO, "the terminal stays raw"


def its_program_is_hung_up(world):
    it = Terminal(world, str(world.id), "--", "sh", "-c", "echo pid $$; exec sleep 1000")
    it.shows(b"pid ")
    pid = int(it.until_line())
    assert os.path.exists(f"/proc/{pid}")
    it.type(b"~.")
    it.code()
    until(lambda: not os.path.exists(f"/proc/{pid}"), "its program is gone")


# ---- who reads slowly ----

def rss_kib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return int(next(line for line in file if line.startswith("VmRSS")).split()[1])


def grown_kib(*processes):
    """The most that one of them grows within a second."""
    before = [rss_kib(it.pid) for it in processes]
    time.sleep(1)
    return max(rss_kib(it.pid) - kib for it, kib in zip(processes, before))


def a_slow_reader_makes_the_program_wait(world):
    with subprocess.Popen([world.berth, "attach", str(world.id), "--", "yes"], env=world.env,
                          stdout=subprocess.PIPE, stdin=subprocess.DEVNULL) as it:
        assert it.stdout.read(2) == b"y\n"
        # All that takes any fills up first, sooner or later.
        until(lambda: grown_kib(world.berthd, world.agent, it) < 4096, "memory grows no more")
        assert it.stdout.read(500_000) == b"y\n" * 250_000
        it.send_signal(signal.SIGINT)
        assert it.wait(timeout=WAIT_S) == 130


def ctrl_c_ends_who_is_not_read(world):
    """Its output is full, and nobody reads on: the signal alone ends it. At different moments."""
    for pause_s in (0, 0.05, 0.3):
        with subprocess.Popen([world.berth, "attach", str(world.id), "--", "yes"], env=world.env,
                              stdout=subprocess.PIPE, stdin=subprocess.DEVNULL) as it:
            assert it.stdout.read(2) == b"y\n"
            time.sleep(pause_s)
            it.send_signal(signal.SIGINT)
            assert it.wait(timeout=WAIT_S) == 130


def who_waits_for_room_is_told_of_the_end(world):
    """The program reads nothing, and another call ends the input meanwhile."""
    session = world.ask("POST", f"/v1/workloads/{world.id}/attach",
                        {"command": ["sleep", "1000"]}, "mona")[1]["session"]
    path, answers = f"/v1/attachments/{session}/input?offset=", []
    waiting = threading.Thread(target=lambda: answers.append(
        world.ask("POST", f"{path}0", b"x" * 900_000, "mona")))
    waiting.start()
    time.sleep(0.5)                     # all that takes any is full
    assert world.ask("POST", f"{path}0&end=true", b"x", "mona")[0] == 200
    waiting.join()
    assert answers[0][0] == 400 and "behind the end" in answers[0][1]["detail"], answers
    assert world.ask("DELETE", f"/v1/attachments/{session}", token="mona")[0] == 204


def nobody_reads_or_writes(world):
    """Longer than either end may be silent: a program that takes no input, a reader that stops."""
    with subprocess.Popen([world.berth, "attach", str(world.id), "--", "sh", "-c",
                           "sleep 40; wc -c"], env=world.env, stdout=subprocess.PIPE,
                          stdin=subprocess.PIPE) as it, \
         subprocess.Popen([world.berth, "attach", str(world.id), "--", "yes"], env=world.env,
                          stdout=subprocess.PIPE, stdin=subprocess.DEVNULL) as other:
        out, _ = it.communicate(b"x" * 700_000)
        assert (it.returncode, out) == (0, b"700000\n"), (it.returncode, out)
        assert other.stdout.read(500_000) == b"y\n" * 250_000
        other.send_signal(signal.SIGINT)
        assert other.wait(timeout=WAIT_S) == 130


# ---- who may, and how many ----

def rights(world):
    path = f"/v1/workloads/{world.id}/attach"
    command = {"command": ["sleep", "1000"]}
    assert world.ask("POST", path, command, "vera")[0] == 403
    assert world.ask("POST", path, command, "zoe")[0] == 404
    status, session = world.ask("POST", path, command, "mona")
    assert status == 201
    output = f"/v1/attachments/{session['session']}"
    for token in ("sam", "vera", "zoe", None):
        assert world.ask("GET", output + "/output", token=token)[0] == 404
        assert world.ask("POST", output + "/input?offset=0", b"x", token)[0] == 404
        assert world.ask("DELETE", output, token=token)[0] == 404
    assert world.ask("GET", output + "/output", token="mona")[0] == 200
    assert world.ask("DELETE", output, token="mona")[0] == 204
    assert world.ask("GET", output + "/output", token="mona")[0] == 410


def limits(world):
    path = f"/v1/workloads/{world.id}/attach"
    command = {"command": ["sleep", "1000"]}
    opened = [world.ask("POST", path, command, "sam") for _ in range(5)]
    assert [status for status, _ in opened] == [201] * 4 + [429], opened
    assert "4 terminals already" in opened[4][1]["detail"], opened[4]
    for _, session in opened[:4]:
        world.ask("DELETE", f"/v1/attachments/{session['session']}", token="sam")
    assert world.ask("POST", path, {"member": 5}, "sam")[0] == 404
    assert world.ask("POST", path, {"command": [""]}, "sam")[0] == 400
    assert world.ask("POST", path, {"shell": 1}, "sam")[0] == 400


def who_may_no_longer_is_closed_out(world):
    session = world.ask("POST", f"/v1/workloads/{world.id}/attach",
                        {"command": ["sleep", "1000"]}, "mona")[1]["session"]
    output = f"/v1/attachments/{session}/output"
    assert world.ask("GET", output, token="mona")[0] == 200
    policy = POLICY.replace("tenants: {alpha: tenant-admin}", "tenants: {alpha: viewer}")
    assert world.ask("PUT", "/v1/policy", policy.encode())[0] == 200
    status, why = world.ask("GET", output, token="mona")
    assert status == 410 and "may not manage" in why["detail"], (status, why)
    assert world.ask("PUT", "/v1/policy", POLICY.encode())[0] == 200
    assert world.ask("GET", output, token="mona")[0] == 410


def what_is_not_logged_is_not_opened(world):
    """The store takes nothing: neither does the agent."""
    mark, store = f"{world.folder}/mark", resource.RLIMIT_FSIZE
    before = resource.prlimit(world.berthd.pid, store)
    resource.prlimit(world.berthd.pid, store, (4096, before[1]))    # SIGXFSZ: spawn() ignores it
    try:
        for look in (lambda: True, lambda: world.ask("GET", "/healthz")[0] == 503):
            until(look, "health says that the store has failed")
            status, why = world.ask("POST", f"/v1/workloads/{world.id}/attach",
                                    {"command": ["touch", mark]}, "mona")
            assert status == 503, (status, why)
    finally:
        resource.prlimit(world.berthd.pid, store, before)
    until(lambda: world.call("attach", str(world.id), "--", "true", input=b"").returncode == 0,
          "the store is well again")
    assert not os.path.exists(mark), "it was started, and nothing tells of it"


def events_of(world, token, query, count):
    """So many of attached and detached, as the log has them; those that come within a second."""
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(world.socket)
    who = f"Authorization: Bearer {world.tokens[token]}\r\n" if token else ""
    connection.sendall(f"GET /v1/events?after=0{query} HTTP/1.1\r\nHost: x\r\n{who}\r\n"
                       .encode())
    came, events, end = b"", [], time.monotonic() + 1
    while len(events) < count and select.select([connection], [], [],
                                                max(end - time.monotonic(), 0))[0]:
        came += connection.recv(65536)
        events = [(name.decode(), {**json.loads(data), "id": int(number)})
                  for number, name, data in
                  re.findall(rb"id:(\d+)\nevent:(attached|detached)\ndata:(.*)\n\n", came)]
    connection.close()
    ids = [data["id"] for _, data in events]
    assert ids == sorted(set(ids)), f"events come twice, or not in order: {events}"
    return events


def events_tell_of_it(world):
    """Who opened what beside whose work, and how it ended; of their own work alone."""
    work = world.submit("watched")
    world.call("attach", str(work), "--reason", "a look", "--", "sh", "-c", "exit 4", input=b"")
    session = world.ask("POST", f"/v1/workloads/{work}/attach", {}, "mona")[1]["session"]
    assert world.ask("DELETE", f"/v1/attachments/{session}", token="mona")[0] == 204
    for token in (None, "sam"):
        told = until(lambda token=token: len(it := events_of(
            world, token, f"&workload={work}", 4)) == 4 and it, "events tell of it")
        first, ended, other, closed = sorted(told, key=lambda it: (
            it[1]["actor"] == "mona", it[0]))
        assert [it[0] for it in (first, ended, other, closed)] == ["attached", "detached"] * 2, told
        about = {"workload": work, "name": "watched", "tenant": "alpha", "user": "sam",
                 "node": "n1", "member": 0}
        for _, data in (first, ended, other, closed):
            assert {key: data[key] for key in about} == about, data
        assert first[1]["command"] == ["sh", "-c", "exit 4"] and other[1]["command"] == []
        assert first[1].get("reason") == (None if token else "a look"), first
        assert (ended[1]["exit_code"], ended[1]["why"]) == (4, None)
        assert (closed[1]["exit_code"], closed[1]["why"]) == (None, "its owner closed it")
        assert other[1]["actor"] == closed[1]["actor"] == "mona"
        assert first[1]["actor"] == ended[1]["actor"] != "mona"
    assert not events_of(world, "zoe", "", 1)
    log = world.call("store", "export", f"{world.folder}/pool.db", "-").stdout
    assert session.encode() not in log, "who reads the log could type there"
    assert world.call("cancel", str(work)).returncode == 0


def the_log_has_it(world):
    world.call("attach", str(world.id), "--reason", "to look at it", "--", "true", input=b"")
    log = world.call("store", "export", f"{world.folder}/pool.db", "-").stdout
    assert b'attached' in log and b"to look at it" in log, log[-1000:]


# ---- ends ----

def it_ends_with_its_run(world):
    work = world.submit("short")
    it = Terminal(world, str(work), "--", "sh", "-c", "echo up; sleep 1000")
    it.shows(b"up\r\n")
    assert world.call("cancel", str(work)).returncode == 0
    assert it.code() != 0
    # Until its node has told of the end, what is opened there ends at once.
    it = until(lambda: (it := world.call("attach", str(work), input=b"")).returncode != 126 and it,
               "its end is known")
    assert it.returncode == 3 and b"has ended" in it.stderr, it


def it_goes_on_over_a_controller_that_hangs(world):
    it = Terminal(world, str(world.id), "--", "cat")
    it.type(b"one\r")
    it.shows(b"one\r\none\r\n")
    world.berthd.send_signal(signal.SIGSTOP)
    it.type(b"two\r")
    time.sleep(1)
    world.berthd.send_signal(signal.SIGCONT)
    it.shows(b"two\r\ntwo\r\n")
    it.type(b"\x04")
    assert it.code() == 0


# ---- the lease, from both ends ----

def a_hung_controller_ends_what_stops_at_its_lease(folder, *programs):
    """SIGSTOP: the work is gone before the lease is, and has not failed; what continues goes on."""
    lease_s = 10        # killed a tenth of it before its end: room for a machine that is late
    world = World(folder)
    try:
        world.begin(*programs, "--lease", f"{lease_s}s")
        stays = world.submit("stays", kind="steady")
        marks = {name: f"{folder}/{name}.pid" for name in ("sleeper", "stays")}
        for name, work in (("sleeper", world.id), ("stays", stays)):
            it = world.call("attach", str(work), "--", "sh", "-c",
                            "cat /proc/$PPID/task/$PPID/children", input=b"")
            assert it.returncode == 0, it
            marks[name] = int(it.stdout.split()[0])     # its supervisor's first child: the run
        assert all(os.path.exists(f"/proc/{pid}") for pid in marks.values()), marks
        world.berthd.send_signal(signal.SIGSTOP)
        begin = time.monotonic()
        until(lambda: not os.path.exists(f"/proc/{marks['sleeper']}"), "it is ended")
        took = time.monotonic() - begin
        print(f"ended {took:.1f} s after the last contact at the earliest, of {lease_s}; ", end="")
        assert took < lease_s, took
        assert os.path.exists(f"/proc/{marks['stays']}")
        world.berthd.send_signal(signal.SIGCONT)
        until(lambda: world.ask("GET", f"/v1/workloads/{world.id}")[1]["cause"] == "lost" or
              world.ask("GET", f"/v1/workloads/{world.id}")[1]["state"] == "running",
              "it waits again, or runs")
        until(lambda: world.ask("GET", f"/v1/workloads/{world.id}")[1]["state"] == "running",
              "it runs again")
        assert os.path.exists(f"/proc/{marks['stays']}")
    finally:
        world.end()


CHECKS = (plain_pipes, an_agent_that_was_stopped_waits_on, much, much_that_was_written,
          what_is_left_behind_keeps_nobody, a_shell, latency, closed_by_hand, ended_by_a_signal,
          its_program_is_hung_up, a_slow_reader_makes_the_program_wait,
          ctrl_c_ends_who_is_not_read, rights, limits, who_waits_for_room_is_told_of_the_end,
          who_may_no_longer_is_closed_out, what_is_not_logged_is_not_opened, events_tell_of_it,
          the_log_has_it, it_ends_with_its_run, it_goes_on_over_a_controller_that_hangs,
          its_own_terminal_goes)
LONG = (nobody_reads_or_writes,)


def main():
    berthd, agent, berth = (os.path.abspath(path) for path in sys.argv[1:4])
    is_long = sys.argv[4:] == ["--long"]
    with tempfile.TemporaryDirectory(prefix="berth-attach-") as folder:
        world = World(folder)
        try:
            world.begin(berthd, agent, berth)
            for check in LONG if is_long else CHECKS:
                begin = time.monotonic()
                print(f"{check.__name__}: ", end="", flush=True)
                check(world)
                print(f"{time.monotonic() - begin:.1f} s", flush=True)
        except Exception:
            print("fails")
            for name in ("berthd", "agent"):
                with open(f"{folder}/{name}.log", errors="replace", encoding="utf-8") as log:
                    print(f"--- {name}: {log.read()[-2000:]}")
            raise
        finally:
            world.end()
    if is_long:
        return
    with tempfile.TemporaryDirectory(prefix="berth-lease-") as folder:
        a_hung_controller_ends_what_stops_at_its_lease(folder, berthd, agent, berth)
        print("a hung controller: fine")


if __name__ == "__main__":
    main()
