"""Images as Pillow sees them. Nothing here waits; it is called in a thread.

Options have Cloudflare's names; those that are not known are ignored.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pyflare.engines.images.faults import UNSUPPORTED, ImageFault, missing_pillow

if TYPE_CHECKING:
    from PIL.Image import Image

FORMATS = {
    "JPEG": "image/jpeg",
    "PNG": "image/png",
    "WEBP": "image/webp",
    "GIF": "image/gif",
    "AVIF": "image/avif",
}
BY_TYPE = {kind: name for name, kind in FORMATS.items()}
RAW = {"rgb": "RGB", "rgba": "RGBA"}
QUALITIES = {"low": 35, "medium-low": 50, "medium-high": 70, "high": 90}
DEFAULT_QUALITY = 85
SIDES = {"left": (0.0, 0.5), "right": (1.0, 0.5), "top": (0.5, 0.0), "bottom": (0.5, 1.0)}

Options = Mapping[str, Any]


@dataclass
class Layer:
    """An image and what is done to it, in order: options of a transform, or a layer that is drawn on it."""

    data: bytes
    steps: Sequence[Options | Drawing] = ()


@dataclass
class Drawing:
    layer: Layer
    options: Options = field(default_factory=dict)


def info(data: bytes) -> dict[str, Any]:
    """Type and size of an image; an SVG has no size."""
    if _is_svg(data):
        return {"format": "image/svg+xml"}
    image = _open(data)
    return {"format": FORMATS[str(image.format)], "fileSize": len(data), "width": image.width, "height": image.height}


def render(layer: Layer, output: str, quality: Any, background: str | None) -> tuple[bytes, str]:
    """The finished image, and its content type."""
    image = _flatten(layer)
    if output in RAW:
        return image.convert(RAW[output]).tobytes(), f"image/{output}"
    name = BY_TYPE.get(output)
    if name is None:
        raise ImageFault(UNSUPPORTED, f"Unsupported output format {output}")
    if background is not None or name == "JPEG":
        image = _on(image, background or "#ffffff")
    target = io.BytesIO()
    image.save(target, name, **_encoding(name, quality))
    return target.getvalue(), output


def _encoding(name: str, quality: Any) -> dict[str, Any]:
    if name in ("PNG", "GIF"):
        return {}
    number = QUALITIES.get(quality, DEFAULT_QUALITY) if not isinstance(quality, (int, float)) else round(quality)
    return {"quality": min(100, max(1, number))}


def _flatten(layer: Layer) -> Image:
    image = _open(layer.data).convert("RGBA")
    for step in layer.steps:
        image = _draw(image, step) if isinstance(step, Drawing) else _transform(image, step)
    return image


def _open(data: bytes) -> Image:
    try:
        from PIL import Image as pillow  # noqa: PLC0415  (an optional extra, and heavy)
    except ImportError:
        raise missing_pillow() from None
    if not data:
        raise ImageFault(9432, "Bad request: empty image")
    try:
        image = pillow.open(io.BytesIO(data))
        image.load()
    except (OSError, ValueError, SyntaxError):
        raise ImageFault(UNSUPPORTED, _unsupported("SVG" if _is_svg(data) else "unknown")) from None
    if image.format not in FORMATS:
        raise ImageFault(UNSUPPORTED, _unsupported(str(image.format).lower()))
    return image


def _unsupported(kind: str) -> str:
    return f"Unsupported image type {kind}, expected one of: JPEG, SVG, PNG, WebP, GIF or AVIF"


def _is_svg(data: bytes) -> bool:
    start = data[:512].lstrip().lower()
    return start.startswith(b"<svg") or (start.startswith(b"<?xml") and b"<svg" in start)


# --- transforms -------------------------------------------------------------------------------------------------------


def _transform(image: Image, options: Options) -> Image:
    image = _trim(image, options.get("trim"))
    image = _flip(image, options.get("flip"))
    if options.get("rotate"):
        image = image.rotate(-float(options["rotate"]), expand=True)
    if options.get("width") or options.get("height"):
        image = _resize(image, options)
    image = _adjust(image, options)
    if isinstance(options.get("background"), str) and options.get("fit") != "pad":
        image = _on(image, options["background"]).convert("RGBA")
    return image


def _resize(image: Image, options: Options) -> Image:
    ratio = float(options.get("dpr") or 1)
    width = round(float(options.get("width") or 0) * ratio)
    height = round(float(options.get("height") or 0) * ratio)
    fit = options.get("fit") or "scale-down"
    if fit == "squeeze":
        return image.resize((width or image.width, height or image.height))
    if fit in ("cover", "crop") and width and height:
        return _cover(image, width, height, options.get("gravity"), enlarge=fit == "cover")
    scale = min(width / image.width if width else float("inf"), height / image.height if height else float("inf"))
    if fit in ("scale-down", "crop"):
        scale = min(scale, 1.0)
    image = image.resize((max(1, round(image.width * scale)), max(1, round(image.height * scale))))
    if fit == "pad" and width and height:
        return _pad(image, width, height, options)
    return image


def _cover(image: Image, width: int, height: int, gravity: Any, *, enlarge: bool) -> Image:
    scale = max(width / image.width, height / image.height)
    if enlarge or scale < 1:
        image = image.resize((max(width, round(image.width * scale)), max(height, round(image.height * scale))))
    width, height = min(width, image.width), min(height, image.height)
    x, y = _point(gravity)
    left, top = round((image.width - width) * x), round((image.height - height) * y)
    return image.crop((left, top, left + width, top + height))


def _pad(image: Image, width: int, height: int, options: Options) -> Image:
    from PIL import Image as pillow  # noqa: PLC0415  (an optional extra, and heavy)

    canvas = pillow.new("RGBA", (width, height), options.get("background") or "#ffffff")
    x, y = _point(options.get("gravity"))
    canvas.alpha_composite(image, (round((width - image.width) * x), round((height - image.height) * y)))
    return canvas


def _point(gravity: Any) -> tuple[float, float]:
    """Where the important part lies, from 0 to 1."""
    if isinstance(gravity, Mapping):
        return float(gravity.get("x", 0.5)), float(gravity.get("y", 0.5))
    return SIDES.get(gravity, (0.5, 0.5))


def _trim(image: Image, trim: Any) -> Image:
    if not isinstance(trim, Mapping):
        return image
    sides = {side: int(trim.get(side) or 0) for side in ("left", "top", "right", "bottom")}
    right = sides["left"] + int(trim["width"]) if trim.get("width") else image.width - sides["right"]
    bottom = sides["top"] + int(trim["height"]) if trim.get("height") else image.height - sides["bottom"]
    return image.crop((sides["left"], sides["top"], max(right, sides["left"] + 1), max(bottom, sides["top"] + 1)))


def _flip(image: Image, flip: Any) -> Image:
    from PIL import ImageOps  # noqa: PLC0415  (an optional extra, and heavy)

    if flip in ("h", "hv"):
        image = ImageOps.mirror(image)
    return ImageOps.flip(image) if flip in ("v", "hv") else image


def _adjust(image: Image, options: Options) -> Image:
    from PIL import ImageEnhance, ImageFilter  # noqa: PLC0415  (an optional extra, and heavy)

    alpha = image.getchannel("A")
    enhancers: dict[str, Callable[[Image], Any]] = {
        "brightness": ImageEnhance.Brightness,
        "contrast": ImageEnhance.Contrast,
        "saturation": ImageEnhance.Color,
    }
    for name, enhancer in enhancers.items():
        if options.get(name) is not None:
            image = enhancer(image).enhance(float(options[name]))
    if options.get("sharpen"):
        image = image.filter(ImageFilter.UnsharpMask(percent=round(float(options["sharpen"]) * 100)))
    image.putalpha(alpha)
    if options.get("blur"):
        image = image.filter(ImageFilter.GaussianBlur(float(options["blur"])))
    return image


def _on(image: Image, background: str) -> Image:
    """The image on a colour, without transparency."""
    from PIL import Image as pillow  # noqa: PLC0415  (an optional extra, and heavy)

    canvas = pillow.new("RGBA", image.size, background)
    canvas.alpha_composite(image.convert("RGBA"))
    return canvas.convert("RGB")


def _draw(image: Image, drawing: Drawing) -> Image:
    from PIL import Image as pillow  # noqa: PLC0415  (an optional extra, and heavy)

    options, drawn = drawing.options, _flatten(drawing.layer)
    opacity = options.get("opacity")
    if opacity is not None:
        drawn.putalpha(drawn.getchannel("A").point(lambda value: round(value * float(opacity))))
    left = _offset(options, "left", "right", image.width, drawn.width)
    top = _offset(options, "top", "bottom", image.height, drawn.height)
    layer = pillow.new("RGBA", image.size, (0, 0, 0, 0))
    repeat = options.get("repeat")
    across = range(left % drawn.width - drawn.width, image.width, drawn.width)
    down = range(top % drawn.height - drawn.height, image.height, drawn.height)
    for x in across if repeat in (True, "x") else (left,):
        for y in down if repeat in (True, "y") else (top,):
            layer.paste(drawn, (x, y))
    return pillow.alpha_composite(image, layer)


def _offset(options: Options, near: str, far: str, whole: int, part: int) -> int:
    if options.get(near) is not None:
        return int(options[near])
    if options.get(far) is not None:
        return whole - part - int(options[far])
    return (whole - part) // 2
