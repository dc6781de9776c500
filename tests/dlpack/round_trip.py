"""Tensors of NumPy and PyTorch to weft and back, through DLPack; files of NumPy's.

    round_trip.py LIBRARY           with the NumPy and PyTorch of this Python
    round_trip.py LIBRARY FOLDER    with NumPy from PyPI, in a virtual environment in FOLDER that is made if need be

A library that is not there is named in a line that begins with [skip]; 77 when nothing could be tested.
"""

import ctypes
import gc
import os
import pathlib
import subprocess
import sys
import tempfile

OLD, NEW = b"dltensor", b"dltensor_versioned"
USED = {OLD: b"used_dltensor", NEW: b"used_dltensor_versioned"}

python = ctypes.pythonapi
python.PyCapsule_GetName.restype, python.PyCapsule_GetName.argtypes = ctypes.c_char_p, [ctypes.py_object]
python.PyCapsule_GetPointer.restype = ctypes.c_void_p
python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
python.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]
python.PyCapsule_New.restype = ctypes.py_object
python.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class Refused(Exception):
    pass


class Weft:
    def __init__(self, path):
        self.c = ctypes.CDLL(path)
        self.c.weft_scaled.restype = ctypes.c_void_p
        self.c.weft_scaled.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_float, ctypes.c_int, ctypes.c_char_p,
                                       ctypes.c_size_t]
        self.c.weft_copy_npy.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t]
        self.c.weft_scale_in_place.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_float, ctypes.c_char_p,
                                               ctypes.c_size_t]

    def call(self, x, function, versioned, *arguments):
        """Hands x over; the names of the capsules say who owns it."""
        capsule = export(x, versioned)
        name = OLD if python.PyCapsule_GetName(capsule) == OLD else NEW
        message = ctypes.create_string_buffer(1000)
        result = function(python.PyCapsule_GetPointer(capsule, name), name == NEW, *arguments, message, 1000)
        if not message.value or b"read-only" in message.value:
            python.PyCapsule_SetName(capsule, USED[name])
        if message.value:
            raise Refused(message.value.decode())
        return result

    def copy_npy(self, source, target):
        message = ctypes.create_string_buffer(1000)
        self.c.weft_copy_npy(os.fsencode(source), os.fsencode(target), message, 1000)
        if message.value:
            raise Refused(message.value.decode())

    def scaled(self, x, a, versioned=True):
        return Result(self, x, a, versioned)

    def scale_in_place(self, x, a, versioned=True):
        self.call(x, self.c.weft_scale_in_place, versioned, a)


class Result:
    """What weft computes, as an object that from_dlpack of any library takes."""

    def __init__(self, weft, x, a, versioned):
        self.weft, self.x, self.a, self.versioned = weft, x, a, versioned

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        new = max_version is not None and max_version[0] >= 1
        made = self.weft.call(self.x, self.weft.c.weft_scaled, self.versioned, self.a, new)
        return python.PyCapsule_New(made, NEW if new else OLD, None)


def export(x, versioned):
    if versioned:
        try:
            return x.__dlpack__(max_version=(1, 0))
        except TypeError:  # a library of before 1.0
            pass
    return x.__dlpack__()


def expect_refusal(words, call):
    try:
        call()
    except Refused as refused:
        assert words in str(refused), refused
    else:
        raise AssertionError(f"not refused: {words}")


def same(a, b):
    return a.shape == b.shape and bool((a == b).all())


def with_numpy(weft, numpy):
    x = numpy.arange(35, dtype=numpy.float32).reshape(5, 7)
    count = sys.getrefcount(x)
    for versioned in (True, False):
        for part in (x, x.T, x[::2, 1:6:2], x[::-1, ::-1], x[:0], numpy.broadcast_to(x[0].copy(), (4, 7)).copy()):
            got = numpy.from_dlpack(weft.scaled(part, 2.0, versioned))
            assert same(got, 2 * part + 1), (versioned, part.strides)
            kept = got.copy()
            del part, got
            gc.collect()
            assert kept.flags.owndata
        y = x.copy()
        weft.scale_in_place(y[1:, ::2], 3.0, versioned)
        want = x.copy()
        want[1:, ::2] = 3 * want[1:, ::2] + 1
        assert same(y, want)
    gc.collect()
    assert sys.getrefcount(x) == count, "what was lent was not given back"
    expect_refusal("holds f64, not f32", lambda: numpy.from_dlpack(weft.scaled(x.astype(numpy.float64), 1.0)))
    expect_refusal("has 1 dimensions, not 2", lambda: numpy.from_dlpack(weft.scaled(x[0], 1.0)))
    assert sys.getrefcount(x) == count
    fixed = x.copy()
    fixed.flags.writeable = False
    if python.PyCapsule_GetName(export(x, True)) == NEW:
        assert same(numpy.from_dlpack(weft.scaled(fixed, 2.0)), 2 * x + 1)
        expect_refusal("read-only", lambda: weft.scale_in_place(fixed, 2.0))
        assert same(fixed, x)
    return f"NumPy {numpy.__version__}, {python.PyCapsule_GetName(export(x, True)).decode()}"


