"""Write vitbook/widgets/engine/kernel.js: the matrix product as WebAssembly, for the model that runs in a page.

A page has no BLAS. WebAssembly's 128-bit registers hold four float32 numbers each; the function made here keeps a tile of
4 rows and 8 columns of the result in eight of them while it walks once along k:

    C[i, j] = b[j] + sum over k of A[i, k] B[k, j]

B comes in panels of 8 columns, so that every step reads 32 neighbouring bytes. Two versions: `fused` multiplies and adds in
one instruction (relaxed SIMD, not in every browser), `plain` in two. `python tools/kernel.py` writes the file, `--check` says
whether it is the one that this script writes. The instructions are those of the WebAssembly specification, chapter 5.
"""

from __future__ import annotations

import argparse
import base64
import sys
from collections.abc import Iterable
from pathlib import Path

FILE = Path(__file__).parents[1] / "vitbook" / "widgets" / "engine" / "kernel.js"
ROWS, LANES = 4, 4  # rows of a tile; numbers in a register, of which a tile is two wide
I32, V128 = 0x7F, 0x7B

#: a: address of A; a_step: bytes from a row of A to the next; b: of the panels; c, c_step: of the result; rows: a multiple
#: of 4; depth: how far k runs; columns: a multiple of 8; bias: address of b.
PARAMETERS = ("a", "a_step", "b", "c", "c_step", "rows", "depth", "columns", "bias")
INTEGERS = ("row", "k", "at_a", "at_b", "at_c", "rows_of_a", "two_steps", "three_steps")
VECTORS = ("left", "right", "bias_left", "bias_right", "number", *(f"sum_{r}{s}" for r in range(ROWS) for s in "lr"))
NUMBER = {name: n for n, name in enumerate((*PARAMETERS, *INTEGERS, *VECTORS))}


def leb(n: int) -> bytes:
    """A whole number >= 0 in seven bits a byte, the last byte without the eighth."""
    out = bytearray()
    while n > 0x7F:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    return bytes([*out, n])


def signed(n: int) -> bytes:
    """The same for constants, whose sign is bit seven of the last byte; here all are from 0 to 63."""
    assert 0 <= n < 64
    return bytes([n])


def listed(items: Iterable[bytes]) -> bytes:
    items = list(items)
    return leb(len(items)) + b"".join(items)


def sized(body: bytes) -> bytes:
    return leb(len(body)) + body


# --- instructions: each function returns the bytes that leave its value on the stack, or do its deed


def get(name: str) -> bytes:
    return b"\x20" + leb(NUMBER[name])


def put(name: str, value: bytes) -> bytes:
    return value + b"\x21" + leb(NUMBER[name])


def const(n: int) -> bytes:
    return b"\x41" + signed(n)


def add(a: bytes, b: bytes) -> bytes:
    return a + b + b"\x6a"


def subtract(a: bytes, b: bytes) -> bytes:
    return a + b + b"\x6b"


def times(a: bytes, b: bytes) -> bytes:
    return a + b + b"\x6c"


def simd(code: int, *operands: bytes) -> bytes:
    return b"".join(operands) + b"\xfd" + leb(code)


def load(address: bytes, offset: int = 0) -> bytes:
    """Four numbers from an address that is a multiple of 16."""
    return simd(0x00, address) + leb(4) + leb(offset)


def spread(address: bytes) -> bytes:
    """One number, into all four places."""
    return simd(0x09, address) + leb(2) + leb(0)


def store(address: bytes, value: bytes, offset: int = 0) -> bytes:
    return simd(0x0B, address, value) + leb(4) + leb(offset)


def multiply_add(a: bytes, b: bytes, c: bytes, fused: bool) -> bytes:
    """a b + c, four numbers at a time: rounded once where fused, else twice."""
    return simd(0x105, a, b, c) if fused else simd(0xE4, c, simd(0xE6, a, b))


def repeat_while(body: bytes, condition: bytes) -> bytes:
    """Do the body, and again as long as the condition that follows it is not 0."""
    return b"\x03\x40" + body + condition + b"\x0d\x00" + b"\x0b"


