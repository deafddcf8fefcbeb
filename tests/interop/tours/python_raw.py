#!/usr/bin/env python3
"""Tour of the fixture raw_server.mjs with the Python SDK: python_raw.py --mode legacy|auto -- SERVER ARGS...

Paged lists, results with an outputSchema that the client validates, large results, and many progress events at
once.
"""
import tour

STRUCTURED = ("match", "extra-key", "short-array", "error-missing")
LARGE_BYTES = 1_000_000
LARGE_ROWS = 5_000


async def pages(client, transcript):
    """Records the first page, the other pages as a list, and whether all pages have the same cacheScope."""
    first = tour.plain(await client.list_tools())
    others = []
    cursor = first.get("nextCursor")
    while cursor is not None:
        others.append(tour.plain(await client.list_tools(cursor=cursor)))
        cursor = others[-1].get("nextCursor")
    transcript.record("tools", first)
    transcript.record("more-tools", others)
    transcript.record("one-scope", len({page.get("cacheScope") for page in [first, *others]}) == 1)


async def make_tour(client, transcript, host):
    call = client.call_tool
    await pages(client, transcript)
    for name in STRUCTURED:
        await transcript.step(name, call(name, {}))
    await transcript.step("future", call("future", {}))
    await transcript.step("large-text", call("big", {"bytes": LARGE_BYTES}))
    await transcript.step("large-rows", call("big-rows", {"rows": LARGE_ROWS}))
    await transcript.step("small-rows", call("big-rows", {"rows": 3}))
    await transcript.progress("burst", lambda **options: call("burst", {"n": 200}, **options))


if __name__ == "__main__":
    tour.run(make_tour, tour.Host())
