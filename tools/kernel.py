"""Write vitbook/widgets/engine/kernel.js: what of the model in the page is written in WebAssembly.

A page has no BLAS. WebAssembly's 128-bit registers hold four float32 numbers each, and three functions use them:

    multiply   C[i, j] = b[j] + sum over k of A[i, k] B[k, j]; a tile of 4 rows and 8 columns of C stays in eight registers
               while k runs. B comes in panels of 8 columns, so that every step reads 32 neighbouring bytes.
    softmax    of every row, in place: e to the power of what is left after the row's largest number has been taken off
    gelu       of every number, in place

Two versions: `fused` multiplies and adds in one instruction (relaxed SIMD, not in every browser), `plain` in two.
`python tools/kernel.py` writes the file, `--check` says whether it is the one that this script writes. The instructions are
those of the WebAssembly specification, chapter 5.
"""

from __future__ import annotations

import argparse
import base64
import struct
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

FILE = Path(__file__).parents[1] / "vitbook" / "widgets" / "engine" / "kernel.js"
ROWS, LANES = 4, 4  # rows of a tile; numbers in a register, of which a tile is two wide
I32, V128 = 0x7F, 0x7B


# --- numbers as the format writes them


def leb(n: int) -> bytes:
    """A whole number >= 0, seven bits a byte, the last byte without the eighth."""
    out = bytearray()
    while n > 0x7F:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    return bytes([*out, n])


def listed(items: Iterable[bytes]) -> bytes:
    items = list(items)
    return leb(len(items)) + b"".join(items)


def sized(body: bytes) -> bytes:
    return leb(len(body)) + body


# --- instructions: each function returns the bytes that leave its value on the stack, or do its deed


def const(n: int) -> bytes:
    assert 0 <= n < 64, "one byte, whose bit 6 would be the sign"
    return b"\x41" + bytes([n])


def add(a: bytes, b: bytes) -> bytes:
    return a + b + b"\x6a"


def subtract(a: bytes, b: bytes) -> bytes:
    return a + b + b"\x6b"


def times(a: bytes, b: bytes) -> bytes:
    return a + b + b"\x6c"


def less(a: bytes, b: bytes) -> bytes:
    return a + b + b"\x49"


def repeat_while(body: Sequence[bytes], condition: bytes) -> bytes:
    """Do the body, and again as long as the condition that follows it is not 0."""
    return b"\x03\x40" + b"".join(body) + condition + b"\x0d\x00\x0b"


def simd(code: int, *operands: bytes) -> bytes:
    return b"".join(operands) + b"\xfd" + leb(code)


def load(address: bytes, offset: int = 0) -> bytes:
    """Four numbers."""
    return simd(0x00, address) + leb(4) + leb(offset)


def spread(address: bytes) -> bytes:
    """One number, into all four places."""
    return simd(0x09, address) + leb(2) + leb(0)


def store(address: bytes, value: bytes, offset: int = 0) -> bytes:
    return simd(0x0B, address, value) + leb(4) + leb(offset)


def four(number: float) -> bytes:
    """The same number four times."""
    return simd(0x0C) + struct.pack("<f", number) * 4


def whole_four(number: int) -> bytes:
    return simd(0x0C) + struct.pack("<i", number) * 4


def plus(a: bytes, b: bytes) -> bytes:
    return simd(0xE4, a, b)


def minus(a: bytes, b: bytes) -> bytes:
    return simd(0xE5, a, b)


def mul(a: bytes, b: bytes) -> bytes:
    return simd(0xE6, a, b)


def div(a: bytes, b: bytes) -> bytes:
    return simd(0xE7, a, b)


def smaller(a: bytes, b: bytes) -> bytes:
    return simd(0xE8, a, b)


def larger(a: bytes, b: bytes) -> bytes:
    return simd(0xE9, a, b)


def of_all_lanes(value: bytes, operation: int) -> bytes:
    """The four numbers of a register combined to one (0x97: the largest, 0x92: the sum), and that four times."""
    lanes = [simd(0x1F, value) + bytes([lane]) for lane in range(LANES)]
    pairs = [lanes[0] + lanes[1] + bytes([operation]), lanes[2] + lanes[3] + bytes([operation])]
    return simd(0x13, pairs[0] + pairs[1] + bytes([operation]))


def multiply_add(a: bytes, b: bytes, c: bytes, fused: bool) -> bytes:
    """a b + c: rounded once where fused, else twice."""
    return simd(0x105, a, b, c) if fused else plus(c, mul(a, b))


