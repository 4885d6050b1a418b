"""Calls every operation of a real controller, well and badly, for openapi_check.py.

Two controllers, one after the other, each with a store of its own in a temporary folder and on a
unix socket there: one that plays its nodes, and one whose agents this test is.
"""
import http.client
import json
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from urllib.parse import quote, urlencode

import openapi_check

POOL = """kind: Pool
name: small
planes: {training: {}, lab: {}}
nodes:
  - {name: "gpu-[01-02]", plane: training, rack: r1, devices: {model: H100-80, count: 8}, cpu: 96,
     ram: 1024Gi}
  - {name: lab-01, plane: lab, devices: {model: A100-40, count: 2}, cpu: 32, ram: 256Gi}
prices: {H100-80: 2.40, A100-40: 1.10}
currency: EUR
"""
POLICY = """kind: Policy
preset: equal
classes:
  training: {rank: 1, methods: [whole], notice: 2s}
  notebook: {rank: 2, methods: [slice, share]}
default_class: training
tenants: {alpha: {limit: {H100-80: 14}, tenants: {one: {}}}, zebra: {budget: {device_hours: 9000}}}
principals:
  - {name: vera, tenants: {alpha: viewer}}
alerts: {memory_pressure: 0.01, for: 0s}
"""
WAIT_S = 60                             # a sanitized controller on a busy machine is slow


def document(name, each="{devices: 1, model: H100-80}", seconds=60, more=""):
    return (f"kind: Workload\nname: {name}\ntenant: alpha\neach: {each}\n{more}"
            f"run: {{command: [sleep, \"{seconds}\"]}}\n")


def crashes(head):
    """Two records as crash.h describes them, of a request."""
    return "".join(f"berth-crash 1 request signal=6 at_ns={time.time_ns() + again} version=0.0.1 "
                   f"head={len(head)} body=2\n{head}{{}}\nberthd(+0x1)[0x2]\nend\n"
                   for again in range(2))


class Connection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=WAIT_S)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(WAIT_S)
        self.sock.connect(self.path)


class Controller:
    """A berthd, and what was found in what it answered."""

    def __init__(self, description, berthd, folder, *more):
        self.description, self.folder = description, folder
        self.findings, self.called = [], set()
        self.socket = f"{folder}/s"
        with open(f"{folder}/pool.db.crash", "w", encoding="utf-8") as file:
            file.write(crashes("GET /v1/poison"))
        for name, text in (("pool.yaml", POOL), ("policy.yaml", POLICY)):
            with open(f"{folder}/{name}", "w", encoding="utf-8") as file:
                file.write(text)
        with open(f"{folder}/log", "wb") as log:
            self.process = subprocess.Popen(
                [berthd, "--store", f"{folder}/pool.db", "--listen", f"unix:{self.socket}",
                 "--tick", "100ms", "--pool", f"{folder}/pool.yaml", "--policy",
                 f"{folder}/policy.yaml", "--nodes-max", "64", "--workloads-max", "1000", *more],
                stderr=log)
        self.until(lambda: self.answers() or self.process.poll() is not None, "it listens")

    def answers(self):
        try:
            connection = Connection(self.socket)
            connection.connect()
            connection.close()
            return True
        except OSError:
            return False

    @staticmethod
    def until(what, words):
        end = time.monotonic() + WAIT_S
        while not (it := what()):
            if time.monotonic() > end:
                raise TimeoutError(f"waited in vain until {words}")
            time.sleep(0.02)
        return it

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        if self.process.wait(timeout=WAIT_S) != 0:
            with open(f"{self.folder}/log", encoding="utf-8", errors="replace") as log:
                self.findings.append(f"berthd ended badly: {log.read()[-2000:]}")

    def send(self, name, path, query, headers, body):
        """An answer that has begun; its connection is left to the caller."""
        operation = self.description.operations[name]
        target = operation["path"]
        for key, value in path.items():
            target = target.replace(f"{{{key}}}", quote(str(value), safe=""))
        if query:
            target += "?" + urlencode(query)
        connection = Connection(self.socket)
        connection.request(operation["method"], target, body=body, headers=headers)
        return connection, connection.getresponse()

    def ask(self, name, status=200, path=None, query=None, headers=None, body=None, kind=None):
        """The body of an answer that has the status wanted, as JSON where it is."""
        path, query, headers = path or {}, query or {}, dict(headers or {})
        check = openapi_check
        if body is not None and not isinstance(body, (str, bytes)):
            body, kind = json.dumps(body), "application/json"
        good = status < 400
        for where, given in (("path", path), ("query", query), ("header", headers)):
            texts = {key: str(value) for key, value in given.items() if key != "Authorization"}
            self.findings += check.check_parameters(self.description, name, texts, where, good)
        if body is not None and good:
            self.findings += check.check_request_body(self.description, name, body)
        if kind:
            headers["Content-Type"] = kind
        connection, answer = self.send(name, path, query, headers, body)
        got, told = answer.read(), dict(answer.getheaders())
        connection.close()
        if answer.status != status:
            self.findings.append(f"{name} {path} {query}: {answer.status}, not {status}: {got}")
        self.findings += check.check_answer(self.description, name, answer.status, told, got)
        self.called.add((name, good))
        return json.loads(got) if "json" in told.get("Content-Type", "") else got

    def until_state(self, workload, *states):
        """The workload, looked at whole, in one of the states."""
        def look():
            it = self.ask("getWorkload", path={"id": workload})
            return it if it.get("state") in states else None
        return self.until(look, f"workload {workload} is {' or '.join(states)}")


