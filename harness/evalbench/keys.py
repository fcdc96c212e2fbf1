"""The keys of EvalBench 1.20's configs: which are read here, which have no effect and why, and which nobody knows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sqlassay.cases.yaml_reading import YamlDocument

READ = frozenset(
    {
        *("dataset_config", "dataset_format", "database_config", "database_configs", "dialect", "dialects"),
        *("database", "databases", "query_type", "query_types", "model_config", "prompt_generator"),
        *("setup_directory", "scorers", "reporting", "runners", "num_trials", "compat"),
        *("set_up_script", "tear_down_script"),
    }
)
"""Keys of a run config that mean something here."""

_AGENTS = "it is for EvalBench's conversations with agents"
_LIMITS = "limits are --timeout and --agent-timeout"
_NAMES = "databases are found by the name the data set gives them"

WITHOUT_EFFECT = {
    "num_evals_to_run": "EvalBench reads it for bird-interact-format alone; --limit takes the first cases",
    "eval_case_timeout": _LIMITS,
    "orchestrator_timeout_seconds": _LIMITS,
    "orchestrator": "there is one way to run here",
    "db_name_mappings": _NAMES,
    "db_name_overrides": _NAMES,
    "env": "nothing here is started with it",
    **dict.fromkeys(
        (
            *("scenarios", "scenario_pattern", "simulated_user_model_config", "max_turn", "dataset_directory"),
            *("product_name", "tools_generator_config", "endpoints_config", "endpoint_types", "exceptions_config"),
            *("fake_mcp_tools", "agent_engine_id", "dataform_repository", "dataform_workspace", "run_tag"),
        ),
        _AGENTS,
    ),
}
"""Keys of a run config that EvalBench knows and that change nothing here, with the reason."""

_SERVER = "a sandbox is used"
DATABASE_READ = frozenset({"db_type", "dialect", "database_path", "extension", "database_name"})
DATABASE_IGNORED = frozenset(
    {
        *("host", "port", "user_name", "password", "secret_manager_path", "connection_string", "use_cloud_sql"),
        *("instance_id", "gcp_project_id", "location", "api_endpoint", "nl_config", "firestore_database"),
        *("connector_class", "use_managed_emulator", "redis_host", "redis_port", "redis_db_id", "db_name_suffix"),
        *("max_executions_per_minute", "query_timeout", "is_tmp_db"),
    }
)
"""Keys of a database config that say how to reach a server, and how hard to press it: a sandbox is used instead."""

MODEL = frozenset(
    {
        *("generator", "generator_class", "gcp_project_id", "gcp_region", "vertex_model", "base_prompt"),
        *("max_tokens", "max_attempts", "execs_per_minute", "tools", "model", "env", "timeout_seconds", "location"),
        *("project_id", "resource_name", "session_id", "api_endpoint", "agent_id", "context", "profile", "setup"),
        *("use_vertex", "openai_api_key_secret", "pricing", "mcp_servers", "skills", "url", "headers", "use_rest_api"),
        *("adkapi_server_url", "fake_mcp_servers", "allowed_tools", "extensions", "settings", "database", "type"),
    }
)
"""Keys of a model config."""

RUNNERS = ("sqlexec_runners", "eval_runners", "sqlgen_runners", "promptgen_runners", "scoring_runners")
"""How many workers EvalBench gives each of its stages; here one worker takes a case through all of them."""

RUNNERS_WITHOUT_EFFECT = {
    **dict.fromkeys(("task_timeout_seconds", "db_queue_timeout_seconds", "queue_timeout_seconds"), _LIMITS),
    **dict.fromkeys(("agent_runners", "vuser_runners", "endpoint_runners"), _AGENTS),
}
REPORTING = ("truncate_execution_outputs", "csv", "bigquery")
REPORTING_WITHOUT_EFFECT = {"gcs_artifacts": "only conversations with agents have artifacts"}
CSV = ("output_directory",)
BIGQUERY = ("gcp_project_id", "dataset_id", "dataset_location", "chunk_size")
DELEGATED = {"delegated": "reports are written from here"}


def told(
    document: YamlDocument,
    place: tuple[str, ...],
    value: Mapping[str, object],
    known: Sequence[str] | frozenset[str],
    without_effect: Mapping[str, str] | None = None,
) -> Iterator[str]:
    """Yield a line for each key nobody knows or that has no effect, naming file, line and key."""
    for key in value:
        where = f"{document.path}:{document.line((*place, key))}:{'.'.join((*place, key))}"
        if key in (without_effect or {}):
            yield f"{where}: has no effect here: {(without_effect or {})[key]}"
        elif key not in known:
            yield f"{where}: unknown key, ignored"
