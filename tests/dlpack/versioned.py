"""The struct of DLPack 1.x and its read-only flag, with a producer and a consumer of our own: whichever NumPy is here, if any.

    versioned.py LIBRARY
"""

import ctypes
import sys

from round_trip import NEW, OLD, USED, Weft, expect_refusal, python


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]


Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Managed(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("manager_ctx", ctypes.c_void_p),
                ("deleter", Deleter), ("flags", ctypes.c_uint64), ("dl_tensor", Tensor)]


class Producer:
    """2 x 3 floats, 0 to 5; notes what it was asked and how often it got them back."""

    def __init__(self, flags=0, major=1, device=1):
        self.memory = (ctypes.c_float * 6)(*range(6))
        self.shape, self.strides = (ctypes.c_int64 * 2)(2, 3), (ctypes.c_int64 * 2)(3, 1)
        self.given_back, self.asked = 0, []
        self.made = Managed(major, 3, None, Deleter(self.take_back), flags,
                            Tensor(ctypes.addressof(self.memory), device, 0, 2, 2, 32, 1, self.shape, self.strides, 0))

    def take_back(self, managed):
        assert managed == ctypes.addressof(self.made)
        self.given_back += 1

    def __dlpack__(self, *, stream=None, max_version=None):
        self.asked.append(max_version)
        self.capsule = python.PyCapsule_New(ctypes.addressof(self.made), NEW, None)
        return self.capsule


def consumed(result):
    """The elements of what weft made, in the order of its strides; gives it back."""
    capsule = result.__dlpack__(max_version=(1, 1))
    assert python.PyCapsule_GetName(capsule) == NEW
    managed = Managed.from_address(python.PyCapsule_GetPointer(capsule, NEW))
    t = managed.dl_tensor
    assert (managed.major, managed.flags) == (1, 0)
    assert (t.device_type, t.ndim, t.code, t.bits, t.lanes) == (1, 2, 2, 32, 1)
    assert t.data % 64 == 0 and t.byte_offset == 0
    at = ctypes.cast(t.data, ctypes.POINTER(ctypes.c_float))
    found = [[at[i * t.strides[0] + j * t.strides[1]] for j in range(t.shape[1])] for i in range(t.shape[0])]
    managed.deleter(ctypes.addressof(managed))
    python.PyCapsule_SetName(capsule, USED[NEW])
    return found


def main(library):
    weft = Weft(library)
    doubled = [[1, 3, 5], [7, 9, 11]]
    for read_only in (0, 1):
        x = Producer(read_only)
        assert consumed(weft.scaled(x, 2.0)) == doubled
        assert x.given_back == 1 and x.asked == [(1, 0)], (x.given_back, x.asked)
        assert python.PyCapsule_GetName(x.capsule) == USED[NEW]
    x = Producer()
    weft.scale_in_place(x, 2.0)
    assert list(x.memory) == sum(doubled, []) and x.given_back == 1
    x = Producer(flags=1)
    expect_refusal("read-only", lambda: weft.scale_in_place(x, 2.0))
    assert list(x.memory) == list(range(6)) and x.given_back == 1
    x = Producer(device=3)  # kDLCUDAHost: the CPU's memory
    assert consumed(weft.scaled(x, 2.0)) == doubled
    for words, x in (("version 2.3 of DLPack", Producer(major=2)), ("device of type 2", Producer(device=2))):
        expect_refusal(words, lambda: consumed(weft.scaled(x, 2.0)))
        assert x.given_back == 0 and python.PyCapsule_GetName(x.capsule) == NEW, "still the producer's"
    # The struct of before 1.0 is what a consumer gets that asks for nothing newer.
    capsule = weft.scaled(Producer(), 2.0).__dlpack__()
    assert python.PyCapsule_GetName(capsule) == OLD
    print(f"{NEW.decode()} there and back, read-only refused")


if __name__ == "__main__":
    main(sys.argv[1])
