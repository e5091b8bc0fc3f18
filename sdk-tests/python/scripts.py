"""Prompts that the models play step by step."""

import json


def script(*steps):
    """A prompt whose text is the script of its turn."""
    return json.dumps(steps, ensure_ascii=False)


def say(text):
    return {"text": text}


def think(text, signature):
    return {"thinking": text, "signature": signature}


def fail(status, **more):
    return {"error": {"status": status, **more}}


def tool(name, **input):
    return {"tool": name, "input": input}


def read(path):
    return tool("Read", file_path=path)


def write(path, content):
    return tool("Write", file_path=path, content=content)


def edit(path, old, new):
    return tool("Edit", file_path=path, old_string=old, new_string=new)


def bash(command):
    return tool("Bash", command=command)


CUT = {"cut": True}
HANG = {"hang": True}
ECHO = {"echo": "conversation"}
