"""HTTPS for `--local-protocol https`: the given certificate, or one of our own that is kept in the state folder."""

from __future__ import annotations

import datetime
import ipaddress
import ssl
import subprocess
from pathlib import Path

from pyflare.errors import ConfigError

VALID_DAYS = 365
NAMES = ("localhost", "127.0.0.1", "::1")


def context(cert: Path | None, key: Path | None, folder: Path, now: float, search_path: str) -> ssl.SSLContext:
    """A server's TLS settings. `search_path`: where `openssl` is looked for when `cryptography` is not installed."""
    if (cert is None) != (key is None):
        raise ConfigError("--https-cert-path and --https-key-path belong together: give both, or none")
    if cert is None or key is None:
        cert, key = _own(folder, now, search_path)
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        made.load_cert_chain(cert, key)
    except (OSError, ssl.SSLError) as failed:
        raise ConfigError(f"Cannot use the certificate {cert} with the key {key}: {failed}") from None
    made.set_alpn_protocols(["http/1.1"])
    return made


def _own(folder: Path, now: float, search_path: str) -> tuple[Path, Path]:
    """The self-signed certificate, made anew when its year is nearly over."""
    cert, key = folder / "local.crt", folder / "local.key"
    if cert.exists() and key.exists() and now - cert.stat().st_mtime < (VALID_DAYS - 30) * 86400:
        return cert, key
    try:
        _with_cryptography(cert, key, now)
    except ImportError:
        _with_openssl(cert, key, search_path)
    key.chmod(0o600)
    return cert, key


def _with_cryptography(cert: Path, key: Path, now: float) -> None:
    from cryptography import x509  # noqa: PLC0415  (an optional extra)
    from cryptography.hazmat.primitives import hashes, serialization  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415

    private = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    start = datetime.datetime.fromtimestamp(now, datetime.UTC)
    addresses = [x509.IPAddress(ipaddress.ip_address(address)) for address in NAMES[1:]]
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(private.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start - datetime.timedelta(days=1))
        .not_valid_after(start + datetime.timedelta(days=VALID_DAYS))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(NAMES[0]), *addresses]), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .sign(private, hashes.SHA256())
    )
    encoding = serialization.Encoding.PEM
    key.write_bytes(private.private_bytes(encoding, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))
    cert.write_bytes(made.public_bytes(encoding))


def _with_openssl(cert: Path, key: Path, search_path: str) -> None:
    command = [
        "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days",
        str(VALID_DAYS), "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1,IP:::1",
        "-keyout", str(key), "-out", str(cert),
    ]  # fmt: skip
    try:
        subprocess.run(command, check=True, capture_output=True, env={"PATH": search_path})
    except (OSError, subprocess.CalledProcessError):
        raise ConfigError(
            "HTTPS needs a certificate: `pip install 'pyflare-dev[crypto]'`, install openssl, or give "
            "--https-cert-path and --https-key-path"
        ) from None