def polynomial(x: bytes, coefficients: Sequence[float], fused: bool) -> bytes:
    """The highest power's coefficient first."""
    value = four(coefficients[0])
    for each in coefficients[1:]:
        value = multiply_add(value, x, four(each), fused)
    return value


# --- functions


class Function:
    """Integers as parameters, then integers and registers of its own, all known by their names."""

    def __init__(self, name: str, parameters: Sequence[str], integers: Sequence[str], registers: Sequence[str]):
        self.name, self.count = name, len(parameters)
        self.number = {each: n for n, each in enumerate((*parameters, *integers, *registers))}
        kinds = [(len(integers), I32), (len(registers), V128)]
        self.locals = listed(leb(count) + bytes([kind]) for count, kind in kinds)
        self.code = b""

    def get(self, name: str) -> bytes:
        return b"\x20" + leb(self.number[name])

    def put(self, name: str, value: bytes) -> bytes:
        return value + b"\x21" + leb(self.number[name])

    def forward(self, name: str, step: bytes) -> bytes:
        return self.put(name, add(self.get(name), step))

    @property
    def type(self) -> bytes:
        return b"\x60" + listed([bytes([I32])] * self.count) + leb(0)

    @property
    def body(self) -> bytes:
        return sized(self.locals + self.code + b"\x0b")


def multiply(fused: bool) -> Function:
    """C = b + A B.  a: address of A; a_step: bytes from a row of A to the next; b: of the panels; c, c_step: of the result;
    rows: a multiple of 4; depth: how far k runs; columns: a multiple of 8; bias: address of b."""
    f = Function(
        "multiply",
        ("a", "a_step", "b", "c", "c_step", "rows", "depth", "columns", "bias"),
        ("row", "k", "at_a", "at_b", "at_c", "rows_of_a", "two_steps", "three_steps"),
        (
            "left",
            "right",
            "bias_left",
            "bias_right",
            "number",
            *(f"sum_{r}{side}" for r in range(ROWS) for side in "lr"),
        ),
    )
    get, put = f.get, f.put
    steps = (None, get("a_step"), get("two_steps"), get("three_steps"))
    tile = [(r, side) for r in range(ROWS) for side in "lr"]
    along_k = [put("left", load(get("at_b"))), put("right", load(get("at_b"), 16))]
    for r in range(ROWS):
        along_k.append(put("number", spread(add(get("at_a"), steps[r]) if r else get("at_a"))))
        for side, panel in (("l", "left"), ("r", "right")):
            total = f"sum_{r}{side}"
            along_k.append(put(total, multiply_add(get("number"), get(panel), get(total), fused)))
    along_k += [f.forward("at_a", const(4)), f.forward("at_b", const(32)), put("k", subtract(get("k"), const(1)))]
    down_the_rows = [
        put("at_a", get("rows_of_a")),
        put("at_b", get("b")),
        put("k", get("depth")),
        *(put(f"sum_{r}{side}", get("bias_left" if side == "l" else "bias_right")) for r, side in tile),
        repeat_while(along_k, get("k")),
    ]
    for r, side in tile:
        down_the_rows.append(store(get("at_c"), get(f"sum_{r}{side}"), 0 if side == "l" else 16))
        if side == "r":
            down_the_rows.append(f.forward("at_c", get("c_step")))
    down_the_rows += [f.forward("rows_of_a", times(get("a_step"), const(ROWS))), f.forward("row", const(ROWS))]
    along_the_columns = [
        put("bias_left", load(get("bias"))),
        put("bias_right", load(get("bias"), 16)),
        put("row", const(0)),
        put("rows_of_a", get("a")),
        put("at_c", get("c")),
        repeat_while(down_the_rows, less(get("row"), get("rows"))),
        put("b", get("at_b")),  # the next panel begins where this one ended
        f.forward("c", const(32)),
        f.forward("bias", const(32)),
        put("columns", subtract(get("columns"), const(2 * LANES))),
    ]
    f.code = b"".join(
        [
            put("two_steps", add(get("a_step"), get("a_step"))),
            put("three_steps", add(get("two_steps"), get("a_step"))),
            repeat_while(along_the_columns, get("columns")),
        ]
    )
    return f


#: e^r for |r| <= ln(2) / 2 as 1 + r + r² p(r): the polynomial of the Cephes library (S. Moshier) for float32.
EXP = (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)
LOG2_E, LN2_HIGH, LN2_LOW = 1.44269504088896341, 0.693359375, -2.12194440e-4
LEAST = -87.0  # below, float32 has hardly a number left


