"""n: going back to a session: at once, from elsewhere, after a crash, and where nothing was to be kept."""

import os
import signal

import anyio
import pytest
from claude_agent_sdk import list_sessions

from frames import assert_went_well, heard, is_tool_result, prompt_uuid, prompt_uuids, session_id
from processes import has_ended
from scripts import ECHO, HANG, bash, edit, read, say, script, write

only_script = pytest.mark.parametrize("model", ["script"], indirect=True)
PROMPT = script(read("a.txt"), edit("a.txt", "v0", "v1"), write("made/b.txt", "b\n"), say("one"))


async def one_turn(ws, c):
    """The session, the uuid of its prompt, and the project before and after."""
    ws.put("a.txt", "v0\n")
    before = ws.tree()
    turn = await c.turn(PROMPT)
    assert_went_well(turn)
    return session_id(turn), prompt_uuid(turn), before, ws.tree()


def asked_in(turn):
    return [m["text"] for m in heard(turn) if m["role"] == "user" and "text" in m]


def only_process(ws):
    (process,) = ws.processes()
    return int(process.split()[0])


async def kill(ws, c):
    """kill -9, and the SDK hears of it."""
    os.kill(only_process(ws), signal.SIGKILL)
    with anyio.fail_after(10):
        await c.reading
    assert c.error is not None and "-9" in str(c.error)


async def test_resumed_at_once(ws):
    async with ws.talk() as c:
        session, uuid, before, after = await one_turn(ws, c)
    async with ws.talk(resume=session) as c:
        await c.rewind(uuid)
        assert ws.tree() == before
        await c.rewind("undo")
        assert ws.tree() == after
        turn = await c.turn(script(read("a.txt"), edit("a.txt", "v1", "v2"), say("two")))
        assert_went_well(turn)
        assert session_id(turn) == session
    async with ws.talk(resume=session) as c:
        assert len(asked_in(await c.turn(script(ECHO)))) == 3
        await c.rewind(prompt_uuid(turn))
        assert ws.tree() == after
        await c.rewind(uuid)
        assert ws.tree() == before


@only_script
async def test_resumed_while_the_first_process_still_closes(ws):
    """The SDK's query gives up its process without waiting for it."""
    async with ws.talk() as first:
        session, uuid, before, _ = await one_turn(ws, first)
        await first.client._transport.end_input()
        async with ws.talk(resume=session) as c:
            assert_went_well(await c.turn(script(say("two"))))
            await c.rewind(uuid)
            assert ws.tree() == before


@only_script
async def test_resumed_many_times_nothing_is_lost_in_between(ws):
    async with ws.talk() as c:
        session, *_ = await one_turn(ws, c)
    uuids = []
    for i in range(8):
        turn = await ws.ask(script(write(f"{i}.txt", str(i))), resume=session)
        assert_went_well(turn)
        uuids.append(prompt_uuid(turn))
    async with ws.talk(resume=session) as c:
        assert len(asked_in(await c.turn(script(ECHO)))) == 10
        for i in reversed(range(8)):
            await c.rewind(uuids[i])
            assert sorted(name for name in ws.tree() if name[0].isdigit()) == [f"{n}.txt" for n in range(i)]


async def test_resumed_in_another_folder(ws):
    async with ws.talk() as c:
        session, uuid, before, _ = await one_turn(ws, c)
    async with ws.talk(resume=session, cwd=ws.home) as c:
        turn = await c.turn(script(write("a.txt", "of the home folder\n")))
        assert_went_well(turn)
        assert session_id(turn) == session
        assert (ws.home / "a.txt").read_text() == "of the home folder\n"
        assert ws.bytes("a.txt") == b"v1\n"
        await c.rewind(uuid)
        assert ws.tree() == before
        assert list(ws.home.iterdir()) == []
    assert [s.session_id for s in list_sessions(directory=str(ws.cwd))] == [session]
    assert list_sessions(directory=str(ws.home)) == []


