"""Gradients before training: our block is PyTorch's, for both places of the norm, and they behave as was proved."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from vitbook.studies import initialisation as study


@pytest.mark.parametrize("norm_first", [True, False])
def test_one_layer_is_torchs_encoder_layer(norm_first, monkeypatch):
    """The same matrices in torch.nn's layer leave the same gradients."""
    drawn = []
    real = torch.randn

    def remembered(*shape, generator):
        drawn.append(real(*shape, generator=generator))
        return drawn[-1]

    monkeypatch.setattr(study.torch, "randn", remembered)
    (size,) = study.gradient_sizes(1, norm_first, seed=3)
    *six, z, head = drawn
    six = [W * (2 / sum(W.shape)) ** 0.5 for W in six]
    layer = torch.nn.TransformerEncoderLayer(
        study.D, study.HEADS, 4 * study.D, dropout=0.0, bias=False, batch_first=True,
        activation=torch.nn.functional.gelu, norm_first=norm_first,
    )  # fmt: skip
    ours = {
        "self_attn.in_proj_weight": torch.cat(six[:3], dim=1).T, "self_attn.out_proj.weight": six[3].T,
        "linear1.weight": six[4].T, "linear2.weight": six[5].T,
    }  # fmt: skip
    layer.load_state_dict(ours, strict=False)
    draw = torch.Generator().manual_seed(3)
    for W in six:
        real(*W.shape, generator=draw)
    real(*z.shape, generator=draw)
    real(*head.shape, generator=draw)
    wanted = torch.randint(study.CLASSES, (study.B,), generator=draw)
    y = study.norm(layer(z))[:, 0]
    torch.nn.functional.cross_entropy(y @ head / study.D**0.5, wanted).backward()
    theirs = sum(dict(layer.named_parameters())[name].grad.square().sum().item() for name in ours) ** 0.5
    assert size == pytest.approx(theirs, rel=1e-3)


def test_the_last_gradient_falls_with_depth_for_pre_norm_only():
    last = {
        (L, first): np.mean([study.gradient_sizes(L, first, s)[-1] for s in range(3)])
        for L in (3, 24)
        for first in (True, False)
    }
    assert last[24, True] < 0.6 * last[3, True] and last[24, False] > 0.7 * last[3, False]


def test_a_small_stream_makes_the_last_gradient_large_again():
    def last(shrunk):
        return np.mean([study.gradient_sizes(24, True, s, shrunk)[-1] for s in range(3)])

    assert last(True) > 2 * last(False)
