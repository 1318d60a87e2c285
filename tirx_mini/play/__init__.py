"""A local page to play in: an editor, and beside it what the simulator and the compiler say of its text.

Two processes serve a run. One executes the text in a sandbox (`building.py`) and answers with IR; the other has nobody's
Python, and simulates that IR (`simulating.py`). `runs.py` sends a text through both, and tells events as JSON types.
"""
