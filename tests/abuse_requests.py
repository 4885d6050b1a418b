"""Requests nobody should send, for abuse_daemon.py: real ones, changed by chance; old tricks."""
import json
import random

HUGE = ["99999999999999999999", "-1", "1e999", "0x10", "NaN", "9" * 400, "-0",
        "18446744073709551616", "9223372036854775807", "9223372036854775808", "0.1e-400",
        "2147483648", "4294967296"]
TEXTS = ["\0", "%00", "%ff%fe", "../../etc/passwd", "\xed\xa0\x80", "\r\nX: y",
         "'; DROP TABLE x; --", "{{7*7}}", "A" * 3000, "\u202e", "~", "null", "true", "[]", "{}",
         "&a *a", "!!python/x", "<<: *x", "%s%n%d", "\N{PILE OF POO}" * 50]
PATHS = ["/v1/workloads", "/v1/workloads/1", "/v1/workloads/1/explain", "/v1/workloads/1/logs",
         "/v1/workloads/none", "/v1/queue", "/v1/pool", "/v1/pool/document", "/v1/policy",
         "/v1/nodes",
         "/v1/policy/revisions", "/v1/nodes/gpu-01/exchange", "/v1/nodes/gpu-01/drain", "/v1/idle",
         "/v1/nodes/gpu-01/answers/1", "/v1/fits", "/v1/tenants", "/v1/notices", "/v1/usage",
         "/v1/tokens", "/v1/tokens/999", "/v1/version", "/v1/openapi.yaml", "/metrics", "/healthz",
         "/v1/alerts", "/v1/alerts/1/acknowledge", "/v1/nodes/gpu-01/certificate",
         "/readyz", "/v1/quarantine", "/v1/freeze", "/", "*", "//", "/v1/%2e%2e/x",
         "http://x/v1/pool"]
QUERIES = ["limit", "after", "tenant", "class", "state", "name", "mine", "wait_ms", "by", "from",
           "until", "format", "view", "dry_run", "offset", "bytes", "member", "stream", "principal",
           "revision", "workload"]
HEADERS = ["Berth-Reason", "Idempotency-Key", "If-Match", "Last-Event-ID", "Content-Type", "Accept",
           "Authorization", "Berth-Offset", "Berth-Size", "Connection", "Expect", "Range", "Cookie",
           "Transfer-Encoding", "Content-Encoding", "Upgrade", "Content-Length", "Host", "X-Any"]
METHODS = ["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE", "CONNECT", "get",
           "BREW", ""]
WORKLOAD = """kind: Workload
name: x
tenant: alpha
class: training
members: 2
each: {devices: 1, model: "H100*", cpu: 4, ram: 16Gi, network: 1Gb}
near: {prefer: rack}
time_limit: 6h
checkpoint: {every: 30m, within: 90s, signal: USR1}
run: {command: [sleep, "1"], env: {A: b}, secrets: [s], workdir: /tmp}
"""
POLICY = """kind: Policy
preset: protected
classes: {training: {rank: 1, methods: [whole], notice: 5m}}
default_class: training
tenants: {alpha: {protect: {H100-80: 8}, tenants: {one: {}}}, zebra: {limit: {any: 4}}}
reservations:
  - {name: l, tenant: alpha, devices: {H100-80: 8}, from: 2027-01-04T08:00Z,
     until: 2027-01-08T18:00Z}
principals: [{name: ana, tenants: {alpha: submitter}}]
"""
POOL = """kind: Pool
name: small
planes: {training: {}}
nodes:
  - {name: "gpu-[01-02]", plane: training, devices: {model: H100-80, count: 8}, cpu: 96, ram: 1Ti}
"""
REPORT = json.dumps({"protocol": 1, "agent": "0.1.0", "boot": "b", "seen": 3, "checkpoints": [],
                     "runs": [{"workload": 1, "member": 0, "epoch": 3, "phase": "exited",
                               "exit_code": 0, "signal": 0}], "devices": [{"index": 0}]})
TOKEN = json.dumps({"principal": "ana", "role": "viewer", "tenant": "alpha", "expires": None})
BODIES = [WORKLOAD, POLICY, POOL, REPORT, TOKEN, "{}", ""]


