"""Archives whose bytes depend on nothing but their content: fixed order, owner, mode and time."""
import gzip
import hashlib
import io
import tarfile
import zipfile
from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """A file in an archive, or a folder where `data` is None."""

    name: str
    data: bytes | None
    mode: int = 0o644
    owner: int = 0


def tar(entries, time):
    """A tar archive."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for entry in entries:
            info = tarfile.TarInfo(entry.name)
            info.mtime, info.mode, info.uid, info.gid = time, entry.mode, entry.owner, entry.owner
            if entry.data is None:
                info.type = tarfile.DIRTYPE
                archive.addfile(info)
            else:
                info.size = len(entry.data)
                archive.addfile(info, io.BytesIO(entry.data))
    return buffer.getvalue()


def gz(data, level):
    """Compressed data without a name and a time."""
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=level, fileobj=buffer, mtime=0) as file:
        file.write(data)
    return buffer.getvalue()


def zipped(entries, level):
    """A zip archive. Its times are the earliest that the format knows, as reproducible wheels have them."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as archive:
        for entry in entries:
            info = zipfile.ZipInfo(entry.name, (1980, 1, 1, 0, 0, 0))
            info.external_attr = (0o100000 | entry.mode) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, entry.data)
    return buffer.getvalue()


def sha256(data):
    return hashlib.sha256(data).hexdigest()
