"""k: what the session changed has become something else since. It is left alone, and counted."""

import os
import shutil

import anyio
import pytest
from claude_agent_sdk import SystemMessage

from commandline import rewound, run
from frames import assert_went_well, prompt_uuid, session_id, tool_results
from scripts import edit, read, script, write

only_script = pytest.mark.parametrize("model", ["script"], indirect=True)
DEADLINE = 5  # the tightest client waits so long


def folder_with_something(path, _):
    path.mkdir()
    (path / "inside.txt").write_text("inside\n")


# What may stand where a file stood: each is made at a path; outside is a folder of somebody else's.
SWAPS = {
    "a link to a file": lambda path, outside: path.symlink_to(outside / "precious.txt"),
    "a link to nothing": lambda path, outside: path.symlink_to(outside / "nothing"),
    "a link to a folder": lambda path, outside: path.symlink_to(outside),
    "a hard link": lambda path, outside: path.hardlink_to(outside / "precious.txt"),
    "a FIFO": lambda path, _: os.mkfifo(path, 0o600),
    "an empty folder": lambda path, _: path.mkdir(),
    "a folder with something in it": folder_with_something,
}


def outside_of(ws):
    outside = ws.root / "outside"
    outside.mkdir()
    (outside / "precious.txt").write_text("precious\n")
    return outside


async def answer_to(c, uuid):
    """The whole answer to a rewind: Python drops it, but the event has it too."""
    events = len(events_of(c))
    with anyio.fail_after(DEADLINE):
        await c.call("rewind_files", uuid)
        await c.until(lambda _: len(events_of(c)) > events, "files_rewound")
    return events_of(c)[events]


def events_of(c):
    return [m.data for m in c.messages if isinstance(m, SystemMessage) and m.subtype == "files_rewound"]


def without(tree, *names):
    return {name: entry for name, entry in tree.items() if name not in names}


@pytest.mark.parametrize("swap", SWAPS.values(), ids=SWAPS.keys())
@only_script
async def test_what_was_swapped_in_is_left_alone_and_counted(ws, swap):
    outside = outside_of(ws)
    ws.put("swapped.txt", "v0\n")
    ws.put("stays.txt", "stays v0\n")
    async with ws.talk(env={"TAKEBACK_REWIND_EVENTS": "1"}) as c:
        changes = [step for f in ("swapped.txt", "stays.txt") for step in (read(f), edit(f, "v0", "v1"))]
        turn = await c.turn(script(*changes, write("swapped too.txt", "made\n"), write("gone.txt", "gone\n")))
        assert_went_well(turn)
        uuid = prompt_uuid(turn)
        for name in ("swapped.txt", "swapped too.txt"):
            (ws.cwd / name).unlink()
            swap(ws.cwd / name, outside)
        swapped = without(ws.tree(times=True), "stays.txt", "gone.txt")

        answer = await answer_to(c, uuid)
        assert answer["canRewind"] is True
        assert answer["skippedLinks"] == 2
        assert answer["filesChanged"] == [str(ws.cwd / "gone.txt"), str(ws.cwd / "stays.txt")]
        assert (answer["insertions"], answer["deletions"]) == (1, 2)
        assert ws.bytes("stays.txt") == b"stays v0\n"
        assert without(ws.tree(times=True), "stays.txt") == swapped
        assert (outside / "precious.txt").read_text() == "precious\n"
        assert [p.name for p in outside.iterdir()] == ["precious.txt"]
        with anyio.fail_after(DEADLINE):
            await c.rewind("undo")
        assert ws.bytes("stays.txt") == b"stays v1\n"
    await ws.processes_end()
    assert run(ws, "--resume", session_id(turn), "--rewind-files", uuid) == rewound(uuid)
    assert ws.bytes("stays.txt") == b"stays v0\n"
    assert without(ws.tree(times=True), "stays.txt") == swapped


