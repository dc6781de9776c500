"""Computes what tests/ops/pytorch.cpp wrote once more, with PyTorch in f64, and compares.

    pytorch.py DIRECTORY HEADERS

Each op of the headers has a case, named as it is or with _ and more behind. Each case is NAME.in0.npy ... and NAME.out.npy. A result may differ by `roundings` half units of the last place (2^-24)
of its scale: for sums of products that is the same sum of absolute values, else the largest result.
"""

import math
import pathlib
import re
import sys

import numpy
import torch

F = torch.nn.functional
U = 2.0 ** -24


def last(f):
    """An op on channels-last images and kernels, by one on channels-first."""
    return lambda x, w: f(x.permute(0, 3, 1, 2), w.permute(3, 2, 0, 1)).permute(0, 2, 3, 1)


def attention(q, k, v, mask=0, causal=False):
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1]) + mask
    if causal:
        scores = scores.masked_fill(torch.ones(scores.shape[-2:]).triu(1) > 0, -math.inf)
    return scores.softmax(-1) @ v


def mirrored(x, width):
    return F.pad(x[None, None], (width,) * 4, mode="reflect")


def filtered(x, kernel):
    kernel = torch.tensor(kernel, dtype=x.dtype)
    return F.conv2d(mirrored(x, kernel.shape[0] // 2), kernel[None, None])[0, 0]


BINOMIAL = [[a * b / 256 for b in (1, 4, 6, 4, 1)] for a in (1, 4, 6, 4, 1)]
ACROSS = [[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]]
DOWN = [list(row) for row in zip(*ACROSS)]

# name: (op, roundings). Linear in their inputs: the bound is on sums of absolute values.
LINEAR = {
    "matmul": (torch.matmul, 33),
    "matmul_nt": (lambda a, b: a @ b.T, 33),
    "matmul_batched": (torch.matmul, 11),
    "linear": (F.linear, 34),
    "matvec": (torch.matmul, 33),
    "vecmat": (torch.matmul, 33),
    "dot": (lambda x, y: (x @ y).reshape(1), 33),
    "mean_of": (lambda x: x.mean().reshape(1), 34),
    "avg_pool1d": (lambda x: F.avg_pool1d(x, 4, padding=1), 5),
    "conv1d": (lambda x, w: F.conv1d(x, w, stride=2, padding=3), 20),
    "conv2d": (lambda x, w: F.conv2d(x, w, stride=(2, 1), padding=(1, 2), dilation=(1, 2), groups=3), 18),
    "conv2d_last": (last(lambda x, w: F.conv2d(x, w, padding=1)), 54),
    "conv3d": (lambda x, w: F.conv3d(x, w, padding=1), 81),
    "depthwise_conv2d": (lambda x, w: F.conv2d(x, w[:, None], padding=1, groups=6), 9),
    "avg_pool2d": (lambda x: F.avg_pool2d(x, (3, 2), (2, 1), 1), 7),
    "avg_pool2d_inside": (lambda x: F.avg_pool2d(x, (3, 2), None, 1, count_include_pad=False), 7),
    "avg_pool3d": (lambda x: F.avg_pool3d(x, 2), 9),
    "cumsum": (lambda x: x.cumsum(-1), 33),
    # The place between two pixels is rounded too.
    "resize_bilinear": (lambda x: F.interpolate(x, (29, 8), mode="bilinear", align_corners=False), 24),
    "box_blur": (lambda x: filtered(x, [[1 / 9] * 3] * 3), 10),
    "gaussian_blur": (lambda x: filtered(x, BINOMIAL), 12),
}
# Differences: the scale is that of `LINEAR`'s kind, with the kernel's absolute values.
SLOPES = {"sobel_x": ACROSS, "sobel_y": DOWN}
# Of functions 2 half units are one of the last place; exp's and pow's grow with their result, which is below the scale.
OTHERS = {
    "abs": (torch.abs, 0),
    "neg": (torch.neg, 0),
    "square": (torch.square, 1),
    "sqrt": (torch.sqrt, 1),
    "rsqrt": (torch.rsqrt, 2),
    "reciprocal": (torch.reciprocal, 1),
    "exp": (torch.exp, 2),
    "log": (torch.log, 2),
    "sin": (torch.sin, 2),
    "cos": (torch.cos, 2),
    "tanh": (torch.tanh, 2),
    "erf": (torch.erf, 2),
    "floor": (torch.floor, 0),
    "ceil": (torch.ceil, 0),
    "round": (torch.round, 0),
    "sub": (torch.sub, 1),
    "pow": (torch.pow, 2),
    "fmod": (torch.fmod, 0),
    "maximum": (torch.maximum, 0),
    "minimum": (torch.minimum, 0),
    "equal": (torch.eq, 0),
    "less": (torch.lt, 0),
    "less_equal": (torch.le, 0),
    "squared_difference": (lambda a, b: (a - b).square(), 3),
    "where": (lambda a, b: torch.where(a < b, a, b), 0),
    "clamp": (lambda x: x.clamp(-1, 2), 0),
    "cast": (lambda x: x.trunc(), 0),
    "relu6": (F.relu6, 0),
    "max_pool3d": (lambda x: F.max_pool3d(x, (2, 3, 2)), 0),
    "cummin": (lambda x: x.cummin(-1).values, 0),
    "relu": (F.relu, 0),
    "leaky_relu": (F.leaky_relu, 1),
    "elu": (F.elu, 8),
    "sigmoid": (torch.sigmoid, 8),
    "silu": (F.silu, 8),
    "gelu": (F.gelu, 8),
    "gelu_tanh": (lambda x: F.gelu(x, approximate="tanh"), 16),
    "softplus": (F.softplus, 12),
    "mish": (F.mish, 16),
    "hard_sigmoid": (F.hardsigmoid, 8),
    "hard_swish": (F.hardswish, 8),
    "add": (torch.add, 1),
    "mul": (torch.mul, 1),
    "div": (torch.div, 1),
    "outer": (torch.outer, 1),
    "max_pool2d": (lambda x: F.max_pool2d(x, (3, 2), 2, 1), 0),
    "max_pool1d": (lambda x: F.max_pool1d(x, 4), 0),
    "softmax": (lambda x: x.softmax(-1), 33 + 5 + 6),  # differences below 6 are rounded
    "softmax_1": (lambda x: x.softmax(1), 6 + 5 + 6),
    "log_softmax": (lambda x: x.log_softmax(-1), 33 + 5 + 6 + 8),
    "cross_entropy": (lambda x, t: F.cross_entropy(x, t, reduction="none"), 33 + 5 + 6 + 8),
    # Sums of 33 numbers, their squares; results of some weights and deviations.
    "layer_norm": (lambda x, w, b: F.layer_norm(x, x.shape[-1:], w, b), 2 * 33 + 20),
    "rms_norm": (lambda x, w: x / (x.square().mean(-1, keepdim=True) + 1e-5).sqrt() * w, 33 + 10),
    "batch_norm": (lambda x, m, v, w, b: F.batch_norm(x, m, v, w, b), 10),
    # Scores below 26 with 8 products each: an error of 26 * 10 roundings in a weight, twice.
    "attention": (attention, 2 * 26 * 10 + 50),
    "attention_blocks": (attention, 2 * 26 * 10 + 50 + 4 * 2 * (2 * 26 + 4)),  # and 4 blocks are rescaled
    "attention_causal": (lambda q, k, v: attention(q, k, v, causal=True), 2 * 26 * 10 + 50),
    "attention_mask": (attention, 2 * 29 * 11 + 50),
    "permute": (lambda x: x.permute(2, 0, 3, 1), 0),
    "transpose": (lambda x: x.T, 0),
    "concat": (lambda a, b: torch.cat((a, b)), 0),
    "slice": (lambda x: x[2:-3:3, -20:30:2], 0),
    "flip": (lambda x: x.flip(0), 0),
    "pad": (lambda x: F.pad(x, (2, 0, 1, 3), value=0.5), 0),
    "pad_reflect": (lambda x: F.pad(x, (2, 4, 1, 3), mode="reflect"), 0),
    "take": (lambda x, i: x.index_select(1, i), 0),
    "gather": (lambda x, i: x.gather(1, i), 0),
    "cumprod": (lambda x: x.cumprod(0), 17),
    "cummax": (lambda x: x.cummax(-1).values, 0),
    "tril": (lambda x: x.tril(3), 0),
    "triu": (torch.triu, 0),
    "resize_nearest": (lambda x: F.interpolate(x, (29, 8), mode="nearest"), 0),
    "sobel": (lambda x: torch.hypot(filtered(x, ACROSS), filtered(x, DOWN)), 60),
}


def ops_of(headers):
    """What a program calls: not what stands in namespace detail, nor types."""
    found = set()
    for header in pathlib.Path(headers).glob("*.hpp"):
        text = re.sub(r"namespace detail \{.*?\n\}", "", header.read_text(), flags=re.S)
        found |= set(re.findall(r"^WEFT_OPS_\w+\((\w+),|^inline constexpr auto (\w+) =", text, re.M))
    return {a or b for a, b in found}


def main(directory, headers):
    folder = pathlib.Path(directory)
    names = sorted(p.name.removesuffix(".out.npy") for p in folder.glob("*.out.npy"))
    failed = sorted(set(names) ^ (set(LINEAR) | set(SLOPES) | set(OTHERS)))
    if failed:
        print("in one of pytorch.cpp and pytorch.py only:", *failed)
    without = sorted(op for op in ops_of(headers) if not any(n == op or n.startswith(op + "_") for n in names))
    if without or not ops_of(headers):
        print("ops without a case:", *without)
        failed.append("the list of ops")
    for name in names:
        inputs = [torch.from_numpy(numpy.load(p)) for p in sorted(folder.glob(f"{name}.in*.npy"))]
        inputs = [x.double() if x.is_floating_point() else x for x in inputs]
        found = torch.from_numpy(numpy.load(folder / f"{name}.out.npy")).double()
        absolute = [x.abs() if x.is_floating_point() else x for x in inputs]
        if name in LINEAR:
            op, roundings = LINEAR[name]
            scale = op(*absolute)
        elif name in SLOPES:
            op, roundings = lambda x: filtered(x, SLOPES[name]), 8
            scale = filtered(absolute[0], [[abs(k) for k in row] for row in SLOPES[name]])
        elif name in OTHERS:
            op, roundings = OTHERS[name]
            scale = op(*inputs).double().abs().max()
        else:
            continue
        wanted = op(*inputs).double()
        if wanted.shape != found.shape:
            print(f"{name}: shape {tuple(found.shape)}, PyTorch says {tuple(wanted.shape)}")
            failed.append(name)
            continue
        off = (found - wanted).abs()
        used = (off / (scale * U).clamp(min=1e-300)).max().item()
        fine = bool((off <= roundings * U * scale).all())
        print(f"{name:20} {used:8.2f} of {roundings} roundings{'' if fine else '   FAILED'}")
        if not fine:
            failed.append(name)
    print(f"{len(names)} ops, PyTorch {torch.__version__}, {len(failed)} failed")
    return 1 if failed or not names else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
