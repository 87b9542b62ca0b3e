"""A question with answers to choose from: each answer is told why it is right, or what the mistake is.

Plain HTML: the answers are radio buttons and the style sheet shows what belongs to the chosen one, so no script is needed,
keys work, and a screen reader is told.  In print the question stands with its answers, unanswered.  Every chapter has one.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from itertools import count
from zlib import crc32

from vitbook.widgets.kit import AsHtml, style

_numbers = count(1)


class Question(AsHtml):
    """The question to answer: a notebook shows it as HTML."""

    def __init__(self, asked: str, right: Mapping[str, str], wrong: Mapping[str, str]):
        if len(right) != 1 or not wrong:
            raise ValueError(f"a question needs one right answer and a wrong one, got {len(right)} and {len(wrong)}")
        if both := set(right) & set(wrong):
            raise ValueError(f"{both.pop()!r} cannot be right and wrong")
        self.asked, self.right, self.wrong = asked, dict(right), dict(wrong)

    @property
    def answers(self) -> dict[str, str]:
        """Answer -> why, in an order that has nothing to do with which one is right, and is the same in every build."""
        return dict(sorted({**self.right, **self.wrong}.items(), key=lambda pair: crc32(pair[0].encode())))

    def __repr__(self) -> str:
        return f"<{self.asked} {' / '.join(self.answers)}>"

    def _repr_html_(self) -> str:
        uid = f"vb-question-{next(_numbers)}"
        answers = self.answers
        shown = ",".join(
            f".vb-question>input:nth-of-type({n}):checked~div>p:nth-of-type({n})" for n in range(1, len(answers) + 1)
        )
        sheet = style("question/widget.css", f"{shown}{{display:block}}\n")
        choices = "".join(
            f'<input type="radio" class="vb-unseen" name="{uid}" id="{uid}-{n}"><label for="{uid}-{n}">{escape(answer)}</label>'
            for n, answer in enumerate(answers)
        )
        told = "".join(
            f"<p><b>{'Right.' if answer in self.right else 'No.'}</b> {escape(why)}</p>"
            for answer, why in answers.items()
        )
        return (
            f'<fieldset class="vb-widget vb-question" id="{uid}"><style>{sheet}</style><legend>{escape(self.asked)}</legend>'
            f'{choices}<div role="status">{told}</div></fieldset>'
        )


def ask(asked: str, right: Mapping[str, str], wrong: Mapping[str, str]) -> Question:
    """A question to answer in the page.  right: {answer: why}, one of them; wrong: {answer: what the mistake is}.

    Raises ValueError where there is not one right answer, no wrong one, or one that is both.
    """
    return Question(asked, right, wrong)
