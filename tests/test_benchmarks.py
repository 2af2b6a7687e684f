"""What the benchmarks print, and the raw table they measure against."""

import itertools
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from scripts.benchmarks import connections
from scripts.benchmarks.children import Child, ChildFailed
from scripts.benchmarks.raw import postgres_table, sqlite_table
from scripts.benchmarks.report import Row, paired_rates, print_json, print_table, rows_of
from spine import open_log

RATIO = Row("append", "raw insert", 0.6, None, "ratio", 0.6, 0.85)
LATENCY = Row("append → seen, p50", None, None, 9.9, "ms", 10, 2)


@pytest.mark.parametrize(
    ("row", "met", "aim_reached"),
    [
        (RATIO, True, False),
        (Row("append", "raw insert", 0.599, None, "ratio", 0.6, 0.85), False, False),
        (LATENCY, True, False),
        (Row("append → seen, p50", None, None, 10, "ms", 10, 2), False, False),
        (Row("memory of a scan", None, None, 79.9, "MB", 150, 80), True, True),
        (Row("append", None, None, 4000, "events/s", None, None), None, None),
        (Row("append", "a peer", None, None, "ratio", 2, 3), None, None),
    ],
)
def test_a_bound_is_a_lower_one_but_for_what_is_better_small(
    row: Row, met: bool | None, aim_reached: bool | None
) -> None:
    assert (row.met, row.aim_reached) == (met, aim_reached)


def test_a_line_of_json_holds_one_figure(capsys: pytest.CaptureFixture[str]) -> None:
    for row in (RATIO, LATENCY, Row("append", "a peer", None, None, "ratio", 2, 3)):
        print_json(row)

    ratio, latency, missing = map(json.loads, capsys.readouterr().out.splitlines())
    assert list(ratio) == ["work", "baseline", "ratio", "unit", "at_least", "aim", "met"]
    assert list(latency) == ["work", "baseline", "value", "unit", "at_least", "aim", "met"]
    assert (latency["value"], latency["at_least"], latency["met"]) == (9.9, 10, True)
    assert (missing["ratio"], missing["met"]) == (None, None)


def test_the_table_says_what_is_met_and_puts_the_rate_beside_its_ratio(capsys: pytest.CaptureFixture[str]) -> None:
    poor = rows_of("grade", "raw read", "runs/s", (0.1, 1234.4), 0.5, 0.8)

    print_table([[RATIO, LATENCY], poor, [Row("copy", "a peer", None, None, "ratio", 2, 3)]])

    lines = capsys.readouterr().out.splitlines()
    graded = next(line for line in lines if "grade" in line)
    assert "NO" in graded
    assert "1,234 runs/s" in graded
    assert "< 10 ms" in next(line for line in lines if "seen" in line)
    assert "not measured" in next(line for line in lines if "copy" in line)


def test_the_ratio_is_the_median_over_the_rounds_after_the_first() -> None:
    ours: Iterator[float] = itertools.chain([1000.0], [1.0, 2.0, 9.0])

    assert paired_rates(lambda: next(ours), lambda: 2.0, 3) == (1.0, 2.0)


def test_the_raw_table_is_the_one_of_the_log_without_its_guards(tmp_path: Path) -> None:
    with sqlite_table(tmp_path / "raw.db") as raw:
        raw.prepare(20, 10)
        assert raw.insert() == 20

    with open_log(f"sqlite:///{tmp_path / 'log.db'}"):
        kept = sqlite3.connect(tmp_path / "log.db")
    made = sqlite3.connect(tmp_path / "raw.db")
    assert _shape(made, "raw") == _shape(kept, "events")
    assert made.execute("SELECT count(DISTINCT position), count(DISTINCT stream_id) FROM raw").fetchone() == (20, 2)
    kept.close()
    made.close()


def _shape(connection: sqlite3.Connection, table: str) -> object:
    columns = connection.execute(f"SELECT name, type, \"notnull\", pk FROM pragma_table_info('{table}')").fetchall()
    indexes = connection.execute(f"SELECT name, \"unique\" FROM pragma_index_list('{table}')").fetchall()
    indexed = {
        (unique, *connection.execute(f"SELECT group_concat(name) FROM pragma_index_info('{name}')").fetchone())
        for name, unique in indexes
    }
    strict = connection.execute(f"SELECT strict FROM pragma_table_list('{table}')").fetchone()
    return columns, indexed, strict


def test_the_raw_table_takes_rows_on_postgres(postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        raw = postgres_table(connection)
        for size in (1, 10):
            raw.prepare(20, size)
            assert raw.insert() == 20

        indexes = connection.execute("SELECT count(*) FROM pg_indexes WHERE tablename = 'raw'").fetchone()
        assert indexes == (4,)


def test_a_child_appends_when_told_and_its_end_is_noticed(migrated_postgres_url: str) -> None:
    with Child(connections.__name__, migrated_postgres_url, "0") as child:
        assert child.ask("prepare 3") == "ready"
        begin, end = map(float, child.ask("append 0").split())
        assert begin < end

        with pytest.raises(ChildFailed, match="exit code 1"):
            child.ask("prepare many")


def test_a_child_ends_with_its_parent(migrated_postgres_url: str) -> None:
    with Child(connections.__name__, migrated_postgres_url, "0") as child:
        child.ask("prepare 1")
        process = child._process

    assert process.returncode == 0
