"""Black-box tests of quota-burner, which the environment variable QUOTA_BURNER names.

They need nothing but the standard library, so that the native part can be tested on its own.
"""
# ruff: noqa: D101, D102, PLR2004 - a test's name is its sentence, its numbers are the point
# ruff: noqa: PT009 - unittest, since pytest is no part of the standard library
# ruff: noqa: INP001, S603, S607 - tests are no package, and start the program they test

from __future__ import annotations

import json
import os
import resource
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any

BURNER = os.environ.get("QUOTA_BURNER", "")
SANITIZED = os.environ.get("QUOTA_BURNER_SANITIZED", "")
BRIEF = "--duration 0.2 --warmup 10 --discard 10"
COUNTED = "--duration 1 --warmup 10 --discard 10"  # a closed loop counts nothing while it waits
PATIENT = "--drain 10000"  # a busy machine is no error
LATENCIES = ["lat_p50_ns", "lat_p90_ns", "lat_p95_ns", "lat_p99_ns", "lat_p999_ns", "lat_max_ns"]
KEYS = ["LAT_P50_NS", "LAT_P95_NS", "LAT_P99_NS", "LAT_P999_NS", "LAT_MAX_NS"]


def burn(line: str, **options: Any) -> tuple[int, str, str]:
    """Run the program; return status, standard output and standard error."""
    done = subprocess.run(
        [BURNER, *shlex.split(line)],
        stdout=options.pop("stdout", subprocess.PIPE),
        stderr=subprocess.PIPE,
        text=True,
        timeout=120,
        check=False,
        **options,
    )
    return done.returncode, done.stdout or "", done.stderr


@unittest.skipUnless(BURNER, "QUOTA_BURNER is not set")
class BurnerCase(unittest.TestCase):
    def report(self, line: str, **options: Any) -> dict[str, Any]:
        status, out, err = burn(line, **options)
        self.assertEqual((status, err), (0, ""))
        self.assertEqual(out.count("\n"), 1, "one line")
        report: dict[str, Any] = json.loads(out)
        return report

    def refuse(self, reason: str, line: str, **options: Any) -> None:
        status, out, err = burn(line, **options)
        self.assertEqual((status, out), (2, ""))
        self.assertIn(f"quota-burner: {reason}", err)

    def directory(self) -> Path:
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        return Path(made.name)


class Saturate(BurnerCase):
    def test_report(self) -> None:
        report = self.report(f"saturate --threads 3 --iterations 5000 {COUNTED}")
        self.assertEqual(report["schema"], "quota-burner/1")
        self.assertEqual(report["mode"], "saturate")
        self.assertEqual(report["threads"], 3)
        self.assertEqual(report["duration_ns"], 1_000_000_000)
        self.assertEqual(report["warmup_ns"], 10_000_000)
        self.assertEqual(report["discard_ns"], 10_000_000)
        self.assertEqual(report["load"], {"iterations": 5000})
        self.assertEqual(report["cgroup_procs"], [])
        self.assertIs(report["interrupted"], False)
        self.assertIs(report["calibrated"], True)
        self.assertEqual(report["requests"], report["lat_samples"])
        self.assertGreaterEqual(report["measured_ns"], 1_000_000_000)
        self.assertEqual(report["requests_unfinished"], 0)
        self.assertEqual(report["lat_overflow"], 0)

    def test_accounts_agree(self) -> None:
        report = self.report("saturate --threads 2 --duration 1")
        rate = report["requests"] / (report["measured_ns"] / 1e9)
        self.assertAlmostEqual(report["throughput_req_per_sec"] / rate, 1, delta=0.5)
        process_usec = report["cpu_user_usec"] + report["cpu_system_usec"]
        self.assertLessEqual(report["measured_cpu_ns"] / 1000, process_usec + 20_000)
        self.assertLessEqual(report["measured_ns"], report["wall_ns"])

    def test_latencies_ascend(self) -> None:
        report = self.report(f"saturate {COUNTED}")
        values = [report["lat_min_ns"]] + [report[name] for name in LATENCIES]
        self.assertEqual(values, sorted(values))
        self.assertLess(report["lat_error_ratio"], 0.002)

    def test_key_values_follow_the_json_line(self) -> None:
        status, out, _ = burn(f"saturate --key-values {COUNTED}")
        first, *rest = out.splitlines()
        report = json.loads(first)
        values = dict(line.split("=") for line in rest)
        self.assertEqual(status, 0)
        self.assertEqual(list(values), ["THROUGHPUT_REQ_PER_SEC", *KEYS])
        for key in KEYS:
            self.assertEqual(int(values[key]), report[key.lower()])
        self.assertEqual(float(values["THROUGHPUT_REQ_PER_SEC"]), report["throughput_req_per_sec"])

    def test_key_values_alone(self) -> None:
        _, out, _ = burn(f"saturate --key-values --no-json {COUNTED}")
        self.assertTrue(out.startswith("THROUGHPUT_REQ_PER_SEC="))
        self.assertEqual(out.count("\n"), 6)

    def test_given_calibration_is_used(self) -> None:
        report = self.report(f"saturate --iterations-per-ms 12345 {BRIEF}")
        self.assertEqual(report["iterations_per_ms"], 12345)
        self.assertIs(report["calibrated"], False)


