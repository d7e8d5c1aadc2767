"""The names of bindings: two of one worker cannot have the same, both would be `env.NAME`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pyflare.config.diagnostics import Diagnostics

# What wrangler calls the bindings of each key.
KINDS: Mapping[str, str] = {
    "vars": "Environment Variable",
    "kv_namespaces": "KV Namespace",
    "durable_objects": "Durable Object",
    "queues": "Queue",
    "d1_databases": "D1 Database",
    "r2_buckets": "R2 Bucket",
    "workflows": "Workflow",
    "services": "Worker",
    "send_email": "Send Email",
    "analytics_engine_datasets": "Analytics Engine Dataset",
    "hyperdrive": "Hyperdrive Config",
    "ratelimits": "Rate Limit",
    "secrets_store_secrets": "Secrets Store Secret",
    "version_metadata": "Worker Version Metadata",
    "assets": "Assets",
    "browser": "Browser Run",
    "ai": "AI",
    "images": "Images",
    "stream": "Stream",
    "media": "Media",
    "pipelines": "Pipeline",
    "vectorize": "Vectorize Index",
    "ai_search_namespaces": "AI Search Namespace",
    "ai_search": "AI Search Instance",
    "websearch": "Web Search",
    "agent_memory": "Agent Memory",
    "dispatch_namespaces": "Dispatch Namespace",
    "mtls_certificates": "mTLS Certificate",
    "artifacts": "Artifacts",
    "flagship": "Flagship",
    "worker_loaders": "Worker Loader",
    "vpc_services": "VPC Service",
    "vpc_networks": "VPC Network",
    "unsafe_hello_world": "Hello World",
    "wasm_modules": "Wasm Module",
    "text_blobs": "Text Blob",
    "data_blobs": "Data Blob",
}
PLAIN = ("vars", "wasm_modules", "text_blobs", "data_blobs")  # objects whose keys are the names


def check_names(sections: Mapping[str, Any], diagnostics: Diagnostics) -> None:
    """A fault for each name that several bindings have, a warning for one that is no identifier
    (developers.cloudflare.com/kv/concepts/kv-bindings)."""
    kinds: dict[str, list[str]] = {}
    for key, kind in KINDS.items():
        for name in binding_names(key, sections.get(key)):
            kinds.setdefault(name, []).append(kind)
            if key not in PLAIN and not name.replace("$", "_").isidentifier():
                diagnostics.warn(f'{key}: the binding "{name}" should have a valid JavaScript identifier as its name')
    for name in _required_secrets(sections):
        kinds.setdefault(name, []).append("Secret")
    for name, found in kinds.items():
        if len(found) > 1:
            diagnostics.fault("", f"{name} assigned to {_several(found)} bindings; each needs a name of its own")


def binding_names(key: str, section: Any) -> Iterator[str]:
    """The names in env that a section makes; malformed parts make none."""
    if key in PLAIN:
        yield from section if isinstance(section, dict) else ()
        return
    if isinstance(section, dict):
        inside = {"queues": "producers", "durable_objects": "bindings"}.get(key)
        section = section.get(inside) if inside else [section]
    for item in section if isinstance(section, list) else ():
        name = item.get("binding", item.get("name")) if isinstance(item, dict) else None
        if isinstance(name, str) and name:
            yield name


def _required_secrets(sections: Mapping[str, Any]) -> list[str]:
    secrets = sections.get("secrets")
    required = secrets.get("required") if isinstance(secrets, dict) else None
    return [name for name in required if isinstance(name, str)] if isinstance(required, list) else []


def _several(kinds: list[str]) -> str:
    distinct = list(dict.fromkeys(kinds))
    if len(distinct) == 1:
        return f"multiple {distinct[0]}"
    return f"{', '.join(distinct[:-1])} and {distinct[-1]}"
