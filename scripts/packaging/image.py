"""The container image: one layer with the program and root certificates, nothing else.

The files go to `dist/image/<architecture>/root`, from which packaging/Dockerfile builds the same image. The archive is an OCI
layout that is also what `docker load` reads, so that no container engine is needed to write it.
"""
import json
from datetime import datetime, timezone

from .archive import Entry, gz, sha256, tar

# A user without a name on any host, as in other images without a shell.
USER = 65532
PORT = 8080


def root_files(program, certificates, project):
    """The files of the image, in order."""
    passwd = f"tidegate:x:{USER}:{USER}::/data:/nonexistent\n"
    return [
        Entry("data", None, 0o700, USER),
        Entry("etc", None, 0o755),
        Entry("etc/passwd", passwd.encode()),
        Entry("etc/ssl", None, 0o755),
        Entry("etc/ssl/certs", None, 0o755),
        Entry("etc/ssl/certs/ca-certificates.crt", certificates),
        *(Entry(f"licenses/{name}", data) for name, data in project.licenses().items()),
        Entry("tidegate", program.path.read_bytes(), 0o755),
        Entry("tmp", None, 0o1777),
    ]


def write_root(files, folder):
    """Writes the files for the Dockerfile."""
    for entry in files:
        path = folder / entry.name
        if entry.data is None:
            path.mkdir(parents=True, exist_ok=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(entry.data)
        path.chmod(entry.mode)


def archive(program, files, project, level):
    """The image as a tar archive."""
    plain = tar(files, project.time)
    layer = gz(plain, level)
    config = as_json(configuration(program, sha256(plain), project))
    manifest = as_json({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": descriptor("application/vnd.oci.image.config.v1+json", config),
        "layers": [descriptor("application/vnd.oci.image.layer.v1.tar+gzip", layer)],
    })
    tag = f"tidegate:{project.version}"
    index = as_json({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [descriptor("application/vnd.oci.image.manifest.v1+json", manifest) | {
            "annotations": {"io.containerd.image.name": f"docker.io/library/{tag}",
                            "org.opencontainers.image.ref.name": project.version},
            "platform": {"os": "linux", "architecture": program.image_architecture}}],
    })
    blob = lambda data: f"blobs/sha256/{sha256(data)}"
    for_docker = as_json([{"Config": blob(config), "RepoTags": [tag], "Layers": [blob(layer)]}])
    entries = [Entry(blob(data), data) for data in (config, layer, manifest)]
    entries += [Entry("index.json", index), Entry("manifest.json", for_docker),
                Entry("oci-layout", as_json({"imageLayoutVersion": "1.0.0"}))]
    return tar(entries, project.time)


def configuration(program, layer, project):
    """What `docker inspect` shows; packaging/Dockerfile says the same."""
    created = datetime.fromtimestamp(project.time, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "created": created,
        "architecture": program.image_architecture,
        "os": "linux",
        "config": {
            "User": f"{USER}:{USER}",
            "ExposedPorts": {f"{PORT}/tcp": {}},
            "Env": ["PATH=/", "TIDEGATE_HOME=/data"],
            "Entrypoint": ["/tidegate"],
            "Cmd": ["--help"],
            "Volumes": {"/data": {}},
            "WorkingDir": "/data",
            "Labels": {
                "org.opencontainers.image.title": "tidegate",
                "org.opencontainers.image.description": project.description,
                "org.opencontainers.image.version": project.version,
                "org.opencontainers.image.revision": project.commit,
                "org.opencontainers.image.source": project.repository,
                "org.opencontainers.image.licenses": project.license,
            },
        },
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{layer}"]},
        "history": [{"created": created, "created_by": "COPY root /", "comment": "scripts/package.sh"}],
    }


def descriptor(kind, data):
    return {"mediaType": kind, "digest": f"sha256:{sha256(data)}", "size": len(data)}


def as_json(value):
    return json.dumps(value, separators=(",", ":")).encode()