# ---- the controller that plays its nodes ----

def submit(berthd):
    """Numbers of work of every kind."""
    def post(*args, **more):
        return berthd.ask("postWorkload", 201, body=document(*args, **more))["id"]

    move_work(berthd)
    slices = "{model: A100-40, profile: 1g.5gb}"
    shares = "{share: 0.25, model: A100-40, method: share}"
    ids = {"runs": post("runs", "{devices: 8, model: H100-80}"),
           "waits": post("waits", "{devices: 8, model: H100-80}"),
           "ended": post("ended", seconds=0.1),
           "held": post("held", more="hold: true\n"),
           "asked": post("asked"),
           "sliced": post("sliced", slices, more="class: notebook\n"),
           "shared": post("shared", shares, more="class: notebook\n")}
    berthd.ask("postWorkload", query={"dry_run": "true"}, body=document("try"))
    wide = berthd.ask("postWorkload", query={"dry_run": "true"},
                      body=document("wide", "{devices: 4}"))
    if [row["model"] for row in wide["price"]["models"]] != ["H100-80"]:
        berthd.findings.append(f"a price where it could never lie: {wide['price']}")
    berthd.ask("postWorkload", 201, headers={"Idempotency-Key": "many", "Berth-Reason": "a test"},
               body=document("many", more="array: 0-3\n"))
    berthd.ask("postWorkload", 409, headers={"Idempotency-Key": "many"}, body=document("other"))
    berthd.ask("postWorkload", 201, body={"kind": "Workload", "name": "json", "tenant": "alpha",
                                          "each": {"devices": 1, "model": "H100-80"}})
    never = berthd.ask("postWorkload", 422, body=document("never", "{devices: 15}"))
    if "It could hold " not in never["detail"]:
        berthd.findings.append(f"postWorkload: it does not say what could be: {never}")
    berthd.ask("postWorkload", 400, body="kind: Nothing\n")
    put_work(berthd)
    return ids


def put_work(berthd):
    def put(name, text, status=200, **query):
        return berthd.ask("putWorkload", status, path={"id": name}, query=query, body=text)

    service = document("puts", more="service: {replicas: %d, port: 80}\nhold: true\n")
    put("puts", service % 2, dry_run="true")
    for count, status, change in ((2, 201, "submitted"), (2, 200, "none"), (3, 200, "scaled"),
                                  (1, 200, "scaled")):
        told = put("puts", service % count, status)
        if (told["change"], len(told["workloads"])) != (change, count):
            berthd.findings.append(f"putWorkload: {told}, not {change} to {count}")
    one = told["workloads"][0]["id"]
    berthd.ask("getWorkload", path={"id": one}, query={"format": "document"})
    berthd.ask("putWorkload", 409, path={"id": one}, headers={"If-Match": '"0123456789abcdef"'},
               body=document("puts"))
    put(one, document("puts", more="hold: true\n"))
    put("puts", document("other"), 400)
    put("puts", document("puts", "{devices: 15}"), 422)
    berthd.ask("deleteWorkload", path={"id": "puts"}, query={"tenant": "alpha"})
    berthd.ask("deleteWorkload", 404, path={"id": "puts"})


