"""Cut Latin Modern Math down to the signs that a formula of the book may hold, for bookbuild/fonts.

    python tools/maths_font.py latinmodern-math.otf     # version 1.959, from Debian's package fonts-lmodern or from GUST

The file is committed, and the build cuts it once more, down to the signs in use.  Run this only to add signs.
"""

from __future__ import annotations

import argparse
import hashlib
from pathlib import Path

from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont

FONT = Path(__file__).resolve().parents[1] / "bookbuild" / "fonts" / "LatinModernMath.woff"
SOURCE = "6075562b771f8b82f0c179e363389684f2dd09de30038269e2628e504bd7be0f"
NAME = "Vitbook Math"  # the licence asks that what is not the whole font bears another name
NAMES = {1: NAME, 3: NAME, 4: NAME, 6: "VitbookMath", 16: NAME, 5: "Version 1.959, signs taken out"}
# Latin, Greek, accents, letterlike signs, arrows, operators, brackets, bold, italic, script and double-struck letters.
SIGNS = [
    (0x20, 0x7E), (0xA0, 0xB7), (0xD7, 0xD7), (0xF7, 0xF7), (0x2C6, 0x2DC), (0x300, 0x338), (0x391, 0x3F6), (0x2016, 0x2016),
    (0x2020, 0x2026), (0x2032, 0x2037), (0x2044, 0x2044), (0x20D0, 0x20D7), (0x2102, 0x2135), (0x2190, 0x21D5), (0x2200, 0x22A5),
    (0x22C0, 0x22F1), (0x2308, 0x230B), (0x23B4, 0x23B5), (0x23DC, 0x23E1), (0x27E6, 0x27EF), (0x27F5, 0x27FC), (0x2A00, 0x2A06),
    (0x2A7D, 0x2A7E), (0x1D400, 0x1D467), (0x1D49C, 0x1D4CF), (0x1D538, 0x1D56B), (0x1D6A4, 0x1D71B),
]  # fmt: skip
# A prime in a formula is always a superscript, and browsers do not ask for the shape that the font keeps for that place.
PRIMES = (0x2032, 0x2033, 0x2034)


def cut(source: Path, target: Path) -> None:
    """Write the subset.  Raises ValueError for another file than the one that the book's formulas were tried with."""
    found = hashlib.sha256(source.read_bytes()).hexdigest()
    if found != SOURCE:
        raise ValueError(f"{source} has the sha256 {found}, Latin Modern Math 1.959 has {SOURCE}: take that version")
    with TTFont(source, recalcTimestamp=False) as font:
        shapes = {sign: f"{font.getBestCmap()[sign]}.st" for sign in PRIMES}
        for table in font["cmap"].tables:
            table.cmap |= {sign: shape for sign, shape in shapes.items() if sign in table.cmap}
        subsetter = Subsetter(
            Options(layout_features=[], name_IDs=["*"], hinting=False, notdef_outline=True, drop_tables=["FFTM"])
        )
        subsetter.populate(unicodes=[sign for first, last in SIGNS for sign in range(first, last + 1)])
        subsetter.subset(font)
        for record in font["name"].names:
            record.string = NAMES.get(record.nameID, record.toUnicode())
        font["CFF "].cff.fontNames = [NAMES[6]]
        font.flavor = "woff"
        font.save(target)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=Path, help="latinmodern-math.otf, version 1.959")
    cut(parser.parse_args().source, FONT)
    print(f"{FONT.name}: {FONT.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
