"""Static assets: the files of a folder, answered before the worker is asked.

developers.cloudflare.com/workers/static-assets. Left out: the guards of `/_next/image` and `/_image`, which protect
image optimisers of JavaScript frameworks.
"""

from pyflare.engines.assets.engine import Assets

ENGINE = Assets
