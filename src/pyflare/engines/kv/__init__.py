"""Workers KV: keys with values of up to 25 MiB, metadata and an expiry. developers.cloudflare.com/kv

Left out: that a write takes up to a minute to be seen elsewhere (a test may ask for it, see `Kv.lag`), and that only
one write a second to a key is taken, which here is a warning.
"""

from pyflare.engines.kv.engine import Kv

ENGINE = Kv
