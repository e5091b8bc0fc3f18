"""Sessions that Claude Code began, resumed here: what the model is sent."""

import json
import re
from uuid import uuid4

import pytest
from claude_agent_sdk import get_session_info, get_session_messages

from frames import assert_went_well, heard, prompt_uuid, session_id
from scripts import ECHO, script, write


class Recording:
    """A transcript as Claude Code writes it. Each line hangs to the one before, unless parent says otherwise."""

    def __init__(self, ws):
        self.ws, self.session, self.lines, self.last = ws, str(uuid4()), [], None
        self.path = ws.config / "projects" / re.sub("[^A-Za-z0-9]", "-", str(ws.cwd)) / f"{self.session}.jsonl"

    def add(self, type, parent=..., **fields):
        uuid = str(uuid4())
        common = {"isSidechain": False, "userType": "external", "cwd": str(self.ws.cwd), "sessionId": self.session, "version": "2.1.332"}
        stamp = f"2026-01-01T12:00:{len(self.lines):02}.000Z"
        self.lines.append(
            {"parentUuid": self.last if parent is ... else parent, **common, "type": type, **fields, "uuid": uuid, "timestamp": stamp}
        )
        self.last = uuid
        return uuid

    def prompt(self, text, **more):
        return self.add("user", message={"role": "user", "content": text}, **more)

    def answer(self, id, block, **more):
        message = {"model": "claude-sonnet-4-5", "id": id, "type": "message", "role": "assistant", "content": [block], "usage": {}}
        return self.add("assistant", message=message, **more)

    def text(self, id, text, **more):
        return self.answer(id, {"type": "text", "text": text}, **more)

    def call(self, id, tool, name, **more):
        return self.answer(id, {"type": "tool_use", "id": tool, "name": name, "input": {}}, **more)

    def result(self, tool, text, parent, **more):
        content = [{"tool_use_id": tool, "type": "tool_result", "content": text}]
        return self.add("user", parent=parent, message={"role": "user", "content": content}, toolUseResult={}, **more)

    def save(self):
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in self.lines))


def user(text):
    return {"role": "user", "text": text}


async def test_what_lies_between_the_messages_is_nobodys_words(ws):
    r = Recording(ws)
    first = r.prompt("first prompt")
    r.lines.append({"type": "file-history-snapshot", "messageId": first, "snapshot": {"messageId": first, "trackedFileBackups": {}}, "isSnapshotUpdate": False})
    r.add("attachment", attachment={"type": "todo_reminder"})
    call = r.call("msg_1", "toolu_1", "Task")
    side = {"isSidechain": True, "agentId": "a1"}
    r.add("user", parent=None, message={"role": "user", "content": "for the subagent"}, **side)
    r.text("msg_s", "of the subagent", **side)
    r.add("progress", parent=call, data={"type": "agent_progress"}, toolUseID="toolu_1")
    r.result("toolu_1", "the report", r.last)
    r.text("msg_2", "Done.")
    r.add("system", subtype="turn_duration", durationMs=1)
    r.lines.append({"type": "summary", "summary": "x", "leafUuid": r.last})
    r.prompt("<system-reminder>said by hooks</system-reminder>", isMeta=True)
    r.prompt("second prompt")
    r.text("msg_3", "Yes.")
    r.save()
    saved = r.path.read_bytes()

    async with ws.talk(resume=r.session) as c:
        turn = await c.turn(script(ECHO))
        assert_went_well(turn)
        assert session_id(turn) == r.session
        told = heard(turn)
        assert told[:4] == [
            user("first prompt"),
            {"role": "assistant", "tools": ["Task"]},
            {"role": "user", "results": ["the report"]},
            {"role": "assistant", "text": "Done."},
        ]
        assert told[4]["text"].endswith("second prompt")
        assert told[5:] == [{"role": "assistant", "text": "Yes."}, user(script(ECHO))]
        own = await c.turn(script(write("a.txt", "a")))
        await c.rewind(prompt_uuid(own))
        assert ws.tree() == {}
    assert r.path.read_bytes().startswith(saved)
    assert get_session_info(r.session, directory=str(ws.cwd)).first_prompt == "first prompt"
    assert prompt_uuid(own) in [m.uuid for m in get_session_messages(r.session, directory=str(ws.cwd))]


@pytest.mark.parametrize(
    "order",
    [
        "123",
        "321",
    ],
)
async def test_calls_made_at_once_each_with_its_result(ws, order):
    r = Recording(ws)
    r.prompt("three at once")
    calls = {n: r.call("msg_1", f"toolu_{n}", name) for n, name in (("1", "Read"), ("2", "Glob"), ("3", "Grep"))}
    for n in order:
        r.result(f"toolu_{n}", f"result {n}", calls[n])
    r.text("msg_2", "All three.")
    r.save()
    turn = await ws.ask(script(ECHO), resume=r.session)
    assert_went_well(turn)
    told = heard(turn)
    assert told[1] == {"role": "assistant", "tools": ["Read", "Glob", "Grep"]}
    assert sorted(told[2]["results"]) == ["result 1", "result 2", "result 3"]
    assert told[3:] == [{"role": "assistant", "text": "All three."}, user(script(ECHO))]


async def test_a_compacted_conversation_begins_with_its_summary(ws):
    r = Recording(ws)
    r.prompt("first prompt")
    r.text("msg_1", "Done.")
    r.add("system", parent=None, logicalParentUuid=r.last, subtype="compact_boundary", content="Conversation compacted", compactMetadata={"trigger": "auto", "preTokens": 1})
    r.prompt("The summary. ", isCompactSummary=True, isVisibleInTranscriptOnly=True)
    r.prompt("after it")
    r.text("msg_2", "Yes.")
    r.save()
    told = heard(await ws.ask(script(ECHO), resume=r.session))
    assert told[-2:] == [{"role": "assistant", "text": "Yes."}, user(script(ECHO))]
    assert "".join(m["text"] for m in told[:-2]) == "The summary. after it"
