"""`env.IMAGES`."""

from __future__ import annotations

import base64
import io
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from pyflare.engines.images.engine import Images
from pyflare.interop.errors import JsException
from pyflare.interop.web.readable import ReadableStream
from tests.support.rooms import Bench, js, run

RED, BLUE = (255, 0, 0, 255), (0, 0, 255, 255)
SVG = b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>'


@pytest.fixture
def images(tmp_path: Path) -> Any:
    return Bench(tmp_path).open(Images, {"images": {"binding": "IMAGES"}}).bindings("w")["IMAGES"]


def picture(width: int = 40, height: int = 20, kind: str = "PNG") -> bytes:
    """The left half red, the right half blue."""
    image = Image.new("RGBA", (width, height), RED)
    image.paste(BLUE, (width // 2, 0, width, height))
    target = io.BytesIO()
    (image.convert("RGB") if kind == "JPEG" else image).save(target, kind)
    return target.getvalue()


def stream(data: bytes) -> ReadableStream:
    async def pieces() -> AsyncIterator[bytes]:
        yield data[:10]
        yield data[10:]

    return ReadableStream.of(pieces())


def rendered(images: Any, *transforms: dict[str, Any], **output: Any) -> Image.Image:
    async def scenario() -> bytes:
        transformer = images.input(stream(picture()))
        for transform in transforms:
            transformer = transformer.transform(js(transform))
        result = await transformer.output(**{"format": "image/png", **output})
        response = result.response()
        assert response.headers.get("content-type") == result.contentType()
        return bytes((await response.arrayBuffer()).to_bytes())

    return Image.open(io.BytesIO(run(scenario())))


def refusal(images: Any, data: bytes, output: str = "image/png") -> str:
    async def scenario() -> str:
        with pytest.raises(JsException) as raised:
            await images.input(stream(data)).output(format=output)
        return str(raised.value)

    return run(scenario())


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP"])
def test_info_tells_type_and_size(images: Any, kind: str) -> None:
    data = picture(kind=kind)

    async def scenario() -> Any:
        return await images.info(stream(data))

    assert run(scenario()).js_properties() == {
        "format": f"image/{kind.lower()}",
        "fileSize": len(data),
        "width": 40,
        "height": 20,
    }


def test_an_svg_has_no_size(images: Any) -> None:
    async def scenario() -> Any:
        return await images.info(stream(SVG))

    assert run(scenario()).js_properties() == {"format": "image/svg+xml"}


def test_input_and_output_may_be_base64(images: Any) -> None:
    async def scenario() -> bytes:
        result = await images.input(stream(base64.b64encode(picture())), encoding="base64").output(format="image/png")
        return b"".join([chunk async for chunk in result.image(encoding="base64").drain()])

    assert Image.open(io.BytesIO(base64.b64decode(run(scenario())))).size == (40, 20)


@pytest.mark.cloudflare("images/transform-images/transform-via-workers/#fetch-options")
@pytest.mark.parametrize(
    ("options", "size"),
    [
        ({"width": 20}, (20, 10)),
        ({"height": 10}, (20, 10)),
        ({"width": 80}, (40, 20)),
        ({"width": 80, "fit": "contain"}, (80, 40)),
        ({"width": 10, "height": 10, "fit": "contain"}, (10, 5)),
        ({"width": 10, "height": 10, "fit": "cover"}, (10, 10)),
        ({"width": 60, "height": 60, "fit": "cover"}, (60, 60)),
        ({"width": 60, "height": 10, "fit": "crop"}, (40, 10)),
        ({"width": 10, "height": 10, "fit": "pad"}, (10, 10)),
        ({"width": 7, "height": 9, "fit": "squeeze"}, (7, 9)),
        ({"width": 10, "dpr": 2}, (20, 10)),
        ({"rotate": 90}, (20, 40)),
        ({"trim": {"left": 10, "top": 5}}, (30, 15)),
    ],
)
def test_sizes(images: Any, options: dict[str, Any], size: tuple[int, int]) -> None:
    assert rendered(images, options).size == size


def test_transforms_are_done_in_order(images: Any) -> None:
    assert rendered(images, {"rotate": 90}, {"width": 10}).size == (10, 20)


def test_gravity_chooses_the_side(images: Any) -> None:
    square = {"width": 20, "height": 20, "fit": "cover"}
    assert rendered(images, {**square, "gravity": "left"}).getpixel((10, 10)) == RED
    assert rendered(images, {**square, "gravity": {"x": 1, "y": 0.5}}).getpixel((10, 10)) == BLUE


def test_a_rotation_is_clockwise(images: Any) -> None:
    assert rendered(images, {"rotate": 90}).getpixel((10, 5)) == RED


def test_a_flip_changes_the_sides(images: Any) -> None:
    assert rendered(images, {"flip": "h"}).getpixel((5, 10)) == BLUE


def test_a_pad_has_a_background(images: Any) -> None:
    assert rendered(images, {"width": 20, "height": 20, "fit": "pad"}).getpixel((10, 0)) == (255, 255, 255, 255)


@pytest.mark.parametrize("kind", ["jpeg", "png", "webp", "gif"])
def test_output_formats(images: Any, kind: str) -> None:
    assert rendered(images, format=f"image/{kind}").format == kind.upper()


def test_quality_makes_a_jpeg_smaller(images: Any) -> None:
    async def size(quality: Any) -> int:
        result = await images.input(stream(picture(400, 200))).output(format="image/jpeg", quality=quality)
        return len(result._data)

    assert run(size(5)) < run(size("high"))


def test_a_picture_is_drawn_on_another(images: Any) -> None:
    async def scenario() -> bytes:
        drawn = images.input(stream(picture(8, 8))).transform(js({"rotate": 180}))
        result = await images.input(stream(picture())).draw(drawn, left=0, top=0).output(format="image/png")
        return bytes(result._data)

    image = Image.open(io.BytesIO(run(scenario())))
    assert [image.getpixel(point) for point in ((1, 1), (6, 1), (12, 1))] == [BLUE, RED, RED]


def test_a_transformer_is_used_once(images: Any) -> None:
    async def scenario() -> None:
        transformer = images.input(stream(picture()))
        await transformer.output(format="image/png")
        with pytest.raises(JsException, match="9525: ImageTransformer consumed"):
            await transformer.output(format="image/png")

    run(scenario())


def test_what_is_no_image_is_refused(images: Any) -> None:
    assert refusal(images, b"no image at all") == (
        "Error: IMAGES_TRANSFORM_ERROR 9520: Unsupported image type unknown, expected one of: JPEG, SVG, PNG, WebP, "
        "GIF or AVIF"
    )
    assert "9432" in refusal(images, b"")


def test_an_unknown_output_is_refused(images: Any) -> None:
    assert "Unsupported output format image/tiff" in refusal(images, picture(), "image/tiff")


def test_a_text_is_no_input(images: Any) -> None:
    with pytest.raises(JsException, match="must be a ReadableStream"):
        images.input("text")


def test_without_pillow_the_error_names_the_extra(images: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    data = picture()
    monkeypatch.setitem(sys.modules, "PIL", None)
    assert "pip install 'pyflare-dev[images]'" in refusal(images, data)
