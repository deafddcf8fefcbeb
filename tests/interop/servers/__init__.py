"""The parts of servers.py: the connections, the checks that all servers share, and one file per server."""