def see_workloads(berthd, ids):
    nobody = {"path": {"id": 99999}}
    berthd.until_state(ids["runs"], "running")
    berthd.until_state(ids["waits"], "queued")
    berthd.until_state(ids["held"], "held")
    berthd.until_state(ids["ended"], "succeeded")
    berthd.ask("getWorkloads", query={"state": "all", "limit": 2})
    berthd.ask("getWorkloads", query={"state": "all", "mine": "true", "tenant": "alpha"})
    berthd.ask("getWorkloads", query={"state": "live", "why": "true"})
    berthd.ask("getWorkloads", 400, query={"why": "perhaps"})
    berthd.ask("getWorkloads", 400, query={"limit": 0})
    berthd.ask("getWorkloads", 400, query={"state": "sleepy"})
    for name, query in (("getWorkloads", "tennant"), ("postWorkload", "dryrun")):
        connection, answer = berthd.send(name, {}, {query: "true"}, {}, document("misspelt"))
        if answer.status != 400:
            berthd.findings.append(f"{name}: query '{query}' is answered with {answer.status}")
        connection.close()
    berthd.ask("getWorkload", path={"id": "runs"}, query={"tenant": "alpha"})
    berthd.ask("getWorkload", 404, **nobody)
    for which in ("runs", "waits", "held", "sliced", "shared"):
        berthd.ask("getExplanation", path={"id": ids[which]})
        berthd.ask("getExplanation", path={"id": ids[which]}, query={"view": "tenant"})
    berthd.ask("getExplanation", path={"id": ids["waits"]}, query={"format": "text"})
    berthd.ask("getExplanation", path={"id": ids["waits"]}, query={"at": "-0s"})
    berthd.ask("getExplanation", path={"id": ids["waits"]}, query={"at": "-0s", "format": "text"})
    berthd.ask("getExplanation", 404, path={"id": ids["waits"]}, query={"at": "-1d"})
    berthd.ask("getExplanation", 400, path={"id": ids["waits"]}, query={"at": "soon"})
    berthd.ask("getExplanation", 404, **nobody)
    berthd.ask("getLogs", 404, path={"id": ids["runs"]})
    berthd.ask("postAttach", 409, path={"id": ids["runs"]}, body={})
    berthd.ask("getQueue")
    berthd.ask("getQueue", query={"at": "now"})
    berthd.ask("getQueue", query={"tenant": "alpha", "limit": 1})
    berthd.ask("getQueue", 400, query={"limit": 1001})


def change_workloads(berthd, ids):
    path, nobody = {"id": ids["waits"]}, {"path": {"id": 99999}}
    for name in ("postHold", "postRelease"):
        berthd.ask(name, path=path)
        berthd.ask(name, 404, **nobody)
    berthd.ask("postPreempt", 400, path={"id": ids["runs"]})
    berthd.ask("postPreempt", path={"id": ids["runs"]}, headers={"Berth-Reason": "a test"})
    berthd.ask("getNotices")
    berthd.ask("getNotices", query={"tenant": "alpha"})
    berthd.ask("getWorkload", path={"id": ids["runs"]})
    berthd.ask("postRestart", path={"id": ids["asked"]})
    berthd.ask("postRestart", 404, **nobody)
    berthd.ask("deleteWorkload", path={"id": ids["held"]})
    berthd.until_state(ids["held"], "cancelled")
    berthd.ask("deleteWorkload", 404, **nobody)


