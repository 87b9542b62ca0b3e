"""200 small grey pictures, half of them of faces: a test for representations, computed with and never shown.

They are a file in scikit-image's wheel; scikit-image's own loader is not asked, since it would download what is missing.
"""

from __future__ import annotations

import io

import numpy as np

from .catalogue import Picture

SMALL = Picture(
    name="lfw_subset",
    kind="many small pictures",
    title="100 faces and 100 cut-outs of backgrounds",
    alt="Not shown: 200 grey pictures of 25 x 25 pixels, 100 of them faces.",
    file="data/lfw_subset.npy",
    package="skimage",
    size=1_000_080,
    sha256="9560ec2f5edfac01973f63a8a99d00053fecd11e21877e18038fbe500f8e872c",
    source="http://vis-www.cs.umass.edu/lfw/",
    author="Huang, Mattar, Lee and Learned-Miller (Labeled Faces in the Wild); the photographers are not named",
    licence="not stated by scikit-image; for computing only, never shown",
    edits="none by us; scikit-image says that the parts were resized to 25 x 25 pixels",
    unverified="all but size and hash: as scikit-image's documentation of `lfw_subset` has it",
)


def small_pictures() -> tuple[np.ndarray, np.ndarray]:
    """(200, 25, 25) uint8, grey, and what is on them (200,): 1 for a face, -1 for something else.

    Raises PictureError where the file is missing or is another one.
    """
    grey = np.load(io.BytesIO(SMALL.read()))  # 0 to 1
    return (255 * grey).round().astype(np.uint8), np.repeat([1, -1], 100)
