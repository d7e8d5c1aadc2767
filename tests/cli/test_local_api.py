"""What commands send to a server."""

from __future__ import annotations

import io
import json
from typing import Any
from urllib.request import Request

import pytest

from pyflare.cli import local_api
from pyflare.storage.lock import Holder


@pytest.mark.parametrize("value", ["SELECT 'ö'", "\udcff", 2**70])
def test_an_action_is_sent_whatever_its_fields_are(monkeypatch: pytest.MonkeyPatch, value: Any) -> None:
    sent: list[Any] = []

    def open_url(request: Request) -> io.BytesIO:
        assert isinstance(request.data, bytes)
        sent.append(json.loads(request.data)["fields"])
        return io.BytesIO(b'{"result": 1}')

    monkeypatch.setattr(local_api, "open_url", open_url)
    api = local_api.LocalApi(Holder(pid=1, token="t", url="http://localhost:1"))
    assert (api.do("d1", "execute", sql=value), sent) == (1, [{"sql": value}])
