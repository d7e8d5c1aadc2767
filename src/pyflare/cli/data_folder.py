"""Where the data are that a command works on."""

from __future__ import annotations

from pathlib import Path

from pyflare.config.load import state_folder
from pyflare.config.model import WorkerConfig
from pyflare.config.options import DevOptions
from pyflare.storage.lock import data_of


def data_folder(options: DevOptions, config: WorkerConfig) -> Path:
    """The state folder that --persist-to names; else that of the running server which serves the worker beside others;
    else the worker's own."""
    own = state_folder(options, config)
    return data_of(own) if options.persist_to is None else own
