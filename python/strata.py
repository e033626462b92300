"""Ranges and steps of Python programs for Strata: one file, to be copied or put on PYTHONPATH.

    import strata

    for batch in batches:
        with strata.step():
            with strata.range("forward"):
                loss = model(batch)

    @strata.range("sample")
    def sample(logits): ...

Under `strata run` they are ranges and steps like any other. Where libstrata_inject.so is not loaded they do nothing.
Ranges nest within their thread; one thread drives the steps. A range around a generator or coroutine covers its call alone.
"""

import contextlib
import ctypes
import operator
import os
import threading

__all__ = ["step", "is_loaded"]  # a range by its module's name: it would replace Python's own

_NAMES = ("strata_push", "strata_push_indexed", "strata_pop", "strata_step_begin", "strata_step_end")
_INJECTED = ("CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH")


class _Calls:
    """The functions of the loaded library."""

    def __init__(self, library):
        self.push, self.push_indexed, self.pop, self.step_begin, self.step_end = (getattr(library, name) for name in _NAMES)
        self.push.argtypes = [ctypes.c_char_p]
        self.push_indexed.argtypes = [ctypes.c_char_p, ctypes.c_longlong]
        for call in (self.push, self.push_indexed, self.pop, self.step_begin, self.step_end):
            call.restype = None


def _find():
    """The library that is preloaded, or that the driver or NVTX will load; None without."""
    paths = [os.environ.get(name, "") for name in _INJECTED]
    for path in [None, *(path for path in paths if os.path.basename(path).startswith("libstrata_inject"))]:
        try:
            return _Calls(ctypes.CDLL(path))
        except (OSError, AttributeError):  # no such library, or not Strata's
            continue
    return None


_calls = _find() if os.environ.get("STRATA") else None


def is_loaded():
    """Whether ranges and steps go anywhere."""
    return _calls is not None


class range(contextlib.ContextDecorator):
    """A range as a context manager or a decorator. An index makes rows such as block[0], which fold."""

    def __init__(self, name, index=None):
        self._name = str(name).encode("utf-8", "replace")
        self._index = None if index is None else operator.index(index)

    def __enter__(self):
        if _calls is None:
            return self
        if self._index is None:
            _calls.push(self._name)
        else:
            _calls.push_indexed(self._name, self._index)
        return self

    def __exit__(self, *_):
        if _calls is not None:
            _calls.pop()
        return False


class step(contextlib.ContextDecorator):
    """A step of the program's loop as a context manager or a decorator: windows and counters count them. One within another
    is none."""

    _open = threading.local()

    def __enter__(self):
        depth = getattr(step._open, "depth", 0)
        step._open.depth = depth + 1
        if _calls is not None and depth == 0:
            _calls.step_begin()
        return self

    def __exit__(self, *_):
        step._open.depth -= 1
        if _calls is not None and step._open.depth == 0:
            _calls.step_end()
        return False
