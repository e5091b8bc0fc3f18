"""j: a fork branches the conversation. The files are one, and each branch can take them back."""

import shutil

import pytest
from claude_agent_sdk import fork_session, get_session_messages, list_sessions

from commandline import UNDONE, rewound, run
from frames import UUID, assert_went_well, heard, is_tool_result, prompt_uuid, prompt_uuids, session_id
from scripts import ECHO, HANG, edit, read, say, script, write

only_script = pytest.mark.parametrize("model", ["script"], indirect=True)
ways = pytest.mark.parametrize("way", ["option", "function"])
UNKNOWN = "^No file checkpoint found for this message.$"

PROMPTS = [
    script(read("a.txt"), edit("a.txt", "v0", "v1"), write("made/b.txt", "b\n"), say("one")),
    script(edit("a.txt", "v1", "v2"), say("two")),
]


async def two_turns(ws, c):
    """The session, the uuids of its prompts, and the project before, between and after."""
    ws.put("a.txt", "v0\n")
    states, uuids = [ws.tree()], []
    for prompt in PROMPTS:
        turn = await c.turn(prompt)
        assert_went_well(turn)
        uuids.append(prompt_uuid(turn))
        states.append(ws.tree())
    return session_id(c.messages), uuids, states


def fork(ws, way, session, uuids):
    """Options that open the fork, and what the prompts of its parent are called in it."""
    if way == "option":
        return {"resume": session, "fork_session": True}, uuids
    forked = fork_session(session, directory=str(ws.cwd)).session_id
    assert UUID.fullmatch(forked) and forked != session
    return {"resume": forked}, prompts_of(ws, forked, len(uuids))


def prompts_of(ws, session, n):
    """The uuids of the first n prompts of a session, as the SDK reads them."""
    asked = [m for m in get_session_messages(session, directory=str(ws.cwd)) if m.message["content"] in PROMPTS]
    assert [m.message["content"] for m in asked[:n]] == PROMPTS[:n]
    return [m.uuid for m in asked[:n]]


def record_of(ws, session):
    """Every file of a session, the conversation and the history."""
    return {path: path.read_bytes() for path in ws.config.rglob("*") if path.is_file() and session in str(path)}


def asked_in(turn):
    return [m["text"] for m in heard(turn) if m["role"] == "user" and "text" in m]


@ways
async def test_the_conversation_branches_the_files_do_not(ws, way):
    async with ws.talk() as c:
        session, uuids, states = await two_turns(ws, c)
    await ws.processes_end()
    before, record = ws.tree(times=True), record_of(ws, session)
    more, known = fork(ws, way, session, uuids)
    assert (set(known) & set(uuids) == set()) == (way == "function")
    async with ws.talk(**more) as c:
        turn = await c.turn(script(ECHO))
        forked = session_id(turn)
        assert forked != session
        assert asked_in(turn) == [*PROMPTS, script(ECHO)]
        assert ws.tree(times=True) == before

        own = await c.turn(script(read("a.txt"), edit("a.txt", "v2", "forked"), write("c.txt", "c\n")))
        assert_went_well(own)
        after = ws.tree()
        await c.rewind(prompt_uuid(own))
        assert ws.tree() == states[2]
        await c.rewind(known[1])
        assert ws.tree() == states[1]
        await c.rewind(known[0])
        assert ws.tree() == states[0]
        for _ in range(3):
            await c.rewind("undo")
        assert ws.tree() == after
    await ws.processes_end()
    assert record_of(ws, session) == record, "the parent is not written to"
    assert sorted(s.session_id for s in list_sessions(directory=str(ws.cwd))) == sorted([session, forked])

    async with ws.talk(resume=session) as c:
        with pytest.raises(Exception, match=UNKNOWN):
            await c.rewind(prompt_uuid(own))
        assert asked_in(await c.turn(script(ECHO))) == [*PROMPTS, script(ECHO)]
        await c.rewind(uuids[1])
        assert ws.bytes("a.txt") == b"v1\n"


