"""Email: the `send_email` binding and the worker's `email` handler. developers.cloudflare.com/email-routing

Nothing leaves the machine: what is sent, forwarded or replied is kept in the state folder, as files that mail programs
open, and listed. `POST /cdn-cgi/local/email?from=…&to=…` with a MIME message as its body stands for the mail server.
"""

from pyflare.engines.email.engine import Email

ENGINE = Email
