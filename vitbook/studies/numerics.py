"""Who runs a ViT with which GELU and which epsilon.  Chapter: whose numerics."""

from __future__ import annotations

#: Who computes LayerNorm and GELU how: name -> (activation, eps).
CONVENTIONS: dict[str, tuple[str, float]] = {
    "transformers, for this family": ("gelu", 1e-12),
    "the authors' JAX code": ("gelu_tanh", 1e-6),
    "timm, torchvision": ("gelu", 1e-6),
    "a bare torch.nn.LayerNorm": ("gelu", 1e-5),
}
