#!/usr/bin/env python3
"""The same jobs to Slurm and to berth: from the first request until all are allocated.

    slurm.py BUILD [--jobs N] [--nodes N] [--threads N]

Jobs of one CPU, one a request, on nodes of 640; nothing is launched on either side, so that the
controllers are compared and not this machine's fork(). Slurm (slurmctld, slurmd for each node,
munged, all on loopback with a configuration made here) is asked through its own library, by
slurm_load.c. berth is asked over HTTP; its answers are durable. Without Slurm, its headers or munge
this says so and ends well.
"""
import argparse
import os
import pwd
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests"))
from live_pool import Child, Pool, Trouble, until

CPUS = 640                              # of a node
CONF = """ClusterName=bench
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
SlurmctldDebug=error
SlurmdDebug=error
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
PriorityType=priority/basic
SchedulerType=sched/builtin
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MaxJobCount=50000
MessageTimeout=60
ReturnToService=2
MpiDefault=none
NodeName=n[1-{nodes}] NodeAddr=127.0.0.1 NodeHostname={host} Port=[{first}-{last}] CPUs={cpus}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def missing():
    """What there is not, and how to get it; empty: all is there."""
    for name in ("slurmctld", "slurmd", "munged", "mungekey", "sinfo"):
        if not find(name):
            return f"there is no {name}: apt-get install slurm-wlm munge libslurm-dev"
    if not os.path.exists("/usr/include/slurm/slurm.h"):
        return "there is no slurm/slurm.h: apt-get install libslurm-dev"
    return ""


def find(name):
    return shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin:/sbin")


def free_ports(count):
    """So many in a row that nobody has now."""
    for first in range(21000, 60000, 97):
        taken = []
        try:
            for port in range(first, first + count):
                taken.append(socket.socket())
                taken[-1].bind(("127.0.0.1", port))
            return first
        except OSError:
            pass
        finally:
            for it in taken:
                it.close()
    raise Trouble("there are no free ports")


class Slurm:
    def __init__(self, folder, nodes):
        self.folder, self.nodes, self.children = folder, nodes, []
        host = socket.gethostname().split(".")[0]
        first = free_ports(nodes + 1)
        self.conf = os.path.join(folder, "slurm.conf")
        os.mkdir(os.path.join(folder, "state"))
        with open(self.conf, "w", encoding="ascii") as file:
            file.write(CONF.format(folder=folder, host=host, port=first, first=first + 1,
                                   last=first + nodes, nodes=nodes, cpus=CPUS,
                                   user=pwd.getpwuid(os.getuid()).pw_name))
        self.environment = dict(os.environ, SLURM_CONF=self.conf)

    def start(self):
        at = lambda name: os.path.join(self.folder, name)
        subprocess.run([find("mungekey"), "--create", "--keyfile", at("munge.key")], check=True)
        self.child("munged", "--foreground", "--force", "--key-file", at("munge.key"), "--socket",
                   at("munge.socket"), "--pid-file", at("munge.pid"), "--log-file",
                   at("munge.log"), "--seed-file", at("munge.seed"), "--num-threads", "4")
        until(lambda: os.path.exists(at("munge.socket")), "munged listens")
        self.child("slurmctld", "-D", "-f", self.conf)
        for node in range(1, self.nodes + 1):
            self.child("slurmd", "-D", "-f", self.conf, "-N", f"n{node}")
        until(self.is_up, "all nodes are idle")

    def child(self, name, *words):
        child = Child(os.path.join(self.folder, f"{name}.out"), [find(name), *words])
        child.start()
        self.children.append(child)

    def is_up(self):
        for child in self.children:
            if not child.alive():
                raise Trouble(f"{child.command[0]} does not start:\n{child.words()}{self.log()}")
        done = subprocess.run([find("sinfo"), "-h", "-t", "idle", "-o", "%D"], text=True,
                              env=self.environment, capture_output=True, check=False)
        return done.stdout.strip() == str(self.nodes)

    def log(self):
        try:
            with open(os.path.join(self.folder, "slurmctld.log"), encoding="utf-8") as file:
                return "".join(file.readlines()[-5:])
        except OSError:
            return ""

    def run(self, jobs, threads):
        """Seconds until all were allocated."""
        program = os.path.join(self.folder, "slurm_load")
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "slurm_load.c")
        subprocess.run(["cc", "-O2", "-Wall", "-o", program, source, "-lslurm", "-lpthread"],
                       check=True)
        text = subprocess.run([program, str(jobs), str(threads)], env=self.environment, text=True,
                              stdout=subprocess.PIPE, check=True).stdout
        seconds, allocated, refused = text.split()
        if int(refused) or int(allocated) != jobs:
            raise Trouble(f"Slurm allocated {allocated} jobs at once, and refused {refused}: "
                          f"{self.log()}")
        return float(seconds)

    def end(self):
        for child in reversed(self.children):
            if child.alive():
                child.process.send_signal(signal.SIGTERM)
        for child in self.children:
            try:
                child.process.wait(30)
            except subprocess.TimeoutExpired:
                child.process.kill()
                child.process.wait()

    def version(self):
        return subprocess.run([find("slurmctld"), "-V"], text=True, capture_output=True,
                              check=True).stdout.strip()


class Berth:
    """The same, over as many connections that are kept alive."""

    def __init__(self, build, folder, nodes):
        self.pool = Pool({"berthd": os.path.join(build, "berthd"), "berth-agent": "", "berth": ""},
                         folder, f"kind: Pool\nnodes:\n  - {{name: \"n[1-{nodes}]\", cpu: {CPUS}, "
                         "ram: 1024Gi}\n", "kind: Policy\npreset: equal\ntenants: {t: {}}\n", (),
                         "--simulate", "--requests-per-s", "0")

    def run(self, jobs, connections):
        self.pool.start_berthd()
        body = ('{"kind":"Workload","name":"job","tenant":"t","class":"batch","each":{"cpu":1},'
                '"time_limit":"10h","run":{"command":["sleep","86400"]}}')
        request = (f"POST /v1/workloads HTTP/1.1\r\nHost: b\r\nContent-Type: application/json\r\n"
                   f"Content-Length: {len(body)}\r\n\r\n{body}").encode()
        selector = selectors.DefaultSelector()
        for _ in range(connections):
            connection = socket.socket(socket.AF_UNIX)
            connection.connect(self.pool.socket)
            selector.register(connection, selectors.EVENT_READ)
        sent = answered = allocated = 0
        begin = time.monotonic()
        for key in selector.get_map().values():
            key.fileobj.sendall(request)
            sent += 1
        while answered < jobs:
            for key, _ in selector.select():
                answer = key.fileobj.recv(65536)
                if not answer.startswith(b"HTTP/1.1 201"):
                    raise Trouble(f"berth answers {answer}")
                answered += 1
                allocated += b'"state":"running"' in answer
                if sent < jobs:
                    key.fileobj.sendall(request)
                    sent += 1
        seconds = time.monotonic() - begin
        running = self.pool.get("/v1/pool")["running"]
        if allocated != jobs or running != jobs:
            raise Trouble(f"berth allocated {allocated} jobs at once, {running} run")
        return seconds


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("build")
    parser.add_argument("--jobs", type=int, default=10000)
    parser.add_argument("--nodes", type=int, default=20)
    parser.add_argument("--threads", type=int, default=64)
    options = parser.parse_args()
    if why := missing():
        print(f"bench-slurm is skipped: {why}")
        return 0
    with tempfile.TemporaryDirectory(prefix="berth-slurm-") as folder:
        slurm = Slurm(folder, options.nodes)
        try:
            slurm.start()
            slurm_s = slurm.run(options.jobs, options.threads)
        finally:
            slurm.end()
    with tempfile.TemporaryDirectory(prefix="berth-slurm-") as folder:
        berth = Berth(options.build, folder, options.nodes)
        try:
            berth_s = berth.run(options.jobs, options.threads)
        finally:
            berth.pool.end()
    print(f"{options.jobs} jobs of one CPU on {options.nodes} nodes of {CPUS}, one a request, "
          f"{options.threads} at a time; {slurm.version()}")
    print(f"slurm.allocations {options.jobs / slurm_s:.0f} /s")
    print(f"slurm.berth_allocations {options.jobs / berth_s:.0f} /s  ratio {slurm_s / berth_s:.2f} "
          "against Slurm")
    return 0


if __name__ == "__main__":
    sys.exit(main())
