"""Reading the SDK's messages."""

import json
import re

from claude_agent_sdk import (
    AssistantMessage,
    ResultMessage,
    SystemMessage,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def is_init(m):
    return isinstance(m, SystemMessage) and m.subtype == "init"


def is_tool_result(m):
    return isinstance(m, UserMessage) and isinstance(m.content, list) and any(isinstance(b, ToolResultBlock) for b in m.content)


def is_prompt(m):
    """A replayed prompt. Python hides isReplay, but a prompt that a host sent as a string comes back as one."""
    return isinstance(m, UserMessage) and isinstance(m.content, str)


def is_result(m):
    return isinstance(m, ResultMessage)


def session_id(messages):
    return next(m for m in messages if is_init(m)).data["session_id"]


def prompt_uuids(messages):
    uuids = [m.uuid for m in messages if is_prompt(m)]
    for uuid in uuids:
        assert UUID.fullmatch(uuid)
    return uuids


def prompt_uuid(messages):
    """The uuid of the only prompt in messages."""
    (uuid,) = prompt_uuids(messages)
    return uuid


def said(messages):
    """What the model said, a text block each."""
    return [b.text for m in messages if isinstance(m, AssistantMessage) for b in m.content if isinstance(b, TextBlock)]


def tool_calls(messages):
    return [b for m in messages if isinstance(m, AssistantMessage) for b in m.content if isinstance(b, ToolUseBlock)]


def tool_results(messages):
    return [b for m in messages if is_tool_result(m) for b in m.content]


def heard(messages):
    """What the model was sent, of a turn that echoes it: a message {role, text?, tools?, results?} each."""
    return json.loads("".join(said(messages)))


def assert_went_well(messages):
    """Every tool call went well and the turn ended in success."""
    for block in tool_results(messages):
        assert not block.is_error, f"a tool failed: {block}"
    results = [m for m in messages if is_result(m)]
    assert [(r.subtype, r.is_error) for r in results] == [("success", False)], results
