#!/usr/bin/env python3
"""What shells offer for a line of `berth ...`: bash, and zsh and fish where they are installed.

    completion_check.py BERTHD BERTH

Real shells read the scripts of `berth completion`, and a real berthd has the names.
"""
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time

from live_pool import Pool, until

POOL = """kind: Pool
name: small
nodes:
  - {name: gpu-01, devices: {model: H100-80, count: 8}, cpu: 32, ram: 128Gi}
  - {name: gpu-02, devices: {model: H100-80, count: 8}, cpu: 32, ram: 128Gi}
"""
POLICY = """kind: Policy
preset: equal
classes: {training: {rank: 1}, batch: {rank: 2}}
default_class: training
tenants: {web: {}, research: {tenants: {nlp: {}}}}
"""
WAIT_S = 60             # a sanitized program on a busy machine is slow

# The line, and all that is offered for its last word.
ROWS = (
    ("berth sta", "status"),
    ("berth status ", "train tune"),
    ("berth status tr", "train"),
    ("berth status o", "old"),          # it has ended; there is no live one
    ("berth cancel o", ""),
    ("berth cancel train t", "train tune"),
    ("berth drain gpu-", "gpu-01 gpu-02"),
    ("berth move train --to gpu-0", "gpu-01 gpu-02"),
    ("berth submit --class ", "batch training"),
    ("berth submit --tenant research", "research research/nlp"),
    ("berth submit -t w", "web"),
    ("berth pool --nodes --model ", "H100-80"),
    ("berth context use lab:", "lab:one lab:two"),
    ("berth context list l", ""),
    ("berth status --context nowhere t", ""),
)


def bash(folder, env, line):
    """As readline splits it: '=' and ':' are words of their own."""
    words = [it for it in re.findall(r"[:=]+|[^\s:=]+", line)] + [""] * line.endswith(" ")
    script = ('source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _berth; '
              'printf "%s\\n" "${COMPREPLY[@]}"')
    out = subprocess.run(["bash", "-c", script, "bash", f"{folder}/berth.bash", *words], env=env,
                         check=True, capture_output=True, text=True, timeout=WAIT_S)
    assert not out.stderr, out.stderr
    head = line.rsplit(" ", 1)[1].rpartition(":")
    return ["".join(head[:2]) + it for it in out.stdout.split()]


def fish(folder, env, line):
    out = subprocess.run(["fish", "--no-config", "-c",
                          'source $argv[1]; complete -C "$argv[2]"', f"{folder}/berth.fish", line],
                         env=env, check=True, capture_output=True, text=True, timeout=WAIT_S)
    return [it.split("\t")[0] for it in out.stdout.splitlines()]


class Zsh:
    """One that somebody types into."""

    def __init__(self, folder, env):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execvpe("zsh", ["zsh", "-f"], dict(env, TERM="dumb", ZDOTDIR=folder))
        self.seen = ""
        # What compadd was given is written down: a screen is no list.
        self.ask(f"fpath=({folder} $fpath); autoload -Uz compinit; compinit -u -D; "
                 "PS1='RE''ADY' PS2=; unsetopt zle_bracketed_paste; "
                 "zstyle ':completion:*' insert-tab false; "
                 "compadd() { local -a all; builtin compadd -O all \"$@\"; "
                 f"print -rl -- $all >>{folder}/offered; builtin compadd \"$@\"; }}; ")
        self.file = f"{folder}/offered"

    def ask(self, line):
        os.write(self.fd, f"{line}echo DO''NE\n".encode())
        self.wait("DONE")
        self.wait("READY")              # it reads keys now, not lines

    def wait(self, text):
        end = time.monotonic() + WAIT_S
        while text not in self.seen:
            assert time.monotonic() < end, f"zsh never says {text}: {self.seen[-500:]}"
            if select.select([self.fd], [], [], 0.1)[0]:
                self.seen += os.read(self.fd, 65536).decode(errors="replace")
        self.seen = self.seen.split(text, 1)[1]

    def offers(self, line):
        with open(self.file, "w", encoding="utf-8"):
            pass
        os.write(self.fd, f"{line}\t".encode())
        self.ask("\x15")                # takes the line away when all is offered
        with open(self.file, encoding="utf-8") as file:
            return file.read().split()


def main():
    berthd, berth = (os.path.abspath(path) for path in sys.argv[1:3])
    with tempfile.TemporaryDirectory(prefix="berth-shells-") as folder:
        os.mkdir(f"{folder}/bin")
        os.symlink(berth, f"{folder}/bin/berth")
        pool = Pool({"berthd": berthd, "berth-agent": "", "berth": berth}, folder, POOL, POLICY, [],
                    "--simulate", "--tick", "100ms")
        env = dict(os.environ, PATH=f"{folder}/bin:{os.environ['PATH']}", HOME=folder,
                   BERTH_URL=pool.url, BERTH_CONTEXTS=f"{folder}/contexts.yaml",
                   BERTH_COMPLETE_MS=str(WAIT_S * 1000), XDG_CONFIG_HOME=folder)

        def run(*words):
            return subprocess.run(["berth", *words], env=env, check=True, capture_output=True,
                                  text=True, timeout=WAIT_S).stdout

        try:
            pool.start_berthd()
            for name in ("train", "tune", "old"):
                run("submit", "--tenant", "web", "-d", "1", "--name", name, "--", "sleep", "600")
            run("cancel", "old")
            until(lambda: "cancelled" in run("status", "old"), "old has ended")
            for name in ("lab:one", "lab:two"):
                run("context", "set", name, "--url", pool.url)
            run("context", "set", "nowhere", "--url", f"unix:{folder}/none")
            shells = {"bash": bash}
            for shell, name in (("bash", "berth.bash"), ("fish", "berth.fish"), ("zsh", "_berth")):
                with open(f"{folder}/{name}", "w", encoding="utf-8") as file:
                    file.write(run("completion", shell))
            if shutil.which("fish"):
                shells["fish"] = fish
            if shutil.which("zsh"):
                zsh = Zsh(folder, env)
                shells["zsh"] = lambda folder, env, line: zsh.offers(line)
            for shell, offers in shells.items():
                for line, wanted in ROWS:
                    got = sorted(offers(folder, env, line))
                    assert got == wanted.split(), f"{shell}: '{line}': {got}, not {wanted}"
            print(f"{len(ROWS)} lines: {', '.join(shells)}")
            late = time.monotonic()
            out = subprocess.run(["berth", "__complete", "nodes", "--", ""], capture_output=True,
                                 env=dict(env, BERTH_COMPLETE_MS="1", BERTH_URL=pool.url),
                                 timeout=WAIT_S, check=True)
            assert not out.stderr, out
            print(f"given 1 ms, it ends after {1000 * (time.monotonic() - late):.0f}")
        finally:
            assert not pool.end()


if __name__ == "__main__":
    main()