def move_work(berthd):
    """The place it is told is the one that it has then: where none is free, it stays."""
    path = {"id": berthd.ask("postWorkload", 201, body=document("goes"))["id"]}
    berthd.until_state(path["id"], "running")
    berthd.ask("postMove", 404, body={"to": "none"}, path=path)
    berthd.ask("postMove", 404, body={}, path={"id": 99999})
    berthd.ask("postMove", 400, body={"to": 7}, path=path)
    here = berthd.ask("getWorkload", path=path)["places"][0]["node"]
    berthd.ask("postMove", 400, body={"to": here}, path=path)
    berthd.ask("postMove", path=path, query={"dry_run": "true"}, body={})
    there = berthd.ask("postMove", path=path, body={})["places"][0]["node"]
    berthd.ask("postMove", 409, body={}, path=path)     # it has been told
    berthd.until(lambda: berthd.ask("getWorkload", path=path).get("places", [{}])[0]
                 .get("node") == there, "it goes on where it was told")
    berthd.ask("deleteWorkload", path=path)
    berthd.until_state(path["id"], "cancelled")


def see_pool(berthd, ids, viewer):
    berthd.ask("getPool")
    berthd.ask("getPool", 401, headers={"Authorization": "Bearer berth_none"})
    nodes = berthd.ask("getNodes", query={"limit": 2})["nodes"]
    nodes += berthd.ask("getNodes", query={"after": 2})["nodes"]
    held = {device["state"] for node in nodes for device in node["devices"]}
    if not {"sliced", "shared"} <= held:
        berthd.findings.append(f"the story shows no slices and shares: {held}")
    berthd.ask("getNodes", headers=viewer)
    berthd.ask("getNodes", 400, query={"limit": "many"})
    berthd.ask("getNodes", 400, query={"state": "sleepy"})
    for query in ({"state": "down"}, {"model": "A100-40"}, {"plane": "nowhere"}):
        key, value = next(iter(query.items()))
        for node in berthd.ask("getNodes", query=query)["nodes"]:
            if node[key] != value:
                berthd.findings.append(f"getNodes {query}: {node['name']} is {node[key]}")
    for name in ("getIdle", "getFits"):
        berthd.ask(name)
        berthd.ask(name, query={"format": "text"})
    berthd.ask("getIdle", query={"at": "-0s"})
    berthd.ask("getIdle", 404, query={"at": "2001-01-01T00:00Z"})
    berthd.ask("getIdle", 403, headers=viewer)
    berthd.ask("getFits", query={"tenant": "zebra", "class": "notebook"})
    berthd.ask("getFits", 404, query={"class": "none"})
    # Three of 64 nodes are more than a hundredth.
    firing = berthd.until(lambda: [it for it in berthd.ask("getAlerts",
                                                           query={"state": "all"})["alerts"]
                                   if it["kind"] != "quarantined_input"], "an alert fires")
    berthd.ask("postAcknowledge", path={"id": firing[0]["id"]}, headers={"Berth-Reason": "seen"})
    berthd.ask("postAcknowledge", 409, path={"id": firing[0]["id"]})
    berthd.ask("getAlerts", headers=viewer)
    berthd.ask("getAlerts", 400, query={"kind": "dragons"})
    berthd.ask("postAcknowledge", 404, path={"id": 999})
    berthd.ask("postAcknowledge", 403, path={"id": 1}, headers=viewer)
    for name in ("getTenants", "getNotices", "getUsage", "getReview"):
        berthd.ask(name)
        berthd.ask(name, 404, headers=viewer, query={"tenant": "zebra"})
    # It is counted with each snapshot.
    berthd.until(lambda: berthd.ask("getUsage")["rows"], "usage is counted")
    for by in ("", "tenant,class,model,method,hour", "model,day"):
        berthd.ask("getUsage", query={"by": by})
    berthd.ask("getUsage", 400, query={"by": "colour"})
    if not berthd.ask("getReview", query={"by": "tenant,class,model,day"})["rows"]:
        berthd.findings.append("getReview: nothing happened")
    berthd.ask("getReview", 400, query={"from": "2027-01-04T08:00Z"})
    berthd.ask("getReview", 400, query={"by": "colour"})


