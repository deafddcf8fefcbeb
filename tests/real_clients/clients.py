"""The five client profiles: what to install, how to configure it, how it names MCP tools.

A profile writes its configuration into a `Sandbox` (a temporary home and working folder) and returns the command to
run. Every profile points the client at the mock API, disables telemetry, updates and downloads, and allows all tool
calls. The API keys are fake, and the client never sees the caller's environment.
"""
from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path

from mocks.anthropic import AnthropicMessages
from mocks.gemini import GenerateContent
from mocks.openai import ChatCompletions, CodeMode, Responses
from mocks.scripted import ScriptedModel

PROMPT = "go"
API_KEY = "mock-key"
READ_RESOURCE = "resources/read"
SHELL = "shell"


@dataclass(frozen=True)
class Sandbox:
    """The environment of one run: folders, the URL of the mock API, the MCP server's name and its command or URL."""

    home: Path
    work: Path
    api: str
    server: str
    command: list[str]
    url: str | None = None             # of a server over HTTP, which has no command
    headers: dict[str, str] = field(default_factory=dict)

    def write(self, path: str, text: str) -> Path:
        target = self.home / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        return target


def identifier(name: str, others: str = "_-") -> str:
    """Returns the name with every character except letters, digits and `others` replaced by an underscore."""
    return re.sub(rf"[^A-Za-z0-9{others}]", "_", name)


class Client:
    """One client. Subclasses set the attributes and implement the methods."""

    name: str
    package: str
    version: str
    program: str                       # a glob below node_modules
    node: int | None = None            # the oldest Node that runs it; None for a native program
    model: type[ScriptedModel]
    scripts = False                    # whether the model can run a script over a result
    loads_upfront = False              # whether it loads a tool up front if the tool asks for it, while deferring others
    reads_unlisted = True              # whether its resource tool reads a URI that the server did not list
    cut_notice = r"(?!)"                      # matches the client's notice that it cut a result
    failure_notice = r"(?!)"                   # matches its text for a failed call, if the API has no error flag

    def tool_name(self, server: str, tool: str) -> str:
        raise NotImplementedError

    def read_resource(self, server: str, uri: str) -> tuple[str, dict] | None:
        """Returns a call of the client's own tool for reading MCP resources, if it has one."""
        return None

    def shell(self, command: str, description: str) -> tuple[str, dict] | None:
        """Returns a call of the client's own tool for running commands."""
        raise NotImplementedError

    def call(self, server: str, tool: str, arguments: dict) -> tuple[str, dict] | None:
        """Returns the tool name and arguments of a plan step for this client."""
        if tool == SHELL:
            return self.shell(arguments["command"], arguments["description"])
        if tool == READ_RESOURCE:
            return self.read_resource(server, arguments["uri"])
        return self.tool_name(server, tool), arguments

    def owns(self, server: str, name: str) -> bool:
        """Returns whether a tool that the model saw belongs to the MCP server."""
        return name.startswith(self.tool_name(server, ""))

    def prepare(self, sandbox: Sandbox) -> tuple[list[str], dict[str, str]]:
        """Writes the configuration; returns the arguments and the environment."""
        raise NotImplementedError


class ClaudeCode(Client):
    name = "claude-code"
    package, version = "@anthropic-ai/claude-code", "2.1.325"
    program = "@anthropic-ai/claude-code-*/claude"
    model = AnthropicMessages
    loads_upfront = True               # `_meta["anthropic/alwaysLoad"]`
    cut_notice = r"<persisted-output>|exceeds maximum allowed tokens|\[\d+ characters truncated\]"

    def tool_name(self, server, tool):
        return f"mcp__{identifier(server)}__{identifier(tool)}"

    def read_resource(self, server, uri):
        return "ReadMcpResourceTool", {"server": server, "uri": uri}

    def shell(self, command, description):
        return "Bash", {"command": command, "description": description}

    def prepare(self, sandbox):
        if sandbox.url:
            server = {"type": "http", "url": sandbox.url, "headers": sandbox.headers}
        else:
            server = {"type": "stdio", "command": sandbox.command[0], "args": sandbox.command[1:]}
        config = sandbox.write("mcp.json", json.dumps({"mcpServers": {sandbox.server: server}}))
        arguments = [
            "--print", PROMPT, "--mcp-config", str(config), "--strict-mcp-config",
            "--allowedTools", f"mcp__{identifier(sandbox.server)} ToolSearch ReadMcpResourceTool Bash",
        ]
        return arguments, {
            "ANTHROPIC_BASE_URL": sandbox.api, "ANTHROPIC_API_KEY": API_KEY,
            "CLAUDE_CONFIG_DIR": str(sandbox.home / ".claude"),
            # Users have tool search on; a base URL that is not the vendor's would turn it off.
            "ENABLE_TOOL_SEARCH": "true",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1", "DISABLE_AUTOUPDATER": "1", "DISABLE_GROWTHBOOK": "1",
        }


