"""What the Images service refuses."""

from __future__ import annotations

UNSUPPORTED, INTERNAL, NO_BODY, CONSUMED = 9520, 9523, 9432, 9525


class ImageFault(Exception):
    def __init__(self, code: int, message: str) -> None:
        self.code = code
        super().__init__(f"ERROR {code}: {message}")


def missing_pillow() -> ImageFault:
    return ImageFault(
        INTERNAL, "Pillow is not installed, which the images binding needs: pip install 'pyflare-dev[images]'"
    )
