"""server-everything: small results of every kind of content cross unchanged."""
from servers.bench import Bench

NAME = "everything"
CALLS = [
    ("echo", {"message": "the tide is out"}),
    ("get-sum", {"a": 2, "b": 40}),
    ("get-tiny-image", {}),
    ("get-structured-content", {"location": "Chicago"}),
    ("get-annotated-message", {"messageType": "error", "includeImage": True}),
    ("get-resource-links", {"count": 3}),
]
FAILING = [
    ("echo", {"message": 7}),
    ("no-such-tool", {}),
]


async def run(bench: Bench) -> None:
    """Runs the checks."""
    server = bench.node("@modelcontextprotocol/server-everything", "stdio")
    async with bench.open(NAME, server) as case:
        for tool, arguments in CALLS:
            await case.small(tool, arguments)
        for tool, arguments in FAILING:
            await case.small(tool, arguments, fails=True)
