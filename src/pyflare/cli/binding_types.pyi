# What bindings offer to Python, for `pyflare types`, which writes this beside the worker.
# developers.cloudflare.com/workers/languages/python

from collections.abc import Awaitable, Mapping
from typing import Any, Protocol, TypeAlias, TypedDict, Unpack, overload

# What the SDK gives for a plain object is a dict with attributes; options are keywords, a dict, or what `to_js` made.

class JsProxy(Protocol):
    @property
    def js_id(self) -> int: ...

class JsDict(dict[str, Any]):
    def __getattr__(self, name: str, /) -> Any: ...

Options: TypeAlias = Mapping[str, Any] | JsProxy | None
Array: TypeAlias = list[Any] | JsProxy
Keys: TypeAlias = list[str] | JsProxy

# KV

class KVReadOptions(TypedDict, total=False):
    type: str
    cacheTtl: float

class KVPutOptions(TypedDict, total=False):
    expiration: float
    expirationTtl: float
    metadata: Any

class KVListOptions(TypedDict, total=False):
    prefix: str | None
    limit: float | None
    cursor: str | None

class KVValue(dict[str, Any]):
    value: Any
    metadata: Any
    cacheStatus: str | None

class KVList(dict[str, Any]):  # its keys are `["keys"]`, since `keys` is the method of a dict
    list_complete: bool
    cursor: str  # unless the list is complete
    cacheStatus: str | None

class KVNamespace(Protocol):
    @overload
    def get(self, key: str, options: str | Options = None, /, **keywords: Unpack[KVReadOptions]) -> Awaitable[Any]: ...
    @overload
    def get(
        self, keys: Keys, options: str | Options = None, /, **keywords: Unpack[KVReadOptions]
    ) -> Awaitable[dict[str, Any]]: ...
    @overload
    def getWithMetadata(
        self, key: str, options: str | Options = None, /, **keywords: Unpack[KVReadOptions]
    ) -> Awaitable[KVValue]: ...
    @overload
    def getWithMetadata(
        self, keys: Keys, options: str | Options = None, /, **keywords: Unpack[KVReadOptions]
    ) -> Awaitable[dict[str, Any]]: ...
    def put(
        self, key: str, value: Any, options: Options = None, /, **keywords: Unpack[KVPutOptions]
    ) -> Awaitable[None]: ...
    def delete(self, key: str, /) -> Awaitable[None]: ...
    def list(self, options: Options = None, /, **keywords: Unpack[KVListOptions]) -> Awaitable[KVList]: ...

# D1

class D1Meta(JsDict):
    served_by: str
    duration: float
    changes: int
    last_row_id: int
    changed_db: bool
    size_after: int
    rows_read: int
    rows_written: int

class D1Result(dict[str, Any]):
    results: list[Any]
    success: bool
    meta: D1Meta

class D1ExecResult(dict[str, Any]):
    count: int
    duration: float

class D1PreparedStatement(Protocol):
    def bind(self, *values: Any) -> D1PreparedStatement: ...
    def all(self) -> Awaitable[D1Result]: ...
    def run(self) -> Awaitable[D1Result]: ...
    def first(self, column: str | None = None, /) -> Awaitable[Any]: ...
    def raw(self, options: Options = None, /, *, columnNames: bool = ...) -> Awaitable[list[Any]]: ...

class D1Session(Protocol):
    def prepare(self, query: str, /) -> D1PreparedStatement: ...
    def batch(self, statements: Array, /) -> Awaitable[list[D1Result]]: ...
    def getBookmark(self) -> str | None: ...

class D1Database(Protocol):
    def prepare(self, query: str, /) -> D1PreparedStatement: ...
    def batch(self, statements: Array, /) -> Awaitable[list[D1Result]]: ...
    def exec(self, query: str, /) -> Awaitable[D1ExecResult]: ...
    def withSession(self, constraint: str | None = None, /) -> D1Session: ...

# R2

class R2ReadOptions(TypedDict, total=False):
    range: Any
    ssecKey: Any

class R2UploadOptions(TypedDict, total=False):
    httpMetadata: Any
    customMetadata: Any
    storageClass: str | None
    ssecKey: Any

class R2PutOptions(R2UploadOptions, total=False):
    md5: Any
    sha1: Any
    sha256: Any
    sha384: Any
    sha512: Any

class R2ListOptions(TypedDict, total=False):
    prefix: str
    limit: float
    cursor: str
    delimiter: str
    startAfter: str
    include: Array

class R2Checksums(Protocol):  # each is a buffer or None
    md5: Any
    sha1: Any
    sha256: Any
    sha384: Any
    sha512: Any
    def toJSON(self) -> Any: ...

