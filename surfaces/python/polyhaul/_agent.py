"""Run ``polyhaul batch --agent`` in a worker process of another engine: tasks in, rows out.

The agent has its own worker process, so it survives if an asset crashes the worker.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
from typing import Any

_agents: dict[tuple[int, tuple[str, ...]], subprocess.Popen[str]] = {}


def convert_assets(words: list[str], tasks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Convert assets and return one row for each.

    The first call starts the agent of this process. The agent stops when this process exits.

    Args:
        words: the command-line arguments of the agent.
        tasks: the tasks, one per asset.
    """
    agent = _agent(tuple(words))
    assert agent.stdin is not None and agent.stdout is not None
    agent.stdin.write("".join(json.dumps(task) + "\n" for task in tasks))
    agent.stdin.flush()
    rows = []
    for _ in tasks:
        line = agent.stdout.readline()
        if not line:
            raise RuntimeError(f"the agent ended with exit code {agent.wait()}")
        rows.append(json.loads(line))
    return rows


def _agent(words: tuple[str, ...]) -> subprocess.Popen[str]:
    key = (os.getpid(), words)
    agent = _agents.get(key)
    if agent is None or agent.poll() is not None:
        # The arguments name the module: `-P -m polyhaul ...`.
        command = [sys.executable, *words]
        environment = os.environ | {"POLYHAUL_PYTHON": sys.executable}
        pipe = subprocess.PIPE
        agent = _agents[key] = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment)
        atexit.register(agent.kill)
    return agent
