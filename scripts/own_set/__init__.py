"""A set of tool results with questions, made by running programs on this machine (see ../own_set.py)."""
