"""l: notebooks cell by cell, and back to the byte. And the tools that look for files."""

import json

from frames import assert_went_well, is_tool_result, prompt_uuid, tool_results
from scripts import read, script, tool, write


def change(path, **more):
    return tool("NotebookEdit", notebook_path=path, **more)


def code(id, source, outputs=(), execution_count=None):
    return {"cell_type": "code", "execution_count": execution_count, "id": id, "metadata": {}, "outputs": list(outputs), "source": source}


def markdown(id, source):
    return {"cell_type": "markdown", "id": id, "metadata": {}, "source": source}


def notebook(*cells):
    metadata = {"language_info": {"name": "python", "version": "3.11.0"}}
    return {"cells": list(cells), "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def text(book):
    """As Jupyter writes it."""
    return (json.dumps(book, indent=1, ensure_ascii=False) + "\n").encode()


def reports(turn):
    return [m.tool_use_result for m in turn if is_tool_result(m)]


async def test_cells_edited_inserted_and_deleted(ws):
    output = {"name": "stdout", "output_type": "stream", "text": ["1.50\n"]}
    book = notebook(markdown("intro", ["# Café 😀\n", "second line"]), code("first", ["x = 1.50"], [output], 3), code("second", ["y = 2"], [], 4))
    ws.put("n.ipynb", text(book), 0o640)
    states, uuids = [ws.tree()], []
    async with ws.talk() as c:

        async def turn(*steps):
            messages = await c.turn(script(*steps))
            assert_went_well(messages)
            uuids.append(prompt_uuid(messages))
            states.append(ws.tree())
            return reports(messages)[-1]

        report = await turn(read("n.ipynb"), change("n.ipynb", cell_id="first", new_source="x = 2\nprint(x)"))
        assert (report["edit_mode"], report["cell_id"], report["cell_type"], report["language"]) == ("replace", "first", "code", "python")
        book["cells"][1] = code("first", ["x = 2\n", "print(x)"])
        assert ws.bytes("n.ipynb") == text(book)

        report = await turn(change("n.ipynb", cell_id="first", edit_mode="insert", cell_type="code", new_source="between"))
        assert report["edit_mode"] == "insert"
        book["cells"].insert(2, code(report["cell_id"], ["between"]))
        assert ws.bytes("n.ipynb") == text(book)

        await turn(change("n.ipynb", cell_id="intro", edit_mode="delete"))
        del book["cells"][0]
        assert ws.bytes("n.ipynb") == text(book)

        await turn(write("made/new.ipynb", text(notebook()).decode()), change("made/new.ipynb", edit_mode="insert", cell_type="markdown", new_source="# new"))
        made = json.loads(ws.bytes("made/new.ipynb"))
        assert made == notebook(markdown(made["cells"][0]["id"], ["# new"]))

        for i in (3, 2, 1, 0, 2, 3, 1):
            await c.rewind(uuids[i])
            assert ws.tree() == states[i], i
        for _ in range(7):
            await c.rewind("undo")
        assert ws.tree() == states[4]


async def test_a_notebook_that_was_not_read_is_not_changed(ws):
    ws.put("n.ipynb", text(notebook(markdown("a", ["x"]))))
    before = ws.tree(times=True)
    async with ws.talk() as c:
        (result,) = tool_results(await c.turn(script(change("n.ipynb", cell_id="a", new_source="y"))))
        assert result.is_error
        *_, result = tool_results(await c.turn(script(read("n.ipynb"), change("n.ipynb", cell_id="nowhere", new_source="y"))))
        assert result.is_error and "nowhere" in str(result.content)
    assert ws.tree(times=True) == before


async def test_glob_and_grep(ws):
    ws.put("src/a.py", "needle = 1\nother\n")
    ws.put("src/deep/b.py", "other\nNEEDLE\n")
    ws.put("built/c.py", "needle\n")
    ws.put(".gitignore", "built/\n")
    before = ws.tree(times=True)
    async with ws.talk(permission_mode="default") as c:  # they only read
        turn = await c.turn(
            script(
                tool("Glob", pattern="src/**/*.py"),
                tool("Grep", pattern="needle"),
                tool("Grep", pattern="needle", output_mode="content", **{"-i": True, "-n": True}),
            )
        )
    assert_went_well(turn)

    def short(names):
        return sorted(name.replace(f"{ws.cwd}/", "") for name in names)

    glob, files, content = reports(turn)
    assert (short(glob["filenames"]), glob["numFiles"]) == (["src/a.py", "src/deep/b.py"], 2)
    assert (short(files["filenames"]), files["numFiles"]) == (["src/a.py"], 1)
    assert short(content["content"].split("\n")) == ["src/a.py:1:needle = 1", "src/deep/b.py:2:NEEDLE"]
    assert ws.tree(times=True) == before
