#!/usr/bin/env python3
"""What PyTorch, and Triton where it is installed, take for the cases of bench/gpu.sh, on the same GPU.

    bench/gpu_peers.py [FILE] [--seconds N]     appends JSON lines as bench/gpu.sh writes them; then one table of all that FILE has
    bench/gpu_peers.py FILE --table             the table alone; there need be no GPU

bench/gpu.sh calls it where there is PyTorch. Nothing of weft is needed. tf32 is off: f32 products are of f32.
"""
import argparse
import json
import sys
import time


def table(lines):
    """A row for each name: weft's figure, and each peer's with how fast weft is beside it. `lines`: of JSON."""
    rows = {}
    for line in lines:
        if not line.strip():
            continue
        one = json.loads(line)
        row = rows.setdefault(one["name"], {"unit": "", "weft": None, "peers": []})
        row["unit"] = one.get("unit", row["unit"])
        if "error" in one:
            row["peers"].append("FAILED: " + one["error"])
        elif "peer_value" in one:  # bench/gpu.sh's own line, which may have a peer in it
            row["weft"] = one["value"]
            if "WRONG" in one["note"]:
                row["peers"].append("WRONG")
            if one["peer_value"] > 0:
                row["peers"].append((one["peer"], one["peer_value"]))
        else:
            row["peers"].append((one["peer"], one["value"]))
    text = [f"{'':36} {'weft':>10} {'':8}  peers: figure, weft beside it"]
    for name, row in rows.items():
        own = "-" if row["weft"] is None else f"{row['weft']:.1f}"
        beside = []
        for peer in row["peers"]:
            if isinstance(peer, str):
                beside.append(peer)
                continue
            ratio = "" if row["weft"] is None else f" ({row['weft'] / peer[1]:.2f})"
            beside.append(f"{peer[0]} {peer[1]:.1f}{ratio}")
        text.append(f"{name:36} {own:>10} {row['unit']:8}  {'; '.join(beside)}".rstrip())
    return "\n".join(text)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("file", nargs="?")
    arguments.add_argument("--seconds", type=float, default=1e9)
    arguments.add_argument("--table", action="store_true")
    wanted = arguments.parse_args()
    if wanted.table:
        with open(wanted.file) as f:
            print(table(f))
        return
    began = time.monotonic()
    try:
        import torch
    except ImportError:
        sys.exit("bench/gpu_peers.py: PyTorch is not installed for this Python")
    if not torch.cuda.is_available():
        sys.exit("bench/gpu_peers.py: PyTorch finds no GPU")
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    device = torch.cuda.get_device_name(0)
    kept = open(wanted.file, "a") if wanted.file else None

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
        if time.monotonic() - began > wanted.seconds:
            print(f"{name:34} {peer}: no time left")
            return
        try:
            ms = milliseconds(run)
        except Exception as e:  # a compiler that is missing, memory that is short: the next case may still run
            print(f"{name:34} {peer}: {str(e).splitlines()[0]}")
            return
        value = work / ms / 1e6
        print(f"{name:34} {ms:9.3f} ms {value:10.1f} {unit:8} {peer}", flush=True)
        if kept:
            line = {"device": device, "name": name, "ms": round(ms, 5), "unit": unit, "value": round(value, 2), "peer": peer}
            print(json.dumps(line), file=kept, flush=True)

    for n in (4096, 1024, 8192, 1000):
        a, b = torch.randn(n, n, device="cuda"), torch.randn(n, n, device="cuda")
        c = torch.empty(n, n, device="cuda")
        one("torch", f"matmul f32 {n}", "GFLOP/s", 2 * n**3, lambda: torch.matmul(a, b, out=c))
    n = 8192
    for name, dtype in (("f16", torch.half), ("bf16", torch.bfloat16)):
        a, b = torch.randn(n, n, device="cuda", dtype=dtype), torch.randn(n, n, device="cuda", dtype=dtype)
        c = torch.empty(n, n, device="cuda", dtype=dtype)
        # The result is rounded to the operands' type: less is written than weft writes.
        one("torch, rounded", f"matmul {name} into f32 {n}", "GFLOP/s", 2 * n**3, lambda: torch.matmul(a, b, out=c))

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
    # Four dimensions, or PyTorch takes none of its fused kernels.
    q, k, v = (torch.randn(1, 64, 1024, 64, device="cuda", dtype=torch.half) for _ in range(3))
    one("torch", "attention f16 64 x 1024 x 64", "GFLOP/s", 4 * 64 * 1024**2 * 64,
        lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v))
    if kept:
        kept.close()
        with open(wanted.file) as f:
            print(table(f))


main()
