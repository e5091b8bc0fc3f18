"""m: can_use_tool. The host says what may run, and with what."""

from pathlib import Path

import anyio
import pytest
from claude_agent_sdk import PermissionResultAllow, PermissionResultDeny, PermissionUpdate, UserMessage
from claude_agent_sdk.types import PermissionRuleValue

from frames import assert_went_well, heard, is_init, is_result, prompt_uuid, said, session_id, tool_calls, tool_results
from scripts import ECHO, bash, edit, read, say, script, write

only_script = pytest.mark.parametrize("model", ["script"], indirect=True)


class Host:
    """Options of a host that is asked: each question is kept, and answer says what to do with it."""

    def __init__(self, ws, answer):
        self.ws, self.answer, self.asked = ws, answer, []

    def options(self, **more):
        return {"permission_mode": "default", "can_use_tool": self.can_use_tool, **more}

    async def can_use_tool(self, name, input, context):
        self.ws.note("asked", (name, input, context))
        self.asked.append((name, input, context))
        answer = self.answer(len(self.asked), name, input, context)
        if hasattr(answer, "__await__"):
            answer = await answer
        self.ws.note("the host says", answer)
        return answer


def yes(*_):
    return PermissionResultAllow()


def text_of(block):
    return block.content if isinstance(block.content, str) else "".join(b["text"] for b in block.content)


def results_of(messages):
    return [(text_of(b), bool(b.is_error)) for b in tool_results(messages)]


def denials(messages):
    return next(m for m in messages if is_result(m)).permission_denials


async def test_allow_runs_it_and_a_rewind_takes_it_back(ws):
    ws.put("a.txt", "v0\n")
    before = ws.tree()
    host = Host(ws, yes)
    async with ws.talk(**host.options()) as c:
        turn = await c.turn(script(read("a.txt"), edit("a.txt", "v0", "v1"), write("b.txt", "b")))
        assert_went_well(turn)
        # What only reads in the project is not asked.
        assert [(name, input) for name, input, _ in host.asked] == [
            ("Edit", {"file_path": "a.txt", "old_string": "v0", "new_string": "v1"}),
            ("Write", {"file_path": "b.txt", "content": "b"}),
        ]
        assert [context.tool_use_id for *_, context in host.asked] == [call.id for call in tool_calls(turn)[1:]]
        for *_, context in host.asked:
            assert isinstance(context.decision_reason, str) and context.blocked_path is None
        assert (ws.bytes("a.txt"), ws.bytes("b.txt")) == (b"v1\n", b"b")
        assert denials(turn) == []
        await c.rewind(prompt_uuid(turn))
        assert ws.tree() == before


async def test_allow_with_changed_input(ws):
    host = Host(ws, lambda *_: PermissionResultAllow(updated_input={"file_path": "c.txt", "content": "as the host wants"}))
    async with ws.talk(**host.options()) as c:
        turn = await c.turn(script(write("a.txt", "as the model wants")))
        assert_went_well(turn)
        assert sorted(ws.tree()) == ["c.txt"]
        assert ws.bytes("c.txt") == b"as the host wants"
        await c.rewind(prompt_uuid(turn))
        assert ws.tree() == {}


@only_script
async def test_a_changed_input_that_is_wrong_is_an_error_of_the_tool(ws):
    host = Host(ws, lambda *_: PermissionResultAllow(updated_input={"file_path": 7, "content": "x"}))
    async with ws.talk(**host.options()) as c:
        turn = await c.turn(script(write("a.txt", "x"), say("noted")))
        ((text, is_error),) = results_of(turn)
        assert is_error and "file_path" in text and "Write" in text
        assert turn[-1].result == "noted"
        assert ws.tree() == {}


async def test_deny(ws):
    words = 'Not on my watch: 😀 "quoted"\nsecond line'
    host = Host(ws, lambda n, name, *_: PermissionResultDeny(message=words) if name == "Write" else PermissionResultAllow())
    async with ws.talk(**host.options()) as c:
        turn = await c.turn(script(write("a.txt", "a"), bash("printf b > b.txt"), say("noted")))
        assert results_of(turn)[0] == (words, True)
        assert [is_error for _, is_error in results_of(turn)] == [True, False]
        assert sorted(ws.tree()) == ["b.txt"]
        assert (turn[-1].subtype, turn[-1].is_error, turn[-1].result) == ("success", False, "noted")
        assert denials(turn) == [
            {"tool_name": "Write", "tool_use_id": host.asked[0][2].tool_use_id, "tool_input": {"file_path": "a.txt", "content": "a"}}
        ]
        # The next turn starts with a clean list, and the model still knows.
        turn = await c.turn(script(ECHO))
        assert denials(turn) == []
        assert [r for m in heard(turn) for r in m.get("results", [])][0] == words


