"""A whole pool of real processes: berthd, a berth-agent for each node, and the work they start.

For e2e.py, live_hour.py and others. The devices are simulated; all else is what users have. Work
carries JOBS in its environment, a folder of the pool: that is how what is left of it is found.
"""
import http.client
import json
import os
import pwd
import signal
import subprocess
import time

from kill_daemon import Connection, call

ENDED = {"succeeded", "failed", "cancelled", "timed_out", "lost", "refused", "stopped"}
WAIT_S = 60             # for what takes a moment: a sanitized program on a busy machine is slow


class Trouble(Exception):
    """What should have been and was not, in words."""


def until(what, words, seconds=WAIT_S):
    """What `what` gives, as soon as that is something."""
    end = time.monotonic() + seconds
    while not (it := what()):
        if time.monotonic() > end:
            raise Trouble(f"waited {seconds:.0f} s in vain until {words}")
        time.sleep(0.02)
    return it


def pids():
    """Of all processes but this one."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]


def words_of(pid, name):
    """Its arguments or variables; none of who is gone."""
    try:
        with open(f"/proc/{pid}/{name}", "rb") as file:
            return file.read().split(b"\0")
    except OSError:
        return []


class Child:
    """A program that is started, killed and started again; its words go to a file."""

    def __init__(self, log, command):
        self.log, self.command, self.process = log, command, None
        self.cpu_s = 0.0                # of those before, as far as they were looked at

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log,
                                            stdin=subprocess.DEVNULL, start_new_session=True)

    def alive(self):
        return self.process is not None and self.process.poll() is None

    def end(self, number, seconds=WAIT_S):
        """Its exit status, negative for a signal."""
        status = self.process.poll()
        if status is not None:
            raise Trouble(f"{self.command[0]} ended by itself ({status}):\n{self.words()}")
        self.cpu_s += self.cpu_now()
        self.process.send_signal(number)
        return self.process.wait(seconds)

    def cpu_now(self):
        """User and system time of the process so far."""
        try:
            with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as file:
                fields = file.read().rsplit(")", 1)[1].split()
        except OSError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def words(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return "".join(file.readlines()[-20:])


class Pool:
    """`folder` gets all files; `nodes` are those that get an agent; no `policy`: none is named."""

    def __init__(self, programs, folder, pool, policy, nodes, *options):
        self.programs, self.folder = programs, folder
        self.socket = os.path.join(folder, "s")
        self.url = "unix:" + self.socket
        self.store = os.path.join(folder, "pool.db")
        self.jobs = os.path.join(folder, "jobs")        # what jobs write
        os.makedirs(self.jobs, exist_ok=True)
        self.write("pool.yaml", pool)
        if policy:
            options = ("--policy", self.write("policy.yaml", policy), *options)
        self.berthd = Child(self.path("berthd.log"), [
            programs["berthd"], "--store", self.store, "--listen", self.url,
            "--pool", self.path("pool.yaml"), *options])
        self.agents = {node: Child(self.path(f"agent-{node}.log"), [
            programs["berth-agent"], "--url", self.url, "--node", node, "--pool",
            self.path("pool.yaml"), "--state", self.path(f"agent-{node}"), "--runs-as", "self",
            "--cgroup", "none", "--secrets", self.path(f"secrets-{node}")]) for node in nodes}

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def put_secret(self, node, name, text):
        """As its operator does; it is new for whoever starts from now on."""
        folder = self.path(os.path.join(f"secrets-{node}",
                                        pwd.getpwuid(os.geteuid()).pw_name))
        os.makedirs(folder, mode=0o700, exist_ok=True)
        os.chmod(self.path(f"secrets-{node}"), 0o700)
        path = os.path.join(folder, name)
        with open(os.open(path + ".new", os.O_WRONLY | os.O_CREAT, 0o600), "w",
                  encoding="utf-8") as file:
            file.write(text)
        os.rename(path + ".new", path)

    # ---- its processes ----

    def start(self):
        self.start_berthd()
        for agent in self.agents.values():
            agent.start()
        until(lambda: self.get("/v1/pool")["nodes_up"] == len(self.agents), "all agents are there")

    def start_berthd(self):
        self.berthd.start()
        until(self.answers, "berthd answers")

    def answers(self):
        if not self.berthd.alive():
            raise Trouble("berthd does not start:\n" + self.berthd.words())
        try:
            return self.ask("GET", "/v1/pool")[0] == 200
        except (OSError, http.client.HTTPException):
            return False

    def kill_berthd(self, number=signal.SIGKILL):
        return self.berthd.end(number)

    def end(self):
        """Ends everything, the work too; findings are who made trouble."""
        findings = []
        for name, child in [("berthd", self.berthd), *self.agents.items()]:
            if child.alive():
                try:
                    status = child.end(signal.SIGTERM)
                except subprocess.TimeoutExpired:
                    child.process.kill()
                    child.process.wait()
                    status = "it did not end"
                if status != 0:
                    findings.append(f"{name} ends badly ({status}):\n{child.words()}")
        try:                            # until then they may write in the folder
            until(self.has_killed_what_is_left, "what is left of its work has been killed")
        except Trouble as trouble:
            findings.append(str(trouble))
        return findings

    def has_killed_what_is_left(self):
        left = self.left()
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        return not left

    def work(self):
        """Processes of the pool's work: of what has ended there is none."""
        return [pid for pid in pids() if self.is_work(pid)]

    def left(self):
        """These, and the supervisors beside them, who go after they have said how it ended."""
        return [pid for pid in pids() if self.is_work(pid) or self.is_supervisor(pid)]

    def is_work(self, pid):
        return f"JOBS={self.jobs}".encode() in words_of(pid, "environ")

    def is_supervisor(self, pid):
        words = words_of(pid, "cmdline")
        return b"run-supervisor" in words and any(word.startswith(self.folder.encode())
                                                  for word in words)

    # ---- what its users do ----

    def ask(self, method, path, body=None, **headers):
        """Status and body. OSError or HTTPException where there is no answer."""
        connection = Connection(self.socket)
        try:
            return call(connection, method, path, body,
                        {name.replace("_", "-"): text for name, text in headers.items()})
        finally:
            connection.close()

    def get(self, path):
        status, body = self.ask("GET", path)
        if status != 200:
            raise Trouble(f"GET {path}: {status} {body}")
        return body

    def berth(self, *words, status=0, stdin=None):
        """Standard output of the command."""
        done = subprocess.run([self.programs["berth"], *map(str, words)], input=stdin, text=True,
                              capture_output=True, timeout=120, check=False,
                              env=dict(os.environ, BERTH_URL=self.url))
        if done.returncode != status:
            raise Trouble(f"berth {' '.join(map(str, words))}: exit status {done.returncode}, not "
                          f"{status}\n{done.stdout}{done.stderr}")
        return done.stdout

    def json(self, *words):
        return json.loads(self.berth(*words, "--json"))
