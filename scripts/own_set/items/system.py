"""What command-line tools of a Linux system print: processes, files, packages, settings."""

import json
import os
import re
import shutil
import sys
from collections import Counter
from pathlib import Path

from .. import questions as ask
from ..registry import Made, Skip, item, shell
from ..table import Table

SPAWN = r"""
import json, os, signal, subprocess, sys, time
jobs, root = json.load(open("jobs.json")), os.geteuid() == 0
for job in jobs:
    user = {"user": job["user"]} if root and job["user"] != "root" else {}
    code = f"x = bytearray({job['megabytes']} << 20)\nfor i in range(0, len(x), 4096): x[i] = 1\nimport time; time.sleep(600)"
    command = [job["name"], "-c", code] if job["megabytes"] else [job["name"], "600"]
    program = sys.executable if job["megabytes"] else "/bin/sleep"
    job["process"] = subprocess.Popen(command, executable=program, cwd="/", **user)
    job["pid"] = job["process"].pid
time.sleep(1.5)
for job in jobs:
    if job["stopped"]:
        os.kill(job["pid"], signal.SIGSTOP)
time.sleep(0.2)
print(subprocess.run(["ps", "aux"], stdout=subprocess.PIPE, text=True).stdout, end="")
for job in jobs:
    job.pop("process").kill()
json.dump(jobs, open("pids.json", "w"))
"""


@item("ps-aux", "process table", "ps of procps, over 80 processes started in a namespace of their own")
def ps_aux(work):
    services = [
        "nginx: worker",
        "postgres: checkpointer",
        "postgres: walwriter",
        "redis-server",
        "sshd: session",
        "cron",
        "rsyslogd",
        "php-fpm: pool www",
        "celery-worker",
        "gunicorn: worker",
        "kworker-events",
        "dockerd",
        "containerd-shim",
        "node-exporter",
    ]
    users = ["root", "www-data", "nobody", "daemon"] if os.geteuid() == 0 else ["root"]
    jobs = [
        {
            "name": f"{work.random.choice(services)} {n}",
            "user": work.random.choice(users),
            "megabytes": 0,
            "stopped": False,
        }
        for n in range(80)
    ]
    jobs[51].update(name="report-builder", megabytes=80, user="root")
    jobs[23].update(name="image-resizer", megabytes=30, user="root")
    jobs[67].update(name="backup-agent", stopped=True)
    work.write("jobs.json", json.dumps(jobs))
    work.write("spawn.py", SPAWN)
    text = work.run("unshare", "-pf" if os.geteuid() == 0 else "-rpf", "--mount-proc", sys.executable, "spawn.py")
    jobs = json.loads((work.folder / "pids.json").read_text())
    parse = "rows=[dict(zip(t.splitlines()[0].split(),l.split(None,10))) for l in t.splitlines()[1:]]"
    rows = [{"USER": "root", "PID": 0}] * (len(text.splitlines()) - 1)
    mine = Table(rows, "processes", parse, "process")
    busiest = Counter(job["user"] for job in jobs if job["user"] != "root").most_common(1) or [("root", len(rows))]
    questions = [
        mine.count(),
        ask.members(
            "schema", "Which columns are there?", ["USER", "PID", "%CPU", "%MEM", "VSZ", "RSS", "STAT", "COMMAND"]
        ),
        ask.words(
            "outlier",
            "Which process uses the most memory?",
            "report-builder",
            derive=f"{parse}\nmax(rows,key=lambda x:int(x['RSS']))['COMMAND'].split()[0]",
        ),
        ask.words(
            "rare",
            "Which process is stopped (state T)?",
            "backup-agent",
            derive=f"{parse}\n[x['COMMAND'].split()[0] for x in rows if x['STAT'].startswith('T')][0]",
        ),
        ask.lookup("What is the PID of image-resizer?", str(jobs[23]["pid"]), "image-resizer", 160),
        ask.stated(
            "aggregate",
            f"How many processes does {busiest[0][0]} run?",
            busiest[0][1],
            f"{parse}\nsum(x['USER']=={busiest[0][0]!r} for x in rows)",
            [busiest[0][0]],
            48,
        ),
        ask.whole(),
    ]
    return Made(text, shell("ps aux"), questions, "lines")