class R2Object(Protocol):
    key: str
    version: str
    size: int
    etag: str
    httpEtag: str
    uploaded: Any
    checksums: R2Checksums
    httpMetadata: Any
    customMetadata: Any
    range: Any
    storageClass: str
    ssecKeyMd5: str | None
    def writeHttpMetadata(self, headers: Any, /) -> None: ...

class R2ObjectBody(R2Object, Protocol):
    @property
    def body(self) -> Any: ...
    @property
    def bodyUsed(self) -> bool: ...
    def text(self) -> Awaitable[str]: ...
    def json(self) -> Awaitable[Any]: ...
    def arrayBuffer(self) -> Awaitable[Any]: ...
    def bytes(self) -> Awaitable[Any]: ...
    def blob(self) -> Awaitable[Any]: ...

class R2Objects(dict[str, Any]):
    objects: list[R2Object]
    truncated: bool
    cursor: str | None
    delimitedPrefixes: list[str]

class R2UploadedPart(dict[str, Any]):
    partNumber: int
    etag: str

class R2MultipartUpload(Protocol):
    key: str
    uploadId: str
    def uploadPart(
        self, number: int, value: Any, options: Options = None, /, *, ssecKey: Any = ...
    ) -> Awaitable[R2UploadedPart]: ...
    def complete(self, parts: Array, /) -> Awaitable[R2Object]: ...
    def abort(self) -> Awaitable[None]: ...

class R2Bucket(Protocol):  # with `onlyIf`, `get` may give an R2Object without body, `put` None
    def head(self, key: str, /) -> Awaitable[R2Object | None]: ...
    @overload
    def get(self, key: str, /, **keywords: Unpack[R2ReadOptions]) -> Awaitable[R2ObjectBody | None]: ...
    @overload
    def get(self, key: str, /, *, onlyIf: Any, **keywords: Unpack[R2ReadOptions]) -> Awaitable[Any]: ...
    @overload
    def get(self, key: str, options: Options, /) -> Awaitable[Any]: ...
    @overload
    def put(self, key: str, value: Any, /, **keywords: Unpack[R2PutOptions]) -> Awaitable[R2Object]: ...
    @overload
    def put(
        self, key: str, value: Any, /, *, onlyIf: Any, **keywords: Unpack[R2PutOptions]
    ) -> Awaitable[R2Object | None]: ...
    @overload
    def put(self, key: str, value: Any, options: Options, /) -> Awaitable[Any]: ...
    def delete(self, keys: str | Keys, /) -> Awaitable[None]: ...
    def list(self, options: Options = None, /, **keywords: Unpack[R2ListOptions]) -> Awaitable[R2Objects]: ...
    def createMultipartUpload(
        self, key: str, options: Options = None, /, **keywords: Unpack[R2UploadOptions]
    ) -> Awaitable[R2MultipartUpload]: ...
    def resumeMultipartUpload(self, key: str, upload_id: str, /) -> R2MultipartUpload: ...

# Queues

class QueueSendOptions(TypedDict, total=False):
    contentType: str
    delaySeconds: float

class QueueMetrics(dict[str, Any]):
    backlogCount: int
    backlogBytes: int
    oldestMessageTimestamp: Any  # absent or None when the queue is empty

class QueueMetadata(dict[str, Any]):
    metrics: QueueMetrics

class QueueSent(dict[str, Any]):
    metadata: QueueMetadata

class Queue(Protocol):
    def send(
        self, body: Any, options: Options = None, /, **keywords: Unpack[QueueSendOptions]
    ) -> Awaitable[QueueSent]: ...
    def sendBatch(
        self, messages: Any, options: Options = None, /, *, delaySeconds: float = ...
    ) -> Awaitable[QueueSent]: ...
    def metrics(self) -> Awaitable[QueueMetrics]: ...

class Message(Protocol):
    id: str
    timestamp: Any
    attempts: int
    body: Any
    def ack(self) -> None: ...
    def retry(self, options: Options = None, /, *, delaySeconds: float = ...) -> None: ...

class MessageBatch(Protocol):  # what a queue handler gets
    queue: str
    messages: list[Message]
    metadata: QueueMetadata
    def ackAll(self) -> None: ...
    def retryAll(self, options: Options = None, /, *, delaySeconds: float = ...) -> None: ...

# Services, assets, Durable Objects

class Fetcher(Protocol):
    def fetch(self, resource: Any, /, **options: Any) -> Awaitable[Any]: ...
    def __getattr__(self, method: str) -> Any: ...

class DurableObjectId(Protocol):
    name: str | None
    jurisdiction: str | None
    def toString(self) -> str: ...
    def equals(self, other: Any, /) -> bool: ...

class DurableObjectStub(Fetcher, Protocol):
    id: DurableObjectId
    name: str | None

