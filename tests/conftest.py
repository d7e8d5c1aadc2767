"""What the environment of a test run may not decide: taken out before any test and any process that one starts.
The local time is none that a worker may see, so that a test which should see UTC can fail."""

import os
import time

DECIDES = (
    *("CLOUDFLARE_", "WRANGLER_", "X_LOCAL_EXPLORER"),
    *("FORCE_COLOR", "NO_COLOR", "MYPY_FORCE_COLOR", "COLUMNS"),
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"),
)

for name in list(os.environ):
    if name.upper().startswith(DECIDES):
        del os.environ[name]
os.environ["TZ"] = "NPT-5:45"
time.tzset()