@item("ls-recursive", "recursive directory listing", "ls -lR over an installed Python package")
def ls_recursive(work):
    folder = package_folder("openpyxl")
    text = work.run("ls", "-lR", "--time-style=long-iso", cwd=folder)
    files = [(path, path.stat().st_size) for path in folder.rglob("*") if path.is_file()]
    folders = 1 + sum(path.is_dir() for path in folder.rglob("*"))
    largest = max(files, key=lambda file: file[1])
    chosen = next(file for file in files if file[0].name == "worksheet.py")
    parse = "f=[l.split(None,7) for l in t.splitlines() if l.startswith('-')]"
    questions = [
        ask.count("How many files are listed?", len(files), f"{parse}\nlen(f)", "file"),
        ask.count(
            "How many directories are listed?", folders, "sum(l.endswith(':') for l in t.splitlines())", "dir", "folder"
        ),
        ask.words(
            "outlier",
            "Which file is the largest?",
            largest[0].name,
            derive=f"{parse}\nmax(f,key=lambda x:int(x[4]))[7]",
        ),
        ask.extreme("How many bytes does the largest file have?", largest[1], f"{parse}\nmax(int(x[4]) for x in f)"),
        ask.lookup("How large is worksheet.py?", str(chosen[1]), "worksheet.py", 60),
        ask.stated(
            "aggregate",
            "How many bytes do all files have together?",
            sum(size for _, size in files),
            f"{parse}\nsum(int(x[4]) for x in f)",
            ["total", "sum", "bytes", "size"],
        ),
        ask.whole(),
    ]
    return Made(text, shell("ls -lR"), questions, "lines")


@item("find-files", "list of paths", "find over an npm package")
def find_files(work):
    folder = work.npm / "eslint"
    text = work.run("sh", "-c", "find . -type f | sort", cwd=folder)
    paths = sorted(
        str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file() and not path.is_symlink()
    )
    ends = Counter(Path(path).suffix for path in paths)
    tops = Counter(str(Path(path).parent) for path in paths).most_common(2)
    rare = [ending for ending, size in ends.items() if size == 1 and ending][:1]
    deepest = max(path.count("/") for path in paths)
    questions = [
        ask.count("How many files were found?", len(paths), "len(d)", "file", "path"),
        ask.stated(
            "aggregate", "How many files end in .js?", ends[".js"], "sum(x.endswith('.js') for x in d)", ["js"], 40
        ),
        ask.words(
            "aggregate",
            "Which folder has the most files directly in it?",
            tops[0][0],
            [str(tops[0][1])],
            60,
            "C(x[2:].rpartition('/')[0] for x in d).most_common(1)[0][0]",
        ),
        ask.words(
            "first_last",
            "What is the last path?",
            f"./{paths[-1]}" if paths[-1] in text.splitlines()[-1] else text.splitlines()[-1],
            derive="d[-1]",
        ),
        ask.lookup("In which folder is no-unused-vars.js?", "lib/rules/no-unused-vars.js", None, None),
        ask.stated(
            "aggregate",
            "How many folders deep is the deepest file?",
            deepest,
            "max(x.count('/') for x in d)-1",
            ["deep", "depth", "level", "nest"],
        ),
    ]
    if rare:
        questions.append(
            ask.words(
                "rare",
                f"Which file is the only one that ends in {rare[0]}?",
                next(Path(path).name for path in paths if path.endswith(rare[0])),
            )
        )
    return Made(text, shell("find . -type f | sort"), questions + [ask.whole()], "lines")


