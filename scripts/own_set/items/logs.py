"""Logs that programs write: system log, web server, JSON lines, logfmt, tracebacks."""

import json
import re
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from collections import Counter

from .. import questions as ask
from ..registry import Made, Skip, item, shell
from ..table import Table


@item("syslog", "system log lines", "logger of util-linux, written by a script")
def syslog(work):
    if not shutil.which("logger"):
        raise Skip("logger is not installed")
    tags = ["sshd[812]", "cron[77]", "kernel", "systemd[1]", "dhclient[301]", "postfix/smtpd[944]"]
    facts = []
    for number in range(320):
        tag = work.random.choices(tags, weights=[6, 4, 2, 5, 1, 3])[0]
        message = {
            "sshd[812]": f"Failed password for invalid user user{number % 9} from 10.0.{number % 5}.{number % 200} port {40000 + number} ssh2",
            "cron[77]": f"(root) CMD (run-parts /etc/cron.hourly job {number % 12})",
            "kernel": f"eth0: link is up at {10 * (number % 3 + 1)} Gbps",
            "systemd[1]": f"Started session-{number}.scope.",
            "dhclient[301]": f"bound to 192.168.7.{number % 250} -- renewal in {number * 7} seconds.",
            "postfix/smtpd[944]": f"connect from mail{number % 7}.example.net[198.51.100.{number % 90}]",
        }[tag]
        if number == 211:
            tag, message = "kernel", "EXT4-fs error (device vda1): ext4_find_entry: reading directory lblock 0"
        facts.append((tag, message))
    script = "".join(f"logger -s --no-act --socket-errors=off -t '{tag}' -- '{message}'\n" for tag, message in facts)
    text = work.run("sh", stdin=script, errors=True)
    text = re.sub(r"^<\d+>", "", text, flags=re.M)
    counts = Counter(tag for tag, _ in facts)
    top = counts.most_common(1)[0]
    at = next(index for index, fact in enumerate(facts) if fact[0] == "dhclient[301]")
    questions = [
        ask.count("How many lines are there?", len(facts), "len(d)"),
        ask.words(
            "aggregate",
            "Which program wrote the most lines?",
            top[0].split("[")[0],
            [str(top[1])],
            60,
            "C(re.match(r'\\w{3} +\\d+ [\\d:]+ ([\\w/]+)',x).group(1) for x in d).most_common(1)[0][0]",
        ),
        ask.stated(
            "aggregate",
            "How many lines did postfix/smtpd write?",
            counts["postfix/smtpd[944]"],
            "sum(' postfix/smtpd[' in x for x in d)",
            ["postfix"],
            60,
        ),
        ask.words(
            "outlier",
            "Which error did the kernel report?",
            "EXT4-fs error (device vda1): ext4_find_entry: reading directory lblock 0",
        ),
        ask.words("first_last", "What does the last line say?", facts[-1][1]),
        ask.lookup(
            "Which address did dhclient get first?", re.search(r"[\d.]+\d", facts[at][1]).group(0), "dhclient", 80
        ),
        ask.whole(),
    ]
    return Made(text, shell("tail -n 320 /var/log/syslog"), questions, "lines")


