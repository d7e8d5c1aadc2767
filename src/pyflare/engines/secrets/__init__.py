"""Secrets Store: `await env.SECRET.get()`. developers.cloudflare.com/secrets-store

Values live where `wrangler secrets-store secret create` puts them without `--remote`.
"""

from pyflare.engines.secrets.engine import SecretsStore

ENGINE = SecretsStore