def less(a: bytes, b: bytes) -> bytes:
    return a + b + b"\x49"


# --- the function


def product(fused: bool) -> bytes:
    """The instructions of C = b + A B."""
    steps = (None, get("a_step"), get("two_steps"), get("three_steps"))
    tile = [(r, side) for r in range(ROWS) for side in "lr"]
    along_k = [put("left", load(get("at_b"))), put("right", load(get("at_b"), 16))]
    for r in range(ROWS):
        along_k.append(put("number", spread(add(get("at_a"), steps[r]) if r else get("at_a"))))
        for side, panel in (("l", "left"), ("r", "right")):
            total = f"sum_{r}{side}"
            along_k.append(put(total, multiply_add(get("number"), get(panel), get(total), fused)))
    along_k += [
        put("at_a", add(get("at_a"), const(4))),
        put("at_b", add(get("at_b"), const(32))),
        put("k", subtract(get("k"), const(1))),
    ]
    down_the_rows = [
        put("at_a", get("rows_of_a")),
        put("at_b", get("b")),
        put("k", get("depth")),
        *(put(f"sum_{r}{side}", get("bias_left" if side == "l" else "bias_right")) for r, side in tile),
        repeat_while(b"".join(along_k), get("k")),
    ]
    for r, side in tile:
        down_the_rows.append(store(get("at_c"), get(f"sum_{r}{side}"), 0 if side == "l" else 16))
        if side == "r":
            down_the_rows.append(put("at_c", add(get("at_c"), get("c_step"))))
    down_the_rows += [
        put("rows_of_a", add(get("rows_of_a"), times(get("a_step"), const(ROWS)))),
        put("row", add(get("row"), const(ROWS))),
    ]
    along_the_columns = [
        put("bias_left", load(get("bias"))),
        put("bias_right", load(get("bias"), 16)),
        put("row", const(0)),
        put("rows_of_a", get("a")),
        put("at_c", get("c")),
        repeat_while(b"".join(down_the_rows), less(get("row"), get("rows"))),
        put("b", get("at_b")),  # the next panel begins where this one ended
        put("c", add(get("c"), const(32))),
        put("bias", add(get("bias"), const(32))),
        put("columns", subtract(get("columns"), const(2 * LANES))),
    ]
    return b"".join(
        [
            put("two_steps", add(get("a_step"), get("a_step"))),
            put("three_steps", add(get("two_steps"), get("a_step"))),
            repeat_while(b"".join(along_the_columns), get("columns")),
        ]
    )


def module(fused: bool) -> bytes:
    """A module that takes `page.memory` and gives the function `multiply`."""
    locals_ = listed([leb(len(INTEGERS)) + bytes([I32]), leb(len(VECTORS)) + bytes([V128])])
    sections = {
        1: listed([b"\x60" + listed([bytes([I32])] * len(PARAMETERS)) + leb(0)]),  # its type: nine integers -> nothing
        2: listed([sized(b"page") + sized(b"memory") + b"\x02\x00" + leb(1)]),
        3: listed([leb(0)]),
        7: listed([sized(b"multiply") + b"\x00" + leb(0)]),
        10: listed([sized(locals_ + product(fused) + b"\x0b")]),
    }
    return b"\0asm\x01\0\0\0" + b"".join(bytes([number]) + sized(body) for number, body in sections.items())


def text() -> str:
    """The file as it is to stand in the repository."""
    lines = ["// Written by tools/kernel.py, which explains it: the matrix product as WebAssembly, in base64."]
    for name, fused in (("FUSED", True), ("PLAIN", False)):
        lines += [f"export const {name} =", f'  "{base64.b64encode(module(fused)).decode("ascii")}";']
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; say whether the file is up to date")
    if not parser.parse_args().check:
        FILE.write_text(text(), encoding="utf-8")
        return 0
    if FILE.is_file() and FILE.read_text(encoding="utf-8") == text():
        return 0
    print(f"{FILE.name} is not what tools/kernel.py writes: run `python tools/kernel.py`", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