class Burst(BurnerCase):
    def test_counts_every_start(self) -> None:
        report = self.report(f"burst --threads 2 --interval 20 --work 0.5 {BRIEF} {PATIENT}")
        self.assertEqual(report["requests"], 20)
        self.assertEqual(report["requests_unfinished"], 0)
        self.assertEqual(report["load"]["interval_ns"], 20_000_000)
        self.assertEqual(report["load"]["work_ns"], 500_000)
        self.assertGreaterEqual(report["measured_ns"], 200_000_000)

    def test_latency_runs_from_the_intended_start(self) -> None:
        report = self.report(f"burst --threads 1 --interval 10 --work 30 {BRIEF} {PATIENT}")
        self.assertEqual(report["requests"], 20)
        self.assertGreater(report["lat_max_ns"], 200_000_000)

    def test_unfinished_work_is_reported(self) -> None:
        report = self.report(f"burst --threads 1 --interval 100 --work 60000 --drain 0 {BRIEF}")
        self.assertEqual(report["requests"], 0)
        self.assertEqual(report["requests_unfinished"], 2)
        self.assertEqual(report["lat_samples"], 2)


class Trace(BurnerCase):
    def trace(self, text: str) -> str:
        path = self.directory() / "demand.trace"
        path.write_text(text)
        return str(path)

    def test_plays_once(self) -> None:
        path = self.trace("interval_usec 20000\n400\n0\n100 1\n")
        report = self.report(f"trace --trace {path} --threads 2 {PATIENT}")
        self.assertEqual(report["duration_ns"], 60_000_000)
        self.assertEqual(report["requests"], 3)
        self.assertEqual(report["load"]["trace_intervals"], 3)

    def test_repeats_to_the_duration(self) -> None:
        path = self.trace("interval_usec 20000\n400\n0\n")
        report = self.report(f"trace --trace {path} --threads 2 {BRIEF} {PATIENT}")
        self.assertEqual(report["duration_ns"], 200_000_000)
        self.assertEqual(report["requests"], 10)

    def test_standard_input(self) -> None:
        report = self.report(f"trace --trace - {PATIENT}", input="interval_usec 20000\n400\n")
        self.assertEqual(report["requests"], 2)

    def test_nothing_to_do_is_not_zero_latency(self) -> None:
        path = self.trace("interval_usec 20000\n0\n")
        report = self.report(f"trace --trace {path}")
        self.assertEqual(report["requests"], 0)
        for name in LATENCIES:
            self.assertIsNone(report[name])
        _, out, _ = burn(f"trace --trace {path} --key-values --no-json")
        self.assertEqual(out, "THROUGHPUT_REQ_PER_SEC=0.00\n")

    def test_errors(self) -> None:
        self.refuse("cannot read /nowhere: No such file", "trace --trace /nowhere")
        bad = self.trace("interval_usec 20000\nx\n")
        self.refuse(f"{bad}:2: work must be", f"trace --trace {bad}")
        wide = self.trace("interval_usec 20000\n1 3\n")
        self.refuse(f"{wide}:2: threads must be", f"trace --trace {wide} --threads 2")
        good = self.trace("interval_usec 20000\n1\n")
        self.refuse("--jitter is more", f"trace --trace {good} --jitter 11")


class Overhead(BurnerCase):
    def test_report(self) -> None:
        report = self.report("overhead")
        self.assertEqual(report["mode"], "overhead")
        for name in "clock_read_ns", "histogram_record_ns", "overhead_per_request_ns":
            self.assertGreater(report[name], 0)


def limit_half_a_core(name: str) -> Path | None:
    """Make a cgroup with a limit of half a core; return it, or nothing where that is impossible.

    It outweighs everybody: on a busy machine the limit, not the crowd, must be what limits.
    """
    root = Path("/sys/fs/cgroup")
    if (root / "cgroup.controllers").exists():
        made, values = root / name, {"cpu.max": "50000 100000", "cpu.weight": "10000"}
    else:
        made = root / "cpu" / name
        values = {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "50000"}
        values["cpu.shares"] = "262144"
    try:
        made.mkdir()
    except OSError:
        return None
    try:
        for file_name, value in values.items():
            with (made / file_name).open("r+") as file:
                file.write(value)
    except OSError:
        made.rmdir()
        return None
    return made