def bombs():
    """Bodies that would cost much, were they not refused."""
    levels = "a0: &a0 [x, x, x, x, x, x, x, x]\n" + "".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 9))
    yield levels + WORKLOAD
    for depth in (31, 32, 33, 2000, 200000):
        yield "[" * depth + "]" * depth
        yield '{"a":' * depth + "1" + "}" * depth
        yield "kind: " + "[" * depth + "]" * depth
    yield "".join(f"{'  ' * n}k:\n" for n in range(400))
    yield json.dumps({f"k{n}": n for n in range(100000)})
    yield json.dumps({"kind": "Workload", "kind ": 1})[:-1] + ',"kind":"Workload"}'
    yield "---\n".join([WORKLOAD] * 500)
    yield WORKLOAD + "after: [" + ", ".join(f"w{n}" for n in range(10000)) + "]\n"
    yield WORKLOAD.replace("members: 2", "members: 4096").replace("sleep", "s" * 100000)
    yield WORKLOAD + "array: 1-65536\n"
    yield WORKLOAD.replace("members: 2", "members: 65537")
    yield WORKLOAD.replace("env: {A: b}", "env: {" + ", ".join(
        f"K{n}: v" for n in range(20000)) + "}")
    yield POOL.replace("[01-02]", "[0000001-9999999]")
    yield POOL.replace("[01-02]", "[1-9][1-9][1-9][1-9][1-9][1-9]")
    yield "? " * 5000
    yield "- " * 5000
    yield "\ufeff" + WORKLOAD
    yield WORKLOAD.encode("utf-16").decode("latin-1")
    yield "\0" * 65536
    yield "x" * ((4 << 20) - 1)
    yield "x" * ((4 << 20) + 1)


class Maker:
    """Requests as bytes; the same for the same seed."""

    def __init__(self, seed, headers):
        self.random, self.own = random.Random(seed), headers
        self.bombs = list(bombs())

    def query(self):
        draw = self.random
        if draw.random() < 0.5:
            return ""
        if draw.random() < 0.03:
            return "?" + "&".join(["limit=1"] * draw.choice([3, 400]))
        return "?" + "&".join(f"{draw.choice(QUERIES)}={draw.choice(HUGE + TEXTS + ['1', 'alpha'])}"
                              for _ in range(draw.randint(1, 3))).replace(" ", "+")

    def body(self):
        draw = self.random
        if draw.random() < 0.04:
            return draw.choice(self.bombs).encode("utf-8", "surrogatepass")
        body = bytearray(draw.choice(BODIES).encode())
        for _ in range(draw.choice([0, 1, 1, 2, 5])):
            self.change(body)
        return bytes(body)

    def change(self, data):
        draw = self.random
        at = draw.randrange(len(data) + 1)
        end = min(len(data), at + draw.randint(0, 12))
        kind = draw.randrange(7)
        if kind == 0 and at < len(data):
            data[at] ^= 1 << draw.randrange(8)
        elif kind == 1:
            del data[at:end]
        elif kind == 2:
            data[at:at] = data[at:end] * draw.choice([1, 2, 50])
        elif kind == 3:
            data[at:end] = draw.choice(HUGE).encode()
        elif kind == 4:
            data[at:at] = draw.choice(TEXTS).encode("utf-8", "surrogatepass")
        elif kind == 5:
            data[at:at] = bytes(draw.randrange(256) for _ in range(draw.randint(1, 8)))
        elif kind == 6:
            digits = [n for n, byte in enumerate(data) if 48 <= byte <= 57]
            if digits:
                data[(n := draw.choice(digits)):n + 1] = draw.choice(HUGE).encode()

    def head(self, size):
        draw = self.random
        lines = [f"{draw.choice(METHODS[:6] * 4 + METHODS)} {draw.choice(PATHS)}{self.query()} "
                 f"HTTP/{draw.choice(['1.1'] * 12 + ['1.0', '2.0', '9.9', 'x'])}"]
        if draw.random() < 0.97:
            lines.append("Host: berthd")
        lines += self.own
        if draw.random() < 0.9:
            lines.append("Content-Type: " + draw.choice(["application/json", "application/yaml"]))
        for _ in range(draw.choice([0, 0, 1, 2])):
            lines.append(f"{draw.choice(HEADERS)}: {draw.choice(HUGE + TEXTS)}")
        if draw.random() < 0.02:
            lines += [f"X-{n}: {'y' * draw.choice([1, 100])}" for n in range(1000)]
        said = size if draw.random() < 0.85 else draw.choice([0, size + 1, size // 2, *HUGE])
        for _ in range(draw.choice([1] * 20 + [0, 2])):
            lines.append(f"Content-Length: {said}")
        if draw.random() < 0.03:
            lines.append("Transfer-Encoding: " + draw.choice(["chunked", "gzip, chunked", "x"]))
        return ("\r\n".join(lines) + "\r\n\r\n").encode("utf-8", "surrogatepass")

    def make(self):
        """One request, or some behind each other; a part of them is no HTTP any more."""
        draw = self.random
        data = bytearray()
        for _ in range(draw.choice([1] * 12 + [2, 5, 30])):
            body = self.body()
            data += self.head(len(body)) + body
        if draw.random() < 0.15:
            for _ in range(draw.randint(1, 6)):
                self.change(data)
        if draw.random() < 0.02:
            data = bytearray(draw.randbytes(draw.choice([10, 1000, 100000])))
        return bytes(data)
