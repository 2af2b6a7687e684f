"""The text of ReAct agents as FireAct writes and reads it: `Thought: …`, `Action: tool[argument]`, `Observation: …`."""

from dataclasses import dataclass
from typing import Final

from spine.importers.json_values import Unreadable

_THOUGHT: Final = "Thought:"
_ACTION: Final = "Action: "
_OBSERVATION: Final = "Observation: "
_INSTRUCTION: Final = "### Instruction:\n"
_RESPONSE: Final = "\n\n### Response:\n"


@dataclass(frozen=True, slots=True)
class Said:
    """A message of a conversation."""

    role: str
    text: str


@dataclass(frozen=True, slots=True)
class Action:
    """What was executed, as FireAct takes it: `finishes` when its tool's name holds "finish"."""

    tool: str
    argument: str

    @property
    def finishes(self) -> bool:
        return "finish" in self.tool.lower()


def action_in(text: str) -> tuple[Action | None, int]:
    """The action of a message that is executed, if one is, and how many more it has.

    FireAct's own rule (`run` in its generation.py): what stands behind the first `Action: ` up to the next; of that the
    tool before the first bracket, and the argument up to the next one, without its last character.
    """
    whole = text.strip()
    _, *actions = whole.split(f"\n{_ACTION}")
    if not actions and _ACTION in whole:
        actions = [text[len(_ACTION) :]]
    if not actions:
        return None, 0
    tool, bracket, rest = actions[0].partition("[")
    if not bracket or not tool.strip():
        return None, len(actions) - 1
    return Action(tool.strip(), rest.partition("[")[0][:-1]), len(actions) - 1


def messages_of(text: str) -> list[Said]:
    """A conversation that is one text, as messages: the question, then thoughts with actions, and observations.

    Raises Unreadable when it holds no question.
    """
    question, rest = _question(text)
    first, *others = rest.split(f"\n{_OBSERVATION}")
    found = [Said("user", question), Said("assistant", first)] if first.strip() else [Said("user", question)]
    for other in others:
        observation, thought, then = other.partition(f"\n{_THOUGHT}")
        found.append(Said("user", _OBSERVATION + observation.removesuffix("\n")))
        if thought:
            found.append(Said("assistant", _THOUGHT + then))
    return found


def _question(text: str) -> tuple[str, str]:
    """The question, and what follows. It stands in the frame of an instruction, or before the first thought."""
    _, framed, inner = text.partition(_INSTRUCTION)
    question, response, rest = inner.partition(_RESPONSE)
    if not framed or not response:
        question, thought, rest = text.partition(f"\n{_THOUGHT}")
        rest = thought.lstrip("\n") + rest
    if not question.strip():
        raise Unreadable("traj has no question before its first thought")
    return question.strip(), rest