class DurableObjectNamespace(Protocol):
    def idFromName(self, name: str, /) -> DurableObjectId: ...
    def idFromString(self, id: str, /) -> DurableObjectId: ...
    def newUniqueId(self, options: Options = None, /, *, jurisdiction: str | None = ...) -> DurableObjectId: ...
    def get(
        self,
        id: DurableObjectId,
        options: Options = None,
        /,
        *,
        locationHint: str | None = ...,
        routingMode: str | None = ...,
    ) -> DurableObjectStub: ...
    def getByName(
        self, name: str, options: Options = None, /, *, locationHint: str | None = ..., routingMode: str | None = ...
    ) -> DurableObjectStub: ...
    def jurisdiction(self, name: str | None, /) -> DurableObjectNamespace: ...

# Workflows

class WorkflowCreateOptions(TypedDict, total=False):
    id: str | None
    params: Any
    retention: Any

class WorkflowStatus(JsDict):
    status: str
    output: Any
    error: Any

class WorkflowInstance(Protocol):
    id: str
    def status(self) -> Awaitable[WorkflowStatus]: ...
    def pause(self) -> Awaitable[None]: ...
    def resume(self) -> Awaitable[None]: ...
    def terminate(self, options: Options = None, /, *, rollback: bool = ...) -> Awaitable[None]: ...
    def restart(self, options: Options = None, /, **keywords: Any) -> Awaitable[None]: ...
    def delete(self) -> Awaitable[None]: ...
    def sendEvent(self, event: Options = None, /, *, type: str = ..., payload: Any = ...) -> Awaitable[None]: ...
    def send_event(self, event: Options = None, /, *, type: str = ..., payload: Any = ...) -> Awaitable[None]: ...

class Workflow(Protocol):
    def create(
        self, options: Options = None, /, **keywords: Unpack[WorkflowCreateOptions]
    ) -> Awaitable[WorkflowInstance]: ...
    @overload
    def createBatch(self, batch: list[Any], /) -> Awaitable[list[WorkflowInstance]]: ...
    @overload
    def createBatch(self, batch: Options = None, /, **keywords: Any) -> Awaitable[Any]: ...
    def create_batch(self, batch: Array, /) -> Awaitable[list[WorkflowInstance]]: ...
    def get(self, id: str, /) -> Awaitable[WorkflowInstance]: ...
    def deleteBatch(self, ids: Keys, /) -> Awaitable[JsDict]: ...

# The others

class RateLimitOptions(TypedDict, total=False):
    key: str
    limit: float
    period: float

class RateLimitOutcome(dict[str, Any]):
    success: bool

class RateLimit(Protocol):
    def limit(
        self, options: Options = None, /, **keywords: Unpack[RateLimitOptions]
    ) -> Awaitable[RateLimitOutcome]: ...

class AnalyticsEngineDataPoint(TypedDict, total=False):
    indexes: Any
    blobs: Any
    doubles: Any

class AnalyticsEngineDataset(Protocol):
    def writeDataPoint(self, point: Options = None, /, **keywords: Unpack[AnalyticsEngineDataPoint]) -> None: ...

class SendEmailResult(Protocol):
    messageId: str

class SendEmail(Protocol):
    def send(self, message: Any = None, /, **keywords: Any) -> Awaitable[SendEmailResult]: ...

class SecretsStoreSecret(Protocol):
    def get(self) -> Awaitable[str]: ...

class Hyperdrive(Protocol):
    connectionString: str
    host: str
    port: int
    user: str
    password: str
    database: str

class Pipeline(Protocol):
    def send(self, records: Array, /) -> Awaitable[None]: ...

class VersionMetadata(Protocol):
    id: str
    tag: str
    timestamp: str

class ImageInfo(JsDict):
    format: str  # of an SVG all there is
    fileSize: int
    width: int
    height: int

class ImageTransformationResult(Protocol):
    def contentType(self) -> str: ...
    def image(self, options: Options = None, /, *, encoding: str = ...) -> Any: ...
    def response(self, options: Options = None, /, **keywords: Any) -> Any: ...

class ImageTransformer(Protocol):
    def transform(self, options: Options = None, /, **keywords: Any) -> ImageTransformer: ...
    def draw(self, image: Any, options: Options = None, /, **keywords: Any) -> ImageTransformer: ...
    def output(self, options: Options = None, /, **keywords: Any) -> Awaitable[ImageTransformationResult]: ...

class Images(Protocol):
    def info(self, image: Any, options: Options = None, /, *, encoding: str = ...) -> Awaitable[ImageInfo]: ...
    def input(self, image: Any, options: Options = None, /, *, encoding: str = ...) -> ImageTransformer: ...

class WorkerStub(Protocol):
    def getEntrypoint(self, name: str | None = None, options: Options = None, /, **keywords: Any) -> Any: ...

class WorkerLoader(Protocol):
    def get(self, id: str | None, callback: Any, /) -> WorkerStub: ...
    def load(self, code: Any, /) -> WorkerStub: ...
