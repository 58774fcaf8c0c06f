"""The back-office simulator: pure, standard library only, no clock, no network, no global random state.

One file is read, `pools.json`, the digests of the task pools that lies beside the code. Everything else goes
values in, values out: a task, a noise law and a schedule seed determine an episode up to its calls.
The chain of a call: model text -> `calls` -> `Episode.step` -> `schedule` (event key) -> fault, or `tools` ->
`Reply` -> `render`. Importing this package loads none of its modules.
"""
