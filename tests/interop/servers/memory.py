"""server-memory: a graph of 300 entities, created and read through tidegate."""
from servers.connection import Server
from servers.expectations import contains, equals, table
from servers.server_pair import ServerPair
from servers.setup import Setup

NAME = "memory"
COUNT = 300
KINDS = ["gauge", "harbour", "lock"]


async def run(setup: Setup) -> None:
    """Runs the checks; each side has its own graph, created by the same calls."""
    async with setup.open(NAME, server(setup, "direct"), server(setup, "gated")) as pair:
        entities = [entity(number) for number in range(COUNT)]
        created = await pair.large("create_entities", {"entities": entities})
        await pair.follow(created, {"jq": ".[-1].name"}, equals(f'"{entities[-1]["name"]}"'))
        await pair.small("open_nodes", {"names": ["station-007"]})
        await pair.small("create_relations", {"relations": [
            {"from": "station-001", "to": "station-002", "relationType": "drains into"}]})
        await graph(pair)


async def graph(pair: ServerPair) -> None:
    """Checks the whole graph."""
    read = await pair.large("read_graph", {})
    kinds = [(kind, COUNT // len(KINDS)) for kind in KINDS]
    group = "select entityType, count(*) as n from t group by 1 order by 1"
    await pair.follow(read, {"sql": group}, table(["entityType", "n"], kinds))
    await pair.follow(read, {"sql": "select count(*) as n from t"}, table(["n"], [(COUNT,)]))
    await pair.follow(read, {"jq": '.entities[]|select(.name=="station-200")|.observations[1]'},
                      equals(f'"{entity(200)["observations"][1]}"'))
    await pair.follow(read, {"jq": ".relations[0].to"}, equals('"station-002"'))
    await pair.follow(read, {"grep": "station-123"}, contains("station-123", entity(123)["observations"][0]))


def server(setup: Setup, side: str) -> Server:
    """Returns the server with a separate file for one side."""
    path = setup.folder / f"{side}.jsonl"
    return setup.node("@modelcontextprotocol/server-memory", environment={"MEMORY_FILE_PATH": str(path)})


def entity(number: int) -> dict:
    """Returns one entity of the graph."""
    return {
        "name": f"station-{number:03}",
        "entityType": KINDS[number % len(KINDS)],
        "observations": [
            f"level {number % 60 / 10} m measured in week {number % 52}",
            f"kept by crew {number % 17}",
            "inspected after the spring tide and found in order",
        ],
    }
