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
A range around an await is one as long as no range of another task begins meanwhile: that one is left out, and a sentence says so.
"""

import atexit
import contextlib
import contextvars
import ctypes
import operator
import os
import sys
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


class _Open(threading.local):
    """The ranges that a thread has open, the innermost one last."""

    def __init__(self):
        self.ranges = []


class _Entered:
    """A range that was entered: in which thread, and within which other one of its task."""

    def __init__(self, name, around):
        self.name, self.around, self.thread, self.is_open = name, around, threading.get_ident(), True


_open = _Open()
_innermost = contextvars.ContextVar("strata_range", default=None)  # of a task, or of a thread without tasks
_left_out = {"count": 0}


def _leave_out(name, other):
    """A thread has one stack of ranges. Tasks that take turns in it would get each other's times."""
    _left_out["count"] += 1
    if _left_out["count"] == 1:
        atexit.register(_count_left_out)
        print(f'strata: range "{name.decode()}" is left out, or ends early: "{other.decode()}" of another task or generator is open around it; '
              "end a range before an await or a yield", file=sys.stderr)


def _count_left_out():
    if _left_out["count"] > 1:
        print(f'strata: {_left_out["count"]} ranges were left out, or ended early: others were open around an await or a yield', file=sys.stderr)


class range(contextlib.ContextDecorator):
    """A range as a context manager or a decorator. An index makes rows such as block[0], which fold."""

    def __init__(self, name, index=None):
        self._name = str(name).encode("utf-8", "replace")
        self._entered = []
        try:
            self._index = None if index is None else operator.index(index)
        except TypeError:
            raise TypeError(f"the index of a range is an integer, not {index!r}: make it one, or a part of the name") from None
        if index is not None and not -2**63 <= self._index < 2**63:
            raise ValueError(f"the index of a range has 64 bits, and {index} has more: make it a part of the name")

    def _recreate_cm(self):
        return range(self._name.decode(), self._index)

    def __enter__(self):
        if _calls is None:
            return self
        around = _innermost.get()
        while around is not None and not (around.is_open and around.thread == threading.get_ident()):
            around = around.around
        made = _Entered(self._name, around)
        self._entered.append(made)
        _innermost.set(made)
        outer = _open.ranges[-1] if _open.ranges else None
        if outer is not around:
            made.is_open = False
            _leave_out(self._name, outer.name)
            return self
        _open.ranges.append(made)
        if self._index is None:
            _calls.push(self._name)
        else:
            _calls.push_indexed(self._name, self._index)
        return self

    def __exit__(self, *_):
        if _calls is None:
            return False
        own = [entered for entered in self._entered if entered.thread == threading.get_ident()]
        if not own:
            return False  # it was entered in another thread
        made = own[-1]
        self._entered.remove(made)
        _innermost.set(made.around)
        while made.is_open:
            inner = _open.ranges.pop()
            inner.is_open = False
            _calls.pop()
            if inner is not made:
                _leave_out(inner.name, made.name)
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
