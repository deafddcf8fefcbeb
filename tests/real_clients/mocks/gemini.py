"""A mock of the Gemini generateContent API, as Gemini CLI uses it."""
from __future__ import annotations

import json

from .scripted import Call, Reply, Result, ScriptedModel, event_stream, json_reply, picture, tool

# Gemini CLI asks side questions with a JSON answer (which model, who speaks next); this fits them all.
SIDE_ANSWER = '{"next_speaker": "user", "reasoning": "mock", "model_choice": "flash", "complexity_score": 1}'


class GenerateContent(ScriptedModel):
    """The generateContent API, streamed or not."""

    def answer(self, path: str, request: dict) -> Reply:
        if path.endswith(":countTokens"):
            return json_reply({"totalTokens": 10})
        call = self.next_call(request) if request.get("tools") else None
        reply = _candidate(self.new_id("response"), _part(call, request))
        return event_stream([reply], named=False) if path.endswith(":streamGenerateContent") else json_reply(reply)

    def read_tools(self, request: dict) -> list[dict]:
        return [tool(item["name"], item.get("description"), item.get("parametersJsonSchema") or item.get("parameters"))
                for group in request["tools"] for item in group.get("functionDeclarations", [])]

    def read_results(self, request: dict) -> dict[str, Result]:
        results: dict[str, Result] = {}
        for content in request["contents"]:
            latest = None
            for part in content.get("parts", []):
                if "functionResponse" in part:
                    latest = _result(part["functionResponse"])
                    results[part["functionResponse"]["id"]] = latest
                elif "inlineData" in part and latest:
                    latest.blocks.append(_picture(part))
        return results


def _result(response: dict) -> Result:
    body = response["response"]
    blocks = [value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) for value in body.values()]
    return Result(blocks + [_picture(part) for part in response.get("parts", [])], "error" in body)


def _picture(part: dict) -> str:
    return picture(part["inlineData"]["mimeType"], part["inlineData"]["data"])


def _part(call: Call | None, request: dict) -> dict:
    if call:
        return {"functionCall": {"id": call.id, "name": call.name, "args": call.arguments}}
    wants_json = request.get("generationConfig", {}).get("responseMimeType") == "application/json"
    return {"text": SIDE_ANSWER if wants_json else "done"}


def _candidate(identifier: str, part: dict) -> dict:
    return {
        "candidates": [{"index": 0, "finishReason": "STOP", "content": {"role": "model", "parts": [part]}}],
        "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
        "modelVersion": "mock", "responseId": identifier,
    }
