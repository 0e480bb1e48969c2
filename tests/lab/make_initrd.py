"""An initrd of busybox and just the modules needed, in the order of their dependencies.

Usage: make_initrd.py KERNEL BUSYBOX INIT OUT MODULE...   (KERNEL: an unpacked linux-image package)

Debian's initramfs-tools would need the kernel installed on the machine that builds.
"""

from __future__ import annotations

import lzma
import re
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

DIRECTORIES = ("bin", "dev", "proc", "sys", "mods", "new", "lower", "rw")


class Archive:
    """A cpio archive in the kernel's "newc" format (Documentation/driver-api/early-userspace)."""

    def __init__(self) -> None:
        self._chunks: list[bytes] = []

    def add(
        self, name: str, mode: int, data: bytes = b"", device: tuple[int, int] = (0, 0)
    ) -> None:
        """Append one file, directory, link or device node."""
        path = name.encode() + b"\0"
        inode = len(self._chunks) + 1
        fields = (inode, mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(path), 0)
        header = "070701" + "".join(f"{field:08X}" for field in fields)
        self._chunks.append(_padded(header.encode() + path) + _padded(data))

    def content(self) -> bytes:
        """Return the archive with its end mark."""
        self.add("TRAILER!!!", 0)
        return b"".join(self._chunks)


def main() -> None:
    """Write the initrd that the command line asks for."""
    kernel, busybox, init, out = (Path(argument) for argument in sys.argv[1:5])
    archive = Archive()
    for name in DIRECTORIES:
        archive.add(name, stat.S_IFDIR | 0o755)
    # The kernel gives the first process its console before anything is mounted.
    archive.add("dev/console", stat.S_IFCHR | 0o600, device=(5, 1))
    archive.add("bin/busybox", stat.S_IFREG | 0o755, busybox.read_bytes())
    archive.add("bin/sh", stat.S_IFLNK | 0o777, b"busybox")
    archive.add("init", stat.S_IFREG | 0o755, init.read_bytes())
    order = dict(_in_order(sys.argv[5:], _modules(kernel), set()))
    for name, data in order.items():
        archive.add(f"mods/{name}.ko", stat.S_IFREG | 0o644, data)
    archive.add("mods/order", stat.S_IFREG | 0o644, "".join(f"{name}\n" for name in order).encode())
    out.write_bytes(archive.content())


def _modules(kernel: Path) -> dict[str, Path]:
    found = [*kernel.rglob("*.ko"), *kernel.rglob("*.ko.xz")]
    return {path.name.partition(".")[0].replace("-", "_"): path for path in found}


def _in_order(
    wanted: list[str], modules: dict[str, Path], seen: set[str]
) -> Iterator[tuple[str, bytes]]:
    """Yield every module with its content, after the modules that it depends on."""
    for name in wanted:
        # What is no module is built in.
        if name in seen or name not in modules:
            continue
        seen.add(name)
        data = _content(modules[name])
        match = re.search(rb"(?:^|\0)depends=([^\0]*)\0", data)
        needed = match[1].decode().replace("-", "_").split(",") if match else []
        yield from _in_order(needed, modules, seen)
        yield name, data


def _content(module: Path) -> bytes:
    data = module.read_bytes()
    return lzma.decompress(data) if module.suffix == ".xz" else data


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 4)


if __name__ == "__main__":
    main()
