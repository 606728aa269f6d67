"""What `check` says about hosts of every kind: tuned, disturbed, silent, hostile."""

from __future__ import annotations

import json
import os
import subprocess
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kernometer.host.check import check, examine
from kernometer.host.tree import Told, Tree
from tests.support.host.trees import CPU, STAT, TUNED, plant, process

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kernometer.host import Finding, HostReport

#: What a tuned machine is still told: it shapes figures evenly.
ALWAYS_NOTED = {"address layout"}
WORKED = "cpu  160 0 130 1010 0 0 0 0 0 0\ncpu0 50 0 50 500 0 0 0 0 0 0\ncpu1 50 0 50 500 0 0 0 0 0 0\n"
STOLEN = "cpu  110 0 110 1060 0 0 0 20 0 0\ncpu0 50 0 50 500 0 0 0 0 0 0\ncpu1 50 0 50 500 0 0 0 0 0 0\n"
IDLED = "cpu  101 0 101 1098 0 0 0 0 0 0\ncpu0 50 0 50 500 0 0 0 0 0 0\ncpu1 50 0 50 500 0 0 0 0 0 0\n"


def look(root: Path, then: Mapping[str, str | None] | None = None) -> HostReport:
    """One check of a fake tree, in which `then` happens between the two readings."""

    def happen(_seconds: float) -> None:
        plant(root, {"proc/stat": IDLED, **(then or {})})

    return check(root, sleep=happen)


def finding(report: HostReport, name: str) -> Finding:
    return next(found for found in report.findings if found.name == name)


def test_a_tuned_host_has_nothing_to_do(tmp_path: Path) -> None:
    """Expected: every finding ok, but for what is always noted. Broken: advice that nobody needs, or a blind spot."""
    report = look(plant(tmp_path, TUNED))
    assert {found.name for found in report.findings if found.severity != "ok"} == ALWAYS_NOTED
    assert all(found.advice == "" for found in report.with_severity("ok"))


@pytest.mark.parametrize(
    ("name", "change", "severity", "value", "advice"),
    [
        (
            "governor",
            {f"{CPU}/cpu1/cpufreq/scaling_governor": "powersave\n"},
            "disturbs",
            "performance, powersave",
            f"echo performance | sudo tee /{CPU}/cpu*/cpufreq/scaling_governor",
        ),
        (
            "turbo",
            {f"{CPU}/intel_pstate/no_turbo": "0\n"},
            "disturbs",
            "on",
            f"echo 1 | sudo tee /{CPU}/intel_pstate/no_turbo",
        ),
        (
            "turbo",
            {f"{CPU}/intel_pstate/no_turbo": None, f"{CPU}/cpufreq/boost": "1\n"},
            "disturbs",
            "on",
            f"echo 0 | sudo tee /{CPU}/cpufreq/boost",
        ),
        (
            "SMT",
            {f"{CPU}/smt/active": "1\n", f"{CPU}/smt/control": "on\n"},
            "disturbs",
            "on",
            f"echo off | sudo tee /{CPU}/smt/control",
        ),
        (
            "mitigations",
            {f"{CPU}/vulnerabilities/meltdown": "Mitigation: PTI\n"},
            "note",
            "1 active, 1 left out, 0 not needed",
            "mitigations=off",
        ),
        (
            "clock source",
            {"sys/devices/system/clocksource/clocksource0/current_clocksource": "hpet\n"},
            "disturbs",
            "hpet",
            "echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource",
        ),
        (
            "clock source",
            {
                "sys/devices/system/clocksource/clocksource0/current_clocksource": "acpi_pm\n",
                "sys/devices/system/clocksource/clocksource0/available_clocksource": "acpi_pm\n",
            },
            "disturbs",
            "acpi_pm",
            "dmesg",
        ),
        (
            "CPUs allowed",
            {"proc/self/status": "Cpus_allowed_list:\t1\n"},
            "disturbs",
            "1 of 2",
            "taskset -pc 0-1 $$",
        ),
        (
            "CPUs allowed",
            {f"{CPU}/online": "0-3,8\n"},
            "note",
            "2 of 5",
            "taskset -pc 0-8 $$",
        ),
        (
            "isolation",
            {"proc/cmdline": "quiet isolcpus= -- nohz_full=1\n", f"{CPU}/isolated": "\n"},
            "note",
            "none",
            "isolcpus=1 nohz_full=1 rcu_nocbs=1",
        ),
        (
            "huge pages",
            {"sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never\n"},
            "disturbs",
            "always",
            "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled",
        ),
        (
            "swap",
            {"proc/meminfo": "SwapTotal: 2097152 kB\nSwapFree: 1048576 kB\n"},
            "note",
            "1024 of 2048 MiB used",
            "sudo swapoff -a",
        ),
        ("swap", {"proc/meminfo": "SwapTotal: 2048 kB\nSwapFree: 2048 kB\n"}, "ok", "0 of 2 MiB used", ""),
        ("address layout", {"proc/sys/kernel/randomize_va_space": "0\n"}, "note", "fixed", ""),
        (
            "virtualisation",
            {"proc/cpuinfo": "flags : fpu hypervisor\n", "sys/class/dmi/id/sys_vendor": "QEMU\n"},
            "note",
            "QEMU",
            "--by path",
        ),
        (
            "power",
            {
                "sys/class/power_supply/AC/online": "0\n",
                "sys/class/power_supply/BAT0/type": "Battery\n",
                "sys/class/power_supply/BAT0/status": "Discharging\n",
            },
            "disturbs",
            "battery",
            "Connect the power supply.",
        ),
        ("call filter", {"proc/self/status": "Seccomp:\t2\n"}, "note", "a filter", "seccomp=unconfined"),
    ],
)
def test_each_disturbance_is_named_with_what_to_do(
    tmp_path: Path, name: str, change: dict[str, str | None], severity: str, value: str, advice: str
) -> None:
    """Expected: this one finding changes, and its advice names this host's file. Broken: another, or none does."""
    report = look(plant(tmp_path, TUNED, change))
    found = finding(report, name)
    assert (found.severity, found.value) == (severity, value)
    assert advice in found.advice
    changed = {other.name for other in report.findings if other.severity in ("disturbs", "unknown")}
    related = {"CPUs allowed", "call filter", "CPU quota"} if "proc/self/status" in change else set()
    assert changed <= {name} | related


