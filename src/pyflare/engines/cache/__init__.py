"""The Cache API: `caches.default` and `caches.open(name)`, with the rules of HTTP for shared caches.

developers.cloudflare.com/workers/runtime-apis/cache. Left out: tiers of caches and the purge by tag of a zone.
"""

from pyflare.engines.cache.engine import Cache

ENGINE = Cache
