"""The PTX of src/ceilings/ceilings.hpp is taken by ptxas for each architecture that runs it, without spills. Where nvdisasm is
there, the machine code has the instructions that are measured: as many as were asked for, in the loop."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from _script import end, root, skip

tools = [os.environ.get("CUDA_HOME", ""), "/usr/local/cuda"]
ptxas, nvdisasm = (os.environ.get(f"STRATA_TEST_{name.upper()}") or shutil.which(name)
                   or next((path for folder in tools if folder and os.path.exists(path := f"{folder}/bin/{name}")), None)
                   for name in ("ptxas", "nvdisasm"))
compiler = shutil.which("c++") or shutil.which("g++")
if not ptxas or not compiler:
    skip("no ptxas, or no compiler")

PROGRAM = r"""
#include <cstdio>
#include "ceilings/ceiling_kernels.hpp"
using kernel = strata::detail::ceiling_kernel;
static void put(std::string const& name, std::string const& text) {
  std::FILE* const file = std::fopen((name + ".ptx").c_str(), "w");
  std::fputs(text.c_str(), file);
  std::fclose(file);
}
int main() {
  for (char const* level : {"cg", "ca", "shared"}) put(std::string("read_") + level, kernel::read(level, 4));
  put("write", kernel::write(false, 4));
  put("copy", kernel::write(true, 4));
  for (char const* type : {"f32", "f64", "f16x2"}) put(std::string("fma_") + type, kernel::fma(type));
  put("dmma_large", kernel::mma_f64(true));
  put("dmma", kernel::mma_f64(false));
  for (auto const& each : strata::detail::tensor_kinds) {
    put("mma_" + std::string(each.type), kernel::mma(each));
    put("wgmma_" + std::string(each.type), kernel::wgmma(each));
  }
}
"""
# What has to be in the machine code, and how often.
EXPECTED = {
    "read_cg": (r"LDG\.E\.128", 4), "read_ca": (r"LDG\.E\.128", 4), "read_shared": (r"LDS\.128", 4), "write": (r"STG\.E\.128", 4),
    "copy": (r"LDG\.E\.128", 4), "fma_f32": ("FFMA", 256), "fma_f64": ("DFMA", 256), "fma_f16x2": (r"HFMA2(?:\.MMA)? R\d+, R", 256),
    "dmma": ("DMMA", 32), "dmma_large": ("DMMA", 32), "mma": ("[HIQ]MMA", 32), "wgmma": ("[HQI]GMMA", 4),
}
# Chips that run what was made for older ones. An older ptxas does not know the newest.
LATER = [chip for chip in ("sm_75", "sm_87", "sm_100", "sm_103", "sm_110", "sm_120", "sm_121")
         if chip in subprocess.run([ptxas, "--help"], stdout=subprocess.PIPE, universal_newlines=True).stdout]
failures, checked, looked = [], 0, 0
with tempfile.TemporaryDirectory() as folder:
    pathlib.Path(folder, "main.cpp").write_text(PROGRAM)
    subprocess.run([compiler, "-std=c++17", f"-I{root}/include", f"-I{root}/src", "main.cpp", "-o", "main"], cwd=folder, check=True)
    subprocess.run(["./main"], cwd=folder, check=True)
    for ptx in sorted(pathlib.Path(folder).glob("*.ptx")):
        name, target = ptx.stem, re.search(r"^\.target (\w+)$", ptx.read_text(), re.M).group(1)
        seen = {"sm_70": ("sm_80", "sm_89", "sm_90a"), "sm_80": ("sm_80", "sm_86", "sm_90a"), "sm_89": ("sm_89",)}.get(target, (target,))
        least = int(re.sub(r"\D", "", target))
        later = [chip for chip in LATER if int(chip[3:]) >= least and not target.endswith("a")]
        for chip in (*seen, *later):
            made = subprocess.run([ptxas, f"-arch={chip}", "-v", ptx.name, "-o", "made"], cwd=folder, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, universal_newlines=True)
            checked += 1
            if made.returncode != 0 or re.search(r"[1-9]\d* bytes spill|Potential Performance Loss", made.stdout):
                failures.append(f"{name} for {chip}:\n{made.stdout}")
                continue
            if not nvdisasm:
                continue
            code = subprocess.run([nvdisasm, "-c", "made"], cwd=folder, stdout=subprocess.PIPE, universal_newlines=True).stdout
            instruction, count = EXPECTED.get(name) or EXPECTED[name.split("_")[0]]
            found = len(re.findall(rf"\b(?:{instruction})", code))
            looked += 1
            if found != count:
                failures.append(f"{name} for {chip}: {found} times {instruction}, not {count}")
end(f"{checked} modules by ptxas, {looked} disassembled")
