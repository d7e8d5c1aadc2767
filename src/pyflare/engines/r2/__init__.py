"""R2: buckets of objects with metadata, conditions, ranges, multipart uploads. developers.cloudflare.com/r2

Left out: encryption with a customer's key (taken and ignored), storage classes, lifecycles, event notifications and
jurisdictions. A bucket also answers S3's protocol and a public path, see `s3` and `public`.
"""

from pyflare.engines.r2.engine import R2

ENGINE = R2
