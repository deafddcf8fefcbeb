"""Modules of servers.py: connections, the checks that all servers share, and one module per server."""
