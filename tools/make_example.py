#!/usr/bin/env python3
"""Makes the bundled example: a pool and a list of pods, from a seed, with no outside data.

    make_example.py [FOLDER]       writes pool-nodes.csv and pool-pods.csv (default: examples/)
    make_example.py --check FOLDER exits 1 when the files there are not what the seed gives

The form is that of the openb trace (docs/replay.md). The figures are made up: plausible, not
measured anywhere.
"""
import os
import random
import sys

SEED = 20
# how many nodes, their name, model, devices, cores, GiB
NODES = [
    (34, "hopper", "H100-80", 8, 96, 1024),
    (28, "ampere", "A100-40", 4, 64, 512),
    (24, "ada", "L40S", 2, 48, 256),
    (14, "turing", "T4", 1, 16, 64),
]
# weight, name, devices, choices of thousandths, cores, GiB (of each pod, with some spread)
PODS = [
    (130, "prepare", 0, [0], [2, 4, 8, 16], [8, 16, 32]),
    (170, "notebook", 1, [100, 150, 200, 250], [2, 4], [8, 16]),
    (120, "inference", 1, [250, 330, 400, 500, 660, 800], [2, 4, 6, 8], [16, 32]),
    (310, "finetune", 1, [1000], [6, 8, 10, 12], [48, 64, 96]),
    (22, "train2", 2, [1000], [16, 24], [128, 192]),
    (18, "train4", 4, [1000], [32, 40], [256, 384]),
    (14, "train8", 8, [1000], [64, 80], [512, 768]),
]
COUNT = 700
# Part of the pods that take only some models, by what they are.
SPECS = {
    "notebook": (0.25, ["T4|L40S", "L40S"]),
    "inference": (0.20, ["L40S", "T4|L40S", "A100-40|H100-80"]),
    "finetune": (0.20, ["A100-40|H100-80", "H100-80"]),
    "train2": (0.30, ["A100-40|H100-80"]),
    "train4": (0.30, ["H100-80"]),
    "train8": (0.00, [""]),
}


def nodes_text():
    lines = ["sn,cpu_milli,memory_mib,gpu,model"]
    for count, name, model, devices, cores, gib in NODES:
        for number in range(1, count + 1):
            lines.append(f"{name}-{number:02},{cores * 1000},{gib * 1024},{devices},{model}")
    return "\n".join(lines) + "\n"


def pods_text(chance):
    lines = ["name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec"]
    weights = [row[0] for row in PODS]
    for number in range(1, COUNT + 1):
        _, name, devices, shares, cores, gib = chance.choices(PODS, weights)[0]
        part, specs = SPECS.get(name, (0, [""]))
        spec = chance.choice(specs) if chance.random() < part else ""
        lines.append(f"{name}-{number:03},{chance.choice(cores) * 1000},"
                     f"{chance.choice(gib) * 1024},{devices},{chance.choice(shares)},{spec}")
    return "\n".join(lines) + "\n"


def main():
    arguments = sys.argv[1:]
    check = arguments[:1] == ["--check"]
    folder = (arguments[check:] or ["examples"])[0]
    wanted = {"pool-nodes.csv": nodes_text(), "pool-pods.csv": pods_text(random.Random(SEED))}
    for name, text in wanted.items():
        path = os.path.join(folder, name)
        if not check:
            with open(path, "w", encoding="ascii", newline="\n") as file:
                file.write(text)
            continue
        with open(path, encoding="ascii", newline="") as file:
            if file.read() != text:
                print(f"{path} is not what tools/make_example.py makes; run it again")
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