@pytest.mark.parametrize(
    ("files", "cpus", "path"),
    [
        ({"sys/fs/cgroup/user.slice/cpu.max": "50000 100000\n"}, "0.5 CPUs", "/sys/fs/cgroup/user.slice/cpu.max"),
        (
            {
                "sys/fs/cgroup/user.slice/cpu.max": "150000 100000\n",
                "sys/fs/cgroup/user.slice/run/cpu.max": "25000 100000\n",
            },
            "0.25 CPUs",
            "/sys/fs/cgroup/user.slice/run/cpu.max",
        ),
        (
            {
                "proc/self/cgroup": "0::/../../other\n",
                "sys/fs/cgroup/cpu.max": "10000 100000\n",
                "sys/other/cpu.max": "5000 100000\n",  # no control group
            },
            "0.1 CPUs",
            "/sys/fs/cgroup/cpu.max",
        ),
        (
            {
                "proc/self/cgroup": "4:cpu,cpuacct:/docker/a b\n1:name=systemd:/\n",
                "sys/fs/cgroup/cpu,cpuacct/docker/a b/cpu.cfs_quota_us": "120000\n",
                "sys/fs/cgroup/cpu,cpuacct/docker/a b/cpu.cfs_period_us": "100000\n",
            },
            "1.2 CPUs",
            "'/sys/fs/cgroup/cpu,cpuacct/docker/a b/cpu.cfs_quota_us'",
        ),
    ],
)
def test_the_tightest_cpu_quota_is_found(tmp_path: Path, files: dict[str, str | None], cpus: str, path: str) -> None:
    found = finding(look(plant(tmp_path, TUNED, files)), "CPU quota")
    assert (found.severity, found.value) == ("disturbs", cpus)
    assert found.advice.endswith(f"| sudo tee {path}")


@pytest.mark.parametrize(
    "files",
    [
        {"sys/fs/cgroup/user.slice/cpu.max": "200000 100000\n"},  # as many CPUs as are allowed
        {"sys/fs/cgroup/user.slice/cpu.max": "0 100000\n"},
        {"sys/fs/cgroup/user.slice/cpu.max": "many few\n"},
        {
            "proc/self/cgroup": "1:cpu:/\n",
            "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
            "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
        },
    ],
)
def test_a_quota_that_limits_nothing_is_fine(tmp_path: Path, files: dict[str, str | None]) -> None:
    assert finding(look(plant(tmp_path, TUNED, files)), "CPU quota").severity == "ok"


