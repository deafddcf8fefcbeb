"""The complete list of differences that a client may see when tidegate is between it and a server.

Each rule has a reason. Any other difference is a failure, and so is a required difference that does not occur.
"""
import re

from compare import Rule

# The line and the budget in bytes, for a client that tidegate does not know. No result of a tour exceeds only the tokens.
BUDGET_BYTES = 10_240
QUERY_TOOL = "result_query"
URI_START = "ax://"
HANDLE = re.compile(r'Complete result: "([^"]+)"')


def is_query_tool(direct, proxied) -> bool:
    return [tool["name"] for tool in proxied] == [QUERY_TOOL]


def tool_lists(direct: dict) -> list[str]:
    return ["tools/tools"] if "tools" in direct.get("tools", {}) else []


def are_kept_results(direct, proxied) -> bool:
    return all(resource["uri"].startswith(URI_START) for resource in proxied)


def is_kept_result_template(direct, proxied) -> bool:
    return len(proxied) == 1 and proxied[0]["uriTemplate"].startswith(URI_START)


def is_narrowed(direct, proxied) -> bool:
    return (direct, proxied) == ("public", "private")


def texts(result) -> list[str]:
    """Returns the texts of a tool result; none if the value is not a tool result."""
    content = result.get("content") if isinstance(result, dict) else None
    if not isinstance(content, list):
        return []
    return [block["text"] for block in content if block.get("type") == "text"]


def is_large(result) -> bool:
    return sum(len(text.encode()) for text in texts(result)) > BUDGET_BYTES


def handle(result) -> str | None:
    """Returns the handle of the complete result, if this is an overview within the budget and nothing else."""
    if len(result.get("content", ())) != 1 or len(texts(result)) != 1 or is_large(result):
        return None
    if "structuredContent" in result:
        return None
    first_line = texts(result)[0].split("\n", 1)[0]
    found = HANDLE.search(first_line)
    return found and found[1]


def is_overview(direct, proxied) -> bool:
    """Returns whether a large result became an overview, and nothing but the content changed."""
    if not is_large(direct) or not isinstance(proxied, dict) or not handle(proxied):
        return False
    other_members = [
        {key: value for key, value in result.items() if key not in ("content", "structuredContent")}
        for result in (direct, proxied)
    ]
    return other_members[0] == other_members[1]


def large_results(direct: dict) -> list[str]:
    return [step for step, result in direct.items() if is_large(result)]


SHAPE = [
    Rule(
        name=QUERY_TOOL,
        reason="the first page of every list of tools ends with the tool that reads more of a kept result",
        kind="appended",
        path="tools/tools",
        accepts=is_query_tool,
        required=tool_lists,
    ),
    Rule(
        name="outputSchema",
        reason="an overview does not match the schema, so clients would reject it",
        kind="missing",
        path=r"(tools|more-tools/\d+)/tools/\d+/outputSchema",
    ),
    Rule(
        name="resources capability",
        reason="kept results are resources, which some clients read only if the server announces the capability",
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
        reason="the URI template of kept results is listed after the templates of the server",
        kind="appended",
        path="templates/resourceTemplates",
        accepts=is_kept_result_template,
    ),
    Rule(
        name="cacheScope",
        reason="a list with kept results is private to one user",
        kind="changed",
        path=r"(tools|more-tools/\d+|resources|templates)/cacheScope",
        accepts=is_narrowed,
    ),
    Rule(
        name="overview",
        reason="a result above the line becomes one text that names the complete result",
        kind="replaced",
        path="[^/]+",
        accepts=is_overview,
        required=large_results,
    ),
]

# The allowed differences, by mode.
ALLOWED = {"observe": [], "shape": SHAPE}

# The allowed difference for a client without a session behind a bridge to a server on stdio. Otherwise a client sees
# the same over stdio and HTTP.
SHARED_SERVER = [
    Rule(
        name="log messages",
        reason="all clients share one server, and a message without a request id may be meant for any of them",
        kind="missing",
        path=r"seen/logged/0\.\.\.",
    ),
]


def is_raised(direct, proxied) -> bool:
    return not direct and proxied is True


# The allowed differences for a client of a gateway, which answers for all its servers and makes lists of its own.
GATEWAY = [
    Rule(
        name="server",
        reason="the gateway introduces itself, whatever servers are behind it",
        kind="replaced",
        path="server/info",
    ),
    *(Rule(
        name="listChanged",
        reason="servers may join and leave, so every list may change",
        kind=kind,
        path="server/capabilities/(tools|prompts|resources)/listChanged",
        accepts=is_raised,
    ) for kind in ("added", "changed")),
    Rule(
        name="_meta of lists",
        reason="a list is that of the gateway, not that of one server",
        kind="missing",
        path="(tools|prompts|resources|templates)/_meta",
    ),
    Rule(
        name="ttlMs",
        reason="clients are told of changes, and what a caller may use can change at any time",
        kind="changed",
        path="(tools|prompts|resources|templates)/ttlMs",
        accepts=lambda direct, proxied: proxied == 0,
    ),
    Rule(
        name="cacheScope",
        reason="lists show what the caller may use",
        kind="changed",
        path="prompts/cacheScope",
        accepts=is_narrowed,
    ),
    Rule(
        name="log messages",
        reason="a server is connected to when it is needed first, and many clients share a server without sessions",
        kind="missing",
        path=r"seen/logged/0\.\.\.",
    ),
]


def is_error(direct, proxied) -> bool:
    return isinstance(proxied, dict) and bool(proxied.get("isError") or "error" in proxied)


# The allowed differences for a client that would speak an older revision to the server, and speaks 2026-07-28 to the gateway,
# which has it for every server.
NEWER_REVISION = [
    Rule(
        name="revision",
        reason="the gateway speaks both eras, and the client takes the newest revision",
        kind="changed",
        path="server/version",
    ),
    Rule(
        name="requests of the server",
        reason="a server with sessions cannot ask a client without one",
        kind="replaced",
        path="sampling|elicitation|roots",
        accepts=is_error,
    ),
    Rule(
        name="what the client was asked",
        reason="the same",
        kind="replaced",
        path="seen/(sampled|elicited|roots_asked|rootsAsked)",
        accepts=lambda direct, proxied: not proxied,
    ),
    Rule(
        name="methods of sessions",
        reason="the revision does not have them",
        kind="replaced",
        path="ping|log-level|subscribe|unsubscribe",
        accepts=is_error,
    ),
    Rule(
        name="cache hints",
        reason="the revision asks for them",
        kind="added",
        path="(tools|prompts|resources|templates|read)/(ttlMs|cacheScope)",
    ),
    Rule(
        name="tasks",
        reason="SDKs do not show tasks of the older revision to clients of this one",
        kind="missing",
        path=r"server/capabilities/tasks|tools/tools/\d+/execution",
    ),
]


def is_stateless(transcript: dict) -> bool:
    return (transcript["server"].get("version") or "") >= "2026"


def rules(mode: str, pairing: str, direct: dict, proxied: dict) -> list[Rule]:
    """Returns the rules for two transcripts."""
    if pairing.startswith("gateway"):
        is_newer = is_stateless(proxied) and not is_stateless(direct)
        return ALLOWED[mode] + GATEWAY + (NEWER_REVISION if is_newer else [])
    return ALLOWED[mode] + (SHARED_SERVER if pairing == "bridge" and is_stateless(direct) else [])
