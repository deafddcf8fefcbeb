"""The closed list of what a client may see differently because tidegate stands between it and a server.

Each rule has its reason. Everything that is not on the list is a failure, and so is a difference that a rule
requires and that does not show up.
"""
import re

from compare import Rule

# The budget of an answer that nobody asked to be larger. There is one in tokens as well; the tours have no
# result that is above that one alone.
BUDGET_BYTES = 10_240
QUERY_TOOL = "result_query"
URI_START = "ax://"
HANDLE = re.compile(r'Complete result: "([^"]+)"')


def is_query_tool(direct, proxied) -> bool:
    return [tool["name"] for tool in proxied] == [QUERY_TOOL]


def lists_of_tools(direct: dict) -> list[str]:
    return ["tools/tools"] if "tools" in direct.get("tools", {}) else []


def are_kept_results(direct, proxied) -> bool:
    return all(resource["uri"].startswith(URI_START) for resource in proxied)


def is_template_of_results(direct, proxied) -> bool:
    return len(proxied) == 1 and proxied[0]["uriTemplate"].startswith(URI_START)


def is_narrowed(direct, proxied) -> bool:
    return (direct, proxied) == ("public", "private")


def texts(result) -> list[str]:
    """The texts of a tool's result; none if it is no such result."""
    content = result.get("content") if isinstance(result, dict) else None
    if not isinstance(content, list):
        return []
    return [block["text"] for block in content if block.get("type") == "text"]


def is_large(result) -> bool:
    return sum(len(text.encode()) for text in texts(result)) > BUDGET_BYTES


def handle(result) -> str | None:
    """The name of the complete result, if this is an overview within the budget and nothing else."""
    if len(result.get("content", ())) != 1 or len(texts(result)) != 1 or is_large(result):
        return None
    if "structuredContent" in result:
        return None
    first_line = texts(result)[0].split("\n", 1)[0]
    found = HANDLE.search(first_line)
    return found and found[1]


def is_overview(direct, proxied) -> bool:
    """A large result became an overview, and what stands beside the content is as it was."""
    if not is_large(direct) or not isinstance(proxied, dict) or not handle(proxied):
        return False
    frames = [
        {key: value for key, value in result.items() if key not in ("content", "structuredContent")}
        for result in (direct, proxied)
    ]
    return frames[0] == frames[1]


def large_results(direct: dict) -> list[str]:
    return [step for step, result in direct.items() if is_large(result)]


SHAPE = [
    Rule(
        name=QUERY_TOOL,
        reason="the first page of every list of tools ends with the tool that reads more of a kept result",
        kind="appended",
        path="tools/tools",
        accepts=is_query_tool,
        required=lists_of_tools,
    ),
    Rule(
        name="outputSchema",
        reason="an overview does not have the form that the schema demands, and clients would refuse it",
        kind="missing",
        path=r"(tools|more-tools/\d+)/tools/\d+/outputSchema",
    ),
    Rule(
        name="resources capability",
        reason="kept results are resources; some clients read none from a server that does not announce them",
        kind="added",
        path="server/capabilities/resources",
    ),
    Rule(
        name="kept resources",
        reason="kept results are listed after the resources of the server",
        kind="appended",
        path="resources/resources",
        accepts=are_kept_results,
    ),
    Rule(
        name="template of kept resources",
        reason="the form of the URI of a kept result is listed after the templates of the server",
        kind="appended",
        path="templates/resourceTemplates",
        accepts=is_template_of_results,
    ),
    Rule(
        name="cacheScope",
        reason="a list with kept results in it belongs to one user",
        kind="changed",
        path=r"(tools|more-tools/\d+|resources|templates)/cacheScope",
        accepts=is_narrowed,
    ),
    Rule(
        name="overview",
        reason="a result above the budget becomes one text that names the complete result",
        kind="replaced",
        path="[^/]+",
        accepts=is_overview,
        required=large_results,
    ),
]

# What a client may see differently, by mode.
ALLOWED = {"observe": [], "shape": SHAPE}

# What a client without a session may see differently where a bridge stands between it and a server on stdio.
# The transports have no differences of their own else: a client sees the same over stdio and HTTP.
SHARED_SERVER = [
    Rule(
        name="log messages",
        reason="all clients share one server, and a message that names no request may be for any of them",
        kind="missing",
        path=r"seen/logged/0\.\.\.",
    ),
]


def rules(mode: str, pairing: str, direct: dict) -> list[Rule]:
    """The rules for a transcript, by the direct one."""
    stateless = (direct["server"].get("version") or "") >= "2026"
    return ALLOWED[mode] + (SHARED_SERVER if pairing == "bridge" and stateless else [])