def test_time_stolen_between_the_readings_disturbs(tmp_path: Path) -> None:
    """Expected: 20 of 100 ticks. Broken: the share since boot decides, and an old theft disturbs for ever."""
    root = plant(tmp_path, TUNED)
    found = finding(look(root, {"proc/stat": STOLEN}), "steal")
    assert found.severity == "disturbs"
    assert found.value.startswith("20.0% now")
    plant(root, {"proc/stat": STOLEN})
    later = STOLEN.replace("1060", "1160")
    assert finding(look(root, {"proc/stat": later}), "steal").severity == "ok"


def test_other_work_is_named_by_process_and_ours_is_not(tmp_path: Path) -> None:
    """Expected: of 100 ticks of two CPUs 90 were worked, 40 by us. Broken: our own look disturbs itself."""
    root = plant(tmp_path, TUNED, process(77, "cc1) R (x", 10), process(5, "idle", 3), process(os.getpid(), "us", 0))
    then: dict[str, str | None] = {
        "proc/stat": WORKED,
        **process(77, "cc1) R (x", 60),
        **process(os.getpid(), "us", 40),
    }
    found = finding(look(root, then), "other work")
    assert (found.severity, found.value) == ("disturbs", "1.00 CPUs: cc1) R (x (77)")
    assert "kill -STOP 77 " in found.advice


def test_counters_that_stand_still_or_go_back_tell_nothing(tmp_path: Path) -> None:
    root = plant(tmp_path, TUNED)
    for then in (STAT, STAT.replace("1000", "10"), "cpu 1 2\n", "", "cpu  x y z a b c d e\n"):
        report = look(plant(root, {"proc/stat": STAT}), {"proc/stat": then})
        assert finding(report, "steal").severity == finding(report, "other work").severity == "unknown"


def test_throttling_between_the_readings_disturbs(tmp_path: Path) -> None:
    root = plant(tmp_path, TUNED)
    assert finding(look(root), "throttling").value == "3 times since boot"
    then: dict[str, str | None] = {f"{CPU}/cpu0/thermal_throttle/core_throttle_count": "4\n"}
    assert finding(look(root, then), "throttling").severity == "disturbs"


def test_facts_say_what_the_host_is_and_keep_secrets(tmp_path: Path) -> None:
    """Expected: only parameters that shape figures. Broken: the whole command line lands in every result."""
    report = look(plant(tmp_path, TUNED))
    assert report.facts["cpu"] == "Model X @ 3 GHz"
    assert report.facts["system"] == "Debian GNU/Linux 12 (bookworm)"
    assert report.facts["memory_bytes"] == 16384000 * 1024
    assert (report.facts["sockets"], report.facts["cores"], report.facts["cpus_online"]) == (1, 2, 2)
    assert report.facts["parameters"] == {"isolcpus": "1", "mitigations": "off", "nohz_full": "1"}
    assert "hunter2" not in json.dumps(report.as_record())


def test_a_host_that_tells_nothing_is_unknown(tmp_path: Path) -> None:
    """Expected: unknown, or ok where no file means none. Broken: an exception, or advice from thin air."""
    report = check(tmp_path, sleep=lambda _: None)
    assert {found.severity for found in report.findings} <= {"unknown", "ok"}
    assert {found.name for found in report.with_severity("ok")} == {"power"}
    assert report.facts == {}
    assert check(tmp_path / "nowhere", sleep=lambda _: None).as_record() == report.as_record()


def _as_folder(path: Path) -> None:
    path.mkdir()


def _as_fifo(path: Path) -> None:
    os.mkfifo(path)


def _as_loop(path: Path) -> None:
    path.symlink_to(path.name)


def _as_sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)


