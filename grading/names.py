"""What graders, ladders in documents, and their versions may be called: one rule, fit for streams and command lines."""

import re
from typing import Final

NAME_RULE: Final = "1 to 100 of A-Z a-z 0-9 . _ - that begin and end with a letter or a digit"

_NAME: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,98}[A-Za-z0-9])?")


def is_name(text: object) -> bool:
    """Whether the text keeps to NAME_RULE."""
    return isinstance(text, str) and _NAME.fullmatch(text) is not None
