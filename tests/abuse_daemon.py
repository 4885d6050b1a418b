#!/usr/bin/env python3
"""berthd is abused over its sockets, while others work with it.

    abuse_daemon.py BERTHD [--seconds N] [--idle N] [--slow N] [--seed N]

Phases: requests changed by chance and old tricks (abuse_requests.py), of nobody, of a tenant's
tenant-admin and, where nothing can be set, of an operator; connections that drip; connections that do
nothing; one tenant that asks for all that is another's. All the while a client submits work, and
measures. After each phase: berthd runs, is healthy, has not grown beyond a bound, and knows all
that it acknowledged. Nothing of it may be answered with 500, or with a broken document.
"""
import argparse
import http.client
import json
import os
import random
import resource
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

import yaml

import abuse_requests
import openapi_check
from kill_daemon import Connection, call

POLICY = abuse_requests.POLICY.replace(
    "principals: [", "principals: [{name: mona, tenants: {alpha: tenant-admin}}, "
    "{name: zoe, tenants: {zebra: tenant-admin}}, ")
GROWTH_MIB = 256                        # of resident memory, beyond what it had after its start
STRANGE = {"500", "501", "502", "504"}
SECRET = "quagga"                       # stands in all that is zebra's
findings = []


def find(text):
    if len(findings) < 30:
        findings.append(text)
        print("FOUND:", text, file=sys.stderr)


