"""Chains of kernels on a real device: the step that the finding predicts beside that of one kernel which does the
same. What is sound stays so. The programs are those of benchmarks/planted.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

PLANTED = pathlib.Path(__file__).resolve().parents[2] / "benchmarks" / "planted.py"
CHAINS = ["gelu_by_eight", "rms_norm_residual", "cross_entropy", "dequantised_weights"]
OTHERS = ["decode_norm_of_one_block", "sound_optimizer", "sound_fused_kernels", "sound_norm", "sound_softmax"]

if not (shutil.which("nvcc") or pathlib.Path("/usr/local/cuda/bin/nvcc").exists()):
    print("SKIPPED: no nvcc here")
    sys.exit(77)
with tempfile.TemporaryDirectory() as folder:
    pairs = subprocess.run([sys.executable, PLANTED, "--pairs", folder, *CHAINS]).returncode
    built = {**os.environ, "PLANTED_BINARY": f"{folder}/planted"}
    named = subprocess.run([sys.executable, PLANTED, folder, *CHAINS, *OTHERS], env=built).returncode
sys.exit(1 if pairs or named else 0)
