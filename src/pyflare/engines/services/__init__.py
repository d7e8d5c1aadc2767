"""Service bindings (developers.cloudflare.com/workers/runtime-apis/bindings/service-bindings/).

A binding reaches another worker of this server, or the worker itself, by name, at the default or a named entrypoint,
with `props`. Left out: workers of other processes, which answer 503 as wrangler does.
"""

from pyflare.engines.services.engine import Services

ENGINE = Services
