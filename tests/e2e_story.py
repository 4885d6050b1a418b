"""What the stories of e2e.py have in common: a small pool, and work that says what it sees."""
import contextlib
import json
import os
import signal
import socket
import threading
import time

from live_pool import ENDED, Pool, Trouble, until

POOL = """kind: Pool
name: stories
nodes:
%s"""
POLICY = """kind: Policy
preset: protected
classes:
  training: {rank: 2, methods: [whole], stop: for_protect, notice: %(notice)s, exempt: 0s,
             stops_per_day: unlimited}
  batch: {rank: 3, methods: [whole, slice, share], stop: always, notice: 2s, exempt: 0s,
          stops_per_day: unlimited}
  solid: {rank: 1, methods: [whole], stop: never}
default_class: training
rules: {stop_rate: {pct: 100, per: 10m}}
tenants:
  web: {protect: {H100-80: %(protect)d}}
  lab: {limit: {H100-80: %(limit)d}}
"""
# Every run writes a line "TIME EVENT DETAILS" for what happens to it; $say does that.
PRELUDE = r"""
cd "$JOBS" || exit 9
say() { echo "$(date +%s%3N) $*" >>"$BERTH_NAME.$BERTH_MEMBER"; }
say start "$$" "$BERTH_NODE" "$BERTH_EPOCH" "$BERTH_DEVICES"
"""
# Goes on for ever, and says so; a file GO ends it well.
BEATS = r"""
while [ ! -e "$BERTH_NAME.go" ]; do say beat; sleep 0.05; done
say end
"""


class Story:
    """One pool of its own; `nodes` of `devices` each."""

    def __init__(self, programs, folder, nodes=1, devices=2, model="H100-80", notice="3s",
                 protect=2, limit=100, lease="60s"):
        names = [f"n{number + 1}" for number in range(nodes)]
        lines = "".join(f"  - {{name: {name}, devices: {{model: {model}, count: {devices}}}, "
                        "cpu: 16, ram: 64Gi}\n" for name in names)
        self.terms = {"notice": notice, "protect": protect, "limit": limit}
        self.pool = Pool(programs, folder, POOL % lines, POLICY % self.terms, names,
                         "--tick", "200ms", "--lease", lease)
        self.names = names

    def __enter__(self):
        try:
            self.pool.start()
        except Trouble:
            self.pool.end()
            raise
        return self

    def __exit__(self, kind, error, trace):
        troubles = self.pool.end()
        if troubles and not error:
            raise Trouble("\n".join(troubles))

    # ---- work ----

    def submit(self, name, script=BEATS, devices=1, tenant="lab", hold=False, **keys):
        """The row of what was submitted; of arrays and services the rows."""
        body = {"kind": "Workload", "name": name, "tenant": tenant,
                "each": keys.pop("each", {"devices": devices, "cpu": 1}), "hold": hold,
                "run": {"command": ["sh", "-c", PRELUDE + script],
                        "env": {"JOBS": self.pool.jobs}}, **keys}
        path = self.pool.write(f"{name}.json", json.dumps(body))
        row = self.pool.json("submit", path)
        return row.get("workloads", row)

    def row(self, name):
        return self.pool.json("status", name)

    def wait(self, name, *states):
        """The row once it is in one of these states; what has ended otherwise is trouble."""
        def look():
            row = self.row(name)
            if row["state"] in ENDED and row["state"] not in states:
                raise Trouble(f"{name} is {row['state']} ({row['cause']}), and should be "
                              f"{' or '.join(states)}; {self.said(name)[-3:]}")
            return row if row["state"] in states else None
        return until(look, f"{name} is {' or '.join(states)}")

    def go(self, name):
        """Work of BEATS ends well."""
        with open(os.path.join(self.pool.jobs, f"{name}.go"), "w", encoding="ascii"):
            pass

    def said(self, name, event=None, member=0):
        """(time in ms, event, details...) of all runs of a member, in order."""
        try:
            with open(os.path.join(self.pool.jobs, f"{name}.{member}"), encoding="utf-8") as file:
                # Where a signal met `date`, the time is missing.
                lines = [line.split() for line in file if line[0].isdigit() and line[-1] == "\n"]
        except OSError:
            return []
        return [(int(words[0]), *words[1:]) for words in lines if event in (None, words[1])]

    def wait_said(self, name, event, count=1, member=0):
        return until(lambda: (rows := self.said(name, event, member))[count - 1:] and rows,
                     f"{name} says '{event}' {count} times")

    def events(self, name, event):
        """Its events of that name, from the first on."""
        text = self.pool.berth("events", "--after", 0, "--workload", self.row(name)["id"], "--json")
        rows = [json.loads(line) for line in text.splitlines()]
        return [row["data"] for row in rows if row["event"] == event]

    @contextlib.contextmanager
    def paused(self, node):
        """Its agent does nothing meanwhile."""
        pid = self.pool.agents[node].process.pid
        os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(pid, signal.SIGCONT)

    def must_be_gone(self):
        until(lambda: not self.pool.left(), "no process of the work is left")


def check(holds, words):
    if not holds:
        raise Trouble(words)


def ms_of(text):
    """Milliseconds of a time as the API writes it."""
    whole, _, part = text.rstrip("Z").partition(".")
    seconds = time.mktime(time.strptime(whole, "%Y-%m-%dT%H:%M:%S")) - time.timezone
    return int(seconds) * 1000 + int((part + "000")[:3])


class Relay(threading.Thread):
    """A socket in front of berthd's: what goes through it can be cut, or its answers lost."""

    def __init__(self, path, target):
        super().__init__(daemon=True)
        self.target, self.open = target, []
        self.is_cut = self.loses = False
        self.lost = 0
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen(16)

    def run(self):
        while True:
            client, _ = self.listener.accept()
            server = socket.socket(socket.AF_UNIX)
            try:
                if self.is_cut:
                    raise OSError("cut")
                server.connect(self.target)
            except OSError:
                client.close()
                continue
            self.open += [client, server]
            for source, sink in ((client, server), (server, client)):
                threading.Thread(target=self.pump, args=(source, sink, source is server),
                                 daemon=True).start()

    def pump(self, source, sink, is_answer):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if is_answer and self.loses:
                    self.lost += 1
                    break
                sink.sendall(data)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def cut(self):
        self.is_cut = True
        for end in self.open:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        self.open.clear()
