"""A built program: which system it is for, what it needs there, and what each registry calls that system."""
import re
import struct
from dataclasses import dataclass
from pathlib import Path

# ELF machine numbers.
MACHINES = {62: "x86_64", 183: "aarch64"}
SEGMENT_INTERPRETER = 3
NPM_CPU = {"x86_64": "x64", "aarch64": "arm64"}
IMAGE_ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64"}


@dataclass(frozen=True)
class Program:
    """A program for Linux, as its own headers describe it."""

    path: Path
    machine: str
    is_static: bool
    glibc: int
    """The lowest glibc 2.x that has every symbol it uses; 0 for a static program."""

    @classmethod
    def read(cls, path):
        path = Path(path)
        data = path.read_bytes()
        if data[:5] != b"\x7fELF\x02" or data[5] != 1:
            raise SystemExit(f"{path} is no 64-bit little-endian program for Linux")
        machine = MACHINES.get(struct.unpack_from("<H", data, 18)[0])
        if machine is None:
            raise SystemExit(f"{path} is for a machine that no package is made for")
        is_static = SEGMENT_INTERPRETER not in segments(data)
        versions = [int(minor) for minor in re.findall(rb"GLIBC_2\.(\d+)", data)]
        return cls(path, machine, is_static, 0 if is_static else max(versions, default=17))

    @property
    def target(self):
        """The name that cargo has for it."""
        return f"{self.machine}-unknown-linux-{'musl' if self.is_static else 'gnu'}"

    @property
    def npm_name(self):
        return f"linux-{NPM_CPU[self.machine]}"

    @property
    def npm_cpu(self):
        return NPM_CPU[self.machine]

    @property
    def image_architecture(self):
        return IMAGE_ARCHITECTURE[self.machine]

    @property
    def wheel_platforms(self):
        """The platform tags that are true for it: a static program needs no C library at all."""
        if not self.is_static:
            return [f"manylinux_2_{max(self.glibc, 17)}_{self.machine}"]
        return [f"{system}_{self.machine}" for system in ("manylinux_2_17", "manylinux2014", "musllinux_1_1")]


def segments(data):
    """The types of the segments in an ELF file's program header."""
    start, = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    return [struct.unpack_from("<I", data, start + index * size)[0] for index in range(count)]
