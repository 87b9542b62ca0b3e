"""`shuffle`: an explorer that is about one thing, the order of the patches."""

from __future__ import annotations

from vitbook.widgets.explorer.widget import AttentionExplorer


def shuffle(checkpoint=None, **choices) -> AttentionExplorer:
    """The explorer with the controls that shuffle the patches and take the positions away, open at once.

    checkpoint and choices: as `AttentionExplorer` takes them.
    """
    return AttentionExplorer(checkpoint, change="shuffle", **choices)
