#!/usr/bin/env python3
"""What PyTorch, and Triton where it is installed, take for the cases of bench/gpu.sh, on the same GPU.

    bench/gpu_peers.py [FILE]     appends JSON lines as bench/gpu.sh writes them

Nothing of weft is needed. tf32 is off: f32 products are of f32.
"""
import json
import sys


def main():
    try:
        import torch
    except ImportError:
        sys.exit("bench/gpu_peers.py: PyTorch is not installed for this Python")
    if not torch.cuda.is_available():
        sys.exit("bench/gpu_peers.py: PyTorch finds no GPU")
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    device = torch.cuda.get_device_name(0)
    lines = []

    def milliseconds(run):
        for _ in range(3):
            run()
        torch.cuda.synchronize()
        samples = []
        for _ in range(7):
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            for _ in range(10):
                run()
            end.record()
            torch.cuda.synchronize()
            samples.append(begin.elapsed_time(end) / 10)
        return sorted(samples)[3]

    def one(peer, name, unit, work, run):
        try:
            ms = milliseconds(run)
        except Exception as e:  # a compiler that is missing, memory that is short: the next case may still run
            print(f"{name:34} {peer}: {str(e).splitlines()[0]}")
            return
        value = work / ms / 1e6
        print(f"{name:34} {ms:9.3f} ms {value:10.1f} {unit:8} {peer}", flush=True)
        lines.append(json.dumps({"device": device, "name": name, "ms": round(ms, 5), "unit": unit, "value": round(value, 2), "peer": peer}))

    for n in (4096, 1024, 8192, 1000):
        a, b = torch.randn(n, n, device="cuda"), torch.randn(n, n, device="cuda")
        c = torch.empty(n, n, device="cuda")
        one("torch", f"matmul f32 {n}", "GFLOP/s", 2 * n**3, lambda: torch.matmul(a, b, out=c))
    n = 4096
    a, b = torch.ones(n, n, device="cuda", dtype=torch.half), torch.ones(n, n, device="cuda", dtype=torch.half)
    one("torch, tensor cores", f"matmul f16 into f32 {n}", "GFLOP/s", 2 * n**3, lambda: torch.matmul(a, b))

    n = 16384
    x, y, z = (torch.randn(n, n, device="cuda") for _ in range(3))
    size, bytes_ = f"{n} x {n}", 4 * n * n
    plain = {
        f"copy f32 {size}": (2 * bytes_, lambda: y.copy_(x)),
        f"row sums f32 {size}": (bytes_, lambda: torch.sum(x, 1)),
        f"column sums f32 {size}": (bytes_, lambda: torch.sum(x, 0)),
        f"softmax f32 {size}": (2 * bytes_, lambda: torch.softmax(x, 1, out=y)),
        f"layernorm f32 {size}": (2 * bytes_, lambda: torch.nn.functional.layer_norm(x, (n,))),
        f"transpose f32 {size}": (2 * bytes_, lambda: y.copy_(x.t())),
        f"2 x + y f32 {size}": (3 * bytes_, lambda: torch.add(y, x, alpha=2, out=z)),
    }
    for name, (moved, run) in plain.items():
        one("torch", name, "GB/s", moved, run)
    try:
        import triton  # noqa: F401  what torch.compile writes its kernels in
    except ImportError:
        print("Triton is not installed: no figures of torch.compile")
    else:
        for name, f in {
            f"softmax f32 {size}": torch.compile(lambda t: torch.softmax(t, 1)),
            f"layernorm f32 {size}": torch.compile(lambda t: torch.nn.functional.layer_norm(t, (n,))),
        }.items():
            one("torch.compile (Triton)", name, "GB/s", 2 * bytes_, lambda: f(x))
    del x, y, z
    image, filters = torch.randn(32, 64, 58, 58, device="cuda"), torch.randn(64, 64, 3, 3, device="cuda")
    image, filters = image.to(memory_format=torch.channels_last), filters.to(memory_format=torch.channels_last)
    one("torch", "conv 3x3 f32 32 x 56 x 56 x 64", "GFLOP/s", 2 * 32 * 56 * 56 * 64 * 64 * 9,
        lambda: torch.nn.functional.conv2d(image, filters))
    for places, channels, count, window, stride in [(14, 256, 256, 3, 1), (112, 3, 64, 7, 2)]:
        length = places * stride
        x = torch.randn(64, channels, length, length, device="cuda", dtype=torch.float16).to(memory_format=torch.channels_last)
        w = torch.randn(count, channels, window, window, device="cuda", dtype=torch.float16).to(memory_format=torch.channels_last)
        b = torch.randn(count, device="cuda", dtype=torch.float16)
        one("torch", f"conv {window}x{window} f16 64 x {length} x {length} x {channels}", "GFLOP/s",
            2 * 64 * places * places * count * window * window * channels,
            lambda: torch.relu(torch.nn.functional.conv2d(x, w, b, stride=stride, padding=window // 2)))
    q, k, v = (torch.randn(64, 1024, 64, device="cuda", dtype=torch.half) for _ in range(3))
    one("torch", "attention f16 64 x 1024 x 64", "GFLOP/s", 4 * 64 * 1024**2 * 64,
        lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v))
    if len(sys.argv) > 1:
        with open(sys.argv[1], "a") as f:
            f.writelines(line + "\n" for line in lines)


main()
