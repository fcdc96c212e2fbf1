"""The drill as SARIF 2.1.0, so that code scanning shows each miss at the attack's own line."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from sqlassay.harness.reports.escape import visible
from sqlassay.harness.reports.files import Json
from sqlassay.harness.results.redteam import AttackResult, Attempt, FalseAlarm, RedTeamResult

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_RULES = {
    "breach": ("An attack did harm behind all layers", "error"),
    "guard-miss": ("The guard alone let a harmful statement by", "warning"),
    "role-miss": ("The reader's login alone did not stop an attack", "warning"),
    "sandbox-miss": ("An attack with every right reached past its sandbox", "error"),
    "false-alarm": ("A harmless statement was refused", "note"),
}


def document(found: RedTeamResult) -> dict[str, Json]:
    """Return the SARIF log of one drill."""
    results = [
        _result(_rule(attempt), f"{attack.id} ({attack.harm}): {attempt.by}", attack.sql, found.attacks_file, attack)
        for attack in found.attacks
        for attempt in attack.attempts
        if attempt.finding == "missed"
    ]
    results += [
        _result("false-alarm", f"{alarm.layer} refuses {alarm.id}: {alarm.reason}", alarm.sql, found.benign_file, alarm)
        for alarm in found.false_alarms
    ]
    rules: list[Json] = [
        {"id": name, "shortDescription": {"text": text}, "defaultConfiguration": {"level": level}}
        for name, (text, level) in _RULES.items()
    ]
    driver: dict[str, Json] = {"name": "sqlassay redteam", "version": _version(), "rules": rules}
    run: dict[str, Json] = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": list(results),
        "invocations": [{"executionSuccessful": True, "exitCode": int(found.exit_code)}],
        "properties": {"dialect": found.dialect, "verdict": found.verdict_line},
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(attempt: Attempt) -> str:
    """Return the rule a miss falls under."""
    return "breach" if attempt.layer == "together" else f"{attempt.layer}-miss"


def _result(rule: str, message: str, sql: str, file: str, where: AttackResult | FalseAlarm) -> dict[str, Json]:
    """Return one result at the line its statement stands on."""
    return {
        "ruleId": rule,
        "ruleIndex": list(_RULES).index(rule),
        "level": _RULES[rule][1],
        "message": {"text": visible(f"{message}: {sql[:300]}")},
        "locations": [
            {"physicalLocation": {"artifactLocation": {"uri": file}, "region": {"startLine": where.line}}},
        ],
        "partialFingerprints": {"attack/v1": f"{where.id}:{rule}"},
    }


def _version() -> str:
    """Return the installed version."""
    try:
        return version("sqlassay")
    except PackageNotFoundError:
        return "0"
