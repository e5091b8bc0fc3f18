"""A model that fails: the SDK is told in words that help, and the session lives on."""

import socket

import pytest
from claude_agent_sdk import AssistantMessage

from frames import assert_went_well, is_prompt, is_result, prompt_uuid, said, tool_results
from scripts import CUT, HANG, fail, say, script, tool, write

only_fakeapi = pytest.mark.parametrize("model", ["fakeapi"], indirect=True)


def assert_failed(turn, kind, status):
    """A failed turn as the SDKs expect it: an assistant's words with `error`, then a success that is an error."""
    result = turn[-1]
    assert is_result(result)
    assert (result.subtype, result.is_error) == ("success", True)
    assert (result.terminal_reason, result.api_error_status) == ("api_error", status)
    told = [m for m in turn if isinstance(m, AssistantMessage)][-1]
    assert told.error == kind
    assert [b.text for b in told.content] == [result.result]
    assert result.result
    return result.result


async def test_4xx_is_told_at_once(ws):
    async with ws.talk() as c:
        for status, kind in [(400, "invalid_request"), (401, "authentication_failed"), (402, "billing_error"), (404, "model_not_found")]:
            text = assert_failed(await c.turn(script(fail(status, message=f"the reason for {status}"))), kind, status)
            assert f"the reason for {status}" in text
        assert_went_well(await c.turn(script(say("And on."))))


@pytest.mark.parametrize(("status", "kind"), [(429, "rate_limit"), (500, "server_error"), (529, "overloaded")])
async def test_busy_is_told_when_trying_again_did_not_help(ws, status, kind):
    async with ws.talk() as c:
        text = assert_failed(await c.turn(script(fail(status, retry_after=0))), kind, status)
        assert ("(Tried 11 times.)" in text) == (ws.model == "fakeapi")
        assert_went_well(await c.turn(script(say("Better."))))


@only_fakeapi
async def test_busy_once_is_asked_again(ws):
    async with ws.talk() as c:
        turn = await c.turn(script(fail(529, times=1, retry_after=0), say("At last.")))
        assert_went_well(turn)
        assert said(turn) == ["At last."]


async def test_a_cut_stream(ws):
    async with ws.talk() as c:
        assert_failed(await c.turn(script(say("This sentence has no "), CUT)), "server_error", None)
        half_call = await c.turn(script({**tool("Write", file_path="a.txt", content="long " * 200), "cut": True}))
        assert_failed(half_call, "server_error", None)
        assert ws.tree() == {} and tool_results(half_call) == []
        assert_went_well(await c.turn(script(write("b.txt", "b"))))


async def test_work_done_before_a_failure_can_be_taken_back(ws):
    async with ws.talk() as c:
        turn = await c.turn(script(write("a.txt", "a"), fail(400)))
        assert_failed(turn, "invalid_request", 400)
        assert ws.bytes("a.txt") == b"a"
        await c.rewind(prompt_uuid(turn))
        assert ws.tree() == {}
        assert_went_well(await c.turn(script(say("And on."))))


async def test_a_server_that_never_answers_can_be_interrupted(ws):
    async with ws.talk() as c:
        await c.send(script(HANG))
        await c.until(is_prompt, "the replay")
        await c.call("interrupt")
        assert (await c.result(1)).subtype == "error_during_execution"
        assert_went_well(await c.turn(script(say("And on."))))


@only_fakeapi
async def test_no_key(ws):
    del ws.env["ANTHROPIC_API_KEY"]
    async with ws.talk() as c:
        text = assert_failed(await c.turn("hello"), "authentication_failed", None)
        assert "ANTHROPIC_API_KEY" in text
        assert_failed(await c.turn("hello again"), "authentication_failed", None)


@only_fakeapi
async def test_nobody_listens_and_trying_again_can_be_interrupted(ws):
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    async with ws.talk(env={"ANTHROPIC_BASE_URL": f"http://{address}"}) as c:
        await c.send("hello")
        await c.until(is_prompt, "the replay")
        await c.call("interrupt")
        assert (await c.result(1)).subtype == "error_during_execution"
