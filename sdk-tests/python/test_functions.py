"""The SDK's own session functions, on sessions that takeback wrote, at rest and at work."""

import json

import pytest
from claude_agent_sdk import (
    AssistantMessage,
    InMemorySessionStore,
    UserMessage,
    delete_session,
    fork_session,
    get_session_info,
    get_session_messages,
    get_session_messages_from_store,
    import_session_to_store,
    list_sessions,
    list_subagents,
    rename_session,
    tag_session,
)

from commandline import refused, run
from frames import assert_went_well, heard, is_tool_result, prompt_uuid, session_id
from scripts import ECHO, HANG, say, script, write

only_script = pytest.mark.parametrize("model", ["script"], indirect=True)

FOLDERS = {
    "plain": "plain",
    "umlauts": "Ünïcode & blanks/v1.2_final",
    "CJK": "漢字/公共 フォルダ",
    "decomposed": "cafe\u0301/re\u0301sume\u0301",
    "long": "a long way down/" * 20 + "the end",
    "emoji": "emoji 😀 and 👩‍👩‍👧‍👦",
    "long with emoji": "deep 😀/" * 40 + "the end",
}
# The SDK for Python names the folder of a working directory by code points, the one for TypeScript and
# Claude Code by UTF-16 units. takeback does as they do, so with an emoji Python only finds it in all folders.
NAMED_OTHERWISE = ("emoji", "long with emoji")


def spoken(messages):
    return [m.uuid for m in messages if isinstance(m, (UserMessage, AssistantMessage))]


@pytest.mark.parametrize("name", FOLDERS)
@only_script
async def test_every_function_finds_the_session_whatever_the_folder_is_called(ws, name):
    cwd = ws.cwd / FOLDERS[name]
    cwd.mkdir(parents=True)
    prompt = script(write("a.txt", "a"), say("Written."))
    turn = await ws.ask(prompt, cwd=cwd)
    assert_went_well(turn)
    session = session_id(turn)
    other = session_id(await ws.ask("hello", cwd=ws.home))

    directories = [None] if name in NAMED_OTHERWISE else [None, str(cwd)]
    for directory in directories:
        infos = list_sessions(directory=directory)
        wanted = [session] if directory else [session, other]
        assert sorted(s.session_id for s in infos) == sorted(wanted), "each session once"
        info = next(s for s in infos if s.session_id == session)
        assert (info.first_prompt, info.summary, info.cwd, info.custom_title, info.tag) == (prompt, prompt, str(cwd), None, None)
        assert get_session_info(session, directory=directory) == info
        assert [m.uuid for m in get_session_messages(session, directory=directory)] == spoken(turn)
    directory = directories[-1]

    rename_session(session, 'Its name: 😀 "quoted"', directory=directory)
    tag_session(session, "tagged", directory=directory)
    info = get_session_info(session, directory=directory)
    assert (info.custom_title, info.summary, info.tag, info.first_prompt) == ('Its name: 😀 "quoted"', 'Its name: 😀 "quoted"', "tagged", prompt)
    tag_session(session, None, directory=directory)
    assert get_session_info(session, directory=directory).tag is None
    forked = fork_session(session, directory=directory).session_id
    assert get_session_info(forked, directory=directory).custom_title == 'Its name: 😀 "quoted" (fork)'

    # Resumed it is whole, whatever was written behind it.
    async with ws.talk(resume=session, cwd=cwd) as c:
        told = heard(await c.turn(script(ECHO)))
        assert [m.get("text") or m.get("tools") or len(m["results"]) for m in told] == [prompt, ["Write"], 1, "Written.", script(ECHO)]
        await c.rewind(prompt_uuid(turn))
        assert not (cwd / "a.txt").exists()

    delete_session(forked, directory=directory)
    delete_session(session, directory=directory)
    assert [s.session_id for s in list_sessions()] == [other]
    assert get_session_info(session) is None
    assert get_session_messages(session) == []


