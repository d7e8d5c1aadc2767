"""The faces: what `import js`, `import pyodide.ffi` and the like give. See `finder`."""
