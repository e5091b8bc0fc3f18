"""Every byte, every mode, every name."""

import codecs

import pytest
from claude_agent_sdk import UserMessage

from frames import assert_went_well, prompt_uuid, tool_results
from scripts import bash, edit, read, script, write


def utf16(text, big=False):
    return codecs.BOM_UTF16_BE + text.encode("utf-16-be") if big else codecs.BOM_UTF16_LE + text.encode("utf-16-le")


# What stands on disk, what the agent does to it, and what must stand there then.
CONTENTS = {
    "crlf.txt": (b"one\r\ntwo\r\n", lambda f: edit(f, "one", "uno"), b"uno\r\ntwo\r\n"),
    "mixed endings.txt": (b"a\r\nb\nc\rd", lambda f: write(f, "x\n"), b"x\n"),
    "no final newline.txt": (b"last", lambda f: edit(f, "last", "end"), b"end"),
    "utf8 bom.txt": (b"\xef\xbb\xbfhello\n", lambda f: edit(f, "hello", "bye"), b"\xef\xbb\xbfbye\n"),
    "utf16le.txt": (utf16("hello €\r\n"), lambda f: edit(f, "hello", "bye"), utf16("bye €\r\n")),
    "utf16be.txt": (utf16("hello €\n", big=True), lambda f: edit(f, "hello", "bye"), utf16("bye €\n", big=True)),
    "empty.py": (b"", lambda f: write(f, "pass\n"), b"pass\n"),
    "emptied.py": (b"pass\n", lambda f: write(f, ""), b""),
    "controls.txt": ("\x01\x1b[31m\u2028\u2029\x85\v\f\n".encode(), lambda f: edit(f, "[31m", "[0m"), "\x01\x1b[0m\u2028\u2029\x85\v\f\n".encode()),
    "astral.txt": ("😀𐍈\n".encode(), lambda f: edit(f, "𐍈", "漢"), "😀漢\n".encode()),
}


async def test_g_contents_of_every_kind(ws):
    for name, (before, _, _) in CONTENTS.items():
        ws.put(name, before)
    original = ws.tree()
    async with ws.talk() as c:
        messages = await c.turn(script(*(step for name, (_, change, _) in CONTENTS.items() for step in (read(name), change(name)))))
        assert_went_well(messages)
        assert {name: ws.bytes(name) for name in CONTENTS} == {name: after for name, (_, _, after) in CONTENTS.items()}
        await c.rewind(prompt_uuid(messages))
        assert ws.tree() == original


async def test_g_what_is_not_text_is_never_converted(ws):
    # Bytes that end a Python session should one of them get onto the wire.
    binary = bytes((i * 31 + (i >> 8)) & 0xFF for i in range(4096))
    ws.put("data.bin", binary, 0o600)
    before = ws.tree(times=True)
    async with ws.talk() as c:
        refused = await c.turn(script(edit("data.bin", "a", "b"), write("data.bin", "text"), read("data.bin"), edit("data.bin", "a", "b")))
        assert [r.is_error for r in tool_results(refused)] == [True] * 4
        assert ws.tree(times=True) == before
        overwritten = await c.turn(script(write("data.bin", "text")))
        assert_went_well(overwritten)
        assert ws.bytes("data.bin") == b"text"
        await c.rewind(prompt_uuid(overwritten))
        assert ws.bytes("data.bin") == binary
        assert ws.tree()["data.bin"][0] == "-rw-------"


async def test_g_output_of_commands_that_is_not_text_does_not_end_the_session(ws):
    async with ws.talk(permission_mode="bypassPermissions") as c:
        assert_went_well(await c.turn(script(bash(r"printf 'a\377\376b\000c'"))))
        assert_went_well(await c.turn(script(write("a.txt", "a"))))


async def test_g_modes(ws):
    modes = {"run.sh": 0o755, ".env": 0o600, "odd.txt": 0o640}
    for name, mode in modes.items():
        ws.put(name, "v0\n", mode)
    original = ws.tree()
    async with ws.talk() as c:
        messages = await c.turn(script(*(step for name in modes for step in (read(name), edit(name, "v0", "v1")))))
        assert_went_well(messages)
        for name, mode in modes.items():
            assert (ws.cwd / name).stat().st_mode & 0o7777 == mode
            assert ws.bytes(name) == b"v1\n"
        (ws.cwd / "run.sh").chmod(0o644)
        await c.rewind(prompt_uuid(messages))
        assert ws.tree() == original


NAMES = [
    "with space.txt",
    " led and trailed ",
    "new\nline.txt",
    "tab\tand\rreturn.txt",
    "漢字/公共.cpp",
    "emoji 😀.txt",
    "caf\u00e9 nfc.txt",
    "cafe\u0301 nfd.txt",
    "-rf",
    "quotes \"'`.txt",
    "back\\slash.txt",
    "$HOME *?[a].txt",
    ".hidden/.deep/file",
    "n" * 251 + ".txt",
]


async def test_g_names_of_every_kind(ws):
    for name in NAMES:
        ws.put(name, f"in {name}\n")
    original = ws.tree()
    async with ws.talk() as c:
        messages = await c.turn(
            script(
                *(step for name in NAMES for step in (read(name), edit(name, "in ", "was in "))),
                *(write(f"new/{name}", name) for name in NAMES),
            )
        )
        assert_went_well(messages)
        changed = ws.tree()
        for name in NAMES:
            assert ws.bytes(name) == f"was in {name}\n".encode()
            assert ws.bytes(f"new/{name}") == name.encode()
        await c.rewind(prompt_uuid(messages))
        assert ws.tree() == original
        await c.rewind("undo")
        assert ws.tree() == changed


async def test_g_megabytes_pass_though_the_sdk_takes_no_line_over_one(ws):
    line = "x" * 1999 + "\n"
    ws.put("huge.txt", line * 1500)
    async with ws.talk() as c:
        messages = await c.turn(script(read("huge.txt"), write("huge.txt", line * 1501)))
        assert_went_well(messages)
        assert ws.bytes("huge.txt") == (line * 1501).encode()
        uuid = next(m.uuid for m in messages if getattr(m, "uuid", None))
        await c.rewind(uuid)
        assert ws.bytes("huge.txt") == (line * 1500).encode()
        assert_went_well(await c.turn(script(write("after.txt", "after"))))


@pytest.mark.parametrize("model", ["script"], indirect=True)
async def test_g_a_rewind_of_more_paths_than_a_line_may_hold(ws):
    """The reply names every path, and together they weigh more than the SDK takes in one line."""
    folder = "/".join(["long" * 50] * 2)
    async with ws.talk() as c:
        messages = await c.turn(script(*(write(f"{folder}/{n}", "") for n in range(3000))))
        assert_went_well(messages)
        assert len(ws.tree()) == 3002
        (uuid,) = {m.uuid for m in messages if isinstance(m, UserMessage) and m.tool_use_result is None and not tool_results([m])}
        await c.rewind(uuid)
        assert ws.tree() == {}
        assert_went_well(await c.turn(script(write("after.txt", "after"))))
