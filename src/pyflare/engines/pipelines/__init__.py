"""Pipelines: `await env.PIPELINE.send([record, …])`. developers.cloudflare.com/pipelines

Records are kept as newline-delimited JSON in the state folder, `pyflare/pipelines/<name>.ndjson`; nothing is
transformed or delivered.
"""

from pyflare.engines.pipelines.engine import Pipelines

ENGINE = Pipelines
