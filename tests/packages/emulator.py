"""Programs for other machines, which Linux starts through qemu: they start themselves again, so that an emulator in front of the
first one is not enough.

Debian's package qemu-user-static brings the emulators and registers them, where systemd runs. Elsewhere, as in a container, this
registers one for as long as the tests need it, as root.
"""
import os
from contextlib import contextmanager
from pathlib import Path

from report import run

FORMATS = Path("/proc/sys/fs/binfmt_misc")


@contextmanager
def started_by_system(machine):
    """Lets the system start programs for a machine; gives why it cannot, or nothing."""
    entry, known = FORMATS / f"qemu-{machine}", Path(f"/usr/lib/binfmt.d/qemu-{machine}.conf")
    if entry.exists():
        yield None
    elif not known.exists():
        yield "needs qemu-user-static"
    elif os.geteuid() != 0:
        yield "registering an emulator needs root"
    else:
        if not (FORMATS / "register").exists():
            run(["mount", "-t", "binfmt_misc", "binfmt_misc", FORMATS])
        try:
            (FORMATS / "register").write_text(known.read_text())
        except OSError as error:
            yield f"the system registers no emulator: {error}"
            return
        try:
            yield None
        finally:
            entry.write_text("-1")