async def test_while_takeback_is_at_work(ws):
    directory = str(ws.cwd)
    async with ws.talk() as c:
        first = await c.turn(script(write("1.txt", "1"), say("one")))
        session = session_id(first)
        assert [s.session_id for s in list_sessions(directory=directory)] == [session]

        # In the middle of a turn.
        await c.send(script(write("2.txt", "2"), HANG))
        await c.until(lambda _: [is_tool_result(m) for m in c.messages].count(True) == 2, "the write")
        rename_session(session, "Renamed at work", directory=directory)
        tag_session(session, "busy", directory=directory)
        half = [m.uuid for m in get_session_messages(session, directory=directory)]
        assert half == spoken(c.messages)[: len(half)], "as far as it has come"
        assert len(half) == 7
        forked = fork_session(session, directory=directory).session_id
        await c.call("interrupt")
        await c.result(2)

        for i in range(3, 8):
            rename_session(session, f"Name {i}", directory=directory)
            await c.turn(script(write(f"{i}.txt", str(i)), say(f"said {i}")))
            tag_session(session, f"tag{i}", directory=directory)
        info = get_session_info(session, directory=directory)
        assert (info.custom_title, info.tag) == ("Name 7", "tag7")
        assert [m.uuid for m in get_session_messages(session, directory=directory)] == spoken(c.messages)
        assert len(get_session_messages(forked, directory=directory)) == len(half)

    (transcript,) = (ws.config / "projects").rglob(f"{session}.jsonl")
    for line in transcript.read_text().split("\n")[:-1]:
        json.loads(line)  # none runs into another
    async with ws.talk(resume=session) as c:
        told = heard(await c.turn(script(ECHO)))
        assert [m["text"] for m in told if m["role"] == "assistant" and m.get("text", "").startswith("said")] == [f"said {i}" for i in range(3, 8)]
        assert get_session_info(session, directory=directory).custom_title == "Name 7"
        await c.rewind(prompt_uuid(first))
        assert ws.tree() == {}


@only_script
async def test_a_session_that_was_deleted_cannot_be_resumed(ws):
    turn = await ws.ask(script(write("a.txt", "a")))
    session = session_id(turn)
    await ws.processes_end()
    delete_session(session)
    sentence = f"No conversation found with session ID: {session}"
    for more in ({}, {"fork_session": True}):
        with pytest.raises(Exception, match=sentence):
            await ws.ask("hello", resume=session, **more)
        assert ws.stderr == [f"Error: {sentence}"]
        ws.stderr.clear()
    assert run(ws, "--resume", session, "--rewind-files", prompt_uuid(turn)) == refused(sentence)
    assert ws.bytes("a.txt") == b"a"
    with pytest.raises(FileNotFoundError):
        delete_session(session)


async def test_deleted_while_takeback_is_at_work(ws):
    async with ws.talk() as c:
        turn = await c.turn(script(write("a.txt", "a")))
        delete_session(session_id(turn), directory=str(ws.cwd))
        assert list_sessions(directory=str(ws.cwd)) == []
        assert_went_well(await c.turn(script(write("b.txt", "b"))))
        await c.rewind(prompt_uuid(turn))
        assert ws.tree() == {}
    assert list_sessions() == [], "it does not come back"


@only_script
async def test_a_long_conversation(ws):
    async with ws.talk() as c:
        await c.turn("The first prompt " + "long " * 100)
        for _ in range(5):
            await c.turn(script(say("x" * 40_000)))
        session = session_id(c.messages)
        rename_session(session, "Long")
        await c.turn(script(say("the last word")))
        info = get_session_info(session, directory=str(ws.cwd))
        assert info.custom_title == "Long"
        assert info.first_prompt.startswith("The first prompt long") and info.first_prompt.endswith("…")
        every = get_session_messages(session, directory=str(ws.cwd))
        assert len(every) == 14
        assert get_session_messages(session, directory=str(ws.cwd), limit=3, offset=5) == every[5:8]
        assert every[-1].message["content"] == [{"type": "text", "text": "the last word"}]


@only_script
async def test_copied_to_a_store_and_without_subagents(ws):
    session = session_id(await ws.ask(script(write("a.txt", "a"), say("Written."))))
    assert list_subagents(session) == []
    store = InMemorySessionStore()
    await import_session_to_store(session, store, directory=str(ws.cwd))
    messages = get_session_messages(session, directory=str(ws.cwd))
    assert len(messages) == 4
    assert await get_session_messages_from_store(store, session, directory=str(ws.cwd)) == messages
