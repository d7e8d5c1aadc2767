"""`env.IMAGES`."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from pyflare.engines.images import pixels
from pyflare.engines.images.faults import CONSUMED, ImageFault
from pyflare.engines.images.pixels import Drawing, Layer
from pyflare.interop.arguments import promised, to_string
from pyflare.interop.buffers import as_bytes, is_buffer
from pyflare.interop.convert import to_py
from pyflare.interop.errors import JsException, error, type_error
from pyflare.interop.promise import JsPromise, confirmed, start
from pyflare.interop.proxy import JsObject, JsProxy, get, is_nullish, jsnull, options
from pyflare.interop.web.blob import Blob
from pyflare.interop.web.body import Body
from pyflare.interop.web.headers import Headers
from pyflare.interop.web.readable import ReadableStream
from pyflare.interop.web.response import Response

T = TypeVar("T")


class ImagesBindingImpl(JsProxy):
    js_name: ClassVar[str] = "ImagesBindingImpl"

    def js_properties(self) -> dict[str, Any]:
        return {}

    @promised
    def info(self, image: Any = None, options: Any = None) -> JsPromise:
        source = Source(image, get(options, "encoding"))
        return start(self._info(source))

    async def _info(self, source: Source) -> JsObject:
        await confirmed()
        found = await _worked("INFO", pixels.info, await source.read())
        return JsObject.make(found)

    @options
    def input(self, image: Any = None, options: Any = None) -> ImageTransformerImpl:
        transformer: ImageTransformerImpl = ImageTransformerImpl.make(Source(image, get(options, "encoding")))
        return transformer


class Source:
    """Where an image comes from; it is read once."""

    def __init__(self, image: Any, encoding: Any = None) -> None:
        if not isinstance(image, (ReadableStream, Blob)) and not is_buffer(image):
            raise type_error("The image must be a ReadableStream.")
        self._image = image
        self._base64 = encoding == "base64"

    async def read(self) -> bytes:
        if isinstance(self._image, ReadableStream):
            data = b"".join([chunk async for chunk in self._image.drain()])
        else:
            data = self._image.data if isinstance(self._image, Blob) else as_bytes(self._image)
        return base64.b64decode(data) if self._base64 else data


class ImageTransformerImpl(JsProxy):
    js_name: ClassVar[str] = "ImageTransformerImpl"

    def __init__(self, source: Source) -> None:
        self._source = source
        self._steps: list[dict[str, Any] | tuple[ImageTransformerImpl, dict[str, Any]]] = []
        self._consumed = False

    def js_properties(self) -> dict[str, Any]:
        return {}

    @options
    def transform(self, options: Any = None) -> ImageTransformerImpl:
        self._steps.append(_plain(options))
        return self

    @options
    def draw(self, image: Any = None, options: Any = None) -> ImageTransformerImpl:
        if isinstance(image, ImageTransformerImpl):
            image._consume()
        else:
            image = ImageTransformerImpl.make(Source(image))
        self._steps.append((image, _plain(options)))
        return self

    @promised
    def output(self, options: Any = None) -> JsPromise:
        self._consume()
        output = to_string(get(options, "format"))
        quality, background = _plain_value(get(options, "quality")), get(options, "background")
        return start(self._output(output, quality, None if is_nullish(background) else to_string(background)))

    def _consume(self) -> None:
        if self._consumed:
            raise _failed(
                "TRANSFORM",
                ImageFault(
                    CONSUMED, "ImageTransformer consumed; you may only call .output() or draw a transformer once"
                ),
            )
        self._consumed = True

    async def _output(self, output: str, quality: Any, background: str | None) -> TransformationResultImpl:
        await confirmed()
        layer = await self._layer()
        data, kind = await _worked("TRANSFORM", pixels.render, layer, output, quality, background)
        result: TransformationResultImpl = TransformationResultImpl.make(data, kind)
        return result

    async def _layer(self) -> Layer:
        layer = Layer(await self._source.read())
        steps: list[Any] = []
        for step in self._steps:
            steps.append(Drawing(await step[0]._layer(), step[1]) if isinstance(step, tuple) else step)
        layer.steps = steps
        return layer


class TransformationResultImpl(JsProxy):
    js_name: ClassVar[str] = "TransformationResultImpl"

    def __init__(self, data: bytes, kind: str) -> None:
        self._data = data
        self._kind = kind

    def js_properties(self) -> dict[str, Any]:
        return {}

    def contentType(self) -> str:
        return self._kind

    @options
    def image(self, options: Any = None) -> ReadableStream:
        encoded = get(options, "encoding") == "base64"
        stream: ReadableStream = ReadableStream.of_bytes(base64.b64encode(self._data) if encoded else self._data)
        return stream

    @options
    def response(self, options: Any = None) -> Response:
        given = get(options, "headers")
        headers = Headers.make() if is_nullish(given) else Headers.construct(given)
        headers.set("content-type", self._kind)
        response: Response = Response.make(200, None, headers, Body.make(self._data))
        return response


async def _worked(operation: str, work: Callable[..., T], *args: Any) -> T:
    """Run something that takes its time in a thread; a refusal is an error of JavaScript."""
    try:
        return await asyncio.to_thread(work, *args)
    except ImageFault as fault:
        raise _failed(operation, fault) from None


def _failed(operation: str, fault: ImageFault) -> JsException:
    raised = error(f"IMAGES_{operation}_{fault}")
    raised.__dict__["code"] = fault.code
    return raised


def _plain(options: Any) -> dict[str, Any]:
    found = options if isinstance(options, dict) else to_py(options) if isinstance(options, JsProxy) else {}
    return {str(name): _plain_value(value) for name, value in dict(found).items()}


def _plain_value(value: Any) -> Any:
    return None if value is jsnull else value