class Cgroup(BurnerCase):
    def test_every_path_is_written(self) -> None:
        paths = [self.directory() / "cgroup.procs", self.directory() / "tasks"]
        for path in paths:
            path.touch()
        joins = " ".join(f"--cgroup-procs {path}" for path in paths)
        report = self.report(f"saturate {joins} {BRIEF}")
        self.assertEqual(report["cgroup_procs"], [str(path) for path in paths])
        for path in paths:
            self.assertEqual(path.read_text(), "0")

    def test_errors(self) -> None:
        self.refuse("cannot join '/nowhere/tasks'", "saturate --cgroup-procs /nowhere/tasks")
        self.refuse(
            "cannot join '/nowhere/cpu.max': not", "saturate --cgroup-procs=/nowhere/cpu.max"
        )

    def test_a_real_limit_shows_in_the_tail_only(self) -> None:
        made = limit_half_a_core(f"quota-burner-test-{os.getpid()}-{time.monotonic_ns()}")
        if made is None:
            self.skipTest("no cgroup with a CPU limit can be made here")
        self.addCleanup(made.rmdir)
        report = self.report(f"saturate --duration 2 --cgroup-procs {made}/cgroup.procs")
        cores = report["measured_cpu_ns"] / report["measured_ns"]
        self.assertLess(cores, 0.7)
        if cores < 0.4:
            self.skipTest("the machine is so busy that the limit is not reached")
        self.assertLess(report["lat_p50_ns"], 20_000_000)
        self.assertGreater(report["lat_max_ns"], 40_000_000)


class Ending(BurnerCase):
    def interrupt(self, number: int, line: str) -> dict[str, Any]:
        began = time.monotonic()
        with subprocess.Popen([BURNER, *shlex.split(line)], stdout=subprocess.PIPE) as process:
            time.sleep(1)
            process.send_signal(number)
            out, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0)
        self.assertLess(time.monotonic() - began, 30)
        report: dict[str, Any] = json.loads(out)
        return report

    def test_sigterm(self) -> None:
        report = self.interrupt(signal.SIGTERM, "saturate --duration 100")
        self.assertIs(report["interrupted"], True)
        self.assertGreater(report["requests"], 0)
        self.assertLess(report["measured_ns"], 30_000_000_000)

    def test_sigint_while_sleeping(self) -> None:
        line = "burst --interval 60000 --work 1 --duration 100"
        self.assertIs(self.interrupt(signal.SIGINT, line)["interrupted"], True)

    def test_another_parent(self) -> None:
        line = f"saturate --exit-with-parent {BRIEF}"
        self.refuse("the parent ended before", f"{line} --parent 1073741824")
        self.report(f"{line} --parent {os.getpid()}")
        self.refuse("--parent without", f"saturate --parent {os.getpid()}")

    def test_end_of_the_parent(self) -> None:
        """The shell starts the program and ends; the report comes all the same."""
        read_end, write_end = os.pipe()
        script = f'"$0" saturate --duration 100 --exit-with-parent >&{write_end} & sleep 1'
        subprocess.run(["sh", "-c", script, BURNER], pass_fds=[write_end], timeout=60, check=True)
        os.close(write_end)
        with os.fdopen(read_end) as pipe:
            self.assertIs(json.loads(pipe.read())["interrupted"], True)


class CommandLine(BurnerCase):
    def test_help_and_version(self) -> None:
        for line in "--help", "burst --help":
            status, out, err = burn(line)
            self.assertEqual((status, err), (0, ""))
            self.assertIn("--cgroup-procs PATH", out)
            self.assertIn("(1 to 1024, default 2)", out)
        status, out, _ = burn("--version")
        self.assertEqual(status, 0)
        self.assertRegex(out, r"^quota-burner \S+\n$")

    def test_errors(self) -> None:
        self.refuse("no mode given", "")
        self.refuse("unknown mode 'fast'", "fast")
        self.refuse("unknown option --thread", "saturate --thread 2")
        self.refuse("--threads needs a value", "saturate --threads")
        self.refuse("--threads needs a whole number, not '2x'", "saturate --threads 2x")
        self.refuse("--threads 0 is out of range", "saturate --threads 0")
        self.refuse("--duration 0 is out of range", "saturate --duration 0")
        self.refuse("--work does not apply here", "saturate --work 2")
        self.refuse("mode trace needs --trace", "trace")

    @unittest.skipIf(SANITIZED, "sanitizers reserve more address space than the limit")
    def test_threads_that_cannot_start_are_an_error(self) -> None:
        def limit() -> None:
            resource.setrlimit(resource.RLIMIT_AS, (300 << 20, 300 << 20))

        line = f"saturate --threads 1024 {BRIEF}"
        self.refuse("cannot start thread", line, preexec_fn=limit)

    def test_a_full_disk_is_an_error(self) -> None:
        with Path("/dev/full").open("w") as full:
            for line in f"saturate {BRIEF}", "--help":
                self.refuse("cannot write the report: No space left", line, stdout=full)

    def test_a_reader_that_left_is_an_error(self) -> None:
        read_end, write_end = os.pipe()
        os.close(read_end)
        with os.fdopen(write_end, "w") as pipe:
            self.refuse("cannot write the report: Broken pipe", "--version", stdout=pipe)


if __name__ == "__main__":
    if not BURNER:
        sys.exit("QUOTA_BURNER is not set")
    unittest.main()
