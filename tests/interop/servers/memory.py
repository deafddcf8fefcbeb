"""server-memory: a graph of 300 entities, made and read through the proxy."""
from servers.bench import Bench
from servers.case import Case
from servers.judge import contains, equals, table
from servers.link import Server

NAME = "memory"
COUNT = 300
KINDS = ["gauge", "harbour", "lock"]


async def run(bench: Bench) -> None:
    """Runs the checks; each side has a graph of its own, made by the same calls."""
    async with bench.open(NAME, server(bench, "direct"), server(bench, "gated")) as case:
        entities = [entity(number) for number in range(COUNT)]
        made = await case.large("create_entities", {"entities": entities})
        await case.follow(made, {"jq": ".[-1].name"}, equals(f'"{entities[-1]["name"]}"'))
        await case.small("open_nodes", {"names": ["station-007"]})
        await case.small("create_relations", {"relations": [
            {"from": "station-001", "to": "station-002", "relationType": "drains into"}]})
        await graph(case)


async def graph(case: Case) -> None:
    """The whole graph."""
    read = await case.large("read_graph", {})
    kinds = [(kind, COUNT // len(KINDS)) for kind in KINDS]
    group = "select entityType, count(*) as n from t group by 1 order by 1"
    await case.follow(read, {"sql": group}, table(["entityType", "n"], kinds))
    await case.follow(read, {"sql": "select count(*) as n from t"}, table(["n"], [(COUNT,)]))
    await case.follow(read, {"jq": '.entities[]|select(.name=="station-200")|.observations[1]'},
                      equals(f'"{entity(200)["observations"][1]}"'))
    await case.follow(read, {"jq": ".relations[0].to"}, equals('"station-002"'))
    await case.follow(read, {"grep": "station-123"}, contains("station-123", entity(123)["observations"][0]))


def server(bench: Bench, side: str) -> Server:
    """The server with a file for one side."""
    path = bench.folder / f"{side}.jsonl"
    return bench.node("@modelcontextprotocol/server-memory", environment={"MEMORY_FILE_PATH": str(path)})


def entity(number: int) -> dict:
    """One entity of the graph."""
    return {
        "name": f"station-{number:03}",
        "entityType": KINDS[number % len(KINDS)],
        "observations": [
            f"level {number % 60 / 10} m measured in week {number % 52}",
            f"kept by crew {number % 17}",
            "inspected after the spring tide and found in order",
        ],
    }
