#!/usr/bin/env python3
"""Tour of the fixture conf_server.py with the Python SDK: python_conf.py --mode legacy|auto -- SERVER ARGS...

In the legacy era the server sends requests to the client. In the modern era it returns results that need input, and
reports list changes over a subscription.
"""
import anyio

import tour

PLAIN_CALLS = (
    "test_simple_text",
    "test_image_content",
    "test_audio_content",
    "test_embedded_resource",
    "test_multiple_content_types",
    "test_error_handling",
    "test_tool_with_logging",
    "nope",
)
LEGACY_CALLS = {
    "test_sampling": {"prompt": "q"},
    "test_elicitation": {"message": "m"},
    "test_elicitation_sep1034_defaults": {},
    "test_elicitation_sep1330_enums": {},
}
ROUNDS = (
    "elicitation",
    "sampling",
    "list_roots",
    "request_state",
    "multiple_inputs",
    "multi_round",
    "tampered_state",
)


def fill_in(schema: dict) -> dict:
    """Returns a value for every field of a form."""
    def value(of: dict):
        if of["type"] == "boolean":
            return True
        if of["type"] == "array":
            return ["option1"]
        return of.get("default", "option1" if "enum" in of else "Ada")

    return {name: value(of) for name, of in schema["properties"].items()}


async def lists(client, transcript):
    await transcript.step("tools", client.list_tools())
    await transcript.step("resources", client.list_resources())
    await transcript.step("templates", client.list_resource_templates())
    await transcript.step("prompts", client.list_prompts())


async def calls(client, transcript):
    for name in PLAIN_CALLS:
        await transcript.step(name, client.call_tool(name, {}))
    await transcript.progress("with-progress", lambda **options: client.call_tool(
        "test_tool_with_progress", {}, **options))
    await transcript.step("read-text", client.read_resource("test://template/7/data"))
    await transcript.step("read-binary", client.read_resource("test://static-binary"))
    await transcript.step("read-missing", client.read_resource("test://nope"))
    arguments = {"arg1": "x", "arg2": "y"}
    await transcript.step("prompt", client.get_prompt("test_prompt_with_arguments", arguments))


async def legacy(client, transcript):
    await transcript.step("subscribe", client.subscribe_resource("test://watched-resource"))
    for name, arguments in LEGACY_CALLS.items():
        await transcript.step(name, client.call_tool(name, arguments))


async def modern(client, transcript):
    for name in ROUNDS:
        await transcript.step("rounds-" + name, client.call_tool("test_input_required_result_" + name, {}))
    await transcript.step("rounds-prompt", client.get_prompt("test_input_required_result_prompt"))
    await transcript.step("listen", listen(client))


async def listen(client) -> str:
    """Returns the type of the first event of a subscription."""
    with anyio.fail_after(10):
        async with client.listen(tools_list_changed=True) as subscription:
            await client.call_tool("test_trigger_tool_change", {})
            async for event in subscription:
                return type(event).__name__
    return "no event"


async def make_tour(client, transcript, host):
    await lists(client, transcript)
    await calls(client, transcript)
    if client.protocol_version >= "2026":
        await modern(client, transcript)
    else:
        await legacy(client, transcript)


if __name__ == "__main__":
    tour.run(make_tour, tour.Host(form=fill_in))
