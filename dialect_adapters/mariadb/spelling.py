"""MariaDB's words for what a rewritten statement means: MySQL's, but for how a text is matched.

An empty ESCAPE is the backslash here, so a character that no text is made of stands for none.
"""

from __future__ import annotations

from sqlassay.dialect_adapters.mysql.spelling import MysqlSpelling


def spelling() -> MysqlSpelling:
    """Return MariaDB's words."""
    return MysqlSpelling("mariadb", matching, "x'01'", derived_sees_out=False)


def matching(value: str, pattern: str) -> str:
    """Return the condition that a text matches: by the collation's idea of case, which is binary here."""
    return f"({value} COLLATE utf8mb4_0900_bin REGEXP {pattern})"
