"""`gradespine grader`: ladders under a name and a version, on the log."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from grading.cli.failures import Usage
from grading.cli.session import session

if TYPE_CHECKING:
    from grading.cli.output import Output
    from grading.graders import Grader, GraderRef
    from grading.ladders import Ladder

_EXAMPLE: Final = "example:"
_SAMPLE: Final = "A run to try a ladder in Python on; repeatable. Else, a few runs of the log."
_KEYS: Final = (
    *("gradespine", "ladder", "version", "mode", "pass_at", "trust", "define", "milestones"),
    *(
        "name",
        "weight",
        "required",
        "check",
        "want",
        "got",
        "type",
        "call",
        "path",
        "latest_by",
        "where",
        "pick",
        "take",
    ),
)


def add(
    context: typer.Context,
    what: Annotated[str, typer.Argument(metavar="WHAT", help="FILE (- is stdin), example:NAME or module:attribute.")],
    sample: Annotated[list[str] | None, typer.Option(metavar="STREAM", help=_SAMPLE)] = None,
) -> None:
    """Register a grader: a document, an example, or Python.

    A ladder document, an example that ships, or a ladder written in Python. What `grader check` notes is noted here
    too. Its first version is active at once: the board shows what it says. A later version becomes active when a
    re-grade with it is complete, or by `grader activate`. A version never changes its meaning: another text under the
    same version is refused. `-` reads the document from stdin.

    A ladder in Python is tried first, as `grader check` does, and refused (exit code 2) where the same run could get
    another grade. A document needs no trial.

    \b
    Examples:
      gradespine grader add ladders/deploy.yaml
      gradespine grader add example:taubench-airline
      gradespine grader add mygraders.deploy:ladder
      gradespine grader add mygraders.deploy:ladder --sample run/deploy/17
    """
    from grading.cli.output import Output
    from grading.cli.purity import proven

    out = Output()
    grader = _grader(what, out)
    with session(context).gradebook(create=True) as gradebook:
        python = grader.kind == "python" and not gradebook.knows(grader)
        proof = proven(lambda: gradebook.prove(grader, sample or ()), out) if python else None
        new = gradebook.add_grader(grader, proof=proof)
        active = gradebook.active_version(grader.name)
    out.line(f"{grader.ref} is registered{'' if new else ' already'}; active is {grader.name}@{active}")
    if active == grader.version:
        out.hint(f"next: `gradespine grade {grader.name} --all`")
    else:
        out.hint(f"next: `gradespine regrade {grader.ref} --all --plan`")


def list_(context: typer.Context) -> None:
    """List the registered graders and their versions."""
    from grading.cli.output import Column, Output

    with session(context).gradebook() as gradebook:
        rows = [
            [
                str(found.ref),
                "active" if found.identity.version == gradebook.active_version(name) else "",
                found.kind if found.target is None else f"{found.kind} {found.target}",
                found.identity.definition[:12],
                gradebook.standing(found.ref).value,
            ]
            for name, versions in gradebook.graders().items()
            for found in versions
        ]
    out = Output()
    if rows:
        columns = [Column("grader", wide=True), Column("active"), Column("kind", wide=True), Column("definition")]
        out.table([*columns, Column("tried")], rows)
    else:
        out.remark("no graders yet: `gradespine grader examples` lists some")


def show(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="A grader, or one of its versions: NAME@V.")],
    as_json: Annotated[bool, typer.Option("--json", help="The registered document alone, as JSON.")] = False,
) -> None:
    """Show a grader as it was registered.

    Its identity, and its document or source. Without @V, the active version.
    """
    from grading.cli.output import Output

    with session(context).gradebook() as gradebook:
        found = gradebook.registration(_ref(name))
        standing = gradebook.standing(found.ref)
    out = Output()
    document = None if found.document is None else dict(found.document)
    if as_json:
        out.json_line(document if document is not None else {"source": found.source, "target": found.target})
        return
    out.line(f"# {found.ref}, {found.kind}, semantics {found.identity.semantics}")
    out.line(f"# definition {found.identity.definition}")
    out.line(f"# {standing}")
    out.text(found.source or "" if document is None else _written(document, found.identity.definition))


def check(
    context: typer.Context,
    what: Annotated[
        str | None, typer.Argument(metavar="WHAT", help="FILE (- is stdin), example:NAME or module:attribute.")
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Say in plain words what a document asks of a run.")
    ] = False,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON Schema of ladder documents.")] = False,
    sample: Annotated[list[str] | None, typer.Option(metavar="STREAM", help=_SAMPLE)] = None,
) -> None:
    """Say whether a ladder document is right, without a log.

    Lists its milestones and the types of events that it reads. An error names file, line and path; exit code 2. Event
    types and fields that are not known are allowed, and noted on stderr: exit code 0.

    A ladder in Python is run in several processes that differ in clock, hash seed, time zone, locale and working
    folder: on runs that ship, one of its own words, and a few of the log if there is one. Whatever could give the same
    run another grade is told with its milestone and line; exit code 2. One that hangs or ends the process could not be
    tried: exit code 3.

    \b
    Examples:
      gradespine grader check ladders/deploy.yaml
      gradespine grader check ladders/deploy.yaml --explain
      gradespine grader check --schema > ladder.schema.json
      gradespine grader check mygraders.deploy:ladder --sample run/deploy/17
    """
    from grading.cli.output import Output
    from grading.cli.purity import check_purity
    from grading.cli.text import plural

    out = Output()
    if schema:
        from grading.spec import json_schema

        out.data(json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n")
        return
    if what is None:
        raise Usage("name a document, or ask for --schema", context)
    grader = _grader(what, out)
    if explain and grader.document is None:
        raise Usage("only a document can be explained; a ladder in Python says what it asks in its source", context)
    ladder = grader.ladder
    right = "" if grader.document is None else " is right"
    out.line(f"{grader.ref}{right}: {plural(len(ladder.milestones), 'milestone')}, {ladder.mode}")
    _milestones(ladder)
    if grader.document is None:
        check_purity(context, grader, sample or (), out)
        return
    from grading.spec import event_types, explain_document

    out.line(f"reads {', '.join(event_types(ladder, grader.document)) or 'no events'}", hanging=6)
    if explain:
        out.line()
        out.line(explain_document(grader.document))


def activate(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME@V", help="A version of a grader.")],
    reason: Annotated[str | None, typer.Option(metavar="TEXT", help="Why; it stays on the log.")] = None,
) -> None:
    """Make a version the one the board shows, complete or not.

    Grades by other versions stay in the history.
    """
    from grading.cli.output import Output

    ref = _ref(name)
    with session(context).gradebook() as gradebook:
        new = gradebook.activate(ref, reason=reason)
    Output().line(f"{ref} is active {'now' if new else 'already'}")


def examples(name: Annotated[str | None, typer.Argument(metavar="NAME", help="The one to print.")] = None) -> None:
    """List the ladders that ship, or print one.

    `grader add example:NAME` registers it as it is.

    \b
    Example:
      gradespine grader examples safe-change > mine.yaml
    """
    from grading import examples
    from grading.cli.output import Column, Output

    if name is not None:
        Output().text(_example(name))
        return
    rows = [[f"{_EXAMPLE}{name}", _about(examples.text(name))] for name in examples.names()]
    Output().table([Column("example"), Column("grades", wide=True)], rows)


def _milestones(ladder: "Ladder") -> None:
    from grading.cli.output import Column, Output

    rows = [
        [milestone.name, f"{milestone.worth:g}", "required" if milestone.required else ""]
        for milestone in ladder.milestones
    ]
    Output().table([Column("milestone", wide=True), Column("weight", right=True), Column("")], rows, indent=2)


def _grader(what: str, out: "Output") -> "Grader":
    """The grader that a word on the command line means: a file that is there, an example, or a Python ladder. What its
    author should look at again is told."""
    from grading.graders import Grader
    from grading.spec import read_ladder

    text: str | bytes
    source = what
    if what.startswith(_EXAMPLE):
        text = _example(what.removeprefix(_EXAMPLE))
    elif what == "-":
        text, source = typer.get_binary_stream("stdin").read(), "stdin"
    elif not os.path.lexists(what) and ":" in what and "/" not in what:
        return Grader.from_python(what)
    else:
        text = _read(what)
    read = read_ladder(text, source)
    for note in read.notes:
        out.remark(f"note: {note}")
    return Grader.from_document(read.document)


def _example(name: str) -> str:
    from grading import examples
    from grading.errors import NotFound
    from grading.suggestions import did_you_mean

    try:
        return examples.text(name)
    except KeyError:
        near = did_you_mean(name, examples.names())
        raise NotFound(f"there is no example {name}{near or '; there are ' + ', '.join(examples.names())}") from None


def _written(document: dict[str, Any], definition: str) -> str:
    """The document as YAML where that reads back as the same, as JSON else."""
    import yaml

    from grading.errors import InvalidLadder
    from grading.spec import read_ladder

    text = yaml.safe_dump(_ordered(document), sort_keys=False, allow_unicode=True, width=110)
    try:
        same = read_ladder(text).definition == definition
    except InvalidLadder:
        same = False
    return text if same else json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _ordered(value: Any) -> Any:
    """The same with its keys in the order people write them: the log keeps them sorted."""
    if isinstance(value, list):
        return [_ordered(item) for item in value]
    if not isinstance(value, dict):
        return value
    keys = sorted(value, key=lambda key: _KEYS.index(key) if key in _KEYS else len(_KEYS))
    return {key: _ordered(value[key]) for key in keys}


def _read(path: str) -> bytes:
    from grading.errors import NotFound

    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise NotFound(f"{path} cannot be read: {error.strerror}; examples are named example:NAME") from None


def _ref(text: str) -> "GraderRef":
    from grading.graders import GraderRef

    return GraderRef.parse(text)


def _about(document: str) -> str:
    """The comment that a document begins with, its first sentence."""
    lines = []
    for line in document.splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.lstrip("# "))
    return " ".join(lines).partition(". ")[0].rstrip(".")
