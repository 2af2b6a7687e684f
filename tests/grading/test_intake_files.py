"""Which files an import takes, and what it does with the others."""

import os
from pathlib import Path

import pytest

from grading.errors import InvalidRecording
from grading.intake import import_paths
from spine import MemoryLog
from tests.grading.imports import folder, record
from tests.spine.importers.builders import tau_file, tau_run


def test_named_files_that_are_no_recordings_are_refused(tmp_path: Path) -> None:
    log = MemoryLog()
    for name, text in {"empty.eval": "", "notes.json": "{}"}.items():
        (tmp_path / name).write_text(text)
    os.mkfifo(tmp_path / "pipe")
    named = [tmp_path / name for name in ("empty.eval", "notes.json", "pipe", "missing")]

    report = import_paths(log, named)

    assert [(Path(bad.path).name, bad.reason) for bad in report.refused] == [
        ("empty.eval", "empty"),
        ("notes.json", "not a recording of a known format"),
        ("pipe", "not a regular file"),
        ("missing", "cannot be read: No such file or directory"),
    ]
    assert log.position() == 0


def test_a_file_that_is_named_is_not_just_found(tmp_path: Path) -> None:
    place = folder(tmp_path / "f")

    report = import_paths(MemoryLog(), [place, place / "notes.txt"])

    assert [Path(bad.path).name for bad in report.refused] == ["notes.txt"]
    assert report.unrecognised == []


def test_strange_things_in_a_folder_do_no_harm(tmp_path: Path) -> None:
    place = folder(tmp_path / "f")
    (place / "empty.eval").write_text("")
    (place / "folder.eval").mkdir()
    tau_file(place / "folder.eval" / "c", tau_run(9))
    os.mkfifo(place / "pipe")
    (place / "round").symlink_to(place, target_is_directory=True)
    (place / "nowhere").symlink_to(place / "missing")
    (place / "self").symlink_to(place / "self")
    (place / "z-link").symlink_to(place / "a.json")

    report = import_paths(MemoryLog(), [place])

    assert [file.name for file in report.files] == ["a.json", "b.eval", "c"]
    assert report.refused == []
    listed = {Path(skipped.path).name for skipped in report.unrecognised}
    assert listed == {"empty.eval", "notes.txt", "pipe", "round", "nowhere", "self"}


def test_a_linked_folder_is_followed_where_it_is_named(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(folder(tmp_path / "f"), target_is_directory=True)

    assert import_paths(MemoryLog(), [tmp_path / "link"]).runs == 4


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is unreadable to root")
def test_what_may_not_be_read_is_refused_and_the_rest_is_imported(tmp_path: Path) -> None:
    place = folder(tmp_path / "f")
    (place / "a.json").chmod(0)
    (place / "deep").chmod(0)

    report = import_paths(MemoryLog(), [place])
    (place / "deep").chmod(0o700)

    assert {bad.reason for bad in report.refused} == {"cannot be read: Permission denied"}
    assert len(report.refused) == 2


def test_a_name_that_is_no_text_is_stored_as_text(tmp_path: Path) -> None:
    log = MemoryLog()
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.json"))
    try:
        tau_file(path, tau_run())
    except OSError:
        pytest.skip("this file system takes no such names")

    import_paths(log, [path])

    assert record(log)["name"] == "\ufffd.json"


def test_a_format_that_is_asked_for_reads_named_files_only_so(tmp_path: Path) -> None:
    place = folder(tmp_path / "f")

    report = import_paths(MemoryLog(), [place, place / "notes.txt"], format="inspect")

    assert [file.name for file in report.files] == ["b.eval", "notes.txt"]
    assert [Path(skipped.path).name for skipped in report.unrecognised] == ["a.json"]
    assert [(file.name, file.refused[0].where) for file in report.files if file.refused] == [("notes.txt", "line 1")]


def test_an_unknown_format_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InvalidRecording, match="known are tau-bench, inspect"):
        import_paths(MemoryLog(), [], format="csv")