@item("du-sizes", "sizes and paths, separated by tabs", "du over Python's installed packages")
def du_sizes(work):
    folder = package_folder("pandas")
    text = work.run("du", "-ab", "--max-depth=3", ".", cwd=folder)
    rows = [(int(size), path) for size, path in (line.split("\t") for line in text.splitlines())]
    assert rows[-1] == (int(work.run("du", "-sb", folder).split()[0]), ".")
    inner = [row for row in rows if row[1].count("/") == 1 and (folder / row[1]).is_dir()]
    largest = max(inner)
    parse = "rows=[(int(a),b) for a,b in (l.split('\\t') for l in t.splitlines())]"
    file = next(row for row in rows if row[1].endswith("indexing.py"))
    questions = [
        ask.count("How many paths are listed?", len(rows), f"{parse}\nlen(rows)", "path", "file"),
        ask.words(
            "outlier", "Which folder directly below the top is the largest?", largest[1].lstrip("./"), derive=None
        ),
        ask.extreme(
            "How many bytes does the largest folder below the top have?",
            largest[0],
            f"{parse}\nmax(a for a,b in rows if b!='.')",
        ),
        ask.lookup("How large is indexing.py?", str(file[0]), "indexing.py", 60),
        ask.words(
            "first_last",
            "What is the total size (the last line)?",
            str(rows[-1][0]),
            derive="t.splitlines()[-1].split()[0]",
        ),
        ask.whole(),
    ]
    return Made(text, shell("du -ab --max-depth=3 ."), questions, "lines")


@item("dpkg-table", "table of installed packages", "dpkg -l")
def dpkg_table(work):
    text = work.run("dpkg", "-l", COLUMNS="160")
    rows = [
        dict(zip(("Name", "Version", "Architecture", "status"), line.split("\t")))
        for line in work.run(
            "dpkg-query", "-W", "-f", "${binary:Package}\t${Version}\t${Architecture}\t${db:Status-Abbrev}\n"
        ).splitlines()
    ]
    rows = [row for row in rows if not row["status"].startswith("un")]
    parse = "rows=[dict(zip(('status','Name','Version','Architecture'),l.split())) for l in t.splitlines()[5:]]"
    table = Table(rows, "packages", parse, "package")
    questions = [
        table.count(),
        ask.members("schema", "Which columns are there?", ["Name", "Version", "Architecture", "Description"]),
        table.lookup("Name", "tar", "Version", 120),
        table.group("Architecture", "all"),
        table.distinct("Architecture"),
        table.last("Name"),
        ask.words("fact", "What is the first package?", rows[0]["Name"]),
        ask.whole(),
    ]
    return Made(text, shell("dpkg -l"), questions, "lines")


