#!/usr/bin/env python3
"""Follows docs/guides/heavy-tool.md literally: builds what it tells a reader to write, runs it, and compares what it says.

The Cargo.toml, the servers, the test and the server behind axum are taken from the page; only the path of the SDK and the
port are changed. The build shares the target folder of the workspace, and its versions.
"""
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GUIDE = ROOT / "docs/guides/heavy-tool.md"
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
SDK_PATH = '"../tidegate/crates/sdk"'
AXUM_ADDRESS = "127.0.0.1:8080"
MAIN = "\n#[tokio::main]"
PACKAGE = '[package]\nname = "shop"\nversion = "0.1.0"\nedition = "2024"\n\n[workspace]\n\n'
# The servers that have a section of their own: the section, and the name of the program.
SERVERS = {"A list in pages": "pages", "A summary, and everything on request": "summary"}
MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "guide", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


def blocks(heading, language):
    """The code blocks of a language below a heading of the guide."""
    section = GUIDE.read_text().split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    found = re.findall(rf"^```{language}\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    assert found, f"no {language} block below {heading!r}"
    return found


def manifest_of_all():
    """The Cargo.toml of the guide, in which the lines of the section on axum are added or replace those of the same crate."""
    dependencies, tests = blocks("A whole server", "toml")[0].split("\n[dev-dependencies]\n")
    lines = {line.split(" ")[0]: line for line in dependencies.splitlines()}
    lines |= {line.split(" ")[0]: line for line in blocks("Behind axum", "toml")[0].splitlines()}
    return "\n".join(lines.values()) + "\n\n[dev-dependencies]\n" + tests


def write_project(folder, port):
    """Writes what a reader would write."""
    manifest = manifest_of_all()
    assert SDK_PATH in manifest
    server = blocks("A whole server", "rust")[0]
    with_axum = server.split(MAIN)[0] + "\n" + blocks("Behind axum", "rust")[0]
    assert AXUM_ADDRESS in with_axum
    (folder / "src/bin").mkdir(parents=True)
    (folder / "Cargo.toml").write_text(PACKAGE + manifest.replace(SDK_PATH, json.dumps(str(ROOT / "crates/sdk"))))
    (folder / "src/main.rs").write_text(server + "\n" + blocks("Test it", "rust")[0])
    (folder / "src/bin/with_axum.rs").write_text(with_axum.replace(AXUM_ADDRESS, f"127.0.0.1:{port}"))
    for section, name in SERVERS.items():
        (folder / f"src/bin/{name}.rs").write_text(blocks(section, "rust")[0])
    shutil.copy(ROOT / "Cargo.lock", folder)


def cargo(folder, *arguments):
    environment = os.environ | {"CARGO_TARGET_DIR": str(TARGET)}
    subprocess.run(["cargo", *arguments, "--quiet"], cwd=folder, env=environment, check=True)


class Stdio:
    """A client of a server on stdio."""

    def __init__(self, program, home):
        environment = {"PATH": "/nonexistent", "HOME": home, "TIDEGATE_HOME": home}
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, env=environment, text=True)

    def request(self, method, **params):
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params | {"_meta": MODERN}}
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())["result"]

    def call(self, tool, **arguments):
        return self.request("tools/call", name=tool, arguments=arguments)["content"][0]["text"]

    def close(self):
        self.process.stdin.close()
        assert self.process.wait(timeout=20) == 0


def agrees(shown, seen):
    """Whether what the guide shows is what a client sees; `…` stands for anything."""
    if isinstance(shown, dict):
        return isinstance(seen, dict) and shown.keys() == seen.keys() and all(agrees(shown[key], seen[key]) for key in shown)
    if isinstance(shown, list) and shown and shown[-1] == "…":
        return isinstance(seen, list) and len(seen) >= len(shown) and all(map(agrees, shown[:-1], seen))
    if isinstance(shown, list):
        return isinstance(seen, list) and len(shown) == len(seen) and all(map(agrees, shown, seen))
    if isinstance(shown, str) and "…" in shown:
        return re.fullmatch(".*".join(map(re.escape, shown.split("…"))), seen, re.DOTALL) is not None
    return shown == seen


def check_stdio(program, home):
    probe, page = map(json.loads, blocks("A whole server", "json"))
    client = Stdio(program, home)
    seen = json.loads(client.call("list_all"))
    assert agrees(probe, seen), f"the guide shows {probe}, but the server answers {seen}"
    token = seen["continuation_token"]
    seen = json.loads(client.call("list_all", continuation_token=token, mode="paginated", page=2))
    assert agrees(page, seen), f"the guide shows {page}, but the server answers {seen}"
    # Neither jq nor SQL can run in this server, so neither is offered.
    tools = client.request("tools/list")["tools"]
    names = next(tool for tool in tools if tool["name"] == "result_query")["inputSchema"]["properties"]
    assert not {"jq", "sql"} & names.keys(), names.keys()
    client.close()


def check_pages(program, home):
    shown = json.loads(blocks("A list in pages", "json")[0])
    client = Stdio(program, home)
    seen = json.loads(client.call("list_articles", site="harbour", limit=2))
    assert agrees(shown, seen), f"the guide shows {shown}, but the server answers {seen}"
    found, cursor = len(seen["items"]), seen["nextCursor"]
    while cursor:
        result = client.request("tools/call", name="list_articles",
                                arguments={"site": "harbour", "limit": 200, "max_tokens": 2000, "cursor": cursor})
        page = result["structuredContent"]
        found, cursor = found + len(page["items"]), page.get("nextCursor")
    assert found == shown["total"], f"{found} rows on all pages"
    properties = client.request("tools/list")["tools"][0]["inputSchema"]["properties"]
    assert properties["limit"]["maximum"] == 200, properties
    client.close()


def check_summary(program, home):
    shown = json.loads(blocks("A summary, and everything on request", "json")[0])
    client = Stdio(program, home)
    seen = json.loads(client.call("strongest", steps=30))
    assert agrees(shown, seen), f"the guide shows {shown}, but the server answers {seen}"
    full = client.request("tools/call", name="strongest", arguments={"steps": 30, "output": "full"})
    assert any(block["type"] == "resource_link" for block in full["content"]), full
    client.close()


def post(port, token):
    """The status and the body of a call over HTTP."""
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "list_all", "arguments": {}, "_meta": MODERN}}
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
               "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "list_all"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    request = urllib.request.Request(f"http://127.0.0.1:{port}/mcp", json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=20) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def check_axum(program, home, port):
    server = subprocess.Popen([program], env={"PATH": "/nonexistent", "HOME": home, "TIDEGATE_HOME": home},
                              stderr=subprocess.DEVNULL)
    try:
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        assert post(port, None)[0] == 401, "a request without a token is refused"
        status, body = post(port, "s3cret")
        assert status == 200 and "continuation_token" in body, body
    finally:
        server.terminate()
        server.wait(timeout=20)


def main():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        write_project(folder, port)
        cargo(folder, "build")
        programs = TARGET / "debug"
        check_stdio(programs / "shop", str(folder / "home"))
        check_pages(programs / "pages", str(folder / "home"))
        check_summary(programs / "summary", str(folder / "home"))
        check_axum(programs / "with_axum", str(folder / "home"), port)
        cargo(folder, "test")
    print("the guide does what it says")
    return 0


if __name__ == "__main__":
    sys.exit(main())
