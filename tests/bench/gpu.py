"""The trial on a GPU: a part of its judging, and its figures, of small sizes, on a GPU that is this machine (tests/support/cuda_machine_stub.hpp). What is judged and
measured is right, and each case is.

    gpu.py PROGRAM TESTS COMPILER
"""
import json
import os
import subprocess
import sys
import tempfile

program, tests, compiler = sys.argv[1:4]
with tempfile.TemporaryDirectory() as folder:
    for library in ("libcuda.so.1", "libnvrtc.so.13"):
        subprocess.run([compiler, "-std=c++17", "-O0", "-fPIC", "-shared", "-x", "c++", "-o", f"{folder}/{library}", f"{tests}/support/cuda_machine_stub.hpp", "-ldl"], check=True)
    environment = dict(os.environ, WEFT_CACHE="off", LD_LIBRARY_PATH=folder,
                       WEFT_STUB_CXX=f"{compiler} -std=c++17 -O0 -w -ffp-contract=off -fPIC -shared -include '{tests}/support/cuda_shim.hpp'")
    for variable in ("WEFT_CUDA", "WEFT_NVRTC"):
        environment.pop(variable, None)
    judged = subprocess.run([program, "--judge", "--only", "products by wmma", "--seconds", "300"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    print(judged.stdout)
    if judged.returncode != 0 or " kernels, 0 wrong" not in judged.stdout:
        sys.exit(f"judging: status {judged.returncode}")
    made = subprocess.run([program, "--figures", "--small", "--seconds", "550", "--json", f"{folder}/figures"], env=environment, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    print(made.stdout)
    if made.returncode != 0:
        sys.exit(f"status {made.returncode}")
    with open(f"{folder}/figures", encoding="utf-8") as file:
        figures = [json.loads(line) for line in file]
    wrong = [f for f in figures if "error" in f or "WRONG" in f["note"] or not f["value"] > 0]
    if wrong or len(figures) != 20:
        sys.exit(f"{len(figures)} figures of 20, wrong: {wrong}")