async def test_killed_in_mid_turn(ws):
    ws.put("a.txt", "v0\n")
    before = ws.tree()
    async with ws.talk() as c:
        await c.send(script(read("a.txt"), edit("a.txt", "v0", "v1"), write("made/b.txt", "b\n"), HANG))
        await c.until(lambda _: [is_tool_result(m) for m in c.messages].count(True) == 3, "three results")
        await kill(ws, c)
    killed = ws.tree()
    async with ws.talk(resume=session_id(c.messages)) as again:
        turn = await again.turn(script(ECHO))
        assert_went_well(turn)
        told = heard(turn)
        assert told[1]["tools"] == ["Read", "Edit", "Write"]
        assert len(told[2]["results"]) == 3
        await again.rewind(prompt_uuid(c.messages))
        assert ws.tree() == before
        await again.rewind("undo")
        assert ws.tree() == killed


async def test_killed_while_a_command_runs(ws):
    everything = {"permission_mode": "bypassPermissions"}
    async with ws.talk(**everything) as c:
        await c.send(script(write("a.txt", "a"), bash("echo $$ > begun.tmp && mv begun.tmp begun && exec sleep 30"), write("c.txt", "c")))
        await ws.appears("begun")
        await kill(ws, c)
    command = int(ws.bytes("begun"))

    def running():
        try:
            os.kill(command, signal.SIGKILL)  # whoever kills takeback so leaves its commands
        except ProcessLookupError:
            return []
        return [command]

    await has_ended(running)
    async with ws.talk(resume=session_id(c.messages)) as again:
        turn = await again.turn(script(ECHO))
        assert_went_well(turn)
        told = heard(turn)
        assert told[1]["tools"] == ["Write", "Bash", "Write"]
        assert len(told[2]["results"]) == 3, "the API refuses a call without a result"
        await again.rewind(prompt_uuid(c.messages))
        assert (ws.exists("a.txt"), ws.exists("c.txt")) == (False, False)


async def test_continue_takes_the_session_of_this_folder_that_was_last_at_work(ws):
    async with ws.talk() as c:
        first, *_ = await one_turn(ws, c)
    prompt = script(write("second.txt", "2"))
    second = await ws.ask(prompt)
    await ws.ask(script(say("elsewhere")), cwd=ws.home)
    async with ws.talk(continue_conversation=True) as c:
        turn = await c.turn(script(ECHO))
        assert session_id(turn) == session_id(second) != first
        assert asked_in(turn) == [prompt, script(ECHO)]
        await c.rewind(prompt_uuid(second))
        assert not ws.exists("second.txt")
    await ws.ask(script(say("hello")), resume=first)
    turn = await ws.ask(script(ECHO), continue_conversation=True, fork_session=True)
    assert session_id(turn) not in (first, session_id(second))
    assert asked_in(turn)[0] == PROMPT


@only_script
async def test_continue_where_nothing_was_begun_says_so(ws):
    await ws.ask(script(say("elsewhere")), cwd=ws.home)
    with pytest.raises(Exception, match="No conversation found to continue"):
        await ws.ask("hello", continue_conversation=True)
    assert ws.stderr == ["Error: No conversation found to continue"]
    ws.stderr.clear()


async def test_a_session_that_is_not_kept_leaves_nothing(ws):
    """Python has no option for it, but takes the flag."""
    flags = {"replay-user-messages": None, "no-session-persistence": None}
    async with ws.talk(extra_args=flags) as c:
        session, uuid, before, after = await one_turn(ws, c)
        await c.rewind(uuid)
        assert ws.tree() == before
        await c.rewind("undo")
        assert ws.tree() == after
        assert asked_in(await c.turn(script(ECHO)))[0] == PROMPT
    await ws.processes_end()
    assert [path for path in ws.config.rglob("*") if path.is_file()] == []
    assert list_sessions() == []
    with pytest.raises(Exception, match=f"No conversation found with session ID: {session}"):
        await ws.ask("hello", resume=session)
    ws.stderr.clear()


@only_script
async def test_a_second_prompt_that_was_cut_off_is_a_point_too(ws):
    async with ws.talk() as c:
        session, _, _, after = await one_turn(ws, c)
        await c.send(script(write("second.txt", "2"), HANG))
        await c.until(lambda _: ws.exists("second.txt"), "the write")
        await kill(ws, c)
    async with ws.talk(resume=session) as again:
        turn = await again.turn(script(ECHO))
        assert asked_in(turn)[0] == PROMPT
        await again.rewind(prompt_uuids(c.messages)[1])
        assert ws.tree() == after
