"""Grader: a ladder under a name and a version; registered on the log, so that the log alone can replay it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any, Final, Literal

from grading.errors import GraderConflict, InvalidLadder, NotFound
from grading.evidence import Evidence
from grading.ladders import Grade, GraderIdentity, Ladder
from grading.names import NAME_RULE, is_name
from grading.python_ladders import load_python_ladder
from grading.spec import SEMANTICS, definition_digest, ladder_from_document
from grading.suggestions import did_you_mean
from spine import Actor, InvalidInput, Log, LogCorrupt, NewEvent, StreamConflict
from spine.canonical import decode, encode

EV_REGISTERED: Final = "grader.registered"
EV_ACTIVATED: Final = "grader.activated"

_PREFIX: Final = "grader/"

Kind = Literal["document", "python"]


@dataclass(frozen=True, slots=True)
class GraderRef:
    """A grader by name, and one of its versions; without one, the active version."""

    name: str
    version: str | None = None

    @classmethod
    def parse(cls, text: str) -> "GraderRef":
        """From `name` or `name@version`. Raises InvalidInput."""
        name, at, version = text.partition("@")
        if not is_name(name):
            raise InvalidInput("grader", f"{name!r} is not a grader's name: {NAME_RULE}")
        if at and not is_name(version):
            raise InvalidInput("grader", f"{version!r} is not a grader's version: {NAME_RULE}")
        return cls(name, version if at else None)

    def __str__(self) -> str:
        return self.name if self.version is None else f"{self.name}@{self.version}"


@dataclass(frozen=True, slots=True)
class Grader:
    """A ladder with its full identity: what is registered, and what a grade names.

    A document's definition is the digest of the document, a Python ladder's that of its module's source.
    """

    name: str
    version: str
    definition: str
    semantics: int
    kind: Kind
    ladder: Ladder = field(repr=False)
    document: Mapping[str, Any] | None = field(default=None, repr=False)
    source: str | None = field(default=None, repr=False)
    target: str | None = None

    def __post_init__(self) -> None:
        given: dict[str, object] = {"name": self.name, "version": self.version}
        for what, value in given.items():
            if not is_name(value):
                raise InvalidLadder(f"{value!r} cannot be the {what} of a grader: {NAME_RULE}")

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> "Grader":
        """The grader a ladder document defines. Raises InvalidLadder."""
        own: dict[str, Any] = decode(encode(document, "document"))
        ladder = ladder_from_document(own)
        definition = definition_digest(own)
        return cls(ladder.name, ladder.version, definition, own["gradespine"], "document", ladder, document=own)

    @classmethod
    def from_python(cls, target: str) -> "Grader":
        """The grader at `module:attribute`. Its name is the ladder's, its version the one the ladder declares
        (`Ladder(…, version="2")`). Raises InvalidLadder."""
        found = load_python_ladder(target)
        ladder = found.ladder
        if not ladder.version:
            raise InvalidLadder('the ladder declares no version: Ladder(…, version="1")', source=target)
        definition = sha256(found.source.encode()).hexdigest()
        return cls(
            ladder.name, ladder.version, definition, SEMANTICS, "python", ladder, source=found.source, target=target
        )

    @property
    def identity(self) -> GraderIdentity:
        return GraderIdentity(self.name, self.version, self.definition, self.semantics)

    @property
    def ref(self) -> GraderRef:
        return GraderRef(self.name, self.version)

    def grade(self, evidence: Evidence) -> Grade:
        """The ladder's grade, under this grader's name. Raises MilestoneBroken."""
        return replace(self.ladder.grade(evidence), grader=self.identity)


@dataclass(frozen=True, slots=True)
class Registration:
    """A version of a grader as the log holds it. `seq` is that of its `grader.registered`."""

    identity: GraderIdentity
    kind: Kind
    document: Mapping[str, Any] | None = field(repr=False)
    source: str | None = field(repr=False)
    target: str | None
    seq: int

    @property
    def ref(self) -> GraderRef:
        return GraderRef(self.identity.name, self.identity.version)


def register(log: Log, grader: Grader) -> bool:
    """Put the grader on the log, whole; its first version becomes active. False when it stands there already.

    Raises GraderConflict when this version is registered with another definition: a version never changes its meaning.
    """
    while True:
        history = read(log, grader.name)
        known = history.versions.get(grader.version)
        if known is not None:
            _check_same(known, grader)
            return False
        events = [NewEvent(EV_REGISTERED, _registration(grader), actor=Actor.SYSTEM)]
        if not history.versions:
            events.append(activation(grader.name, grader.version, "the first version"))
        if _append(log, history, events):
            return True


def activate(log: Log, name: str, version: str, *, reason: str | None = None) -> bool:
    """Make this version the one the board shows. False when it is already. Raises NotFound."""
    while True:
        history = read(log, name)
        _require(log, history).version(version)
        if history.active == version:
            return False
        if _append(log, history, [activation(name, version, reason)]):
            return True


def grader_names(log: Log) -> Iterator[str]:
    """The names of all graders on the log, in byte order."""
    return (head.stream.removeprefix(_PREFIX) for head in log.streams(_PREFIX))


def registered(log: Log, name: str) -> list[Registration]:
    """The versions of a grader, in the order they were registered; none for an unknown name."""
    return list(read(log, name).versions.values())


def active(log: Log, name: str) -> Registration:
    """The active version of a grader. Raises NotFound."""
    return find(log, GraderRef(name))


def find(log: Log, ref: GraderRef) -> Registration:
    """A version of a grader as it was registered, the active one if none is named. Raises NotFound."""
    return _require(log, read(log, ref.name)).version(ref.version)


def unknown(name: str, known: Iterable[str]) -> NotFound:
    """The error for a grader that is not known, with a known one that is near."""
    near = did_you_mean(name, known)
    return NotFound(f"there is no grader {name}{near}", "" if near else "`gradespine grader list` says what there is")


def load(log: Log, ref: GraderRef | str) -> Grader:
    """The grader as it was registered, rebuilt from the log. A Python grader's module has to be installed here too, and
    its source has to be the registered one.

    Raises NotFound; GraderConflict for other source; InvalidLadder for what this program cannot run.
    """
    wanted = GraderRef.parse(ref) if isinstance(ref, str) else ref
    found = find(log, wanted)
    if found.identity.semantics > SEMANTICS:
        raise InvalidLadder(f"{found.ref} needs language {found.identity.semantics}; this program has {SEMANTICS}")
    grader = _from_log(found)
    return replace(grader, semantics=found.identity.semantics)


@dataclass(frozen=True, slots=True)
class History:
    """What the log says about a grader, up to `seq` of its stream."""

    name: str
    seq: int
    versions: Mapping[str, Registration]
    active: str | None

    def version(self, version: str | None) -> Registration:
        """This version, or the active one."""
        wanted = version or self.active
        found = None if wanted is None else self.versions.get(wanted)
        if found is not None:
            return found
        there = ", ".join(self.versions)
        if wanted is None:
            raise NotFound(f"no version of the grader {self.name} is active; registered: {there}")
        raise NotFound(f"there is no grader {self.name}@{wanted}; registered: {there}")


def _require(log: Log, history: History) -> History:
    if not history.versions:
        raise unknown(history.name, grader_names(log))
    return history


def read(log: Log, name: str) -> History:
    """All that is known of a grader."""
    versions: dict[str, Registration] = {}
    active = None
    seq = 0
    for event in log.read(_PREFIX + name):
        seq = event.seq
        if event.actor is not Actor.SYSTEM or event.type not in (EV_REGISTERED, EV_ACTIVATED):
            continue
        payload = event.payload
        version = payload["version"]
        if event.type == EV_REGISTERED:
            versions.setdefault(version, _read_registration(payload, seq))
        elif version in versions:
            active = version
    return History(name, seq, versions, active)


def _read_registration(payload: Mapping[str, Any], seq: int) -> Registration:
    return Registration(
        GraderIdentity(payload["name"], payload["version"], payload["definition"], payload["semantics"]),
        kind=payload["kind"],
        document=payload.get("document"),
        source=payload.get("source"),
        target=payload.get("target"),
        seq=seq,
    )


def _registration(grader: Grader) -> dict[str, Any]:
    what = {"document": grader.document} if grader.kind == "document" else {"source": grader.source}
    where = {} if grader.target is None else {"target": grader.target}
    return {**grader.identity.to_json(), "kind": grader.kind, **what, **where}


def activation(name: str, version: str, reason: str | None) -> NewEvent:
    why = {} if reason is None else {"reason": reason}
    return NewEvent(EV_ACTIVATED, {"name": name, "version": version, **why}, actor=Actor.SYSTEM)


def _append(log: Log, history: History, events: list[NewEvent]) -> bool:
    """Whether the events could be appended right behind what was read. If not, others came first: read again."""
    try:
        log.append(_PREFIX + history.name, events, expect=history.seq)
    except StreamConflict:
        return False
    return True


def _check_same(known: Registration, grader: Grader) -> None:
    """The semantics number is not compared: a Python grader keeps the one that was current when it was registered."""
    for what, there, here in (
        ("kind", known.kind, grader.kind),
        ("definition", known.identity.definition, grader.definition),
        ("target", known.target, grader.target),
    ):
        if there != here:
            raise GraderConflict(f"{grader.ref} is registered with {what} {there}, this has {here}: raise the version")


def _from_log(found: Registration) -> Grader:
    if found.kind == "python":
        grader = Grader.from_python(found.target or "")
        _check_same(found, grader)
        if grader.ref != found.ref:
            raise GraderConflict(f"{found.target} is {grader.ref} here, not {found.ref}: something it imports changed")
        return grader
    grader = Grader.from_document(found.document or {})
    if grader.identity != found.identity:
        raise LogCorrupt(f"grader/{found.identity.name}: the document at seq {found.seq} is not that of {found.ref}")
    return grader
