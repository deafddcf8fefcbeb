"""Mock model APIs on the loopback interface. Each plays a plan of tool calls and records what the client returns.

`scripted.py` holds what they share and `handles.py` the arguments that depend on earlier results; `server.py`
is the HTTP server; `anthropic.py`, `openai.py` and `gemini.py` each speak one API family.
"""
