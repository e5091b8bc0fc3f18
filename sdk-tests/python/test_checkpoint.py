"""The main job as the documentation of file checkpointing tells it."""

from claude_agent_sdk import AssistantMessage, ResultMessage, UserMessage

from frames import (
    UUID,
    assert_went_well,
    heard,
    is_init,
    is_prompt,
    prompt_uuid,
    prompt_uuids,
    said,
    session_id,
    tool_results,
)
from scripts import ECHO, HANG, edit, read, say, script, write

BEFORE = "def add(a, b):\n    return a + b\n"
AFTER = "def sum(a, b):\n    return a + b\n"

# A turn that changes one file, makes another in new folders, and overwrites a third.
REFACTOR = script(
    say("Refactoring."),
    read("math.py"),
    edit("math.py", "add", "sum"),
    write("docs/api/math.md", "# sum\n"),
    read("old.txt"),
    write("old.txt", "new\nlines\n"),
    say("Done refactoring."),
)


def project(ws):
    ws.put("math.py", BEFORE, 0o755)
    ws.put("old.txt", "one\ntwo\nthree\n")
    ws.put("untouched.txt", "mine\n")


async def test_a_uuid_and_session_id_are_learned_from_the_stream(ws):
    project(ws)
    async with ws.talk() as c:
        messages = await c.turn(REFACTOR)
    assert_went_well(messages)
    assert ws.bytes("math.py") == AFTER.encode()
    assert ws.bytes("docs/api/math.md") == b"# sum\n"
    assert ws.bytes("old.txt") == b"new\nlines\n"

    prompt = next(m for m in messages if is_prompt(m))
    assert prompt.content == REFACTOR
    assert prompt.parent_tool_use_id is None
    assert UUID.fullmatch(prompt_uuid(messages))
    session = session_id(messages)
    assert UUID.fullmatch(session) and session != prompt.uuid
    assert {m.session_id for m in messages if isinstance(m, (AssistantMessage, ResultMessage))} == {session}

    # The replay stands before all that the turn brings.
    assert is_init(messages[0]) and is_prompt(messages[1])
    assert isinstance(messages[-1], ResultMessage)
    # The uuid that the documentation has users keep is the first that a UserMessage carries.
    assert next(m.uuid for m in messages if isinstance(m, UserMessage) and m.uuid) == prompt.uuid


async def test_a_uuid_that_the_host_gave_is_the_one_replayed(ws):
    uuid = "0f0e0d0c-0b0a-4908-8706-050403020100"
    async with ws.talk() as c:
        await c.send_message(message={"role": "user", "content": script(write("a.txt", "a"))}, uuid=uuid)
        await c.result(1)
        assert_went_well(c.messages)
        assert prompt_uuid(c.messages) == uuid
        await c.rewind(uuid)
        assert ws.tree() == {}


async def test_b_resume_with_an_empty_prompt_and_rewind(ws):
    project(ws)
    original = ws.tree()
    first = await ws.ask(REFACTOR)
    assert_went_well(first)
    checkpoint, session = prompt_uuid(first), session_id(first)
    assert ws.tree() != original

    # To the letter as the documentation has it.
    rewound = 0
    async with ws.client(resume=session) as client:
        await client.query("")
        async for message in client.receive_response():
            assert is_init(message) and message.data["session_id"] == session
            await client.rewind_files(checkpoint)
            rewound += 1
            break
    assert rewound == 1
    assert ws.tree() == original

    # The conversation is whole, and holds nothing of the empty prompt.
    after = await ws.ask(script(ECHO), resume=session)
    assert_went_well(after)
    assert session_id(after) == session
    assert_knows_refactoring(heard(after))


async def test_b_the_next_turn_knows_the_conversation_and_of_the_rewind(ws):
    project(ws)
    first = await ws.ask(REFACTOR)
    async with ws.talk(resume=session_id(first)) as c:
        await c.send("")
        await c.until(is_init, "the first frame")
        await c.rewind(prompt_uuid(first))
        empty = await c.result(1)
        assert (empty.subtype, empty.is_error, empty.num_turns) == ("success", False, 0)
        following = heard(await c.turn(script(ECHO)))
        assert_knows_refactoring(following)
        for name in ("math.py", "docs/api/math.md", "old.txt"):
            assert name in following[-1]["text"]
        # It is told once.
        assert heard(await c.turn(script(ECHO)))[-1]["text"] == script(ECHO)


