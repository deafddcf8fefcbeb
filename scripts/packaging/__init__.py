"""Packages built programs: one file for each kind of package. scripts/package.sh is the command."""