def change_pool(berthd):
    by = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3600))
    berthd.ask("postDrain", path={"node": "gpu-02"}, body={"by": by})
    berthd.ask("postDrain", path={"node": "gpu-02"}, body={"by": "2h"})
    berthd.ask("postDrain", 400, path={"node": "gpu-02"}, body={"by": "soon"})
    berthd.ask("postDrain", path={"node": "lab-01"}, body={})
    berthd.ask("postDrain", 404, path={"node": "none"}, body={})
    for node in ("gpu-02", "lab-01"):
        berthd.ask("postUndrain", path={"node": node})
    berthd.ask("postUndrain", 404, path={"node": "none"})
    berthd.ask("postLost", 404, path={"node": "none"}, headers={"Berth-Reason": "a test"})
    berthd.ask("postLost", 400, path={"node": node})
    berthd.ask("postLost", 409, path={"node": node}, headers={"Berth-Reason": "it is not"})
    for body in ({"frozen": True}, {"frozen": False}, {"frozen": True, "plane": "lab"}):
        berthd.ask("postFreeze", body=body)
    berthd.ask("getNodes")
    berthd.ask("postFreeze", body={"frozen": False, "plane": "lab"})
    berthd.ask("postFreeze", 400, body={})


def documents(berthd, viewer):
    for name, text in (("PoolDocument", POOL), ("Policy", POLICY)):
        berthd.ask(f"get{name}")
        berthd.ask(f"get{name}", 403, headers=viewer)
        berthd.ask(f"put{name}", query={"dry_run": "true"}, body=text)
        berthd.ask(f"put{name}", headers={"If-Match": '"1"'}, body=text)
        berthd.ask(f"put{name}", 409, headers={"If-Match": '"1"'}, body=text)
        berthd.ask(f"put{name}", 400, body="kind: Nothing\n")
    berthd.ask("getPolicy", query={"revision": 1})
    berthd.ask("getPolicy", 404, query={"revision": 99})
    berthd.ask("getPolicyRevisions", query={"limit": 1})
    berthd.ask("getPolicyRevisions", query={"after": 2})
    berthd.ask("getPolicyRevisions", 400, query={"limit": 0})
    berthd.ask("postRollback", query={"dry_run": "true"}, body={"revision": 1})
    berthd.ask("postRollback", body={"revision": 1})
    berthd.ask("postRollback", 400, body={})


def planned(berthd, viewer):
    window = "from: 2030-01-04T08:00Z\nuntil: 2030-01-04T12:00Z\n"
    room = "kind: Reservation\nname: room\ntenant: alpha\ndevices: {H100-80: 2}\n" + window
    fans = "kind: Maintenance\nname: fans\nnodes: 'gpu-[01-02]'\nreason: new fans\n" + window
    for word, text, listed in (("Reservation", room, "getReservations"),
                               ("Maintenance", fans, "getMaintenance")):
        path = {"path": {"name": text.split()[3]}}
        berthd.ask(f"put{word}", query={"dry_run": "true"}, body=text, **path)
        first = berthd.ask(f"put{word}", body=text, **path)["revision"]
        if berthd.ask(f"put{word}", body=text, **path)["revision"] != first:
            berthd.findings.append(f"put{word}: the same again is a new revision")
        berthd.ask(f"put{word}", 400, path={"name": "other"}, body=text)
        berthd.ask(f"put{word}", 409, headers={"If-Match": '"999"'}, body=text, **path)
        berthd.ask(listed)
        berthd.ask(listed, headers=viewer)
        berthd.ask(f"delete{word}", query={"dry_run": "true"}, **path)
        berthd.ask(f"delete{word}", **path)
        berthd.ask(f"delete{word}", 404, **path)
    berthd.ask("getReservations", 404, headers=viewer, query={"tenant": "zebra"})
    berthd.ask("getMaintenance", 401, headers={"Authorization": "Bearer berth_none"})
    for name in ("getPolicy", "getPoolDocument"):
        berthd.ask(name, query={"beside": "false"})


