"""A registry for npm on 127.0.0.1 with the packages of one folder, so that `npx tidegate` works by name and offline."""
import base64
import hashlib
import json
import tarfile
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote


def manifest(package):
    """The package.json of a tarball."""
    with tarfile.open(package) as archive:
        return json.load(archive.extractfile("package/package.json"))


@contextmanager
def serve(folder):
    """Serves the tarballs of a folder; gives the address of the registry."""
    packages = {manifest(path)["name"]: path for path in Path(folder).glob("*.tgz")}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            name = unquote(self.path.lstrip("/").split("?")[0])
            files = {path.name: path for path in packages.values()}
            if name in files:
                self.answer(200, files[name].read_bytes(), "application/octet-stream")
            elif name in packages:
                self.answer(200, json.dumps(document(name)).encode(), "application/json")
            else:
                self.answer(404, b'{"error":"not found"}', "application/json")

        def answer(self, status, body, kind):
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    address = f"http://127.0.0.1:{server.server_port}"

    def document(name):
        """What a registry says about a package."""
        path, found = packages[name], manifest(packages[name])
        digest = base64.b64encode(hashlib.sha512(path.read_bytes()).digest()).decode()
        version = found | {"dist": {"tarball": f"{address}/{path.name}", "integrity": f"sha512-{digest}"}}
        return {"name": name, "dist-tags": {"latest": found["version"]}, "versions": {found["version"]: version}}

    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield address
    finally:
        server.shutdown()
