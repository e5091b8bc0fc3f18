"""The troubles that people report."""

import pytest
from claude_agent_sdk import CLIConnectionError, UserMessage

from frames import assert_went_well, is_prompt, is_tool_result, prompt_uuid, session_id, tool_results
from scripts import bash, edit, read, say, script, write

UNKNOWN = "No file checkpoint found for this message."
OFF = "File rewinding is not enabled."
NOBODY = "11111111-2222-4333-8444-555555555555"


async def refused(c, uuid, text):
    with pytest.raises(Exception) as caught:
        await c.rewind(uuid)
    assert str(caught.value) == text


async def test_f_without_the_replay_flag_there_is_no_uuid_to_rewind_to(ws):
    messages = await ws.ask(script(write("a.txt", "a")), extra_args={})
    assert_went_well(messages)
    # The only user message is the tool result, and its uuid is no point to rewind to.
    (user,) = [m for m in messages if isinstance(m, UserMessage)]
    assert is_tool_result(user)
    async with ws.talk(resume=session_id(messages)) as c:
        await refused(c, user.uuid, UNKNOWN)


async def test_f_without_checkpointing_nothing_is_stored_and_rewinding_is_not_enabled(ws):
    async with ws.talk(enable_file_checkpointing=False) as c:
        messages = await c.turn(script(write("a.txt", "a")))
        assert_went_well(messages)
        await refused(c, prompt_uuid(messages), OFF)
        await refused(c, NOBODY, OFF)
        assert ws.bytes("a.txt") == b"a"
    assert not (ws.config / "takeback").exists()


async def test_f_an_unknown_id_is_an_error(ws):
    async with ws.talk() as c:
        messages = await c.turn(script(write("a.txt", "a")))
        assert_went_well(messages)
        result = next(m.uuid for m in messages if is_tool_result(m))
        for uuid in (NOBODY, "", "not a uuid", result):
            await refused(c, uuid, UNKNOWN)
        assert ws.bytes("a.txt") == b"a"
        # None of it hurt the session.
        await c.rewind(prompt_uuid(messages))
        assert ws.tree() == {}


async def test_f_a_rewind_before_any_prompt_is_an_unknown_id_too(ws):
    async with ws.talk() as c:
        await refused(c, NOBODY, UNKNOWN)
        assert_went_well(await c.turn(script(write("a.txt", "a"))))


async def test_f_a_rewind_after_the_stream_ended_needs_an_open_connection(ws):
    """The SDK itself refuses this; the documented way is to resume. Kept so that we notice should it change."""
    client = ws.client()
    async with client:
        await client.query(script(write("a.txt", "a")))
        messages = [m async for m in client.receive_response()]
    with pytest.raises(CLIConnectionError):
        await client.rewind_files(prompt_uuid(messages))
    async with ws.talk(resume=session_id(messages)) as c:
        await c.rewind(prompt_uuid(messages))
    assert ws.tree() == {}


async def test_f_edit_and_write_refuse_a_file_that_was_not_read(ws):
    ws.put("a.txt", "precious\n")
    before = ws.tree(times=True)
    async with ws.talk() as c:
        messages = await c.turn(script(edit("a.txt", "precious", "x"), write("a.txt", "x")))
        assert [r.is_error for r in tool_results(messages)] == [True, True]
        assert ws.tree(times=True) == before


async def test_f_in_default_mode_what_would_ask_is_denied(ws):
    async with ws.talk(permission_mode="default") as c:
        messages = await c.turn(script(write("a.txt", "a"), bash("touch b.txt")))
        assert [r.is_error for r in tool_results(messages)] == [True, True]
        (result,) = c.results
        assert result.subtype == "success"
        assert [d["tool_name"] for d in result.permission_denials] == ["Write", "Bash"]
        assert ws.tree() == {}


async def test_f_saved_bytes_that_went_bad_are_an_error_that_names_the_file(ws):
    """An error is all that Python shows: a rewind that did less than it was asked must be one."""
    ws.put("bad.txt", "the bytes that go bad\n")
    ws.put("good.txt", "v0\n")
    async with ws.talk() as c:
        messages = await c.turn(
            script(read("bad.txt"), edit("bad.txt", "the bytes", "those bytes"), read("good.txt"), edit("good.txt", "v0", "v1"))
        )
        assert_went_well(messages)
        ws.garble_store(b"the bytes that go bad\n")
        with pytest.raises(Exception) as caught:
            await c.rewind(prompt_uuid(messages))
        assert str(ws.cwd / "bad.txt") in str(caught.value)
        assert str(ws.cwd / "good.txt") not in str(caught.value)
        # What could be restored is; the other is neither damaged nor taken for a file that was not there.
        assert ws.bytes("good.txt") == b"v0\n"
        assert ws.bytes("bad.txt") == b"those bytes that go bad\n"
        assert_went_well(await c.turn(script(say("Still here."))))


async def test_f_a_path_that_is_now_a_link_is_left_alone(ws):
    victim = ws.root / "victim.txt"
    victim.write_text("precious\n")
    ws.put("a.txt", "v0\n")
    async with ws.talk() as c:
        messages = await c.turn(script(read("a.txt"), edit("a.txt", "v0", "v1"), write("new.txt", "new")))
        for name in ("a.txt", "new.txt"):
            (ws.cwd / name).unlink()
            (ws.cwd / name).symlink_to(victim)
        await c.rewind(prompt_uuid(messages))
        assert victim.read_text() == "precious\n"
        assert (ws.cwd / "a.txt").is_symlink() and (ws.cwd / "new.txt").is_symlink()


async def test_f_a_rewind_is_told_to_who_asks_since_python_drops_the_reply(ws):
    ws.put("a.txt", "v0\n")
    async with ws.talk(env={"TAKEBACK_REWIND_EVENTS": "1"}) as c:
        uuid = prompt_uuid(await c.turn(script(read("a.txt"), edit("a.txt", "v0", "v1"), write("b.txt", "1\n2\n"))))
        await c.rewind(uuid)
        frame = await c.until(lambda m: getattr(m, "subtype", "") == "files_rewound", "the frame")
        told = frame.data
        assert told["user_message_id"] == uuid
        assert told["filesChanged"] == [str(ws.cwd / "a.txt"), str(ws.cwd / "b.txt")]
        assert (told["insertions"], told["deletions"], told["skippedLinks"]) == (1, 3, 0)
        await c.rewind(told["undo_id"])
        assert ws.bytes("a.txt") == b"v1\n" and ws.bytes("b.txt") == b"1\n2\n"


async def test_f_the_prompt_of_a_one_way_question_is_replayed_too(ws):
    messages = await ws.ask(script(say("hi")))
    assert [m.content for m in messages if is_prompt(m)] == [script(say("hi"))]