async def test_deny_with_interrupt(ws):
    host = Host(ws, lambda n, name, *_: PermissionResultDeny(message="Stop it.", interrupt=True) if name == "Write" else yes())
    async with ws.talk(**host.options()) as c:
        await c.send(script(bash("printf b > b.txt"), write("a.txt", "a"), write("c.txt", "c"), say("never said")))
        result = await c.result(1)
        assert (result.subtype, result.is_error) == ("error_during_execution", True)
        assert len(host.asked) == 2
        assert len(results_of(c.messages)) == 3
        assert results_of(c.messages)[1] == ("Stop it.", True)
        assert results_of(c.messages)[2][1] is True
        assert said(c.messages) == []
        assert [d["tool_input"]["file_path"] for d in result.permission_denials] == ["a.txt"]
        assert sorted(ws.tree()) == ["b.txt"]
        turn = await c.turn(script(say("And on.")))
        assert_went_well(turn)
        assert said(turn) == ["And on."]


async def test_interrupt_while_a_question_is_open(ws):
    opened, cancelled = anyio.Event(), anyio.Event()

    async def wait():
        opened.set()
        try:
            await anyio.sleep_forever()
        finally:
            cancelled.set()

    host = Host(ws, lambda n, *_: wait() if n == 1 else yes())
    async with ws.talk(**host.options()) as c:
        await c.send(script(write("a.txt", "a"), say("never said")))
        with anyio.fail_after(10):
            await opened.wait()
            await c.call("interrupt")
            await cancelled.wait()
        result = await c.result(1)
        assert (result.subtype, result.permission_denials) == ("error_during_execution", [])
        assert [is_error for _, is_error in results_of(c.messages)] == [True]
        notes = [b.text for m in c.messages if isinstance(m, UserMessage) and isinstance(m.content, list) for b in m.content if hasattr(b, "text")]
        assert notes == ["[Request interrupted by user for tool use]"]
        turn = await c.turn(script(write("b.txt", "b"), say("And on.")))
        assert_went_well(turn)
        assert sorted(ws.tree()) == ["b.txt"]


async def test_while_a_question_is_open_a_rewind_is_answered(ws):
    ws.put("a.txt", "v0\n")
    opened, answer = anyio.Event(), anyio.Event()

    async def wait():
        opened.set()
        await answer.wait()
        return PermissionResultAllow()

    host = Host(ws, lambda n, name, *_: wait() if name == "Bash" else yes())
    async with ws.talk(**host.options()) as c:
        await c.send(script(read("a.txt"), edit("a.txt", "v0", "v1"), bash("cat a.txt > seen.txt")))
        with anyio.fail_after(10):
            await opened.wait()
        assert ws.bytes("a.txt") == b"v1\n"
        await c.rewind(prompt_uuid(c.messages))
        assert ws.bytes("a.txt") == b"v0\n"
        answer.set()
        await c.result(1)
        assert_went_well(c.messages)
        assert ws.bytes("seen.txt") == b"v0\n"


def session_update(type, **more):
    return PermissionUpdate(type=type, destination="session", **more)


# What is asked, then what is not asked any more, and what was suggested.
KINDS = {
    "an edit": (
        lambda ws: (write("a.txt", "1"), write("b.txt", "2")),
        lambda ws: [session_update("setMode", mode="acceptEdits")],
        None,
    ),
    "a command": (
        lambda ws: (bash("printf 1 >> a.txt"), bash("printf 1 >> a.txt")),
        lambda ws: [session_update("addRules", behavior="allow", rules=[PermissionRuleValue(tool_name="Bash", rule_content="printf 1 >> a.txt")])],
        bash("printf 2 >> a.txt"),
    ),
    "a file elsewhere": (
        lambda ws: (read(str(ws.home / "a.txt")), read(str(ws.home / "b.txt"))),
        lambda ws: [session_update("addDirectories", directories=[str(ws.home)])],
        read("/etc/passwd"),
    ),
}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
async def test_suggestions_sent_back_are_not_asked_again(ws, kind):
    calls, suggestions, still_asked = kind
    for name in ("a.txt", "b.txt"):
        (ws.home / name).write_text("x\n")

    def answer(n, name, input, context):
        return PermissionResultAllow(updated_permissions=context.suggestions) if n == 1 else PermissionResultDeny(message="asked again")

    host = Host(ws, answer)
    first, second = calls(ws)
    async with ws.talk(**host.options()) as c:
        assert_went_well(await c.turn(script(first, second)))
        assert len(host.asked) == 1
        assert host.asked[0][2].suggestions == suggestions(ws)
        outside = Path(first["input"].get("file_path", "x")).is_absolute()
        assert host.asked[0][2].blocked_path == (first["input"]["file_path"] if outside else None)
        again = second if second["tool"] != "Write" else write("c.txt", "3")
        assert_went_well(await c.turn(script(again)))
        assert len(host.asked) == 1
        if still_asked:
            assert results_of(await c.turn(script(still_asked))) == [("asked again", True)]


