"""The keys of a wrangler configuration and the shape of each: what wrangler 4.125 knows.

Engines parse the meaning of their own sections; here stands only what is a wrong type or an unknown key.
Which keys an environment inherits is said in `environment`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyflare.config.diagnostics import Diagnostics
from pyflare.config.shapes import (
    Shape,
    anything,
    check_fields,
    each,
    either,
    flag,
    list_of,
    mapping,
    number,
    one_of,
    port,
    record,
    text,
    worker_name,
)

_TEXTS = list_of(text)
_PROTOCOL = one_of("http", "https")
_ROUTE = either("a string or an object with a pattern", str, otherwise=record(
    {
        "pattern": text,
        "zone_id": text,
        "zone_name": text,
        "custom_domain": flag,
        "enabled": flag,
        "previews_enabled": flag,
    },
    required=["pattern"],
))  # fmt: skip


def _bindings(required: str, **fields: Shape) -> Shape:
    """An array of objects with at least these string fields."""
    names = required.split()
    return list_of(record({**dict.fromkeys(names, text), **fields}, required=names))


def _remote(required: str, **fields: Shape) -> Shape:
    """The same with `remote`, which has no effect here: pyflare never leaves the machine."""
    return _bindings(required, **fields, remote=flag)


_SINGLE = record({"binding": text, "remote": flag}, required=["binding"])
_STAGED_SINGLE = record({"binding": text, "remote": flag, "staging": flag}, required=["binding"])

_DEV = record(
    {
        "ip": text,
        "port": port,
        "inspector_ip": text,
        "inspector_port": port,
        "local_protocol": _PROTOCOL,
        "upstream_protocol": _PROTOCOL,
        "host": text,
        "enable_containers": flag,
        "container_engine": anything,
        "generate_types": flag,
    }
)

_QUEUES = record(
    {
        "producers": _remote("binding queue", delivery_delay=number),
        "consumers": _bindings(
            "queue",
            type=one_of("worker", "http_pull"),
            max_batch_size=number,
            max_batch_timeout=number,
            max_retries=number,
            dead_letter_queue=text,
            max_concurrency=anything,
            visibility_timeout_ms=number,
            retry_delay=number,
        ),
    }
)

_MIGRATION = record(
    {
        "tag": text,
        "new_classes": _TEXTS,
        "new_sqlite_classes": _TEXTS,
        "renamed_classes": _bindings("from to"),
        "deleted_classes": _TEXTS,
        "transferred_classes": _bindings("from from_script to"),
    },
    required=["tag"],
)

_ASSETS = record(
    {
        "directory": text,
        "binding": text,
        "html_handling": one_of("auto-trailing-slash", "force-trailing-slash", "drop-trailing-slash", "none"),
        "not_found_handling": one_of("single-page-application", "404-page", "none"),
        "run_worker_first": either("true, false or an array of paths", bool, otherwise=_TEXTS),
    }
)

_RATE_LIMITS = list_of(
    record(
        {
            "name": text,
            "namespace_id": text,
            "simple": record({"limit": number, "period": number}, required=["limit", "period"]),
        },
        required=["name", "namespace_id", "simple"],
    )
)

_BUILD = record(
    {"command": text, "cwd": text, "watch_dir": either("a string or an array of strings", str, otherwise=_TEXTS)}
)
_RULE_TYPES = ("ESModule", "CommonJS", "CompiledWasm", "Text", "Data", "PythonModule", "PythonRequirement")
_RULES = list_of(
    record({"type": one_of(*_RULE_TYPES), "globs": _TEXTS, "fallthrough": flag}, required=["type", "globs"])
)
_DURABLE_OBJECTS = record(
    {"bindings": _bindings("name class_name", script_name=text, environment=text)}, required=["bindings"]
)

TOP_LEVEL_ONLY: Mapping[str, Shape] = {
    "$schema": text,
    "env": each(mapping),
    "dev": _DEV,
    "keep_vars": flag,
    "send_metrics": flag,
    "dependencies_instrumentation": mapping,
    "site": anything,
    "wasm_modules": anything,
    "text_blobs": each(text),
    "data_blobs": each(text),
    "alias": anything,
    "addresses": _TEXTS,
    "pages_build_output_dir": text,
}

INHERITABLE: Mapping[str, Shape] = {
    "name": worker_name,
    "account_id": text,
    "main": text,
    "base_dir": text,
    "compatibility_date": text,
    "compatibility_flags": _TEXTS,
    "find_additional_modules": flag,
    "preserve_file_names": flag,
    "workers_dev": flag,
    "preview_urls": flag,
    "route": _ROUTE,
    "routes": list_of(_ROUTE),
    "triggers": record({"crons": _TEXTS, "events": anything}),
    "migrations": list_of(_MIGRATION),
    "exports": each(mapping),
    "assets": _ASSETS,
    "limits": mapping,
    "rules": _RULES,
    "build": _BUILD,
    "python_modules": record({"exclude": _TEXTS}),
    "observability": mapping,
    "placement": mapping,
    "cache": mapping,
    "access": mapping,
    "previews": mapping,
    "logfwdr": mapping,
    "logpush": flag,
    "upload_source_maps": flag,
    "compliance_region": text,
    "first_party_worker": flag,
    "no_bundle": flag,
    "minify": flag,
    "keep_names": flag,
    "tsconfig": text,
    "jsx_factory": text,
    "jsx_fragment": text,
}

NOT_INHERITABLE: Mapping[str, Shape] = {
    "vars": mapping,
    "secrets": record({"required": _TEXTS}),
    "define": mapping,
    "durable_objects": _DURABLE_OBJECTS,
    "workflows": _remote("binding name class_name", script_name=text, limits=mapping, schedules=anything),
    "cloudchamber": anything,
    "containers": list_of(mapping),
    "kv_namespaces": _remote("binding", id=text, preview_id=text),
    "send_email": list_of(
        record(
            {
                "name": text,
                "binding": text,
                "destination_address": text,
                "allowed_destination_addresses": _TEXTS,
                "allowed_sender_addresses": _TEXTS,
                "remote": flag,
            },
            required=["name"],
        )
    ),
    "queues": _QUEUES,
    "connect": list_of(mapping),
    "r2_buckets": _remote("binding", bucket_name=text, preview_bucket_name=text, jurisdiction=text, local_dev=mapping),
    "d1_databases": _remote(
        "binding",
        database_id=text,
        database_name=text,
        database_internal_env=text,
        preview_database_id=text,
        migrations_dir=text,
        migrations_pattern=text,
        migrations_table=text,
    ),
    "vectorize": _remote("binding index_name"),
    "ai_search_namespaces": _remote("binding namespace"),
    "ai_search": _remote("binding instance_name"),
    "websearch": _SINGLE,
    "agent_memory": _remote("binding namespace"),
    "hyperdrive": _bindings("binding id", localConnectionString=text),
    "services": _remote("binding service", environment=text, entrypoint=text, props=mapping),
    "analytics_engine_datasets": _bindings("binding", dataset=text),
    "browser": _SINGLE,
    "ai": _STAGED_SINGLE,
    "images": _SINGLE,
    "media": _SINGLE,
    "stream": _SINGLE,
    "version_metadata": record({"binding": text}, required=["binding"]),
    "unsafe": record({"bindings": list_of(mapping), "metadata": mapping, "capnp": anything}),
    "mtls_certificates": _remote("binding certificate_id"),
    "tail_consumers": _bindings("service", environment=text),
    "streaming_tail_consumers": _bindings("service", entrypoint=text),
    "dispatch_namespaces": _remote("binding namespace", outbound=anything),
    "pipelines": _remote("binding", pipeline=text, stream=text),
    "secrets_store_secrets": _bindings("binding store_id secret_name"),
    "artifacts": _remote("binding namespace"),
    "unsafe_hello_world": _bindings("binding", enable_timer=flag),
    "flagship": _remote("binding app_id"),
    "worker_loaders": _bindings("binding"),
    "ratelimits": _RATE_LIMITS,
    "vpc_services": _remote("binding service_id"),
    "vpc_networks": _remote("binding", tunnel_id=text, network_id=text),
}

_OF_AN_ENVIRONMENT: Mapping[str, Shape] = {**INHERITABLE, **NOT_INHERITABLE}
KEYS: Mapping[str, Shape] = {**TOP_LEVEL_ONLY, **_OF_AN_ENVIRONMENT}


def check_top_level(raw: Mapping[str, Any], diagnostics: Diagnostics) -> None:
    check_fields(raw, KEYS, "", "top-level field", diagnostics)


def check_environment(raw: Mapping[str, Any], name: str, diagnostics: Diagnostics) -> None:
    check_fields(raw, _OF_AN_ENVIRONMENT, f"env.{name}", f"env.{name} field", diagnostics)