class Codex(Client):
    name = "codex"
    package, version = "@openai/codex", "0.166.0"
    program = "@openai/codex-*/vendor/*/bin/codex"
    model = Responses
    model_name = "gpt-5.5"             # a model of the bundled catalogue that uses direct tools
    cut_notice = r"tokens truncated|Warning: truncated output"
    failure_notice = r"(?m)^tool call error: "

    def tool_name(self, server, tool):
        return f"mcp__{identifier(server, '_')}/{identifier(tool, '_')}"

    def read_resource(self, server, uri):
        return "read_mcp_resource", {"server": server, "uri": uri}

    def shell(self, command, description):
        return "exec_command", {"cmd": command}

    def prepare(self, sandbox):
        quoted = json.dumps  # a JSON string is a valid TOML string
        if sandbox.url:
            headers = ", ".join(f"{quoted(name)} = {quoted(value)}" for name, value in sandbox.headers.items())
            target = [f"url = {quoted(sandbox.url)}", f"http_headers = {{ {headers} }}"]
        else:
            target = [f"command = {quoted(sandbox.command[0])}", f"args = {quoted(sandbox.command[1:])}"]
        sandbox.write(".codex/config.toml", "\n".join([
            f"model = {quoted(self.model_name)}",
            'model_provider = "mock"',
            "check_for_update_on_startup = false",
            "[analytics]", "enabled = false",
            "[feedback]", "enabled = false",
            "[features]", "plugins = false", "apps = false",
            "[model_providers.mock]", 'name = "mock"', f"base_url = {quoted(sandbox.api + '/v1')}",
            'wire_api = "responses"', 'env_key = "MOCK_KEY"', "supports_websockets = false",
            f"[mcp_servers.{quoted(sandbox.server)}]", *target,
            "required = true", "startup_timeout_sec = 60", "",  # otherwise a turn starts without a slow server
        ]))
        arguments = ["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", PROMPT]
        return arguments, {"CODEX_HOME": str(sandbox.home / ".codex"), "MOCK_KEY": API_KEY}


class CodexCodeMode(Codex):
    name = "codex-code-mode"
    model = CodeMode
    model_name = "gpt-6.1-sol"         # a model of the bundled catalogue that uses code mode
    failure_notice = r'^Script failed|"isError":true}$'
    scripts = True

    def tool_name(self, server, tool):
        return identifier(f"mcp__{server}__{tool}", "_")


class GeminiCli(Client):
    name = "gemini-cli"
    package, version = "@google/gemini-cli", "0.61.0"
    program, node = "@google/gemini-cli/bundle/gemini.js", 20
    model = GenerateContent
    reads_unlisted = False
    cut_notice = r"^Output too large\. Showing first"

    def tool_name(self, server, tool):
        name = identifier(f"mcp_{server}_{tool}", "_.:-")
        return name if len(name) < 64 else f"{name[:30]}...{name[-30:]}"

    def read_resource(self, server, uri):
        return "read_mcp_resource", {"uri": uri}

    def shell(self, command, description):
        return "run_shell_command", {"command": command, "description": description}

    def prepare(self, sandbox):
        if sandbox.url:
            server = {"httpUrl": sandbox.url, "headers": sandbox.headers}
        else:
            server = {"command": sandbox.command[0], "args": sandbox.command[1:]}
        sandbox.write(".gemini/settings.json", json.dumps({
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "privacy": {"usageStatisticsEnabled": False},
            "telemetry": {"enabled": False},
            "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
            "mcpServers": {sandbox.server: {**server, "trust": True}},
        }))
        return ["--yolo", "--model", "gemini-2.5-flash", "--prompt", PROMPT], {
            "GEMINI_API_KEY": API_KEY, "GOOGLE_GEMINI_BASE_URL": sandbox.api,
            "GEMINI_CLI_TRUST_WORKSPACE": "true", "GEMINI_CLI_NO_RELAUNCH": "true",
        }


class OpenCode(Client):
    name = "opencode"
    package, version = "opencode-ai", "1.18.33"
    program = "opencode-*/bin/opencode"
    model = ChatCompletions
    cut_notice = r"bytes truncated\.\.\.|lines truncated\.\.\."
    failure_notice = r"^MCP error -?\d+"

    def tool_name(self, server, tool):
        return f"{identifier(server)}_{identifier(tool)}"

    def shell(self, command, description):
        return "bash", {"command": command}

    def prepare(self, sandbox):
        if sandbox.url:
            server = {"type": "remote", "url": sandbox.url, "headers": sandbox.headers, "oauth": False}
        else:
            server = {"type": "local", "command": sandbox.command}
        config = sandbox.write("opencode.json", json.dumps({
            "model": "mock/model", "share": "disabled", "autoupdate": False, "permission": "allow",
            "provider": {"mock": {
                "npm": "@ai-sdk/openai-compatible", "name": "mock",
                "options": {"baseURL": sandbox.api + "/v1", "apiKey": API_KEY},
                "models": {"model": {
                    "name": "model", "limit": {"context": 1_000_000, "output": 8_000}, "attachment": True,
                    "modalities": {"input": ["text", "image"], "output": ["text"]}}}}},
            "mcp": {sandbox.server: {**server, "enabled": True}},
        }))
        return ["run", PROMPT], {
            "OPENCODE_CONFIG": str(config), "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
            "OPENCODE_DISABLE_SHARE": "1", "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1", "OPENCODE_PURE": "1",
        }


CLIENTS = {client.name: client for client in (ClaudeCode(), Codex(), CodexCodeMode(), GeminiCli(), OpenCode())}