@only_script
async def test_what_is_allowed_for_the_session_ends_with_the_process(ws):
    host = Host(ws, lambda n, name, input, context: PermissionResultAllow(updated_permissions=context.suggestions))
    async with ws.talk(**host.options()) as c:
        await c.turn(script(write("a.txt", "1")))
        turn = await c.turn(script(say("next")))
        assert next(m for m in turn if is_init(m)).data["permissionMode"] == "acceptEdits"
    host = Host(ws, lambda *_: PermissionResultDeny(message="asked"))
    async with ws.talk(**host.options(resume=session_id(turn))) as c:
        turn = await c.turn(script(write("b.txt", "2")))
        assert next(m for m in turn if is_init(m)).data["permissionMode"] == "default"
        assert results_of(turn) == [("asked", True)]


async def test_a_callback_that_raises_means_no(ws):
    def answer(n, *_):
        if n == 1:
            raise RuntimeError("the dialog is broken")
        return PermissionResultAllow()

    async with ws.talk(**Host(ws, answer).options()) as c:
        turn = await c.turn(script(write("a.txt", "a"), say("noted")))
        assert results_of(turn) == [("Tool permission request failed: the dialog is broken", True)]
        assert (turn[-1].subtype, turn[-1].result) == ("success", "noted")
        assert [d["tool_name"] for d in denials(turn)] == ["Write"]
        assert ws.tree() == {}
        assert_went_well(await c.turn(script(write("a.txt", "a"))))


@only_script
async def test_an_answer_of_the_wrong_type_means_no(ws):
    async with ws.talk(**Host(ws, lambda *_: {"behavior": "allow"}).options()) as c:
        turn = await c.turn(script(write("a.txt", "a"), say("noted")))
        assert [is_error for _, is_error in results_of(turn)] == [True]
        assert turn[-1].result == "noted"
        assert ws.tree() == {}


@only_script
async def test_calls_in_a_row_are_asked_in_their_order(ws):
    open_now = 0

    async def one_at_a_time(input):
        nonlocal open_now
        open_now += 1
        assert open_now == 1
        await anyio.lowlevel.checkpoint()
        open_now -= 1
        return PermissionResultDeny(message="no") if input["content"] == "no" else PermissionResultAllow()

    host = Host(ws, lambda n, name, input, context: one_at_a_time(input))
    async with ws.talk(**host.options()) as c:
        turn = await c.turn(script(write("1.txt", "yes"), write("2.txt", "no"), write("3.txt", "yes"), write("4.txt", "no")))
    assert [input["file_path"] for _, input, _ in host.asked] == ["1.txt", "2.txt", "3.txt", "4.txt"]
    assert [is_error for _, is_error in results_of(turn)] == [False, True, False, True]
    assert [d["tool_input"]["file_path"] for d in denials(turn)] == ["2.txt", "4.txt"]
    assert sorted(ws.tree()) == ["1.txt", "3.txt"]


async def test_the_end_of_input_while_a_question_is_open(ws):
    opened = anyio.Event()

    async def wait():
        opened.set()
        await anyio.sleep_forever()

    async with ws.talk(**Host(ws, lambda *_: wait()).options()) as c:
        await c.send(script(write("a.txt", "a"), say("went on")))
        with anyio.fail_after(10):
            await opened.wait()
        await c.client._transport.end_input()  # the SDK itself keeps it open until disconnect
        result = await c.result(1)
        assert (result.subtype, result.result) == ("success", "went on")
        ((text, is_error),) = results_of(c.messages)
        assert is_error and text.startswith("Tool permission request failed: ")
        assert [d["tool_name"] for d in result.permission_denials] == ["Write"]
        await ws.processes_end()
        assert c.error is None, "it ended with 0"
        assert ws.tree() == {}


async def test_disconnect_while_a_question_is_open(ws):
    opened = anyio.Event()

    async def wait():
        opened.set()
        await anyio.sleep_forever()

    async with ws.talk(**Host(ws, lambda *_: wait()).options()) as c:
        await c.send(script(write("a.txt", "a"), say("went on")))
        with anyio.fail_after(10):
            await opened.wait()
    await ws.processes_end()
    assert ws.tree() == {}


@pytest.mark.filterwarnings("ignore::claude_agent_sdk.types.CanUseToolShadowedWarning")  # that is what is meant
@only_script
async def test_who_is_allowed_or_forbidden_by_the_options_is_not_asked(ws):
    host = Host(ws, lambda *_: PermissionResultDeny(message="asked"))
    options = host.options(allowed_tools=["Write", "Bash(printf 1 > 1)"], disallowed_tools=["Bash(printf 2 > 2)"])
    async with ws.talk(**options) as c:
        turn = await c.turn(script(write("a.txt", "a"), bash("printf 1 > 1"), bash("printf 2 > 2"), bash("printf 3 > 3")))
    assert [input["command"] for _, input, _ in host.asked] == ["printf 3 > 3"]
    assert [is_error for _, is_error in results_of(turn)] == [False, False, True, True]
    assert results_of(turn)[3] == ("asked", True)
    assert sorted(ws.tree()) == ["1", "a.txt"]
