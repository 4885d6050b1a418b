"""Small agents for tests/kill_daemon.py: real processes, started and ended as docs/api.md says.

One thread a node. The lease counts from when the agent asked; what it runs is over before its end.
"""
import http.client
import json
import os
import signal
import socket
import subprocess
import threading
import time

LEASE_S = 5.0
KILL_S = 1.0            # sooner than a real agent: the leases of the test are short


class Run:
    def __init__(self, told):
        self.key = (told["workload"], told["member"], told["epoch"])
        self.devices = {device["index"] for device in told["devices"]}
        self.command = told["command"]
        self.process = self.exit = None
        self.go = False
        self.stop_at = self.killed_at = None

    def alive(self):
        if self.process and self.exit is None:
            status = self.process.poll()
            if status is None:
                return True
            self.exit = status
        return False

    def terminate(self):
        if not self.alive():
            if not self.process and self.exit is None:
                self.exit = -15         # over before it began
            return
        if not self.killed_at:
            self.process.send_signal(signal.SIGTERM)
            self.killed_at = time.monotonic() + KILL_S
        elif time.monotonic() >= self.killed_at:
            self.process.kill()

    def report(self):
        row = dict(zip(("workload", "member", "epoch"), self.key))
        if self.exit is not None:
            code = {"exit_code": self.exit} if self.exit >= 0 else {"signal": -self.exit}
            return dict(row, phase="exited", **code)
        return dict(row, phase="running" if self.process else "ready")


class Agent(threading.Thread):
    def __init__(self, path, name, book):
        super().__init__(daemon=True)
        self.path, self.node, self.book = path, name, book
        self.runs, self.listed = {}, set()
        self.seen, self.heard = 0, time.monotonic()
        self.started = self.most = 0
        self.ends = threading.Event()
        self.empty = threading.Event()

    def exchange(self):
        body = {"protocol": 1, "agent": "test", "boot": "b", "seen": self.seen,
                "runs": [run.report() for run in self.runs.values()]}
        asked = time.monotonic()
        connection = http.client.HTTPConnection("berthd", timeout=3)
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.settimeout(3)
        try:
            connection.sock.connect(self.path)
            connection.request("POST", f"/v1/nodes/{self.node}/exchange?wait_ms=50",
                               json.dumps(body), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            data = answer.read()
        except (OSError, http.client.HTTPException):
            return
        finally:
            connection.close()
        if answer.status == 200:
            self.take(json.loads(data))
            self.heard = asked
        elif answer.status not in (404, 503):
            self.book.find(f"exchange of {self.node}: {answer.status} {data}")

    def take(self, answer):
        self.seen, self.listed, used = answer["generation"], set(), set()
        for told in answer["runs"]:
            run = Run(told)
            run = self.runs.setdefault(run.key, run)
            run.go = run.go or told["go"]
            run.stop_at = told["stop"] and told["stop"]["until_ms"] / 1000
            self.listed.add(run.key)
            if used & run.devices:
                self.book.find(f"a device of {self.node} is given twice")
            used |= run.devices

    def carry_out(self):
        leased = time.monotonic() - self.heard < LEASE_S - KILL_S - 1
        for key, run in list(self.runs.items()):
            if key not in self.listed or not leased or (
                    run.stop_at is not None and time.time() >= run.stop_at):
                run.terminate()
            elif run.go and not run.process and run.exit is None:
                self.start_run(run)
            if key not in self.listed and not run.alive():
                del self.runs[key]

    def start_run(self, run):
        busy = set()
        for other in self.runs.values():
            if other is not run and other.alive():
                busy |= other.devices
                if other.devices & run.devices and other.key in self.listed:
                    self.book.find(f"a device of {self.node} is held by {other.key} and {run.key}")
        if busy & run.devices:
            return                      # what ends there still uses it
        run.process = subprocess.Popen(run.command, start_new_session=True)
        self.started += 1
        self.most = max(self.most, len(busy | run.devices))

    def run(self):
        while not self.ends.is_set():
            self.exchange()
            self.carry_out()
            if any(run.alive() for run in self.runs.values()):
                self.empty.clear()
            else:
                self.empty.set()
            time.sleep(0.01)


def start(path, nodes, book):
    agents = [Agent(path, f"n{number + 1}", book) for number in range(nodes)]
    for agent in agents:
        agent.start()
    return agents


def cancel_all(daemon):
    connection = http.client.HTTPConnection("berthd", timeout=60)
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.connect(daemon.socket)
    connection.request("GET", "/v1/workloads?state=live&limit=1000")
    rows = json.loads(connection.getresponse().read())["workloads"]
    for row in rows:
        connection.request("DELETE", f"/v1/workloads/{row['id']}")
        connection.getresponse().read()
    connection.close()
    return len(rows)


def finish(agents, daemon, book):
    """All is cancelled: then no process may be left, and nothing may be live."""
    deadline = time.monotonic() + 60
    while cancel_all(daemon) and time.monotonic() < deadline:
        time.sleep(0.1)
    if time.monotonic() >= deadline:
        book.find("cancelled work does not end")
    time.sleep(0.3)
    left = [run.process.pid for agent in agents for run in agent.runs.values() if run.alive()]
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    if left:
        book.find(f"{len(left)} processes are left")
    for agent in agents:
        agent.ends.set()
        agent.join(10)


def words(agents):
    return (f"processes_started={sum(agent.started for agent in agents)} "
            f"most_devices_used={max(agent.most for agent in agents)}")
