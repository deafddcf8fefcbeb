"""The lines that the wire checks send to raw_server.mjs: unusual but valid messages, with unknown fields."""

META = (
    '"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",'
    '"io.modelcontextprotocol/clientCapabilities":{"xFuture":{}},'
    '"io.modelcontextprotocol/clientInfo":{"name":"wire","version":"0"},"xMeta":1.0}'
)
INITIALIZE = (
    '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25",'
    '"capabilities":{"roots":{},"xFuture":{"a":1.0}},"clientInfo":{"name":"wire","version":"0","xInfo":[]}}}'
)
INITIALIZED = '{"jsonrpc":"2.0","method":"notifications/initialized"}'
LIST_TOOLS = [
    '{"jsonrpc":"2.0","id":"page-1","method":"tools/list"}',
    '{"jsonrpc":"2.0","id":"page-2","method":"tools/list","params":{"cursor":"6"}}',
    '{"jsonrpc":"2.0","id":"page-3","method":"tools/list","params":{"cursor":"12"}}',
]
DISCOVER = '{"jsonrpc":"2.0","id":"discover","method":"server/discover","params":{' + META + "}}"


def call(number: int, name: str, arguments: str = "{}", meta: str = "") -> str:
    """Returns a tool call as a plain client writes it."""
    params = f'"name":"{name}","arguments":{arguments}' + (f",{meta}" if meta else "")
    return f'{{"jsonrpc":"2.0","id":{number},"method":"tools/call","params":{{{params}}}}}'


STRUCTURED = (
    "match",
    "mismatch",
    "missing",
    "extra-key",
    "extra-key-strict",
    "short-array",
    "error-missing",
    "error-mismatch",
)
SMALL_CALLS = [
    *(call(100 + index, name) for index, name in enumerate(STRUCTURED)),
    call(120, "future"),
    call(121, "foreign"),
    call(122, "spaced"),
    call(123, "noise"),
    call(124, "ask"),
    call(125, "big", '{"bytes":1500,"xExtra":1e3}'),
    call(126, "big-rows", '{"rows":3}'),
    call(127, "burst", '{"n":3}', '"_meta":{"progressToken":"é-1"}'),
    call(128, "nope"),
]
ODD_REQUESTS = [
    # Unusual key order, spaces and escapes, a string as id, an unknown field.
    ' {"xFuture":[1.0,1e3] , "params":{ "arguments":{},"name":"\\u0064igest" },"method":"tools\\/call",'
    '"id":"\\u00e9 x" ,"jsonrpc":"2.0"} ',
    '{"jsonrpc":"2.0","id":-7,"method":"ping"}',
    '{"jsonrpc":"2.0","id":300,"method":"future/method","params":{"n":12345678901234567890123,"f":1.0}}',
    '{"jsonrpc":"2.0","id":301,"method":"future/unknown","params":[1,2]}',
    '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99999,"reason":"gone"}}',
    '{"jsonrpc":"2.0","method":"notifications/future","params":{"x":1.0}}',
    "this is not JSON",
    '[{"jsonrpc":"2.0","id":310,"method":"tools/call","params":{"name":"match"}},'
    '{"jsonrpc":"2.0","method":"notifications/future"}]',
]
MODERN_CALLS = [
    call(400, "match", "{}", META),
    call(401, "future", "{}", META),
    call(402, "spaced", "{}", META),
]
# Its result shows whether every line before it arrived unchanged.
DIGEST = call(900, "digest", '{"long":"' + "é" * 100_000 + '"}')


def lines(*parts: str | list[str]) -> list[bytes]:
    """Returns the parts as lines."""
    flat = [line for part in parts for line in ([part] if isinstance(part, str) else part)]
    return [line.encode() + b"\n" for line in flat]
