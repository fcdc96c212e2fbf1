"""A pack says which functions of a snapshot's scripts queries may call; the list decides the snapshot's digest."""

from __future__ import annotations

from pathlib import Path

import pytest

from sqlassay.cases.errors import InputError
from sqlassay.cases.formats.registry import load_pack
from sqlassay.cases.pack import Pack

HEADER = """\
format: 1
name: billing
snapshots:
  bills:
    scripts: {postgres: bills.sql, mysql: bills.sql}
  plain:
    schema: schema.yaml
    data: data
allowed_functions:
  bills: [f_total, Public.F_Rows]
cases:
  - {id: a, question: q, snapshot: bills, gold: {postgres: SELECT 1}}
"""
SCHEMA = "format: 1\ntables:\n  - name: t\n    columns: [{name: id, kind: int}]\n"


def _load(folder: Path, header: str = HEADER) -> Pack:
    (folder / "data").mkdir(exist_ok=True)
    (folder / "data" / "t.csv").write_text("id\n1\n")
    (folder / "schema.yaml").write_text(SCHEMA)
    (folder / "bills.sql").write_text("CREATE TABLE bills (id int);\n")
    (folder / "pack.yaml").write_text(header)
    return load_pack(folder)


def test_the_list_is_the_snapshots_own(tmp_path: Path) -> None:
    """Names are folded and sorted; a snapshot that is not listed has none."""
    found = _load(tmp_path)
    assert found.snapshot("bills").functions == ("f_total", "public.f_rows")
    assert found.snapshot("plain").functions == ()


def test_another_list_is_another_snapshot_and_another_case_set(tmp_path: Path) -> None:
    """Rights are baked into the image, so its key must follow; order and case of the names do not matter."""
    found = _load(tmp_path)
    same = _load(tmp_path, HEADER.replace("[f_total, Public.F_Rows]", "[public.f_rows, F_TOTAL, f_total]"))
    less = _load(tmp_path, HEADER.replace(", Public.F_Rows", ""))
    none = _load(tmp_path, HEADER.replace("allowed_functions:\n  bills: [f_total, Public.F_Rows]\n", ""))
    empty = _load(tmp_path, HEADER.replace("[f_total, Public.F_Rows]", "[]"))
    digests = [pack.snapshot("bills").digest for pack in (found, same, less, none, empty)]
    assert digests[0] == digests[1]
    assert digests[3] == digests[4]
    assert len(set(digests)) == 3
    assert found.digest == same.digest
    assert len({found.digest, less.digest, none.digest}) == 3
    assert {pack.snapshot("plain").digest for pack in (found, less, none)} == {found.snapshot("plain").digest}


@pytest.mark.parametrize(
    ("new", "said"),
    [
        ("other: [f_total]", "pack.yaml:10:allowed_functions.other: unknown snapshot 'other'. Known snapshots: bills"),
        ("plain: [f_total]", "pack.yaml:10:allowed_functions.plain: snapshot 'plain' has no scripts"),
        ('bills: ["f_total()"]', "pack.yaml:10:allowed_functions.bills.0"),
        ("bills: [a.b.c]", "pack.yaml:10:allowed_functions.bills.0"),
        ('bills: [""]', "pack.yaml:10:allowed_functions.bills.0"),
    ],
)
def test_a_list_that_can_name_nothing_is_refused(tmp_path: Path, new: str, said: str) -> None:
    """The error names file, line and field before anything runs."""
    with pytest.raises(InputError) as caught:
        _load(tmp_path, HEADER.replace("bills: [f_total, Public.F_Rows]", new))
    assert said in str(caught.value)
