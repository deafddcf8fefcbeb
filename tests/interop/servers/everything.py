"""server-everything: small results with every kind of content pass unchanged."""
from servers.setup import Setup

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


async def run(setup: Setup) -> None:
    """Runs the checks."""
    server = setup.node("@modelcontextprotocol/server-everything", "stdio")
    async with setup.open(NAME, server) as pair:
        for tool, arguments in CALLS:
            await pair.small(tool, arguments)
        for tool, arguments in FAILING:
            await pair.small(tool, arguments, fails=True)
