"""A transparent stdio tap between an MCP client and the server under test.

The client starts `tap.py SPEC`; SPEC is a JSON file naming the server command, its folder, its environment, the
log and a file for the server's stderr. Bytes pass through untouched; each message is also appended to the log as
`{"tap": PID, "at": NANOSECONDS, "from": "client"|"server", "message": {...}}`, where `at` is the system-wide
monotonic clock. The tap exits when either side closes.
"""
import json
import os
import signal
import subprocess
import sys
import threading
import time

GRACE_SECONDS = 3


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        spec = json.load(file)
    with open(spec["stderr"], "ab") as errors:
        server = subprocess.Popen(spec["command"], cwd=spec["cwd"], env=spec["environment"],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)
    log = open(spec["log"], "a", encoding="utf-8")
    lock, closed = threading.Lock(), threading.Event()

    def record(side, message):
        entry = {"tap": os.getpid(), "at": time.monotonic_ns(), "from": side, "message": message}
        with lock:
            log.write(json.dumps(entry) + "\n")
            log.flush()

    def pump(side, source, sink):
        try:
            for line in iter(source.readline, b""):
                if line.strip():
                    record(side, parsed(line))
                sink.write(line)
                sink.flush()
        except (BrokenPipeError, ValueError):
            pass
        closed.set()

    record("tap", {"started": spec["command"]})
    signal.signal(signal.SIGTERM, lambda *_: closed.set())
    for ends in (("client", sys.stdin.buffer, server.stdin), ("server", server.stdout, sys.stdout.buffer)):
        threading.Thread(target=pump, args=ends, daemon=True).start()
    closed.wait()
    end(server)
    os._exit(server.returncode or 0)


def parsed(line):
    try:
        return json.loads(line)
    except ValueError:
        return {"not_json": line.decode(errors="replace")}


def end(server):
    """Closes the server's input, as a client does, then terminates and kills it if it does not exit."""
    for step in (server.stdin.close, server.terminate, server.kill):
        try:
            step()
            server.wait(GRACE_SECONDS)
            return
        except (BrokenPipeError, subprocess.TimeoutExpired):
            continue


if __name__ == "__main__":
    main()
