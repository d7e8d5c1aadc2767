"""Which version of the worker runs: an id that is new with every start, no tag, and the time of the start.

developers.cloudflare.com/workers/runtime-apis/bindings/version-metadata
"""

from pyflare.engines.version_metadata.engine import VersionMetadata

ENGINE = VersionMetadata