def tokens(berthd):
    """The headers of one who may see one tenant."""
    wish = {"principal": "vera", "role": "viewer", "tenant": "alpha"}
    made = [berthd.ask("postToken", 201, headers={"Idempotency-Key": "vera"}, body=wish)
            for _ in range(2)]
    berthd.ask("postToken", 201, body={"role": "agent", "node": "gpu-01"})
    berthd.ask("postToken", 201, body={"role": "agent", "nodes": "gpu-[01-02]"})
    berthd.ask("postToken", 404, body={"role": "agent", "nodes": "gpu-[01-99]"})
    berthd.ask("postToken", 400, body={"role": "king"})
    berthd.ask("postToken", 400, body={**wish, "tenant": "zebra"})  # which vera is not of
    last = berthd.ask("postToken", 201, body=wish)["id"]
    berthd.ask("getTokens")
    berthd.ask("getTokens", query={"principal": "vera"})
    berthd.ask("getTokens", 401, headers={"Authorization": "Bearer berth_none"})
    berthd.ask("deleteToken", path={"id": last})
    berthd.ask("deleteToken", 404, path={"id": last})
    if made[0]["token"] is None or made[1]["token"] is not None:
        berthd.findings.append("a token's text is told once, when it is made")
    return {"Authorization": f"Bearer {made[0]['token']}"}


def of_controller(berthd, root, viewer):
    nobody = {"headers": {"Authorization": "Bearer berth_none"}}
    berthd.ask("getQuarantine", 403, headers=viewer)
    held, = berthd.ask("getQuarantine")["quarantine"]
    if held["state"] != "held" or len(held["crashes"]) != 2:
        berthd.findings.append(f"two crashes are not in quarantine: {held}")
    berthd.ask("deleteQuarantine", path={"id": held["id"]})
    berthd.ask("deleteQuarantine", 404, path={"id": held["id"]})
    berthd.ask("getVersion")
    berthd.ask("getVersion", 401, **nobody)
    told = berthd.ask("getOpenapi")
    if told.decode() != openapi_check.read(f"{root}/controller/openapi.yaml"):
        berthd.findings.append("getOpenapi: is not controller/openapi.yaml")
    berthd.ask("getOpenapi", 401, **nobody)
    berthd.ask("getMetrics")
    berthd.ask("getMetrics", 403, headers=viewer)
    for name in ("getHealth", "getReady"):
        berthd.ask(name)
        path = berthd.description.operations[name]["path"]
        too_long(berthd, name, f"{path}?{'x' * 5000}")


def too_long(berthd, name, target):
    """What refuses nobody refuses a line that is too long."""
    connection = Connection(berthd.socket)
    connection.request("GET", target)
    answer = connection.getresponse()
    berthd.findings += openapi_check.check_answer(
        berthd.description, name, answer.status, dict(answer.getheaders()), answer.read())
    if answer.status != 414:
        berthd.findings.append(f"{name}: {answer.status}, not 414")
    berthd.called.add((name, False))
    connection.close()


def events(berthd, headers, wanted):
    """All that the log has; until each of the wanted ones has come."""
    connection, answer = berthd.send("getEvents", {}, {"after": "0"}, headers, None)
    if answer.getheader("Content-Type") != "text/event-stream" or answer.status != 200:
        berthd.findings.append(f"getEvents: {answer.status} {answer.getheader('Content-Type')}")
    came, name = set(), None
    while not wanted <= came:
        line = answer.readline().decode().rstrip("\n")
        if line.startswith("event:"):
            name = line.removeprefix("event:").strip()
        elif line.startswith("data:"):
            came.add(name)
            berthd.findings += openapi_check.check_event(
                berthd.description, name, json.loads(line.removeprefix("data:")))
    connection.close()
    berthd.called.add(("getEvents", True))
    berthd.ask("getEvents", 400, query={"after": "last"})
    berthd.ask("getEvents", 400, query={"from": "soon"})
    for name in ("getUsage", "getReview"):
        berthd.ask(name, query={"from": "-7d", "until": "now"})


def played(berthd, root):
    ids = submit(berthd)
    viewer = tokens(berthd)
    see_workloads(berthd, ids)
    see_pool(berthd, ids, viewer)
    change_workloads(berthd, ids)
    change_pool(berthd)
    documents(berthd, viewer)
    planned(berthd, viewer)
    of_controller(berthd, root, viewer)
    own = {"queued", "allocated", "released", "requeued", "noticed", "holds_set"}
    events(berthd, {}, own | {"node_set", "policy_in_force", "freeze_in_force", "time_set",
                               "alert_raised", "alert_acknowledged"})
    events(berthd, viewer, own)


# ---- the controller whose agents this is ----