@pytest.mark.parametrize("spoil", [_as_folder, _as_fifo, _as_loop, _as_sparse])
def test_files_of_the_wrong_kind_are_unknown(tmp_path: Path, spoil: Callable[[Path], None]) -> None:
    """Expected: an answer, soon. Broken: a wait for a FIFO's writer, or a terabyte in memory."""
    root = plant(tmp_path, TUNED)
    for name in TUNED:
        (root / name).unlink()
        spoil(root / name)
    report = check(root, sleep=lambda _: None)
    assert not report.with_severity("disturbs")
    json.dumps(report.as_record())


def test_binary_in_every_file_is_shown_escaped(tmp_path: Path) -> None:
    every = bytes(range(256)).decode("utf-8", "surrogateescape") * 8192
    report = look(plant(tmp_path, dict.fromkeys(TUNED, every)))
    assert all(found.value.isprintable() and len(found.value) < 1000 for found in report.findings)
    json.dumps(report.as_record()).encode()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_garbage_never_raises_and_shows_nothing_unprintable(tmp_path: Path, data: st.DataObject) -> None:
    numbers = st.integers(-(10**25), 10**25).map(str)
    texts = st.text(st.characters(codec="utf-8"), max_size=300) | numbers | st.sampled_from(list(TUNED.values()))
    garbage: dict[str, str | None] = {
        name: data.draw(texts) for name in data.draw(st.sets(st.sampled_from(list(TUNED))))
    }
    report = look(plant(tmp_path, TUNED, garbage), {"proc/stat": data.draw(texts)})
    shown = [text for found in report.findings for text in (found.value, found.effect, found.advice)]
    shown += [str(value) for value in report.facts.values() if not isinstance(value, dict)]
    assert all(text.isprintable() for text in shown)
    assert all(len(text) < 1000 for text in shown)
    json.dumps(report.as_record())


def test_this_very_host_gives_a_whole_report() -> None:
    report = check(interval=0.05)
    names = [found.name for found in report.findings]
    assert len(names) == len(set(names)) == 17
    assert report.facts["kernel"] == os.uname().release
    assert report.facts["cpus_online"] >= len(os.sched_getaffinity(0)) > 0
    assert json.loads(json.dumps(report.as_record()))["findings"][0]["severity"] in ("ok", "disturbs", "unknown")


#: What the tuned machine lacks of all that is read.
REST: dict[str, str | None] = {
    "sys/class/dmi/id/product_name": "Standard PC\n",
    "sys/class/dmi/id/sys_vendor": "QEMU\n",
    "sys/class/power_supply/BAT0/status": "Discharging\n",
    "sys/class/power_supply/BAT0/type": "Battery\n",
    "sys/hypervisor/type": "xen\n",
    "sys/kernel/debug/sched/preempt": "none voluntary (full)\n",
    f"{CPU}/cpufreq/boost": "1\n",
}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {f"{CPU}/intel_pstate/no_turbo": None, "proc/self/cgroup": "4:cpu,cpuacct:/a\n0::/b\n"},
        {"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "50000 100000\n"},
        dict.fromkeys(TUNED),
    ],
)
def test_another_host_tells_all_that_is_read_of_this_one(changes: dict[str, str | None], tmp_path: Path) -> None:
    """Expected: the script that runs there prints each file. Broken: a fact that is known of this host alone, so that
    every comparison with another one says that the two differ in it."""
    root = plant(tmp_path, TUNED, REST, {"sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us": "1000\n"}, changes)
    plant(tmp_path, {"sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us": "1000\n"})
    script = files("kernometer.targets").joinpath("remote/facts.sh").read_text()
    said = subprocess.run(["sh", "-c", script, "sh", root], capture_output=True, text=True, check=False).stdout
    told: dict[str, str] = {}
    for path, _, text in (line.partition(":") for line in said.splitlines()):
        told[path] = f"{told[path]}\n{text}" if path in told else text
    assert examine(Told(files=told)) == examine(Tree(root))


def test_what_another_host_tells_may_be_anything() -> None:
    """Expected: printable facts of bounded length. Broken: a machine that writes on our terminal, or into its page."""
    evil = "\x1b]0;owned\x07" + "x" * 100_000 + "\n\0"
    told = dict.fromkeys((*TUNED, *REST), evil) | {f"{CPU}/vulnerabilities/{n}\x1b": evil for n in range(5000)}
    record = examine(Told(files=told)).as_record()
    text = json.dumps(record, ensure_ascii=False)
    assert "\x1b" not in text and "\x07" not in text and len(text) < 100_000
