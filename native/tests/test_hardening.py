"""Looks for the hardening in what was built: the program, the libraries, and how each was compiled.

Environment: QUOTA_BURNER, QUOTA_MANIFEST and QUOTA_SIM name them, QUOTA_COMMANDS
compile_commands.json.
What the C library or the processor does not have is not asked for.
"""
# ruff: noqa: D101, D102 - a test's name is its sentence
# ruff: noqa: PT009 - unittest, since pytest is no part of the standard library
# ruff: noqa: INP001, S603 - tests are no package, and start the tools they need

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import unittest
from pathlib import Path

PROGRAM = os.environ.get("QUOTA_BURNER", "")
LIBRARY = os.environ.get("QUOTA_MANIFEST", "")
SIMULATOR = os.environ.get("QUOTA_SIM", "")
COMMANDS = os.environ.get("QUOTA_COMMANDS", "")
X86_64 = platform.machine() == "x86_64"
GLIBC = platform.libc_ver()[0] == "glibc"


def output(*command: str) -> str:
    """Return what a tool says, in English."""
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}
    )
    return done.stdout


@unittest.skipUnless(PROGRAM and LIBRARY and SIMULATOR, "what was built is not named")
@unittest.skipUnless(shutil.which("readelf") and shutil.which("objdump"), "needs binutils")
class Built(unittest.TestCase):
    def test_program_is_loaded_anywhere(self) -> None:
        self.assertRegex(output("readelf", "-Wh", PROGRAM), r"Type:\s+DYN")
        self.assertRegex(output("readelf", "-Wd", PROGRAM), r"FLAGS_1.*\bPIE\b")

    def test_addresses_of_functions_are_bound_once_and_read_only(self) -> None:
        for file in (PROGRAM, LIBRARY, SIMULATOR):
            with self.subTest(file=file):
                self.assertIn("GNU_RELRO", output("readelf", "-Wl", file))
                self.assertRegex(output("readelf", "-Wd", file), r"BIND_NOW|FLAGS_1.*\bNOW\b")

    def test_stack_is_not_executed(self) -> None:
        for file in (PROGRAM, LIBRARY, SIMULATOR):
            with self.subTest(file=file):
                stack = re.findall(r"GNU_STACK.*", output("readelf", "-Wl", file))
                self.assertEqual([line.split()[-2] for line in stack], ["RW"])

    def test_overrun_stack_is_noticed(self) -> None:
        for file in (PROGRAM, LIBRARY, SIMULATOR):
            with self.subTest(file=file):
                self.assertIn("__stack_chk_fail", output("readelf", "-W", "--dyn-syms", file))

    @unittest.skipUnless(GLIBC, "needs glibc")
    def test_program_calls_checked_functions(self) -> None:
        # The library calls none of the functions that have such a variant.
        symbols = output("readelf", "-W", "--dyn-syms", PROGRAM)
        self.assertRegex(symbols, r"__\w+_chk\b")

    @unittest.skipUnless(X86_64, "needs x86-64")
    def test_functions_are_marked_as_targets_of_jumps(self) -> None:
        functions = {PROGRAM: "main", LIBRARY: "quota_manifest_read", SIMULATOR: "quota_sim_run"}
        for file, function in functions.items():
            with self.subTest(file=file):
                code = output("objdump", "-d", "--no-show-raw-insn", file)
                self.assertRegex(code, rf"<{function}>:\n\s+[0-9a-f]+:\s+endbr64\b")


@unittest.skipUnless(COMMANDS, "QUOTA_COMMANDS is not set")
class Commands(unittest.TestCase):
    def test_every_file_is_compiled_with_all_of_it(self) -> None:
        expected = ["-fstack-protector-strong", "-U_FORTIFY_SOURCE"]
        expected += ["-fstack-clash-protection", "-fcf-protection"] if X86_64 else []
        entries = json.loads(Path(COMMANDS).read_text())
        rooms = {"burner", "common", "manifest", "sim"}
        shipped = [e for e in entries if Path(e["file"]).parent.name in rooms]
        self.assertGreater(len(shipped), 20)
        for entry in shipped:
            with self.subTest(file=entry["file"]):
                words = entry["command"].split()
                self.assertEqual([flag for flag in expected if flag not in words], [])
                self.assertRegex(entry["command"], r" -D_FORTIFY_SOURCE=[23] ")


if __name__ == "__main__":
    unittest.main()
