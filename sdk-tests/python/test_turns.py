"""Interrupts, queues and the end of input."""

from claude_agent_sdk import StreamEvent, UserMessage

from frames import (
    assert_went_well,
    is_init,
    is_prompt,
    is_result,
    prompt_uuid,
    prompt_uuids,
    said,
    session_id,
    tool_calls,
    tool_results,
)
from processes import group, has_ended
from scripts import HANG, bash, read, say, script, write

# A command that runs until the file `go` is there, and says when it has begun.
WAIT_FOR_GO = bash("echo $$ > begun.tmp && mv begun.tmp begun && until [ -e go ]; do sleep 0.01; done")

# A command that never ends, and neither does the process that it started.
ENDLESS = bash("sleep 1000 & echo $$ > begun.tmp && mv begun.tmp begun && wait")


def interruptions(messages):
    return [
        m
        for m in messages
        if isinstance(m, UserMessage) and isinstance(m.content, list) and any(getattr(b, "text", "").startswith("[Request interrupted by user") for b in m.content)
    ]


async def test_h_interrupt_while_a_tool_runs(ws):
    async with ws.talk(permission_mode="bypassPermissions") as c:
        await c.send(script(write("a.txt", "a"), ENDLESS, say("never said")))
        await ws.appears("begun")
        await c.call("interrupt")
        result = await c.result(1)
        assert result.subtype == "error_during_execution"
        assert isinstance(result.errors, list)
        assert said(c.messages) == []
        assert [r.is_error for r in tool_results(c.messages)][1:] == [True]
        assert len(interruptions(c.messages)) == 1
        pid = int(ws.bytes("begun"))
        await has_ended(lambda: group(pid))

        assert_went_well(await c.turn(script(say("And on."))))
        await c.rewind(prompt_uuids(c.messages)[0])
        assert not ws.exists("a.txt")


async def test_h_interrupt_while_the_model_speaks(ws):
    async with ws.talk(include_partial_messages=True) as c:
        await c.send(script(say("A thought that is never "), HANG))
        await c.until(lambda m: isinstance(m, StreamEvent) and m.event["type"] == "content_block_delta", "the first words")
        await c.call("interrupt")
        assert (await c.result(1)).subtype == "error_during_execution"
        following = await c.turn(script(say("And on.")))
        assert_went_well(following)
        assert said(following) == ["And on."]


async def test_h_interrupt_with_nothing_to_stop(ws):
    async with ws.talk() as c:
        assert_went_well(await c.turn(script(say("Done."))))
        await c.call("interrupt")
        assert_went_well(await c.turn(script(say("And on."))))
        assert len(c.results) == 2


async def test_h_two_messages_sent_while_one_runs(ws):
    async with ws.talk(permission_mode="bypassPermissions") as c:
        await c.send(script(write("1.txt", "1"), WAIT_FOR_GO, say("one")))
        await ws.appears("begun")
        await c.send(script(write("2.txt", "2"), say("two")))
        await c.send(script(write("3.txt", "3"), say("three")))
        # An answer to what came behind them: they have been read.
        await c.call("set_permission_mode", "bypassPermissions")
        assert len(prompt_uuids(c.messages)) == 1, "a prompt is replayed when its turn starts"
        ws.put("go", "")
        await c.result(3)
    turns = [[]]
    for message in c.messages:
        turns[-1].append(message)
        if is_result(message):
            turns.append([])
    assert turns.pop() == [], "nothing follows the last result"
    assert [said(turn) for turn in turns] == [["one"], ["two"], ["three"]]
    for turn in turns:
        assert_went_well(turn)
        assert is_init(turn[0]) and is_prompt(turn[1])
    uuids = [prompt_uuid(turn) for turn in turns]
    assert len(set(uuids)) == 3

    def left():
        return sorted(name for name in ws.tree() if name[0].isdigit())

    async with ws.talk(resume=session_id(c.messages)) as again:
        await again.rewind(uuids[2])
        assert left() == ["1.txt", "2.txt"]
        await again.rewind(uuids[1])
        assert left() == ["1.txt"]
        await again.rewind(uuids[0])
        assert left() == []


async def test_h_end_of_input_right_behind_the_prompt(ws):
    """query() closes stdin as soon as it has written a plain prompt; the turn still finishes."""
    messages = await ws.ask(script(write("a.txt", "a"), say("one"), write("b.txt", "b"), say("two")))
    assert_went_well(messages)
    assert said(messages) == ["one", "two"]
    assert sorted(ws.tree()) == ["a.txt", "b.txt"]


async def test_h_end_of_input_right_behind_several_prompts(ws):
    async def prompts():
        for n in (1, 2, 3):
            yield {"type": "user", "message": {"role": "user", "content": script(write(f"{n}.txt", str(n)), say(f"said {n}"))}}

    messages = await ws.ask(prompts())
    assert [m.subtype for m in messages if is_result(m)] == ["success"] * 3
    assert said(messages) == ["said 1", "said 2", "said 3"]
    assert sorted(ws.tree()) == ["1.txt", "2.txt", "3.txt"]
    assert len(set(prompt_uuids(messages))) == 3


async def test_h_calls_in_a_row_have_each_their_own_answer_in_order(ws):
    ws.put("a.txt", "A\n")
    ws.put("b.txt", "B\n")
    async with ws.talk() as c:
        messages = await c.turn(script(read("a.txt"), read("b.txt"), read("none.txt"), say("read")))
    assert [r.tool_use_id for r in tool_results(messages)] == [b.id for b in tool_calls(messages)]
    assert [bool(r.is_error) for r in tool_results(messages)] == [False, False, True]