@item("dpkg-stanzas", "stanzas of fields", "dpkg -s over 80 installed packages")
def dpkg_stanzas(work):
    names = work.run("dpkg-query", "-W", "-f", "${Package}\n").split()
    names = [name for name in dict.fromkeys(names)][:: max(1, len(names) // 80)][:80]
    shown = "${Package}\t${Section}\t${Installed-Size}\t${Version}\t${Priority}\n"
    rows = []
    for name in names:
        package, section, size, version, priority = (
            work.run("dpkg-query", "-W", "-f", shown, name).splitlines()[0].split("\t")
        )
        rows.append(
            {
                "Package": package,
                "Section": section,
                "Installed-Size": int(size),
                "Version": version,
                "Priority": priority,
            }
        )
    text = work.run("dpkg", "-s", *names)
    parse = "rows=[dict(l.split(': ',1) for l in s.splitlines() if re.match('[A-Z][A-Za-z-]*: ',l)) for s in t.split('\\n\\n') if s.strip()]"
    table = Table(rows, "packages", parse, "package", "stanza")
    middle = rows[len(rows) // 2]["Package"]
    questions = [
        table.count(),
        ask.members(
            "schema",
            "Which fields does a package have?",
            ["Package", "Status", "Priority", "Section", "Version", "Depends", "Description"],
        ),
        table.most("Section"),
        table.maximum("Installed-Size"),
        table.top("Installed-Size", "Package"),
        table.lookup("Package", middle, "Version", 1500),
        table.last("Package"),
        ask.whole(),
    ]
    return Made(text, shell("dpkg -s ..."), questions)


@item("sysctl", "key = value lines", "sysctl -a, the stable keys")
def sysctl(work):
    text = work.run("sysctl", "-a", fails=True)
    stable = [
        line
        for line in text.splitlines()
        if re.match(r"(fs|kernel\.(?!random|ns_last|perf|sched)|net|vm)[\w./-]* = ", line)
    ]
    text = "\n".join(stable) + "\n"
    keys = [line.split(" = ")[0] for line in stable]
    groups = Counter(key.split(".")[0] for key in keys)

    def value(key):
        return " ".join(Path("/proc/sys", *key.split(".")).read_text().split())

    questions = [
        ask.count("How many settings are there?", len(keys), "len(d)", "setting", "key"),
        ask.stated(
            "aggregate",
            "How many settings start with net.?",
            groups["net"],
            "sum(x.startswith('net.') for x in d)",
            ["net"],
            40,
        ),
        ask.members("schema", "Which first parts of the keys are there?", sorted(groups)),
        ask.lookup("What is vm.swappiness set to?", value("vm.swappiness"), "vm.swappiness", 30),
        ask.lookup("What is fs.file-max?", value("fs.file-max"), "fs.file-max", 30),
        ask.lookup(
            "What is net.ipv4.ip_local_port_range?",
            "\t".join(value("net.ipv4.ip_local_port_range").split()),
            "ip_local_port_range",
            40,
        ),
        ask.words("first_last", "What is the last key?", keys[-1]),
        ask.whole(),
    ]
    return Made(text, shell("sysctl -a"), questions, "lines")


@item("strace-calls", "trace of system calls", "strace over ls")
def strace_calls(work):
    work.run("strace", "-o", "trace", "-r", sys.executable, "-c", "import json, decimal, csv")
    text = (work.folder / "trace").read_text()
    calls = Counter(re.findall(r"^\s*[\d.]+ (\w+)\(", text, re.M))
    failed = len(re.findall(r"= -1 ENOENT", text))
    top = calls.most_common(1)[0]
    parse = "c=C(m.group(1) for m in (re.match(r' *\\d+\\.\\d+ ([a-z_0-9]+)\\(',l) for l in t.splitlines()) if m)"
    questions = [
        ask.count("How many lines does the trace have?", len(text.splitlines()), "len(t.splitlines())", "call"),
        ask.words(
            "aggregate",
            "Which system call is the most frequent?",
            top[0],
            [str(top[1])],
            60,
            f"{parse}\nc.most_common(1)[0][0]",
        ),
        ask.stated(
            "aggregate", "How many openat calls are there?", calls["openat"], f"{parse}\nc['openat']", ["openat"], 48
        ),
        ask.stated("outlier", "How many calls failed with ENOENT?", failed, "t.count('= -1 ENOENT')", ["ENOENT"], 60),
        ask.words("first_last", "Which call ends the trace?", "exit_group"),
        ask.lookup(
            "Which file descriptor did opening decimal.py (or its compiled form) return?",
            re.search(r"openat\([^\n]*decimal[^\n]*= (\d+)", text).group(1),
            "decimal",
            120,
        ),
        ask.whole(),
    ]
    return Made(text, shell("strace -r python3 -c 'import json, decimal, csv'"), questions, "lines")


@item("system-report", "several blocks, one for each command", "uname, cpuinfo, meminfo, mount, interrupts")
def system_report(work):
    parts = [
        ("uname -srm", work.run("uname", "-srm")),
        ("cat /proc/cpuinfo", Path("/proc/cpuinfo").read_text()),
        ("cat /proc/meminfo", Path("/proc/meminfo").read_text()),
        ("mount", work.run("mount")),
        ("cat /proc/filesystems", Path("/proc/filesystems").read_text()),
        ("cat /proc/interrupts", Path("/proc/interrupts").read_text()),
    ]
    content = [{"type": "text", "text": f"$ {command}\n{text}"} for command, text in parts]
    memory = dict(line.split(":", 1) for line in parts[2][1].splitlines())
    total = memory["MemTotal"].split()[0]
    mounts = Path("/proc/self/mounts").read_text().splitlines()
    model = re.search(r"model name\s*: (.*)", parts[1][1])
    questions = [
        ask.words("fact", "Which kernel release is it?", os.uname().release),
        ask.lookup("How much memory is there in all (kB)?", total, "MemTotal", 60),
        ask.lookup("How many huge pages are free?", memory["HugePages_Free"].strip(), "HugePages_Free", 40),
        ask.stated(
            "count",
            "How many file systems are mounted?",
            len(mounts),
            "len(ts[3].splitlines())-1",
            ["mount", "lines"],
            80,
        ),
        ask.words("fact", "What processor is it?", model.group(1))
        if model
        else ask.words("fact", "Which machine?", os.uname().machine),
        ask.members("whatelse", "Which commands were run?", [command for command, _ in parts]),
        ask.whole(),
    ]
    return Made({"content": content, "isError": False}, {"tool": "system_report", "arguments": {}}, questions)


@item("tar-listing", "archive listing", "tar -tvf over an archive of an installed package")
def tar_listing(work):
    folder = package_folder("pylint")
    shutil.copytree(folder, work.folder / "pylint", ignore=shutil.ignore_patterns("__pycache__"))
    work.run("tar", "-cf", "a.tar", "--sort=name", "--mtime=2024-03-01", "--owner=build", "--group=build", "pylint")
    text = work.run("tar", "-tvf", "a.tar")
    files = [path for path in (work.folder / "pylint").rglob("*") if path.is_file()]
    folders = 1 + sum(path.is_dir() for path in (work.folder / "pylint").rglob("*"))
    largest = max(files, key=lambda path: path.stat().st_size)
    parse = "rows=[l.split(None,5) for l in t.splitlines()]"
    questions = [
        ask.stated(
            "count",
            "How many files (not folders) does the archive have?",
            len(files),
            f"{parse}\nsum(x[0][0]=='-' for x in rows)",
            ["file", "-rw"],
            60,
        ),
        ask.stated(
            "count",
            "How many folders does the archive have?",
            folders,
            f"{parse}\nsum(x[0][0]=='d' for x in rows)",
            ["folder", "dir", "drw"],
            60,
        ),
        ask.words(
            "outlier",
            "Which file is the largest?",
            str(largest.relative_to(work.folder)),
            derive=f"{parse}\nmax(rows,key=lambda x:int(x[2]))[5]",
        ),
        ask.extreme("How large is it?", largest.stat().st_size, f"{parse}\nmax(int(x[2]) for x in rows)"),
        ask.lookup(
            "How large is pylint/checkers/variables.py?",
            str((work.folder / "pylint/checkers/variables.py").stat().st_size),
            "pylint/checkers/variables.py",
            60,
        ),
        ask.words("fact", "Who owns the files?", "build/build"),
        ask.whole(),
    ]
    return Made(text, shell("tar -tvf a.tar"), questions, "lines")


@item("pip-inspect", "nested records of installed packages", "pip inspect")
def pip_inspect(work):
    from importlib.metadata import distributions

    text = work.run("python", "-m", "pip", "inspect", "--local")
    packages = {dist.metadata["Name"]: dist for dist in distributions(path=[str(package_folder("pip").parent)])}
    noarguments = sorted(name for name, dist in packages.items() if not dist.requires)
    questions = [
        ask.count(
            "How many packages are installed?", len(packages), "len(json.loads(t)['installed'])", "installed", "package"
        ),
        ask.lookup("Which version of pandas is installed?", packages["pandas"].version, "pandas", 300),
        ask.members(
            "whatelse", "Which top-level keys are there?", ["version", "pip_version", "installed", "environment"]
        ),
        ask.lookup(
            "Which Python version does it run?", ".".join(map(str, sys.version_info[:3])), ["python_full_version"], 60
        ),
        ask.stated(
            "aggregate",
            "How many packages require no other package (no requires_dist)?",
            len(noarguments),
            "sum(not x['metadata'].get('requires_dist') for x in json.loads(t)['installed'])",
            ["requires_dist", "absent", "missing", "without"],
            120,
        ),
        ask.words("fact", "Which program installed them?", "pip", ["installer"], 40),
        ask.whole(),
    ]
    return Made(text, shell("pip inspect --local"), questions, "json")


def package_folder(name):
    """Returns the folder of an installed Python package."""
    for entry in sys.path:
        if entry and (Path(entry) / name / "__init__.py").exists():
            return Path(entry) / name
    raise Skip(f"the Python package {name} is not installed")
