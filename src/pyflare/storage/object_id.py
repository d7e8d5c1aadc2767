"""Ids of Durable Objects, as workerd derives them (workerd `server/actor-id-impl.c++`).

A namespace is named by its unique key (`<worker>-<class>`, or `miniflare-KVNamespaceObject` and the like). An id is 32
bytes: 16 of identity and 16 that prove that it belongs to the namespace.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets


class Namespace:
    """Makes and checks the ids of one unique key; all ids are 64 lower-case hex digits."""

    def __init__(self, unique_key: str) -> None:
        self.unique_key = unique_key
        self._key = hashlib.sha256(unique_key.encode()).digest()

    def from_name(self, name: str) -> str:
        return self._with_proof(self._mac(name.encode()))

    def unique(self) -> str:
        return self._with_proof(secrets.token_bytes(16))

    def owns(self, hex_id: str) -> bool:
        """Whether the 64 hex digits were made by this namespace."""
        raw = bytes.fromhex(hex_id)
        return hmac.compare_digest(self._mac(raw[:16]), raw[16:])

    def _mac(self, data: bytes) -> bytes:
        return hmac.new(self._key, data, hashlib.sha256).digest()[:16]

    def _with_proof(self, base: bytes) -> str:
        return (base + self._mac(base)).hex()