def with_files(weft, numpy):
    with tempfile.TemporaryDirectory() as folder:
        theirs, ours = os.path.join(folder, "theirs.npy"), os.path.join(folder, "ours.npy")
        for name in "? b h i q B H I Q e f d".split():
            whole = (numpy.arange(60) % 7 - 2).astype(name)
            for a in (whole, whole[::3], whole.reshape(5, 12), whole.reshape(5, 12).T, whole.reshape(3, 4, 5),
                      numpy.asfortranarray(whole.reshape(3, 4, 5)), whole[:0].reshape(0, 4), whole[7].reshape(())):
                numpy.save(theirs, a)
                weft.copy_npy(theirs, ours)
                b = numpy.load(ours, allow_pickle=False)
                assert b.dtype == a.dtype and same(a, b), (name, a.shape)
        for version in ((1, 0), (2, 0), (3, 0)):
            with open(theirs, "wb") as file:
                numpy.lib.format.write_array(file, whole, version)
            weft.copy_npy(theirs, ours)
            assert same(numpy.load(ours), whole)
        for bad in (whole.astype(">f4"), whole.astype("F"), numpy.array(["a"]), numpy.zeros(2, "f4,i4")):
            numpy.save(theirs, bad)
            expect_refusal("holds ", lambda: weft.copy_npy(theirs, ours))
    return f"files of NumPy {numpy.__version__}"


def with_torch(weft, torch):
    x = torch.arange(35, dtype=torch.float32).reshape(5, 7)
    for versioned in (True, False):
        for part in (x, x.t(), x[::2, 1:6:2], x[:0]):
            got = torch.from_dlpack(weft.scaled(part, 2.0, versioned))
            assert same(got, 2 * part + 1), (versioned, part.stride())
        y = x.clone()
        weft.scale_in_place(y[1:, ::2], 3.0, versioned)
        assert same(y[1:, ::2], 3 * x[1:, ::2] + 1) and same(y[0], x[0])
    expect_refusal("holds bf16, not f32", lambda: torch.from_dlpack(weft.scaled(x.to(torch.bfloat16), 1.0)))
    return f"PyTorch {torch.__version__}, {python.PyCapsule_GetName(export(x, True)).decode()}"


def enter(folder):
    """Goes on in a virtual environment that has NumPy; returns why not."""
    inside = str(pathlib.Path(folder, "bin", "python"))

    def failure(*command):
        try:
            run = subprocess.run(command, capture_output=True, text=True, timeout=300)
        except (OSError, subprocess.TimeoutExpired) as failed:
            return str(failed)
        return "" if run.returncode == 0 else (run.stderr or run.stdout or "no reason given").strip().splitlines()[-1]

    if failure(inside, "-c", "import numpy"):
        why = failure(sys.executable, "-m", "venv", folder) or failure(inside, "-m", "pip", "install", "-q", "numpy")
        if why:
            return why
    os.execv(inside, [inside, __file__, sys.argv[1]])


def main():
    if len(sys.argv) > 2:
        print(f"[skip] no NumPy from PyPI: {enter(sys.argv[2])}")
        return 77
    weft, tested = Weft(sys.argv[1]), 0
    for name, test in (("numpy", with_numpy), ("numpy", with_files), ("torch", with_torch)):
        try:
            module = __import__(name)
        except ImportError as missing:
            print(f"[skip] {missing} in {sys.executable}")
            continue
        print(test(weft, module))
        tested += 1
    return 0 if tested else 77


if __name__ == "__main__":
    sys.exit(main())
