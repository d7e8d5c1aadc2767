"""Worker Loaders (developers.cloudflare.com/workers/runtime-apis/bindings/worker-loader): workers out of source text.

Python modules only: the code runs in a namespace of its own beside the worker that loads it, which is no sandbox. Left
out, and refused when asked for: JavaScript and data modules, classes of Durable Objects, `tails`. `limits` are ignored.
"""

from pyflare.engines.loaders.engine import Loaders

ENGINE = Loaders
