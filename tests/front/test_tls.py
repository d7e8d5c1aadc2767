from __future__ import annotations

import ssl
import sys
from pathlib import Path

import pytest

from pyflare.errors import ConfigError
from pyflare.front.tls import context

NOW = 1_700_000_000.0


def test_a_certificate_is_made_once_and_kept(tmp_path: Path) -> None:
    assert isinstance(context(None, None, tmp_path, NOW, ""), ssl.SSLContext)
    first = (tmp_path / "local.crt").read_bytes()
    context(None, None, tmp_path, NOW, "")
    assert (tmp_path / "local.crt").read_bytes() == first
    assert (tmp_path / "local.key").stat().st_mode & 0o077 == 0


def test_an_old_certificate_is_made_anew(tmp_path: Path) -> None:
    context(None, None, tmp_path, NOW, "")
    first = (tmp_path / "local.crt").read_bytes()
    made = (tmp_path / "local.crt").stat().st_mtime
    context(None, None, tmp_path, made + 360 * 86400, "")
    assert (tmp_path / "local.crt").read_bytes() != first


def test_ones_own_certificate_is_used_and_a_bad_one_told(tmp_path: Path) -> None:
    context(None, None, tmp_path, NOW, "")
    own = (tmp_path / "local.crt", tmp_path / "local.key")
    assert isinstance(context(*own, tmp_path / "unused", NOW, ""), ssl.SSLContext)
    with pytest.raises(ConfigError, match=r"Cannot use the certificate"):
        context(own[1], own[1], tmp_path, NOW, "")
    with pytest.raises(ConfigError, match="belong together"):
        context(own[0], None, tmp_path, NOW, "")


def test_without_cryptography_and_openssl_the_error_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(ConfigError, match=r"pyflare-dev\[crypto\]"):
        context(None, None, tmp_path, NOW, str(tmp_path))
