#!/usr/bin/env python3
"""Turns a file into C: embed.py FILE HEADER SYMBOL OUTPUT

OUTPUT defines `const unsigned char SYMBOL[]` and `const size_t SYMBOL_size`, declared in HEADER.
"""

import sys

PER_LINE = 16


def main(source, header, symbol, output):
    with open(source, "rb") as file:
        content = file.read()
    if not content:
        sys.exit(f"embed.py: {source} is empty")
    with open(output, "w", encoding="ascii") as out:
        out.write(f'#include "{header}"\n\nconst unsigned char {symbol}[] = {{\n')
        for start in range(0, len(content), PER_LINE):
            out.write("".join(f"{byte}," for byte in content[start:start + PER_LINE]) + "\n")
        out.write(f"}};\nconst size_t {symbol}_size = sizeof {symbol};\n")


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    main(*sys.argv[1:])
