"""Hyperdrive: the connection string of a local database, passed through. developers.cloudflare.com/hyperdrive

Left out: its pool and its cache of queries. Host and port are the database's own, so that any driver of Python can
use them.
"""

from pyflare.engines.hyperdrive.engine import Hyperdrives

ENGINE = Hyperdrives
