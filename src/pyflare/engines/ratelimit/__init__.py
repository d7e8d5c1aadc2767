"""Rate limiting: `env.LIMITER.limit({key})`. developers.cloudflare.com/workers/runtime-apis/bindings/rate-limit

Windows are fixed and aligned to the clock; bindings of one `namespace_id` share their counts. Left out: that each
location of Cloudflare's counts for itself.
"""

from pyflare.engines.ratelimit.engine import Ratelimits

ENGINE = Ratelimits
