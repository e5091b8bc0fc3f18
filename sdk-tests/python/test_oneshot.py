"""i: going back from the command line, in sessions that the SDK made."""

import pytest

from commandline import UNDONE, refused, rewound, run
from frames import assert_went_well, heard, is_tool_result, prompt_uuid, session_id
from scripts import ECHO, edit, read, script, write

only_script = pytest.mark.parametrize("model", ["script"], indirect=True)
NOBODY = "11111111-2222-4333-8444-555555555555"


async def two_turns(ws):
    """The session, the uuids of its prompts, the project before, between and after, and all messages."""
    ws.put("a.txt", "v0\r\nno newline", 0o640)
    states, uuids = [ws.tree()], []
    async with ws.talk() as c:
        for prompt in (
            script(read("a.txt"), edit("a.txt", "v0", "v1"), write("made/deep/b.txt", "b\n")),
            script(edit("a.txt", "v1", "v2"), write("c é 😀.txt", "")),
        ):
            turn = await c.turn(prompt)
            assert_went_well(turn)
            uuids.append(prompt_uuid(turn))
            states.append(ws.tree())
    await ws.processes_end()
    return session_id(c.messages), uuids, states, c.messages


def files_below(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


async def test_back_further_back_and_each_undone(ws):
    session, uuids, states, _ = await two_turns(ws)
    transcripts = files_below(ws.config / "projects")

    def go(to):
        return run(ws, "--resume", session, "--rewind-files", to)

    assert go(uuids[1]) == rewound(uuids[1])
    assert ws.tree() == states[1]
    assert go(uuids[0]) == rewound(uuids[0])
    assert ws.tree() == states[0]
    assert go("undo") == UNDONE
    assert ws.tree() == states[1]
    assert go("undo") == UNDONE
    assert ws.tree() == states[2]
    before = ws.tree(times=True)
    assert go("undo") == refused("There is no rewind to undo in this session.")
    assert ws.tree(times=True) == before
    assert files_below(ws.config / "projects") == transcripts, "the conversation is another matter"


@only_script
async def test_the_ways_to_write_the_command(ws):
    session, uuids, states, _ = await two_turns(ws)
    for words in (
        ["--resume", session],
        ["-p", "--resume", session],
        ["-p", "", f"--resume={session}"],
        ["--print", "--output-format", "json", "-r", session],
    ):
        assert run(ws, *words, "--rewind-files", uuids[0]) == rewound(uuids[0])
        assert ws.tree() == states[0]
        assert run(ws, *words, "--rewind-files=undo") == UNDONE
        assert ws.tree() == states[2]
    assert run(ws, "--resume", session, "--rewind-files", uuids[0], cwd=ws.home) == rewound(uuids[0])
    assert ws.tree() == states[0]


@only_script
async def test_what_cannot_be_done_is_said_in_one_sentence(ws):
    session, uuids, _, messages = await two_turns(ws)
    before, stored = ws.tree(times=True), files_below(ws.config)
    tool_result = next(m for m in messages if is_tool_result(m)).uuid
    alone = "--rewind-files is a standalone operation and cannot be used with a prompt"
    go_to_first = ["--resume", session, "--rewind-files", uuids[0]]
    for args, env, sentence in (
        (["--rewind-files", uuids[0]], {}, "--rewind-files requires --resume"),
        (["-p", "hello", *go_to_first], {}, alone),
        (["--input-format", "stream-json", *go_to_first], {}, alone),
        (
            ["--resume", session, "--rewind-files", NOBODY],
            {},
            f"--rewind-files requires a user message UUID, but {NOBODY} is not a user message in this session",
        ),
        (["--resume", session, "--rewind-files", tool_result], {}, "No file checkpoint found for this message."),
        (["--resume", NOBODY, "--rewind-files", uuids[0]], {}, f"No conversation found with session ID: {NOBODY}"),
        (go_to_first, {"CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING": ""}, "File rewinding is not enabled."),
        (go_to_first, {"CLAUDE_CODE_DISABLE_FILE_CHECKPOINTING": "1"}, "File rewinding is not enabled."),
    ):
        assert run(ws, *args, **env) == refused(sentence)
    assert ws.tree(times=True) == before
    assert files_below(ws.config) == stored


async def test_the_sdk_goes_on_where_the_command_line_was(ws):
    session, uuids, states, _ = await two_turns(ws)
    assert run(ws, "-p", "--resume", session, "--rewind-files", uuids[0]) == rewound(uuids[0])
    async with ws.talk(resume=session) as c:
        turn = await c.turn(script(ECHO))
        assert_went_well(turn)
        assert [m["tools"] for m in heard(turn) if "tools" in m] == [["Read", "Edit", "Write"], ["Edit", "Write"]]
        await c.rewind("undo")
        assert ws.tree() == states[2]
