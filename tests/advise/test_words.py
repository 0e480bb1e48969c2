"""Advice names the knob that its subject has, and its commands work when they are pasted."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from quota_advisor.advise.decide import decide
from quota_advisor.advise.words import more_room, needless, raise_above, to_persist
from quota_advisor.collect.host.containers import recognise
from quota_advisor.derive.host.knob import Keeper, knob_of
from quota_advisor.model.advice import Advice
from quota_advisor.model.cgroup import Engine
from quota_advisor.model.limit import Bandwidth
from quota_advisor.model.workload import Workload, join
from tests.rules.facts import (
    CgroupCase,
    ContainerCase,
    DemandCase,
    Facts,
    UnitCase,
    WindowCase,
    host_facts,
)

ID = "ab" * 32
POD = "12345678-1234-1234-1234-123456789012"
HALF = Bandwidth(quota_usec=50_000, period_usec=100_000)


def workload(
    path: str,
    directory: Path,
    *,
    version: int = 2,
    unit: UnitCase | None = None,
    files: dict[str, str] | None = None,
) -> Workload:
    """Return the workload of a cgroup under 50 % whose peak is 60 % of a CPU."""
    container = recognise(path)
    group = CgroupCase.model_validate(
        {
            "version": version,
            "limit": "50000 100000",
            "demand": DemandCase(mean_cores=0.3, p95_cores=0.6),
            "window": WindowCase(periods=100, throttled_periods=50, throttled_usec=1_000_000),
            "container": container
            and ContainerCase(engine=container.engine, id=container.id, name="web"),
        }
    )
    name = path.rpartition("/")[2]
    facts = Facts(
        cgroups={path: group}, units={} if unit is None else {name: unit}, files=files or {}
    )
    return next(w for w in join(host_facts(facts, directory)).workloads if w.subject.cgroup == path)


def advised(found: Workload) -> Advice:
    advice = decide(found)
    assert isinstance(advice, Advice)
    return advice


KNOBS = [
    ("/system.slice/api.service", Keeper.SYSTEMD, "CPUQuota=90% "),
    (
        "/user.slice/user-1000.slice/user@1000.service/app.slice/api.service",
        Keeper.USER_SYSTEMD,
        "CPUQuota=90% ",
    ),
    (f"/system.slice/docker-{ID}.scope", Keeper.DOCKER, "--cpus=0.9 "),
    (f"/docker/{ID}", Keeper.DOCKER, "--cpus=0.9 "),
    (f"/machine.slice/libpod-{ID}.scope", Keeper.PODMAN, "--cpus=0.9 "),
    (f"/default/{ID}", Keeper.NERDCTL, "--cpus=0.9 "),
    (
        (
            "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod"
            f"{POD.replace('-', '_')}.slice/cri-containerd-{ID}.scope"
        ),
        Keeper.KUBERNETES,
        "limits.cpu: 900m ",
    ),
    (f"/kubepods/burstable/pod{POD}/{ID}", Keeper.KUBERNETES, "limits.cpu: 900m "),
    (f"/kubepods/pod{POD}", Keeper.KUBERNETES, "limits.cpu: 900m "),
    (f"/ecs/0123456789/{ID}", Keeper.ECS, "922 CPU units "),
    (f"/ecstasks.slice/ecstasks-0123.slice/docker-{ID}.scope", Keeper.ECS, "922 CPU units "),
    ("/lxc/101", Keeper.PROXMOX, "cpulimit: 0.9 "),
    ("/lxc/101/ns", Keeper.PROXMOX, "cpulimit: 0.9 "),
    ("/lxc.payload.web", Keeper.LXC, "lxc.cgroup2.cpu.max = 90000 100000 "),
    ("/lxc/101/ns/system.slice/api.service", Keeper.INSIDE, "90 % "),
    (f"/docker/{ID}/init.scope", Keeper.INSIDE, "90 % "),
    ("/machine.slice/machine-web.scope", Keeper.NSPAWN, "CPUQuota=90% "),
    ("/machine.slice/systemd-nspawn@web.service", Keeper.SYSTEMD, "CPUQuota=90% "),
    (
        "/machine.slice/machine-qemu\\x2d3\\x2dweb\\x2d1.scope",
        Keeper.LIBVIRT,
        "<global_quota>90000</global_quota> ",
    ),
    ("/made/by/hand", Keeper.UNKNOWN, "90 % "),
    ("/", Keeper.OUTSIDE, "0.9 CPUs (--cpus=0.9, in Kubernetes 900m) "),
]


@pytest.mark.parametrize(("path", "keeper", "setting"), KNOBS, ids=[path for path, *_ in KNOBS])
def test_the_knob_is_the_one_that_the_subject_has(
    path: str, keeper: Keeper, setting: str, tmp_path: Path
) -> None:
    found = workload(path, tmp_path)
    assert knob_of(found).keeper is keeper
    advice = advised(found)
    assert advice.summary.startswith(setting)
    everything = " ".join([advice.summary, *(step.command for step in advice.steps)])
    if keeper is not Keeper.SYSTEMD:
        everything += more_room(found, HALF).summary + to_persist(found).summary
        assert "drop-in of docker-" not in everything
        assert ".scope whose name" not in everything
    assert ("docker update" in everything) == (keeper is Keeper.DOCKER)


def step_of(path: str, directory: Path, **options: object) -> tuple[str, str]:
    (step,) = advised(workload(path, directory, **options)).steps  # type: ignore[arg-type]
    return step.command, step.undo


@pytest.mark.parametrize(
    ("path", "command", "undo"),
    [
        (
            "/system.slice/api.service",
            "systemctl set-property --runtime api.service CPUQuota=90%",
            (
                "rm /run/systemd/system.control/api.service.d/50-CPUQuota.conf"
                " && systemctl daemon-reload"
            ),
        ),
        (
            "/user.slice/user-1000.slice/user@1000.service/app.slice/api.service",
            "systemctl --user set-property --runtime api.service CPUQuota=90%",
            (
                'rm "$XDG_RUNTIME_DIR"/systemd/user.control/api.service.d/50-CPUQuota.conf'
                " && systemctl --user daemon-reload"
            ),
        ),
        (f"/docker/{ID}", "docker update --cpus=0.9 web", "docker update --cpus=0.5 web"),
        (
            f"/machine.slice/libpod-{ID}.scope",
            "podman update --cpus=0.9 web",
            "podman update --cpus=0.5 web",
        ),
        ("/lxc/101", "pct set 101 --cpulimit 0.9", "pct set 101 --cpulimit 0.5"),
        (
            "/lxc.payload.web",
            "lxc-cgroup -n web cpu.max '90000 100000'",
            "lxc-cgroup -n web cpu.max '50000 100000'",
        ),
        (
            "/machine.slice/machine-qemu\\x2d3\\x2dweb.scope",
            "virsh schedinfo web --live global_period=100000 global_quota=90000",
            "virsh schedinfo web --live global_period=100000 global_quota=50000",
        ),
        (
            "/by hand",
            "echo '90000 100000' > '/sys/fs/cgroup/by hand/cpu.max'",
            "echo '50000 100000' > '/sys/fs/cgroup/by hand/cpu.max'",
        ),
    ],
)
def test_each_command_has_its_way_back(path: str, command: str, undo: str, tmp_path: Path) -> None:
    assert step_of(path, tmp_path) == (command, undo)


def test_on_cgroup_v1_the_quota_alone_is_written(tmp_path: Path) -> None:
    command, undo = step_of("/batch", tmp_path, version=1)
    assert command == "echo 90000 > /sys/fs/cgroup/batch/cpu.cfs_quota_us"
    assert undo == "echo 50000 > /sys/fs/cgroup/batch/cpu.cfs_quota_us"


@pytest.mark.parametrize("path", [f"/kubepods/pod{POD}/{ID}", f"/ecs/01/{ID}", "/"])
def test_where_nothing_on_this_host_keeps_the_limit_there_is_no_command(
    path: str, tmp_path: Path
) -> None:
    assert advised(workload(path, tmp_path)).steps == ()


def test_what_set_property_wrote_before_is_written_over_and_back(tmp_path: Path) -> None:
    drop_in = "/etc/systemd/system.control/api.service.d/50-CPUQuota.conf"
    files = {
        "/etc/systemd/system/api.service": "[Service]\nExecStart=/bin/api\n",
        drop_in: "[Service]\nCPUQuota=50%\n",
    }
    assert step_of("/system.slice/api.service", tmp_path, files=files) == (
        "systemctl set-property api.service CPUQuota=90%",
        "systemctl set-property api.service CPUQuota=50%",
    )


def test_a_transient_unit_is_not_told_to_persist(tmp_path: Path) -> None:
    path, unit = "/system.slice/run-1.service", UnitCase(quota="50%", transient=True)
    found = workload(path, tmp_path, unit=unit)
    assert "drop-in" not in advised(found).summary
    assert step_of(path, tmp_path, unit=unit)[1] == (
        "systemctl set-property --runtime run-1.service CPUQuota=50%"
    )


def test_the_file_that_sets_the_quota_is_named_unless_a_package_owns_it(tmp_path: Path) -> None:
    for directory, said in (
        ("/etc/systemd/system", "in /etc/systemd/system/api.service"),
        ("/usr/lib/systemd/system", "in a drop-in: systemctl edit api.service"),
    ):
        file = f"{directory}/api.service"
        files = {file: "[Service]\nExecStart=/bin/api\nCPUQuota=50%\n"}
        found = workload("/system.slice/api.service", tmp_path / said, files=files)
        assert f" of this node), {said}" in advised(found).summary


def test_going_without_a_limit_on_kubernetes_says_what_it_costs(tmp_path: Path) -> None:
    found = workload(f"/kubepods/pod{POD}/{ID}", tmp_path)
    for recommendation in (needless(found), more_room(found, HALF)):
        assert "Guaranteed" in recommendation.summary
        assert "exclusive CPUs" in recommendation.summary


def test_a_limit_above_is_raised_where_it_is_kept(tmp_path: Path) -> None:
    pod = f"/kubepods/pod{POD}"
    container = workload(f"{pod}/{ID}", tmp_path)
    assert "pod" in raise_above(container, pod).summary
    assert "slice" not in raise_above(container, pod).summary
    service = workload("/batch.slice/job.service", tmp_path)
    assert "Slice=" in raise_above(service, "/batch.slice").summary
    assert "outside" in raise_above(service, "/").summary


def test_a_measurement_gets_a_bounded_step_and_says_what_it_risks(tmp_path: Path) -> None:
    room = more_room(workload("/system.slice/api.service", tmp_path), HALF)
    assert "twice its quota, CPUQuota=100%" in room.summary
    assert "up to 1 CPU from its neighbours" in room.summary
    (step,) = room.steps
    assert step.command.endswith(" CPUQuota=100%")


def test_a_bounded_step_is_no_more_than_the_cpus_there_are(tmp_path: Path) -> None:
    large = Bandwidth(quota_usec=600_000, period_usec=100_000)
    room = more_room(workload("/system.slice/api.service", tmp_path), large)
    assert "1.3 times its quota, CPUQuota=800%" in room.summary


@pytest.mark.parametrize(
    "name",
    [
        "system-getty.slice",
        "-.slice",
        r"dev-disk-by\x2dlabel-a.swap",
        "a b;$(touch hacked)'`.service",
        "esc\x1b[31m.service",
        "not-utf8-\udcff.service",
    ],
)
def test_a_pasted_command_reaches_systemctl_with_the_very_name(name: str, tmp_path: Path) -> None:
    fake = tmp_path / "bin" / "systemctl"
    fake.parent.mkdir()
    fake.write_text('#!/bin/sh\nprintf "%s\\0" "$@" > "$CALLED"\n')
    fake.chmod(0o755)
    called = tmp_path / "called"
    command, _ = step_of(f"/system.slice/{name}", tmp_path)
    assert command.isprintable()
    environment = {"PATH": f"{fake.parent}:{os.environ['PATH']}", "CALLED": str(called)}
    subprocess.run(["bash", "-c", command], check=True, env=environment, cwd=tmp_path)
    arguments = called.read_bytes().rstrip(b"\0").split(b"\0")
    assert arguments[-2:] == [os.fsencode(name), b"CPUQuota=90%"]
    if name.startswith("-"):
        assert arguments[-3] == b"--"
    assert not (tmp_path / "hacked").exists()


def test_the_way_back_removes_the_very_drop_in(tmp_path: Path) -> None:
    name = r"dev-disk-by\x2dlabel a.swap"
    _, undo = step_of(f"/system.slice/{name}", tmp_path)
    seen = subprocess.run(
        ["bash", "-c", f'rm() {{ printf "%s" "$@"; }}; systemctl() {{ :; }}; {undo}'],
        check=True,
        capture_output=True,
        text=True,
    )
    assert seen.stdout == f"/run/systemd/system.control/{name}.d/50-CPUQuota.conf"


def test_a_container_that_lost_its_limit_is_told_how_to_get_it_back(tmp_path: Path) -> None:
    path = f"/system.slice/docker-{ID}.scope"
    group = CgroupCase(container=ContainerCase(engine=Engine.DOCKER, id=ID, name="web"))
    units = {path.rpartition("/")[2]: UnitCase(quota="34%", transient=True)}
    (found,) = (
        w
        for w in join(host_facts(Facts(cgroups={path: group}, units=units), tmp_path)).workloads
        if w.kind == "container"
    )
    summary = to_persist(found).summary
    assert summary.startswith("to have its limit back, set --cpus=0.34, ")
    assert "drop-in" not in summary