async def test_all_of_them_at_once(ws):
    outside = outside_of(ws)
    for i in range(len(SWAPS)):
        ws.put(f"{i} swapped.txt", "v0\n")
        ws.put(f"{i} stays.txt", "v0\n")
    async with ws.talk(env={"TAKEBACK_REWIND_EVENTS": "1"}) as c:
        turn = await c.turn(script(*(step for f in sorted(ws.tree()) for step in (read(f), edit(f, "v0", "v1")))))
        assert_went_well(turn)
        for i, swap in enumerate(SWAPS.values()):
            (ws.cwd / f"{i} swapped.txt").unlink()
            swap(ws.cwd / f"{i} swapped.txt", outside)
        answer = await answer_to(c, prompt_uuid(turn))
        assert answer["skippedLinks"] == len(SWAPS)
        assert answer["filesChanged"] == [str(ws.cwd / f"{i} stays.txt") for i in range(len(SWAPS))]
        assert {ws.bytes(f"{i} stays.txt") for i in range(len(SWAPS))} == {b"v0\n"}
        assert (outside / "precious.txt").read_text() == "precious\n"


@pytest.mark.parametrize("target", ["look-alike", "moved", "nothing"])
@only_script
async def test_a_parent_folder_that_is_a_link_now(ws, target):
    for name in ("folder/a.txt", "folder/inner/b.txt", "stays.txt"):
        ws.put(name, "v0\n")
    async with ws.talk(env={"TAKEBACK_REWIND_EVENTS": "1"}) as c:
        changes = [step for f in ("folder/a.txt", "folder/inner/b.txt", "stays.txt") for step in (read(f), edit(f, "v0", "v1"))]
        turn = await c.turn(script(*changes, write("folder/c.txt", "c\n")))
        assert_went_well(turn)
        shutil.move(ws.cwd / "folder", ws.root / "moved")
        if target == "look-alike":
            shutil.copytree(ws.root / "moved", ws.root / target)
            for name in ("a.txt", "inner/b.txt", "c.txt"):
                (ws.root / target / name).write_text("precious\n")
        (ws.cwd / "folder").symlink_to(ws.root / target)

        answer = await answer_to(c, prompt_uuid(turn))
        assert answer["skippedLinks"] == 3
        assert answer["filesChanged"] == [str(ws.cwd / "stays.txt")]
        assert ws.bytes("stays.txt") == b"v0\n"
        assert (ws.cwd / "folder").readlink() == ws.root / target
        assert [(ws.root / "moved" / f).read_text() for f in ("a.txt", "inner/b.txt", "c.txt")] == ["v1\n", "v1\n", "c\n"]
        if target == "look-alike":
            assert {(ws.root / target / f).read_text() for f in ("a.txt", "inner/b.txt", "c.txt")} == {"precious\n"}
        # Put right again, the rewind does what it left.
        (ws.cwd / "folder").unlink()
        shutil.move(ws.root / "moved", ws.cwd / "folder")
        assert (await answer_to(c, prompt_uuid(turn)))["skippedLinks"] == 0
        assert sorted(ws.tree()) == ["folder", "folder/a.txt", "folder/inner", "folder/inner/b.txt", "stays.txt"]


@only_script
async def test_the_tools_do_not_hang_on_them_either(ws):
    outside = outside_of(ws)
    names = [what for what in SWAPS if what != "a hard link"]
    for what in names:
        SWAPS[what](ws.cwd / what, outside)
    before = ws.tree(times=True)
    async with ws.talk() as c:
        with anyio.fail_after(DEADLINE):
            turn = await c.turn(script(*(step for what in names for step in (write(what, "x"), edit(what, "precious", "x")))))
        assert [b.is_error for b in tool_results(turn)] == [True] * (2 * len(names))
        with anyio.fail_after(DEADLINE):
            await c.turn(script(*map(read, names)))
    assert ws.tree(times=True) == before
    assert (outside / "precious.txt").read_text() == "precious\n"