def assert_knows_refactoring(messages):
    assert [(m["role"], m.get("text"), m.get("tools")) for m in messages[:4]] == [
        ("user", REFACTOR, None),
        ("assistant", "Refactoring.", ["Read", "Edit", "Write", "Read", "Write"]),
        ("user", None, None),
        ("assistant", "Done refactoring.", None),
    ]
    assert len(messages[2]["results"]) == 5
    assert len(messages) == 5
    assert messages[4]["role"] == "user"
    assert messages[4]["text"].endswith(script(ECHO))


async def test_d_latest_safe_point_and_break_in_the_middle_of_the_stream(ws):
    ws.put("app.py", "v0\n")
    safe, seen = None, []
    async with ws.client() as client:
        await client.query(script(read("app.py"), edit("app.py", "v0", "v1")))
        await client.query(
            script(edit("app.py", "v1", "v2"), write("junk/broken.py", "oops"), say("Something is wrong."), edit("app.py", "v2", "v3"))
        )
        async for message in client.receive_messages():
            if is_prompt(message):
                safe = message.uuid
                seen.append(safe)
            if said([message]) == ["Something is wrong."]:
                await client.rewind_files(safe)
                break
    assert len(seen) == 2
    # The text and the second edit are one message of the model, so the edit may have come
    # after the rewind: then it found v1, and failed.
    assert list(ws.tree()) == ["app.py"]
    assert ws.bytes("app.py") == b"v1\n"


async def test_d_a_rewind_while_a_turn_goes_on_takes_effect_at_once(ws):
    ws.put("app.py", "v0\n")
    async with ws.talk() as c:
        await c.send(script(read("app.py"), edit("app.py", "v0", "v1"), write("new.py", "x"), say("Half way."), HANG))
        await c.until(lambda _: len(tool_results(c.messages)) == 3, "the three results")
        await c.rewind(prompt_uuid(c.messages))
        assert list(ws.tree()) == ["app.py"]
        assert ws.bytes("app.py") == b"v0\n"
        assert c.results == [], "the turn is still running"
        await c.call("interrupt")
        await c.result(1)
        assert_went_well(await c.turn(script(say("Still here."))))


async def two_turns(ws, c):
    """Turn 1 refactors, turn 2 writes tests: the uuids, and the project before, between and after."""
    ws.put("lib.py", "x = 1\n")
    uuids, states = [], [ws.tree()]
    for prompt in (
        script(read("lib.py"), edit("lib.py", "x", "y"), write("src/util.py", "pass\n")),
        script(write("tests/unit/test_lib.py", "pass\n"), edit("lib.py", "= 1", "= 2")),
    ):
        messages = await c.turn(prompt)
        assert_went_well(messages)
        uuids.append(prompt_uuid(messages))
        states.append(ws.tree())
    return uuids, states


async def test_e_back_further_back_forward_again_and_undo(ws):
    async with ws.talk() as c:
        uuids, states = await two_turns(ws, c)
        await c.rewind(uuids[1])
        assert ws.tree() == states[1]
        await c.rewind(uuids[0])
        assert ws.tree() == states[0]
        await c.rewind(uuids[1])
        assert ws.tree() == states[1]
        # Python drops the reply and with it the undo id: the word does it.
        await c.rewind("undo")
        assert ws.tree() == states[0]
        await c.rewind("undo")
        assert ws.tree() == states[1]
        await c.rewind("undo")
        assert ws.tree() == states[2]


async def test_e_points_and_undo_outlive_the_process(ws):
    async with ws.talk() as c:
        uuids, states = await two_turns(ws, c)
        session = session_id(c.messages)
    async with ws.talk(resume=session) as c:
        await c.rewind(uuids[0])
        assert ws.tree() == states[0]
    async with ws.talk(resume=session) as c:
        await c.rewind("undo")
        assert ws.tree() == states[2]
        await c.rewind(uuids[1])
        assert ws.tree() == states[1]


async def test_e_every_turn_is_a_point(ws):
    async with ws.talk() as c:
        for n in range(12):
            steps = [] if n else [write("n.txt", "")]
            assert_went_well(await c.turn(script(*steps, read("n.txt"), write("n.txt", f"after {n}\n"))))
        uuids = prompt_uuids(c.messages)
        assert len(set(uuids)) == 12
        for n in (7, 11, 1, 5):
            await c.rewind(uuids[n])
            assert ws.bytes("n.txt") == f"after {n - 1}\n".encode()
        await c.rewind(uuids[0])
        assert ws.tree() == {}