def exchange(berthd, node, seen=0, runs=(), wait_ms=0):
    return berthd.ask("postExchange", path={"node": node}, query={"wait_ms": wait_ms},
                      body={"protocol": 1, "protocols": [1, 2], "agent": "0.1.0", "boot": "b",
                            "seen": seen, "runs": list(runs)})


def logs(berthd, run, seen, status=200, told=None, which=None):
    """One asks what it wrote, and the agent is asked for that run, and answers."""
    asker = threading.Thread(target=lambda: berthd.ask(
        "getLogs", status, path={"id": run["workload"]},
        query={"offset": -5, "stream": "stderr", **({"run": which} if which else {})}))
    asker.start()
    wants = berthd.until(lambda: exchange(berthd, "gpu-01", seen, [run])["wants"], "logs are asked")
    if wants[0]["epoch"] != run["epoch"]:
        berthd.findings.append(f"logs of run {which} are another run's: {wants[0]}")
    told = {"Berth-Offset": "0", "Berth-Size": "5", **(told or {})}
    path = {"node": "gpu-01", "request": wants[0]["request"]}
    berthd.ask("postAnswer", 204, path=path, headers=told, body=b"hello")
    berthd.ask("postAnswer", 404, path=path, headers=told, body=b"hello")
    asker.join()


def logs_refused(berthd, run):
    for status, query in ((400, {"run": 0}), (400, {"run": "first"}), (404, {"run": 9}),
                          (404, {"run": -9}), (404, {"member": 1})):
        berthd.ask("getLogs", status, path={"id": run["workload"]}, query=query)


def attach(berthd, run, seen):
    """A terminal beside it: typed, written, ended; and one that is closed."""
    def opened(**more):
        body = {"member": 0, "term": "xterm", "rows": 24, "columns": 80, **more}
        it = berthd.ask("postAttach", 201, path={"id": run["workload"]}, body=body,
                        headers={"Berth-Reason": "a test"})
        berthd.until(lambda: [want for want in exchange(berthd, "gpu-01", seen, [run])["wants"]
                              if want.get("session") == it["session"]], "it is asked for")
        return {"session": it["session"]}

    berthd.ask("postAttach", 400, path={"id": run["workload"]}, body={"rows": 0})
    berthd.ask("postAttach", 404, path={"id": 99999}, body={})
    client = opened(command=["ls", "-l"])
    agent = {"node": "gpu-01", **client}
    berthd.ask("postAttachInput", path=client, query={"offset": 0, "rows": 9, "columns": 9},
               body=b"typed")
    berthd.ask("getAttachInput", path=agent, query={"wait_ms": 5000, "window": 1})
    berthd.ask("postAttachOutput", path=agent, query={"offset": 0}, body=b"written")
    berthd.ask("getAttachOutput", path=client, query={"wait_ms": 5000})
    for name, path in (("postAttachInput", client), ("postAttachOutput", agent),
                       ("getAttachOutput", client), ("getAttachInput", agent)):
        berthd.ask(name, 400, path=path, query={"offset": 999},
                   body=b"x" if name.startswith("post") else None)
    berthd.ask("postAttachOutput", path=agent, query={"offset": 7, "exit": 3}, body=b"!")
    if berthd.ask("getAttachOutput", path=client, query={"offset": 7}) != b"!":
        berthd.findings.append("the last byte of a session is not the one that was written")
    client = opened(term=None)
    berthd.ask("deleteAttach", 204, path=client)
    berthd.ask("deleteAttach", 410, path=client)
    berthd.ask("deleteAttach", 404, path={"session": "0a1b"})


def certificates(berthd, root):
    """A node enrols; its token is good for one key."""
    with open(f"{root}/tests/corpus/certificate_request/p256", encoding="ascii") as file:
        request = file.read()
    with open(f"{root}/tests/corpus/certificate_request/ed25519", encoding="ascii") as file:
        other = file.read()
    wish = {"role": "join", "node": "gpu-02", "expires": "10m"}
    token = berthd.ask("postToken", 201, body=wish)["token"]
    berthd.ask("postToken", 400, body={**wish, "expires": "8d"})
    who = {"Authorization": f"Bearer {token}"}
    node = {"node": "gpu-02"}
    berthd.ask("postCertificate", 403, path=node, body={"request": request})
    berthd.ask("postCertificate", 400, path=node, headers=who, body={"request": "none"})
    first = berthd.ask("postCertificate", path=node, headers=who, body={"request": request})
    again = berthd.ask("postCertificate", path=node, headers=who, body={"request": request})
    berthd.ask("postCertificate", 409, path=node, headers=who, body={"request": other})
    if first["enrolment"] != again["enrolment"]:
        berthd.findings.append("a repetition enrols the node anew")
    berthd.ask("getNodes")
    berthd.ask("deleteCertificate", path=node)
    berthd.ask("deleteCertificate", 404, path=node)


