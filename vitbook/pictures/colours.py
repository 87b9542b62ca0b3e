"""Which colours the numbers of a picture mean, where it says so: sRGB, as nearly all do, or others."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

from .refusal import shown

_GAMMA, _NEAR = 1 / 2.2, 0.02  # of sRGB, as a PNG without a profile states it


def other_colours(mode: str, info: Mapping[str, Any]) -> str | None:
    """The profile or the gamma that a picture brings along and that isn't sRGB's, in words; None where there is none.

    mode, info: of the image as Pillow has it; Lab says by itself which colours it means.
    """
    if mode == "LAB":
        return None
    if profile := info.get("icc_profile"):
        name = _name_of(profile)
        is_srgb = "srgb" in name.lower() or name.startswith(
            "c2"
        )  # c2 is the small one that some sites put into every picture
        return None if is_srgb else f"the colour profile {shown(name, 60)}"
    gamma = info.get("gamma")
    if gamma and "srgb" not in info and abs(gamma - _GAMMA) > _NEAR:
        return f"a gamma of {gamma:g} where sRGB has {_GAMMA:.3f}"
    return None


def _name_of(profile: bytes) -> str:
    """As the profile calls itself."""
    try:
        from PIL import ImageCms

        return ImageCms.getProfileDescription(ImageCms.ImageCmsProfile(io.BytesIO(profile))).strip() or "without a name"
    except Exception:  # a broken profile, or a Pillow that was built without colour management
        return "without a name that can be read"
