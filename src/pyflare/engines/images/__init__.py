"""Images: `env.IMAGES.input(stream).transform(…).output(…)`, drawn with Pillow (the extra `images`).

developers.cloudflare.com/images/transform-images/bindings. Sizes, fits, rotations, drawings and formats are right;
pixels are near Cloudflare's, not the same. Left out: hosted images, text, SVG as an input, animations.
"""

from pyflare.engines.images.engine import Images

ENGINE = Images