@item("http-server-log", "web server log", "Python's http.server under requests of this script")
def http_server_log(work):
    for number in range(12):
        work.write(f"site/page{number}.html", f"<h1>{number}</h1>" * (number + 1))
    with (work.folder / "log").open("w") as log:
        server = subprocess.Popen(
            [sys.executable, "-u", "-m", "http.server", "0", "--bind", "127.0.0.1", "-d", "site"],
            cwd=work.folder,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        try:
            port = int(re.search(r"port (\d+)", server.stdout.readline()).group(1))
            requests = [_request(work, port, number) for number in range(420)]
        finally:
            server.kill()
            server.wait()
    text = (work.folder / "log").read_text()
    text = "\n".join(line for line in text.splitlines() if '"' in line) + "\n"
    codes, paths = Counter(code for _, _, code in requests), Counter(path for _, path, _ in requests)
    top = paths.most_common(1)[0]
    parse = r"""rows=[m.groups() for m in re.finditer(r'"(\w+) (\S+) HTTP/1.\d" (\d+)',t)]"""
    odd = next(request for request in requests if request[0] not in ("GET", "HEAD"))
    questions = [
        ask.count("How many requests were made?", len(requests), f"{parse}\nlen(rows)", "request"),
        ask.stated(
            "aggregate",
            "How many requests were answered with 404?",
            codes[404],
            f"{parse}\nsum(x[2]=='404' for x in rows)",
            ["404"],
            48,
        ),
        ask.words(
            "aggregate",
            "Which path was requested the most?",
            top[0],
            [str(top[1])],
            60,
            f"{parse}\nC(x[1] for x in rows).most_common(1)[0][0]",
        ),
        ask.stated(
            "aggregate",
            "How many HEAD requests were made?",
            sum(method == "HEAD" for method, _, _ in requests),
            f"{parse}\nsum(x[0]=='HEAD' for x in rows)",
            ["HEAD"],
            48,
        ),
        ask.words("rare", "Which path was asked for by the one POST request?", odd[1], ["POST"], 60),
        ask.words("first_last", "Which path was requested last?", requests[-1][1], derive=f"{parse}\nrows[-1][1]"),
        ask.whole(),
    ]
    return Made(text, shell("cat access.log"), questions, "lines")


def _request(work, port, number):
    method = "POST" if number == 233 else work.random.choices(["GET", "HEAD"], weights=[6, 1])[0]
    path = (
        "/form"
        if number == 233
        else work.random.choices(
            [f"/page{work.random.randint(0, 11)}.html", "/missing.css", f"/page3.html?item={number}", "/page0.html"],
            weights=[6, 1, 1, 2],
        )[0]
    )
    try:
        code = urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{port}{path}", method=method)).status
    except urllib.error.HTTPError as error:
        code = error.code
    return method, path, code


PINO = r"""
const pino = require('pino');
const log = pino({level: 'debug', base: {pid: 7, hostname: 'shop-1'}}, pino.destination({dest: 1, sync: true}));
for (const e of JSON.parse(require('fs').readFileSync('events.json'))) {
  const {level, msg, ...rest} = e;
  log[level](rest, msg);
}
"""


@item("pino-lines", "JSON lines log", "pino (npm), a service that takes orders")
def pino_lines(work):
    events = []
    for number in range(260):
        level = work.random.choices(["info", "debug", "warn", "error"], weights=[20, 6, 2, 1])[0]
        events.append(
            {
                "level": level,
                "msg": {
                    "info": "order accepted",
                    "debug": "cache miss",
                    "warn": "slow query",
                    "error": "payment refused",
                }[level],
                "orderId": 5000 + number,
                "ms": work.random.randint(3, 900),
                "region": work.random.choice(["eu", "us", "ap"]),
            }
        )
    events[141].update(level="fatal", msg="database connection lost", ms=30001)
    work.write("events.json", json.dumps(events))
    work.write("log.js", PINO)
    text = work.run("node", "log.js", NODE_PATH=str(work.npm))
    names = {"debug": 20, "info": 30, "warn": 40, "error": 50, "fatal": 60}
    rows = [{**event, "level": names[event["level"]]} for event in events]
    table = Table(rows, "entries", "rows=d", "line", "log")
    questions = [
        table.count(),
        table.columns(["level", "time", "orderId", "ms", "region", "msg"]),
        ask.stated(
            "aggregate",
            "How many errors (level 50) are there?",
            sum(row["level"] == 50 for row in rows),
            "sum(x['level']==50 for x in d)",
            ["50", "error", "payment refused"],
            48,
        ),
        table.maximum("ms"),
        table.most("region"),
        ask.words("outlier", "What does the fatal entry (level 60) say?", "database connection lost"),
        table.lookup("orderId", 5199, "ms", 120),
        ask.whole(),
    ]
    return Made(text, shell("cat app.log"), questions, "jsonl")


@item("logfmt-lines", "key=value log lines", "structlog's logfmt renderer, a job queue")
def logfmt_lines(work):
    import structlog

    render = structlog.processors.LogfmtRenderer(key_order=["ts", "level", "event"])
    rows = []
    for number in range(240):
        level = work.random.choices(["info", "warning", "error"], weights=[16, 3, 1])[0]
        rows.append(
            {
                "ts": f"2024-05-{1 + number // 24:02}T{number % 24:02}:15:00Z",
                "level": level,
                "event": {"info": "job done", "warning": "job retried", "error": "job failed"}[level],
                "queue": work.random.choice(["mail", "thumbnails", "exports"]),
                "job": f"j{number:04}",
                "attempts": 1 if level == "info" else work.random.randint(2, 5),
                "seconds": round(work.random.uniform(0.05, 60), 3),
            }
        )
    rows[100].update(seconds=912.5)
    text = "\n".join(render(None, "info", dict(row)) for row in rows) + "\n"
    table = Table(
        rows,
        "lines",
        'import shlex\nrows=[dict(p.split("=",1) for p in shlex.split(l)) for l in t.splitlines()]',
        "job",
        "line",
    )
    questions = [
        table.count(),
        table.columns(),
        table.group("level", "error"),
        table.most("queue"),
        table.maximum("seconds"),
        table.top("seconds", "job"),
        table.lookup("job", "j0177", "queue", 120),
        table.last("ts"),
        ask.whole(),
    ]
    return Made(text, shell("cat worker.log"), questions, "lines")


CRASHES = r"""
import json, logging, sys, traceback
logging.basicConfig(stream=sys.stdout, format="%(asctime)s %(levelname)s %(name)s: %(message)s", level=logging.INFO)
logs = {n: logging.getLogger(n) for n in ("api", "db", "mailer")}
def parse_price(text): return int(text.replace(".", ""))
def load(row): return {"price": parse_price(row["price"]), "name": row["name"].strip()}
def connect(port): raise ConnectionRefusedError(111, f"connect to port {port} refused")
def store(row):
    try: connect(5400 + row["id"] % 3)
    except ConnectionRefusedError as e: raise RuntimeError(f"row {row['id']} was not stored") from e
for row in json.load(open("rows.json")):
    try:
        load(row)
        if row["id"] % 17 == 5: store(row)
        logs["api"].info("row %d imported", row["id"])
    except Exception as e:
        logs["db" if isinstance(e, RuntimeError) else "api"].exception("row %d failed", row["id"])
"""


@item("traceback-log", "log with stack traces", "Python's logging module, an import that fails now and then")
def traceback_log(work):
    rows = [{"id": number, "name": "n", "price": f"{number}.50"} for number in range(180)]
    rows[40]["price"], rows[91]["name"], rows[133]["price"] = "12,80", None, "free"
    work.write("rows.json", json.dumps(rows))
    work.write("importer.py", CRASHES)
    text = work.run(sys.executable, "importer.py")
    refused = [row["id"] for row in rows if row["id"] % 17 == 5]
    failed = len(refused) + 3
    questions = [
        ask.stated(
            "count",
            "How many rows failed (ERROR lines)?",
            failed,
            "len(re.findall(r' ERROR ',t))",
            ["ERROR", "error"],
            60,
        ),
        ask.stated(
            "count",
            "How many rows were imported?",
            len(rows) - failed,
            "len(re.findall(r'row \\d+ imported',t))",
            ["imported", "INFO"],
            60,
        ),
        ask.members(
            "aggregate",
            "Which exception types occur?",
            ["RuntimeError", "ConnectionRefusedError", "ValueError", "AttributeError"],
        ),
        ask.words("rare", "What does the AttributeError say?", "'NoneType' object has no attribute 'strip'"),
        ask.stated(
            "aggregate",
            "How often does a RuntimeError occur?",
            len(refused),
            "len(re.findall(r'^RuntimeError: ',t,re.M))",
            ["RuntimeError"],
            60,
        ),
        ask.lookup(
            "Which text could not be parsed as a number in row 133?",
            "free",
            ["invalid literal", "ValueError", "row 133"],
            200,
        ),
        ask.words("first_last", "Which row is the last one?", "row 179"),
        ask.whole(),
    ]
    return Made(text, shell("python importer.py"), questions)


JAVA = r"""
import java.util.*;
import java.util.logging.*;
public class Shop {
  static final Logger log = Logger.getLogger("shop.Checkout");
  static int price(Map<String,Integer> prices, String name) { return prices.get(name); }
  static void reserve(int n) { if (n % 19 == 3) throw new IllegalStateException("stock of item " + n + " is negative"); }
  static void order(int n, Map<String,Integer> prices) {
    try { reserve(n); price(prices, n == 77 ? "ghost" : "tea"); }
    catch (IllegalStateException e) { throw new RuntimeException("order " + n + " rejected", e); }
  }
  public static void main(String[] a) {
    Map<String,Integer> prices = new HashMap<>(); prices.put("tea", 4);
    for (int n = 0; n < 150; n++) {
      try { order(n, prices); log.info("order " + n + " placed"); }
      catch (RuntimeException e) { log.log(Level.SEVERE, "order " + n, e); }
    }
  }
}
"""


@item("java-log", "Java log with stack traces", "java.util.logging, a shop whose orders fail now and then")
def java_log(work):
    work.write("Shop.java", JAVA)
    text = work.run("java", "Shop.java", errors=True)
    rejected = [n for n in range(150) if n % 19 == 3]
    questions = [
        ask.stated(
            "count",
            "How many SEVERE entries are there?",
            len(rejected) + 1,
            "len(re.findall(r'^SEVERE: ',t,re.M))",
            ["SEVERE"],
            60,
        ),
        ask.stated(
            "count",
            "How many orders were placed?",
            150 - len(rejected) - 1,
            "len(re.findall(r'order \\d+ placed',t))",
            ["placed", "INFO"],
            60,
        ),
        ask.words("rare", "In which order did a NullPointerException occur?", "order 77"),
        ask.members(
            "aggregate",
            "Which exception types occur?",
            ["RuntimeException", "IllegalStateException", "NullPointerException"],
        ),
        ask.lookup("Which method throws the IllegalStateException?", "Shop.reserve", ["IllegalStateException"], 300),
        ask.words("first_last", "What does the last entry say?", "order 149 placed"),
        ask.whole(),
    ]
    return Made(text, shell("java Shop"), questions)