class Berthd:
    def __init__(self, program, folder):
        self.folder, self.socket = folder, f"{folder}/s"
        for name, text in (("pool.yaml", abuse_requests.POOL), ("policy.yaml", POLICY)):
            with open(f"{folder}/{name}", "w", encoding="utf-8") as file:
                file.write(text)
        # A sanitizer keeps what was freed for long: that is no growth of ours.
        environment = dict(os.environ, ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "")
                           + ":quarantine_size_mb=8")
        with open(f"{folder}/log", "wb") as log:
            self.process = subprocess.Popen(
                [program, "--store", f"{folder}/pool.db", "--listen", f"unix:{self.socket}",
                 "--listen", "tcp:127.0.0.1:0", "--simulate", "--requests-per-s", "0", "--pool",
                 f"{folder}/pool.yaml", "--policy", f"{folder}/policy.yaml"],
                stderr=log, env=environment)
        self.port = self.wait_for_port()
        self.mona = self.token("mona", "alpha")
        self.zoe = self.token("zoe", "zebra")
        self.rss_mib = self.resident_mib()

    def said(self):
        with open(f"{self.folder}/log", encoding="utf-8", errors="replace") as file:
            return file.read()

    def wait_for_port(self):
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and self.process.poll() is None:
            if "port=" in (text := self.said()):
                return int(text.split("port=")[1].split()[0])
            time.sleep(0.02)
        self.process.kill()
        raise SystemExit("berthd does not start:\n" + self.said()[-2000:])

    def ask(self, method, path, body=None, headers=None):
        """As an operator: by the uid."""
        connection = Connection(self.socket)
        try:
            return call(connection, method, path, body, headers)
        finally:
            connection.close()

    def token(self, principal, tenant):
        status, made = self.ask("POST", "/v1/tokens", {"principal": principal, "role": "tenant-admin",
                                                       "tenant": tenant})
        if status != 201:
            raise SystemExit(f"no token: {made}")
        return made["token"]

    def resident_mib(self):
        with open(f"/proc/{self.process.pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * resource.getpagesize() >> 20

    def dial(self, source="127.0.0.1"):
        return socket.create_connection(("127.0.0.1", self.port), timeout=60,
                                        source_address=(source, 0))

    def check(self, phase, good):
        if self.process.poll() is not None:
            find(f"{phase}: berthd has ended ({self.process.returncode}):\n{self.said()[-3000:]}")
            raise SystemExit(1)
        status, health = self.ask("GET", "/healthz")
        if status != 200:
            find(f"{phase}: it is not healthy: {health}")
        grown = self.resident_mib() - self.rss_mib
        if grown > GROWTH_MIB:
            find(f"{phase}: it has grown by {grown} MiB")
        good.check(phase)
        print(f"{phase}: {good.told()}, {self.resident_mib()} MiB", flush=True)


class GoodClient(threading.Thread):
    """Works for zebra, over one connection; knows what was acknowledged, and how long it took."""

    def __init__(self, berthd):
        super().__init__(daemon=True)
        self.berthd, self.ends = berthd, threading.Event()
        self.lock = threading.Lock()
        self.acked, self.took_ms, self.count = {}, [], 0
        self.connection = None

    def run(self):
        headers = {"Authorization": f"Bearer {self.berthd.zoe}"}
        while not self.ends.wait(0.02):
            self.count += 1
            name = f"{SECRET}-{self.count}"
            body = {"kind": "Workload", "name": name, "tenant": "zebra",
                    "each": {"devices": 1, "model": "H100-80"},
                    "run": {"command": ["sleep", "0.2"]}}
            begin = time.monotonic()
            try:
                status, answer = self.ask("POST", "/v1/workloads", body,
                                          {**headers, "Idempotency-Key": name})
            except (OSError, http.client.HTTPException) as error:
                find(f"a good client was cut: {error!r}")
                self.connection = None
                continue
            if status != 201:
                find(f"a good client was refused: {status} {answer}")
                continue
            with self.lock:
                self.took_ms.append((time.monotonic() - begin) * 1000)
                self.acked[answer["id"]] = name

    def ask(self, method, path, body, headers):
        if not self.connection:
            self.connection = http.client.HTTPConnection("127.0.0.1", self.berthd.port, timeout=60,
                                                         source_address=("127.0.0.9", 0))
        return call(self.connection, method, path, body, headers)

    def until_begun(self):
        deadline = time.monotonic() + 60
        while not self.took_ms and time.monotonic() < deadline:
            time.sleep(0.02)

    def check(self, phase):
        with self.lock:
            acked = dict(self.acked)
        if not acked:
            find(f"{phase}: no good work went through")
        for number, name in acked.items():
            status, row = self.berthd.ask("GET", f"/v1/workloads/{number}")
            if status != 200 or row["name"] != name:
                find(f"{phase}: acknowledged work {number} is lost: {status} {row}")

    def told(self):
        with self.lock:
            took, self.took_ms = sorted(self.took_ms), []
        if not took:
            find("no good work went through")
            return "0 good"
        return (f"{len(took)} good, p50 {took[len(took) // 2]:.1f} ms, "
                f"p99 {took[len(took) * 99 // 100]:.1f} ms")


# ---- by chance ----

def read_answer(connection, seconds, quiet=0.01):
    """What comes until it is quiet, or closed."""
    data = b""
    while len(data) < 1 << 18 and select.select([connection], [], [], seconds)[0]:
        try:
            piece = connection.recv(65536)
        except OSError:
            break
        if not piece:
            break
        data += piece
        seconds = quiet
    return data


def judge(sent, data):
    if not data:
        return
    line = data.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
    if not line[0].startswith("HTTP/1.") or len(line) < 2 or not line[1].isdigit():
        find(f"no HTTP: {data[:80]!r} to {sent[:200]!r}")
    elif line[1] in STRANGE:
        find(f"{line[1]}: {data[:700]!r} to {sent[:700]!r}")
    head, _, body = data.partition(b"\r\n\r\n")
    said = [it for it in head.lower().split(b"\r\n") if it.startswith(b"content-length: ")]
    alone = said and len(body) == int(said[0].split()[1]) and not body.startswith(b"HTTP/")
    if b"problem+json" in head and alone and body:
        try:
            json.loads(body)
        except ValueError:
            find(f"a problem that is no JSON: {body[:300]!r}")


def send_one(berthd, kind, data):
    try:
        if kind == "operator":
            connection = socket.socket(socket.AF_UNIX)
            connection.settimeout(10)
            connection.connect(berthd.socket)
        else:
            connection = berthd.dial("127.0.0.2")
        with connection:
            try:
                connection.sendall(data)
            except OSError:
                pass                    # it was refused before its end
            judge(data, read_answer(connection, 0.25))
    except OSError:
        if berthd.process.poll() is not None:
            raise


def harmless(data):
    """An operator's request that can set nothing: a check, or a read of what is there."""
    line, _, rest = data.partition(b"\r\n")
    path = random.choice([b"/v1/policy?dry_run=true", b"/v1/pool/document?dry_run=true",
                          b"/v1/workloads?dry_run=true"])
    method = b"POST" if b"workloads" in path else b"PUT"
    if line.startswith(b"GET "):
        return data
    return method + b" " + path + b" HTTP/1.1\r\n" + rest


def by_chance(berthd, seconds, seed):
    kinds = {"nobody": [], "tenant": [f"Authorization: Bearer {berthd.mona}"], "operator": []}
    counts = dict.fromkeys(kinds, 0)

    def run(kind, headers):
        maker = abuse_requests.Maker(f"{seed} {kind}", headers)
        until = time.monotonic() + seconds
        while time.monotonic() < until and berthd.process.poll() is None:
            data = maker.make()
            if kind == "operator":
                data = harmless(maker.head(len(body := maker.body())) + body)
            send_one(berthd, kind, data)
            counts[kind] += 1

    threads = [threading.Thread(target=run, args=it, daemon=True) for it in kinds.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for body in abuse_requests.bombs():
        data = body.encode("utf-8", "surrogatepass")
        for method, path in (("POST", "/v1/workloads?dry_run=true"),
                             ("PUT", "/v1/policy?dry_run=true"),
                             ("PUT", "/v1/pool/document?dry_run=true"), ("POST", "/v1/tokens"),
                             ("POST", "/v1/nodes/gpu-01/exchange")):
            kind = "json" if path.endswith(("tokens", "exchange")) or body[:1] in "[{" else "yaml"
            send_one(berthd, "operator", f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Type: "
                     f"application/{kind}\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data)
    return sum(counts.values())


# ---- slow, and idle ----

def slowly(berthd, count, seconds):
    """Headers and bodies that come byte by byte; answers that nobody takes."""
    head = (b"POST /v1/workloads HTTP/1.1\r\nHost: x\r\nX-Slow: " + b"a" * 4000)
    body = b"POST /v1/workloads HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n" + b"a" * 4000
    ask = b"GET /v1/openapi.yaml HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " \
        + berthd.mona.encode() + b"\r\n\r\n"
    connections = []
    for number in range(count):
        connection = berthd.dial(f"127.0.0.{3 + number % 4}")
        connection.settimeout(5)
        if number % 3 == 2:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.sendall(ask * 20)
        connections.append((connection, (head, body, None)[number % 3]))
    until, at = time.monotonic() + seconds, 0
    while time.monotonic() < until:
        for connection, drip in connections:
            if drip:
                try:
                    connection.send(drip[at:at + 60] if at == 0 else drip[60 + at:61 + at])
                except OSError:
                    pass                # it was cut: right so
        at += 1
        time.sleep(0.2)
    for connection, _ in connections:
        connection.close()


def idly(berthd, count, seconds):
    """Returns how many were open; they do nothing while others work."""
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if files != resource.RLIM_INFINITY and count + 200 > files:
        print(f"idle: only {files - 200} of {count} connections: the limit of open files")
        count = files - 200
    connections = [berthd.dial(f"127.0.1.{1 + number % 8}") for number in range(count)]
    for connection in connections:      # who has never asked is not idle, but slow, and cut
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
    for connection in connections:
        if not connection.recv(4096).startswith(b"HTTP/1.1 200 "):
            find("idle: no answer before it was")
    time.sleep(min(seconds, 60))
    alive = berthd.ask("GET", "/healthz")[0]
    open_now = 0
    for connection in connections:
        readable = select.poll()
        readable.register(connection, select.POLLIN)
        open_now += not readable.poll(0)
        connection.close()
    if alive != 200 or open_now < count:
        find(f"idle: of {count} connections {open_now} are open, health {alive}")
    return open_now


# ---- one tenant and another ----

def fill(path, work, token):
    return (path.replace("/tokens/{id}", f"/tokens/{token}")
            .replace("/quarantine/{id}", "/quarantine/1").replace("{id}", str(work))
            .replace("{node}", "gpu-01").replace("{request}", "1"))


def ask_raw(berthd, method, path, headers, body=None, seconds=60.0, quiet=0.01):
    """The whole answer, head and all."""
    lines = [f"{method} {path} HTTP/1.1", "Host: x", "Connection: close",
             *(f"{name}: {value}" for name, value in headers.items())]
    data = (body or "").encode()
    if method not in ("GET", "HEAD"):
        lines.append(f"Content-Length: {len(data)}")
    with berthd.dial("127.0.0.5") as connection:
        connection.sendall(("\r\n".join(lines) + "\r\n\r\n").encode() + data)
        return read_answer(connection, seconds, quiet).decode("utf-8", "replace")


def between_tenants(berthd, good, root):
    """Whatever mona asks with zebra's numbers, names and keys, she hears nothing of zebra."""
    mona = {"Authorization": f"Bearer {berthd.mona}"}
    if " 200 " not in ask_raw(berthd, "GET", "/v1/queue", mona)[:20]:
        find("mona's token is lost")
    with good.lock:
        work, name = next(iter(good.acked.items()))
    token = next(it["id"] for it in berthd.ask("GET", "/v1/tokens")[1]["tokens"]
                 if it["principal"] == "zoe")
    description = openapi_check.Description(
        yaml.load(openapi_check.read(f"{root}/controller/openapi.yaml"), openapi_check.Loader))
    asked = 0
    queries = ["", f"?tenant=zebra&name={name}", f"?workload={work}", f"?after={work << 20}",
               "?state=all&tenant=", f"?tenant=alpha/../zebra", "?tenant=alpha&tenant=zebra"]
    for operation in description.operations.values():
        for path in {fill(operation["path"], work, token), fill(operation["path"], name, token)}:
            for query in queries:
                waits = "/events" in path or "/logs" in path
                told = ask_raw(berthd, operation["method"].upper(), path + query,
                               {**mona, "Idempotency-Key": f"{SECRET}-1", "Last-Event-ID": "1"},
                               "{}", 0.3 if waits else 60.0, 0.1 if waits else 0.01)
                # What she wrote herself is said back to her.
                heard = told.replace(urllib.parse.unquote(path), "").replace(name, "")
                if SECRET in heard or "zoe" in heard:
                    find(f"mona hears of zebra: {operation['method']} {path}{query}: {told[:600]}")
                asked += 1
    # Another's key is no key of hers; and to wait for another's work is to wait for nothing.
    body = json.dumps({"kind": "Workload", "name": name, "tenant": "zebra",
                       "each": {"devices": 1, "model": "H100-80"},
                       "run": {"command": ["sleep", "0.2"]}})
    told = ask_raw(berthd, "POST", "/v1/workloads",
                   {**mona, "Idempotency-Key": name, "Content-Type": "application/json"}, body)
    if f'"id":{work}' in told or " 201 " in told[:20]:
        find(f"mona gets zoe's answer by her key: {told}")
    for after in (name, str(work)):
        own = json.dumps({"kind": "Workload", "name": "waits", "tenant": "alpha", "after": [after],
                          "each": {"devices": 1, "model": "H100-80"}, "run": {"command": ["true"]}})
        told = ask_raw(berthd, "POST", "/v1/workloads",
                       {**mona, "Content-Type": "application/json"}, own)
        if " 404 " not in told[:20]:
            find(f"mona waits for zebra's work: {told}")
    # Tokens that are nearly one.
    for other in (berthd.zoe[:-1], berthd.zoe + "x", berthd.zoe.upper(), berthd.zoe[:8], "",
                  berthd.mona[:20] + berthd.zoe[20:]):
        told = ask_raw(berthd, "GET", "/v1/workloads", {"Authorization": f"Bearer {other}"})
        if " 401 " not in told[:20]:
            find(f"a token that is none: {told[:200]}")
    return asked


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("berthd")
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--idle", type=int, default=1000)
    parser.add_argument("--slow", type=int, default=100)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    root = os.environ.get("BERTH_SOURCE", ".")
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    print(f"seed {options.seed}")
    random.seed(options.seed)
    folder = tempfile.mkdtemp(prefix="berth-abuse-")
    berthd = Berthd(options.berthd, folder)
    try:
        good = GoodClient(berthd)
        good.start()
        good.until_begun()
        berthd.check("quiet", good)
        count = by_chance(berthd, options.seconds, options.seed)
        berthd.check(f"{count} by chance", good)
        slowly(berthd, options.slow, options.seconds)
        berthd.check(f"{options.slow} slow ones", good)
        count = idly(berthd, options.idle, options.seconds / 2)
        berthd.check(f"{count} idle ones", good)
        count = between_tenants(berthd, good, root)
        berthd.check(f"{count} of a foreign tenant", good)
        good.ends.set()
        good.join()
        berthd.process.send_signal(signal.SIGTERM)
        if (status := berthd.process.wait()) != 0:
            find(f"it ended with {status}:\n{berthd.said()[-2000:]}")
    finally:
        berthd.process.kill()
        if findings:
            print(f"seed {options.seed}; see {folder}", file=sys.stderr)
        else:
            shutil.rmtree(folder)
    print(f"{len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