@ways
@pytest.mark.parametrize("worked", ["a rewind", "a turn"])
@only_script
async def test_then_the_parent_may_be_deleted(ws, way, worked):
    async with ws.talk() as c:
        session, uuids, states = await two_turns(ws, c)
    more, known = fork(ws, way, session, uuids)
    async with ws.talk(**more) as c:
        if worked == "a rewind":
            await c.rewind(known[1])
        forked = session_id(await c.turn(script(say("working"))))
    await ws.processes_end()
    shutil.rmtree(ws.config / "takeback" / session)
    for transcript in ws.config.rglob(f"{session}.jsonl"):
        transcript.unlink()
    async with ws.talk(resume=forked) as c:
        await c.rewind(known[0])
        assert ws.tree() == states[0]
        await c.rewind(known[1])
        assert ws.tree() == states[1]
        await c.rewind("undo")
        await c.rewind("undo")
        assert ws.tree() == states[1 if worked == "a rewind" else 2]


@ways
async def test_a_parent_that_is_at_work_goes_on(ws, way):
    async with ws.talk() as parent:
        session, uuids, _ = await two_turns(ws, parent)
        results = [is_tool_result(m) for m in parent.messages].count(True)
        await parent.send(script(write("third.txt", "3"), HANG))
        await parent.until(lambda _: [is_tool_result(m) for m in parent.messages].count(True) > results, "the third turn")
        more, known = fork(ws, way, session, uuids)
        async with ws.talk(**more) as c:
            turn = await c.turn(script(write("of the fork.txt", "f")))
            assert_went_well(turn)
            await c.rewind(known[1])
            assert (ws.bytes("a.txt"), ws.exists("of the fork.txt")) == (b"v1\n", False)
            await c.rewind("undo")
        await parent.call("interrupt")
        assert (await parent.result(3)).subtype == "error_during_execution"
        await parent.rewind(prompt_uuids(parent.messages)[2])
        assert (ws.exists("third.txt"), ws.exists("of the fork.txt")) == (False, True)
        with pytest.raises(Exception, match=UNKNOWN):
            await parent.rewind(prompt_uuid(turn))
        assert_went_well(await parent.turn(script(say("And on."))))
        await parent.rewind(uuids[0])
        assert sorted(ws.tree()) == ["a.txt", "of the fork.txt"]
        assert ws.bytes("a.txt") == b"v0\n"


@ways
@pytest.mark.parametrize("then", ["option", "function"])
@only_script
async def test_a_fork_of_a_fork(ws, way, then):
    async with ws.talk() as c:
        session, uuids, states = await two_turns(ws, c)
    more, known = fork(ws, way, session, uuids)
    middle = more["resume"]
    if way == "option":  # there is a fork once it has been told something
        middle = session_id(await ws.ask(script(say("in the fork")), **more))
    more, known = fork(ws, then, middle, known)
    async with ws.talk(**more) as c:
        turn = await c.turn(script(ECHO))
        assert session_id(turn) not in (session, middle)
        assert asked_in(turn)[:2] == PROMPTS
        await c.rewind(known[1])
        assert ws.tree() == states[1]
        await c.rewind(known[0])
        assert ws.tree() == states[0]
        await c.rewind("undo")
        await c.rewind("undo")
        assert ws.tree() == states[2]


@only_script
async def test_the_sdk_forks_up_to_a_message(ws):
    async with ws.talk() as c:
        session, uuids, states = await two_turns(ws, c)
    messages = get_session_messages(session, directory=str(ws.cwd))
    second = [m.uuid for m in messages].index(uuids[1])
    forked = fork_session(session, directory=str(ws.cwd), up_to_message_id=messages[second - 1].uuid, title="Up to one").session_id
    (first,) = prompts_of(ws, forked, 1)
    async with ws.talk(resume=forked) as c:
        assert asked_in(await c.turn(script(ECHO))) == [PROMPTS[0], script(ECHO)]
        await c.rewind(first)
        assert ws.tree() == states[0]
    assert {s.custom_title for s in list_sessions(directory=str(ws.cwd)) if s.session_id == forked} == {"Up to one"}


@only_script
async def test_a_fork_by_the_sdk_goes_back_from_the_command_line(ws):
    async with ws.talk() as c:
        session, uuids, states = await two_turns(ws, c)
    await ws.processes_end()
    forked = fork_session(session).session_id
    known = prompts_of(ws, forked, 2)
    assert run(ws, "--resume", forked, "--rewind-files", known[0]) == rewound(known[0])
    assert ws.tree() == states[0]
    assert run(ws, "--resume", forked, "--rewind-files", "undo") == UNDONE
    shutil.rmtree(ws.config / "takeback" / session)
    assert run(ws, "--resume", forked, "--rewind-files", known[1]) == rewound(known[1])
    assert ws.tree() == states[1]
