"""A dated record of a run: `python -m vitbook ledger --record FILE` writes it where the reference checkpoint is at hand.

The book shows it, with its date and versions, beside what its own build computed.  It holds the numbers and no verdicts: those
are computed again from the numbers whenever it is read.  Chapter: the ledger.
"""

from __future__ import annotations

import hashlib
import json
import platform
from dataclasses import asdict, dataclass
from datetime import date
from importlib import metadata
from pathlib import Path
from typing import Any

from vitbook.ledger.publications import Entry, entries
from vitbook.ledger.verdicts import Ledger, judge, written

#: Where the book looks for it.  No file is there until somebody has made one.
FILE = Path(__file__).with_name("record.json")


@dataclass(frozen=True)
class Record:
    """date: of the run; on: checkpoint and picture; sha256: of all learned numbers; versions: of what ran; rows: name -> numbers."""

    date: str
    on: str
    sha256: str
    versions: dict[str, str]
    rows: dict[str, list[Any]]

    def verdict(self, entry: Entry) -> str:
        """The verdict that the recorded numbers of a row come to."""
        return judge(self.rows[entry.name], entry)

    def texts(self, entry: Entry) -> list[str]:
        """The recorded numbers of a row, with the digits of print."""
        return written(entry, self.rows[entry.name])


def write_record(ledger: Ledger, checkpoint, path: Path | str) -> Record:
    """Write what was computed for the rows that need a checkpoint or the picture.  Raises ValueError where there is none."""
    rows = {r.entry.name: list(r.measured) for r in ledger if r.judged and r.entry.needs != "nothing"}
    if not rows:
        raise ValueError(
            f"nothing to record on {ledger.on}: it takes google/vit-base-patch16-224 and the picture of the two cats; "
            "'python -m vitbook fetch' gets both"
        )
    digest = hashlib.sha256()
    for name, tensor in checkpoint.weights.named():
        digest.update(name.encode() + tensor.contiguous().numpy().tobytes())
    versions = {name: metadata.version(name) for name in ("torch", "transformers", "numpy", "pillow")}
    record = Record(
        date.today().isoformat(), ledger.on, digest.hexdigest(), {"python": platform.python_version()} | versions, rows
    )
    Path(path).write_text(json.dumps(asdict(record), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return record


def read_record(path: Path | str | None = None) -> Record | None:
    """The record in a file, by default the book's own; None where there is no file.  Raises ValueError for what is none."""
    path = FILE if path is None else Path(path)
    if not path.is_file():
        return None
    try:
        record = Record(**json.loads(path.read_text(encoding="utf-8")))
        date.fromisoformat(record.date)
        if unknown := record.rows.keys() - entries().keys():
            raise ValueError(f"the ledger has no row {min(unknown)}")
    except (AttributeError, TypeError, ValueError) as error:
        raise ValueError(f"{path.name} is no record of a run: {error}") from None
    return record