def with_agents(berthd):
    berthd.ask("getNodes")
    berthd.ask("postExchange", 404, path={"node": "none"}, body={"protocol": 1, "agent": "0",
                                                                 "boot": "b", "runs": []})
    exchange(berthd, "gpu-01")
    more = "checkpoint: {signal: USR1, within: 9s}\n"
    text = document("agent", more=more).replace("]}", "], env: {A: b}, workdir: /tmp}")
    berthd.ask("postWorkload", 201, body=text)
    told = berthd.until(lambda: (it := exchange(berthd, "gpu-01"))["runs"] and it, "it is to run")
    run = {key: told["runs"][0][key] for key in ("workload", "member", "epoch")}
    berthd.until_state(run["workload"], "starting")
    run["phase"] = "running"
    exchange(berthd, "gpu-01", told["generation"], [run])
    berthd.until_state(run["workload"], "running")
    logs(berthd, run, told["generation"])
    logs(berthd, run, told["generation"], told={"Berth-Gone": "true"})  # it may just have begun
    logs_refused(berthd, run)
    attach(berthd, run, told["generation"])
    events(berthd, {}, {"attached", "detached"})
    berthd.ask("getNodes")
    berthd.ask("postPreempt", path={"id": run["workload"]}, headers={"Berth-Reason": "a test"})
    told = exchange(berthd, "gpu-01", told["generation"], [run], wait_ms=2000)
    if not told["runs"][0]["stop"]:
        berthd.findings.append("the story shows no notice")
    run = {**run, "phase": "exited", "exit_code": 3, "signal": 0}
    exchange(berthd, "gpu-01", told["generation"], [run])
    berthd.until(lambda: len(berthd.ask("getWorkload", path={"id": run["workload"]})["runs"]) == 2,
                 "it runs again")
    logs(berthd, run, told["generation"], which=1)
    logs(berthd, run, told["generation"], which=-1)
    logs(berthd, run, told["generation"], 410, {"Berth-Gone": "true"}, 1)
    berthd.until(lambda: berthd.ask("getNodes")["nodes"][0]["state"] == "down", "it is silent")
    berthd.ask("getLogs", 504, path={"id": run["workload"]}, query={"run": 1})
    berthd.ask("postLost", path={"node": "gpu-01"}, headers={"Berth-Reason": "a test"})


# ---- all of it ----

def one(description, berthd, story, *more):
    folder = tempfile.mkdtemp(prefix="berth-openapi-")
    try:
        controller = Controller(description, berthd, folder, *more)
        try:
            story(controller)
        except Exception as error:      # what was found before may say why
            controller.findings.append(f"{story.__name__}: {type(error).__name__}: {error}")
        controller.end()
        return controller
    finally:
        shutil.rmtree(folder)


def run(description, root, berthd):
    """The findings."""
    def played_here(controller):
        played(controller, root)

    def agents_here(controller):
        certificates(controller, root)
        with_agents(controller)

    tls = ("--listen", "tcp:127.0.0.1:0", "--tls-cert", f"{root}/tests/fixtures/tls-cert.pem",
           "--tls-key", f"{root}/tests/fixtures/tls-key.pem")
    both = [one(description, berthd, played_here, "--simulate", "--snapshot-every", "100"),
            one(description, berthd, agents_here, *tls, "--lease", "5s")]
    findings = [finding for controller in both for finding in controller.findings]
    called = set().union(*(controller.called for controller in both))
    for name in description.operations:
        for good in (True, False):
            if (name, good) not in called:
                findings.append(f"{name}: was never {'answered well' if good else 'refused'}")
    return list(dict.fromkeys(findings))
