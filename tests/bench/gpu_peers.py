#!/usr/bin/env python3
"""The table that bench/gpu_peers.py makes of a file's lines: a row for each name, whoever measured it."""
import json
import subprocess
import sys
import tempfile

LINES = [
    {"name": "matmul f32 64", "unit": "GFLOP/s", "value": 50.0, "peer_value": 100.0, "peer": "cuBLAS", "note": ""},
    {"name": "rows", "error": 'no "memory"'},
    {"name": "copy", "unit": "GB/s", "value": 3000.0, "peer_value": 0.0, "peer": "", "note": "WRONG"},
    {"name": "matmul f32 64", "unit": "GFLOP/s", "value": 40.0, "peer": "torch"},
    {"name": "attention", "unit": "GFLOP/s", "value": 7.0, "peer": "torch"},
]
WANTED = {
    "matmul f32 64": "50.0 GFLOP/s cuBLAS 100.0 (0.50); torch 40.0 (1.25)",
    "rows": '- FAILED: no "memory"',
    "copy": "3000.0 GB/s WRONG",
    "attention": "- GFLOP/s torch 7.0",
}


def main():
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as f:
        f.writelines(json.dumps(line) + "\n" for line in LINES)
        f.flush()
        made = subprocess.run([sys.executable, sys.argv[1], f.name, "--table"], capture_output=True, text=True)
    rows = [" ".join(row.split()) for row in made.stdout.splitlines()[1:]]
    wanted = [f"{name} {text}" for name, text in WANTED.items()]
    if made.returncode != 0 or rows != wanted:
        sys.exit(f"{made.stdout}{made.stderr}\nwanted:\n" + "\n".join(wanted))


main()
