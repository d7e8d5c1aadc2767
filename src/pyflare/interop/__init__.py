"""What user code imports: the layer below Cloudflare's SDK, made of native Python classes.

proxy      JsProxy and its metaclass, plain objects, functions, jsnull
errors     JsException and the error constructors
containers Array, Map, Set, ArrayBuffer, typed arrays, DataView
promise    Promise; how a binding's method starts and settles
scope      the event that runs now, and its gate
convert    to_js, to_py
clone      structured clone; `v8` is its form on disk
finder     makes the faces importable: js, pyodide, …
web/       one file a noun of the web platform
modules/   the faces
"""
