"""A machine as a directory: the files of /proc and /sys that layoutrand reads and writes, with chosen contents."""

from __future__ import annotations

from pathlib import Path

CPUS = "sys/devices/system/cpu"
BOOT = "proc/sys/kernel/random/boot_id"


class FakeHost:
    """Files below ``root``; ``write`` and ``read`` take paths relative to it."""

    def __init__(self, root: Path) -> None:
        """An empty machine, which tells nothing."""
        self.root = root
        root.mkdir(parents=True, exist_ok=True)

    def write(self, path: str, content: object) -> None:
        """Set one file."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{content}\n", "utf-8")

    def read(self, path: str) -> str:
        """The content of one file."""
        return (self.root / path).read_text("utf-8").strip()

    def cpu_times(self, *busy_s: float, steal_s: float = 0.0, switches: int = 0) -> None:
        """/proc/stat with so many busy seconds of each CPU, and stolen ones of all."""
        rows = [("cpu", sum(busy_s)), *((f"cpu{n}", busy) for n, busy in enumerate(busy_s))]
        lines = [
            f"{name} {round(100 * busy)} 0 0 123456 99 0 0 {round(100 * steal_s)} 0 0" for name, busy in rows
        ]  # user nice system idle iowait irq softirq steal guest guest_nice
        self.write("proc/stat", "\n".join([*lines, f"ctxt {switches}", "btime 1795295111"]))

    def process(self, pid: int, name: str, cpu_s: float, *, parent: int = 1, started: int = 5, waited_s: float = 0.0):
        """/proc/PID/stat."""
        ticks = f"{round(100 * cpu_s)} 0 {round(100 * waited_s)} 0"
        self.write(
            f"proc/{pid}/stat", f"{pid} ({name}) S {parent} 1 1 0 -1 4194560 0 0 0 0 {ticks} 20 0 1 0 {started} 0 0"
        )

    def end_process(self, pid: int) -> None:
        """The process is gone."""
        (self.root / f"proc/{pid}/stat").unlink()
        (self.root / f"proc/{pid}").rmdir()

    def cpufreq(self, *, governor: str = "powersave", policies: int = 2) -> None:
        """A frequency driver like intel_pstate, and a policy for each CPU."""
        for number in range(policies):
            for place in (f"{CPUS}/cpufreq/policy{number}", f"{CPUS}/cpu{number}/cpufreq"):
                self.write(f"{place}/scaling_governor", governor)
                self.write(f"{place}/scaling_available_governors", "performance powersave")
                self.write(f"{place}/scaling_cur_freq", 2_000_000)
                self.write(f"{place}/scaling_driver", "intel_pstate")
        self.write(f"{CPUS}/intel_pstate/no_turbo", 0)