def exponential(f: Function, x: str, n: str, r: str, fused: bool) -> bytes:
    """e^x in place: x = n ln(2) + r with a whole n, so that e^x = 2^n e^r, and 2^n is written into the exponent's bits."""
    get, put = f.get, f.put
    shifted = simd(0xAE, simd(0xF8, get(n)), whole_four(127)) + const(23)
    return b"".join(
        [
            put(x, larger(get(x), four(LEAST))),
            put(n, simd(0x6A, mul(get(x), four(LOG2_E)))),
            put(r, minus(get(x), mul(get(n), four(LN2_HIGH)))),
            put(r, minus(get(r), mul(get(n), four(LN2_LOW)))),
            put(x, multiply_add(polynomial(get(r), EXP, fused), mul(get(r), get(r)), plus(get(r), four(1)), fused)),
            put(x, mul(get(x), simd(0xAB, shifted))),
        ]
    )


def softmax(fused: bool) -> Function:
    """Of every row, in place.  at: address; rows; columns: a multiple of 4."""
    f = Function("softmax", ("at", "rows", "columns"), ("here", "end"), ("top", "total", "x", "n", "r"))
    get, put = f.get, f.put

    def along(*body: bytes) -> bytes:
        todo = [*body, f.forward("here", const(16))]
        return put("here", get("at")) + repeat_while(todo, less(get("here"), get("end")))

    of_a_row = [
        put("end", add(get("at"), times(get("columns"), const(4)))),
        put("top", load(get("at"))),
        along(put("top", larger(get("top"), load(get("here"))))),
        put("top", of_all_lanes(get("top"), 0x97)),
        put("total", four(0)),
        along(
            put("x", minus(load(get("here")), get("top"))),
            exponential(f, "x", "n", "r", fused),
            store(get("here"), get("x")),
            put("total", plus(get("total"), get("x"))),
        ),
        put("total", of_all_lanes(get("total"), 0x92)),
        along(store(get("here"), div(load(get("here")), get("total")))),
        put("at", get("end")),
        put("rows", subtract(get("rows"), const(1))),
    ]
    f.code = repeat_while(of_a_row, get("rows"))
    return f


#: erf(x) for |x| <= 4 as x times a quotient of polynomials in x², as encoder.js has it.
ERF_ABOVE = (-2.72614225801306e-10, 2.77068142495902e-8, -2.10102402082508e-6, -5.69250639462346e-5, -7.34990630326855e-4,
             -2.95459980854025e-3, -1.60960333262415e-2)  # fmt: skip
ERF_BELOW = (
    -1.45660718464996e-5,
    -2.13374055278905e-4,
    -1.68282697438203e-3,
    -7.37332916720468e-3,
    -1.42647390514189e-2,
)


def gelu(fused: bool) -> Function:
    """x/2 (1 + erf(x / sqrt(2))) of every number, in place.  at: address; rows; columns: a multiple of 4."""
    f = Function("gelu", ("at", "rows", "columns"), ("end",), ("x", "e", "s"))
    get, put = f.get, f.put
    erf = div(mul(get("e"), polynomial(get("s"), ERF_ABOVE, fused)), polynomial(get("s"), ERF_BELOW, fused))
    of_four = [
        put("x", load(get("at"))),
        put("e", larger(four(-4), smaller(four(4), mul(get("x"), four(0.5**0.5))))),
        put("s", mul(get("e"), get("e"))),
        store(get("at"), mul(mul(get("x"), four(0.5)), plus(erf, four(1)))),
        f.forward("at", const(16)),
    ]
    f.code = put("end", add(get("at"), times(times(get("rows"), get("columns")), const(4)))) + repeat_while(
        of_four, less(get("at"), get("end"))
    )
    return f


def module(fused: bool) -> bytes:
    """A module that takes `page.memory` and gives the three functions."""
    functions = [multiply(fused), softmax(fused), gelu(fused)]
    sections = {
        1: listed(f.type for f in functions),
        2: listed([sized(b"page") + sized(b"memory") + b"\x02\x00" + leb(1)]),
        3: listed(leb(n) for n in range(len(functions))),
        7: listed(sized(f.name.encode()) + b"\x00" + leb(n) for n, f in enumerate(functions)),
        10: listed(f.body for f in functions),
    }
    return b"\0asm\x01\0\0\0" + b"".join(bytes([number]) + sized(body) for number, body in sections.items())


def text() -> str:
    """The file as it is to stand in the repository."""
    lines = ["// Written by tools/kernel.py, which explains it: product, softmax and GELU as WebAssembly, in base64."]
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
