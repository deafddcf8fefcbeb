#!/usr/bin/env python3
"""Tour of server-everything with the Python SDK: python_everything.py [--mode legacy|auto] -- SERVER ARGS...

Tools with every type of content, errors, resources, prompts, completion, progress, sampling, elicitation,
roots, and a call that the client cancels.
"""
import time

import anyio
import mcp_types as t

import tour

# The server registers some tools only after it knows the client's capabilities.
SETTLE_SECONDS = 0.7


async def tools(client, transcript):
    call = client.call_tool
    annotated = {"messageType": "error", "includeImage": True}
    reference = {"resourceType": "Text", "resourceId": 1}
    await transcript.step("tools", client.list_tools())
    await transcript.step("echo", call("echo", {"message": "héllo ✓"}))
    await transcript.step("sum", call("get-sum", {"a": 2, "b": 3}))
    await transcript.step("bad-arguments", call("get-sum", {"a": "x"}))
    await transcript.step("unknown-tool", call("nope", {}))
    await transcript.step("structured", call("get-structured-content", {"location": "New York"}))
    await transcript.step("image", call("get-tiny-image", {}))
    await transcript.step("annotated", call("get-annotated-message", annotated))
    await transcript.step("links", call("get-resource-links", {"count": 3}))
    await transcript.step("reference", call("get-resource-reference", reference))


async def resources_and_prompts(client, transcript):
    department = t.PromptReference(type="ref/prompt", name="completable-prompt")
    await transcript.step("resources", client.list_resources())
    await transcript.step("templates", client.list_resource_templates())
    await transcript.step("read", client.read_resource("demo://resource/dynamic/text/1"))
    await transcript.step("read-missing", client.read_resource("demo://nope"))
    await transcript.step("subscribe", client.subscribe_resource("demo://resource/dynamic/text/1"))
    await transcript.step("unsubscribe", client.unsubscribe_resource("demo://resource/dynamic/text/1"))
    await transcript.step("prompts", client.list_prompts())
    await transcript.step("prompt", client.get_prompt("args-prompt", {"city": "Oslo"}))
    await transcript.step("complete", client.complete(department, {"name": "department", "value": "E"}))


async def requests_from_the_server(client, transcript):
    call = client.call_tool
    await transcript.step("sampling", call("trigger-sampling-request", {"prompt": "hi", "maxTokens": 10}))
    await transcript.step("elicitation", call("trigger-elicitation-request", {}))
    await transcript.step("roots", call("get-roots-list", {}))


async def cancellation(client, transcript):
    """A cancelled call returns at once, and the connection stays usable."""
    start = time.monotonic()
    with anyio.move_on_after(0.8):
        await client.call_tool("trigger-long-running-operation", {"duration": 8, "steps": 4})
    transcript.record("cancelled-early", time.monotonic() - start < 3)
    await transcript.step("after-cancel", client.call_tool("echo", {"message": "still alive"}))


async def make_tour(client, transcript, host):
    await anyio.sleep(SETTLE_SECONDS)
    await transcript.step("ping", client.send_ping())
    await transcript.step("log-level", client.set_logging_level("warning"))
    await tools(client, transcript)
    await resources_and_prompts(client, transcript)
    await transcript.progress("long", lambda **options: client.call_tool(
        "trigger-long-running-operation", {"duration": 1, "steps": 5}, **options))
    await requests_from_the_server(client, transcript)
    await cancellation(client, transcript)


if __name__ == "__main__":
    tour.run(make_tour, tour.Host(reply="SAMPLED", form=lambda schema: {"name": "Ada", "check": True}))
