"""A ViT in memory becomes a checkpoint: what transformers computes, we compute; what is no plain ViT is refused by name."""

from __future__ import annotations

import folders
import pytest
import torch
from tiny import random_x
from torch import nn
from transformers import (
    BertConfig,
    BertModel,
    Dinov2Config,
    Dinov2Model,
    ViTConfig,
    ViTForImageClassification,
    ViTModel,
)
from transformers.models.vit.image_processing_pil_vit import ViTImageProcessorPil

from vitbook import compare, from_transformers, load_checkpoint, preprocess, run
from vitbook.library.errors import CheckpointError


def model(kind=ViTForImageClassification, **more):
    torch.manual_seed(3)
    labels = dict(enumerate(folders.NAMES))
    made = kind(ViTConfig(**folders.SIZES, id2label=labels, layer_norm_eps=1e-3, **more))
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.normal_(std=0.2)  # a class token or a bias of zeros would hide a mistake
    return made.eval()


def test_a_classifier_gives_its_own_logits_and_labels():
    vit = model()
    checkpoint, x = from_transformers(vit), random_x().float()
    trace = run(checkpoint, x)
    torch.testing.assert_close(trace.logits, vit(x[None]).logits[0].detach(), rtol=1e-4, atol=1e-5)
    assert checkpoint.labels == tuple(folders.NAMES) and checkpoint.source == "a ViTForImageClassification in memory"
    compare(checkpoint, x)  # every stage, in float32 and float64, or an AssertionError
    assert any("defaults documented for ViT" in note for note in checkpoint.notes)


@pytest.mark.parametrize("pooler", [True, False])
def test_a_model_without_a_head_of_another_type(pooler):
    vit = model(lambda config: ViTModel(config, add_pooling_layer=pooler)).to(torch.bfloat16)
    checkpoint = from_transformers(vit)
    assert checkpoint.weights.K is None and checkpoint.weights.dtype == torch.float32
    compare(checkpoint, random_x().float())
    assert any("bfloat16" in note for note in checkpoint.notes)


def test_it_is_what_a_folder_of_it_is(tmp_path):
    vit = model()
    processor = ViTImageProcessorPil(size={"height": 15, "width": 20}, image_mean=[0.1, 0.2, 0.3], resample=3)
    vit.save_pretrained(tmp_path)
    processor.save_pretrained(tmp_path)
    here, there = from_transformers(vit, processor), load_checkpoint(tmp_path)
    assert here.preprocessing == there.preprocessing and here.config == there.config and here.labels == there.labels
    for (name, ours), (_, theirs) in zip(here.weights.named(), there.weights.named(), strict=True):
        assert torch.equal(ours, theirs), name
    assert torch.equal(preprocess("chelsea", here), preprocess("chelsea", there))


def test_training_on_changes_nothing_here_and_wrappers_are_looked_through():
    vit = model()
    checkpoint, x = from_transformers(nn.DataParallel(vit)), random_x().float()
    before = run(checkpoint, x).y.clone()
    with torch.no_grad():
        for parameter in vit.parameters():
            parameter.zero_()
    assert torch.equal(run(checkpoint, x).y, before)
    compare(checkpoint, x)


def test_what_is_no_plain_vit_is_refused_by_name():
    with pytest.raises(CheckpointError, match="expected 'vit'"):
        from_transformers(
            BertModel(
                BertConfig(hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8, vocab_size=9)
            )
        )
    with pytest.raises(CheckpointError, match="expected 'vit'"):
        from_transformers(Dinov2Model(Dinov2Config(hidden_size=8, num_hidden_layers=1, num_attention_heads=1)))
    with pytest.raises(CheckpointError, match="got 'Linear'"):
        from_transformers(nn.Linear(2, 2))
    with pytest.raises(CheckpointError, match="got 'str'"):
        from_transformers("google/vit-base-patch16-224")
    with pytest.raises(CheckpointError, match="image processor of transformers, got 'dict'"):
        from_transformers(model(), {"size": 224})
    with_adapter = model()
    with_adapter.peft_config = {}
    with pytest.raises(CheckpointError, match="merge_and_unload"):
        from_transformers(with_adapter)
    spoiled = model()
    spoiled.vit.layernorm.weight.data[0] = float("nan")
    with pytest.raises(CheckpointError, match="NaN"):
        from_transformers(spoiled)
