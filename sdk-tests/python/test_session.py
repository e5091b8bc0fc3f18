"""What the SDK is told of a session, where it finds its record, and how it ends."""

import logging

import anyio
import pytest
from claude_agent_sdk import (
    AssistantMessage,
    ClaudeSDKClient,
    ResultError,
    StreamEvent,
    SystemMessage,
    ThinkingBlock,
    UserMessage,
    get_session_messages,
    list_sessions,
)

from frames import (
    UUID,
    assert_went_well,
    heard,
    is_init,
    is_prompt,
    is_result,
    is_tool_result,
    prompt_uuid,
    said,
    session_id,
)
from scripts import ECHO, HANG, bash, fail, say, script, think, tool, write

only_script = pytest.mark.parametrize("model", ["script"], indirect=True)
only_fakeapi = pytest.mark.parametrize("model", ["fakeapi"], indirect=True)


async def test_every_turn_opens_with_init(ws):
    async with ws.talk() as c:
        for turn in (await c.turn(script({"echo": "tools"})), await c.turn(script({"echo": "tools"}))):
            assert [is_init(m) for m in turn].count(True) == 1
            assert is_init(turn[0])
            init = turn[0].data
            assert init["cwd"] == str(ws.cwd)
            # The tools that the model is told of, and no others.
            assert init["tools"] == heard(turn)
            assert {"Bash", "Edit", "Read", "Write"} <= set(init["tools"])
            assert init["permissionMode"] == "acceptEdits"
            assert init["model"] and isinstance(init["model"], str)
            assert init["claude_code_version"].startswith("2.1.332")
            for field in ("apiKeySource", "output_style"):
                assert isinstance(init[field], str)
            for field in ("mcp_servers", "slash_commands", "agents", "skills", "plugins"):
                assert init[field] == []
            assert UUID.fullmatch(init["uuid"]) and UUID.fullmatch(init["session_id"])


@only_script
async def test_the_version_satisfies_the_sdk(ws, caplog):
    with caplog.at_level(logging.WARNING):
        async with ws.talk() as c:
            await c.turn("hello")
    assert caplog.records == []


async def test_server_info_is_there_before_the_first_prompt(ws):
    async with ws.talk() as c:
        info = await c.call("get_server_info")
        assert c.messages == []
        assert info["commands"] == [] and info["agents"] == []
        assert info["output_style"] in info["available_output_styles"]
        assert isinstance(info["account"], dict)
        assert len(info["models"]) >= 1
        for model in info["models"]:
            for field in ("value", "displayName", "description"):
                assert isinstance(model[field], str) and model[field]
    assert c.messages == []
    assert list(ws.config.iterdir()) == [], "a session that was told nothing leaves nothing"


@only_script
async def test_a_request_that_takeback_does_not_know_is_refused(ws):
    async with ws.talk() as c:
        with pytest.raises(Exception, match="^Unsupported control request subtype: mcp_reconnect$"):
            await c.call("reconnect_mcp_server", "x")
        assert_went_well(await c.turn(script(say("Still here."))))


async def test_the_system_prompt(ws):
    async def system(prompt):
        return "".join(said(await ws.ask(script({"echo": "system"}), system_prompt=prompt)))

    assert "You are a parrot." in await system("You are a parrot.")
    preset = await system({"type": "preset", "preset": "claude_code", "append": "Speak softly."})
    assert "Speak softly." in preset and str(ws.cwd) in preset


async def test_partial_messages_add_up(ws):
    text = "A sentence that is long enough to come in more than one piece, I hope."
    async with ws.talk(include_partial_messages=True) as c:
        turn = await c.turn(script(think("Hm.", "c2ln"), say(text)))
    assert_went_well(turn)
    events = [m for m in turn if isinstance(m, StreamEvent)]
    deltas = [m.event["delta"] for m in events if m.event["type"] == "content_block_delta"]
    assert "".join(d["text"] for d in deltas if d["type"] == "text_delta") == text
    assert "".join(d["thinking"] for d in deltas if d["type"] == "thinking_delta") == "Hm."
    assert len([d for d in deltas if d["type"] == "text_delta"]) > 1
    assert (events[0].event["type"], events[-1].event["type"]) == ("message_start", "message_stop")
    assert [i for i, m in enumerate(turn) if is_prompt(m)][0] < turn.index(events[0])
    blocks = [b for m in turn if isinstance(m, AssistantMessage) for b in m.content]
    assert [type(b).__name__ for b in blocks] == ["ThinkingBlock", "TextBlock"]
    assert blocks[0] == ThinkingBlock(thinking="Hm.", signature="c2ln")


async def test_session_state_frames_come_for_who_asks(ws):
    def states(messages):
        return [m.data["state"] for m in messages if isinstance(m, SystemMessage) and m.subtype == "session_state_changed"]

    async with ws.talk(env={"CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS": "1"}) as c:
        await c.turn(script(say("one")))
        await c.until(lambda _: len(states(c.messages)) == 2, "idle")
        await c.turn(script(say("two")))
        await c.until(lambda _: len(states(c.messages)) == 4, "idle")
    assert states(c.messages) == ["running", "idle", "running", "idle"]
    assert states(c.messages[:1]) == ["running"] and states(c.messages[-1:]) == ["idle"]
    assert states(await ws.ask(script(say("three")))) == []


async def test_the_permission_mode_can_be_changed(ws):
    async with ws.talk(permission_mode="default") as c:
        await c.turn(script(write("a.txt", "a")))
        assert len(c.results[0].permission_denials) == 1
        await c.call("set_permission_mode", "acceptEdits")
        turn = await c.turn(script(write("a.txt", "a")))
        assert_went_well(turn)
        assert next(m for m in turn if is_init(m)).data["permissionMode"] == "acceptEdits"
        with pytest.raises(Exception, match="^Cannot set permission mode to bypassPermissions because the session was not launched"):
            await c.call("set_permission_mode", "bypassPermissions")


@only_fakeapi
async def test_the_model_can_be_changed(ws):
    async with ws.talk() as c:
        await c.call("set_model", "claude-of-tomorrow-7")
        turn = await c.turn(script(say("two")))
        assert {m.model for m in turn if isinstance(m, AssistantMessage)} == {"claude-of-tomorrow-7"}
        await c.call("set_model", None)
        turn = await c.turn(script(say("three")))
        assert "claude-of-tomorrow-7" not in {m.model for m in turn if isinstance(m, AssistantMessage)}


async def test_the_sdk_finds_the_session_and_its_messages(ws):
    prompt = script(write("a.txt", "a"), say("Written."))
    turn = await ws.ask(prompt)
    session = session_id(turn)
    (found,) = list_sessions(directory=str(ws.cwd))
    assert (found.session_id, found.cwd, found.first_prompt) == (session, str(ws.cwd), prompt)
    recorded = get_session_messages(session, directory=str(ws.cwd))
    told = [m for m in turn if isinstance(m, (UserMessage, AssistantMessage))]
    assert [m.uuid for m in recorded] == [m.uuid for m in told]
    assert [m.type for m in recorded] == ["user", "assistant", "user", "assistant"]
    assert recorded[0].message == {"role": "user", "content": prompt}
    assert recorded[3].message["content"] == [{"type": "text", "text": "Written."}]


async def test_the_host_chooses_the_session_id_and_resumes_by_it_from_anywhere(ws):
    chosen = "0f0e0d0c-0b0a-4908-8706-050403020103"
    prompt = script(write("a.txt", "a"))
    first = await ws.ask(prompt, session_id=chosen)
    assert session_id(first) == chosen
    async with ws.talk(resume=chosen, cwd=ws.home) as c:
        turn = await c.turn(script(ECHO))
        assert session_id(turn) == chosen
        assert heard(turn)[0]["text"] == prompt
        await c.rewind(prompt_uuid(first))
        assert ws.tree() == {}


@only_script
async def test_to_resume_what_is_not_there_is_an_error_that_says_so(ws):
    nobody = "11111111-2222-4333-8444-555555555555"
    sentence = f"No conversation found with session ID: {nobody}"
    with pytest.raises(Exception) as caught:
        await ws.ask("hello", resume=nobody)
    assert sentence in str(caught.value)
    assert ws.stderr == [f"Error: {sentence}"]
    ws.stderr.clear()


@only_script
async def test_an_error_at_the_start_waits_for_a_slow_host(ws):
    """The SDK's first line goes out once it has started its readers. A process that has ended by
    then is "Cannot write to terminated process", and the reason is lost."""
    nobody = "11111111-2222-4333-8444-555555555555"
    told = []

    async def ask():
        with pytest.raises(Exception) as caught:
            await ws.ask("hello", resume=nobody)
        told.append(str(caught.value))

    # Many at once make this host slow.
    async with anyio.create_task_group() as hosts:
        for _ in range(15):
            hosts.start_soon(ask)
    assert set(told) == {f"Claude Code returned an error result: No conversation found with session ID: {nobody} (exit code: 1)"}
    assert len(told) == 15
    ws.stderr.clear()


async def test_close_in_the_middle_of_a_turn_ends_the_process(ws):
    async with ws.talk() as c:
        await c.send(script(write("a.txt", "a"), HANG))
        await c.until(is_tool_result, "the tool result")
        assert len(ws.processes()) == 1
    await ws.processes_end()
    async with ws.talk(resume=session_id(c.messages)) as again:
        await again.rewind(prompt_uuid(c.messages))
        assert ws.tree() == {}


@only_script
async def test_an_error_at_the_end_of_input_is_raised_with_its_text(ws):
    messages = []
    with pytest.raises(ResultError) as caught:
        async for message in ws.stream(script(fail(400, message="no such thing"))):
            messages.append(message)
    assert str(caught.value).startswith("Claude Code returned an error result: ")
    assert "no such thing" in str(caught.value)
    assert len([m for m in messages if is_result(m)]) == 1


@only_script
async def test_several_clients_at_once_do_not_disturb_each_other(ws):
    async with ws.talk() as a, ws.talk() as b:
        await a.turn(script(write("a.txt", "a")))
        await b.turn(script(write("b.txt", "b")))
        assert session_id(a.messages) != session_id(b.messages)
        await a.rewind(prompt_uuid(a.messages))
        assert sorted(ws.tree()) == ["b.txt"]
        with pytest.raises(Exception, match="^No file checkpoint found for this message.$"):
            await a.rewind(prompt_uuid(b.messages))
        await b.rewind(prompt_uuid(b.messages))
        assert ws.tree() == {}


@only_script
async def test_what_a_command_prints_on_stderr_stays_off_ours(ws):
    async with ws.talk(permission_mode="bypassPermissions") as c:
        assert_went_well(await c.turn(script(bash("echo out; echo err >&2"))))
        assert_went_well(await c.turn(script(tool("Bash", command="echo $PWD > where.txt"))))
        assert ws.bytes("where.txt") == f"{ws.cwd}\n".encode()


@only_script
async def test_the_class_can_be_used_without_options_of_ours(ws):
    """Only what is needed to find the executable: no checkpointing, no flags."""
    from claude_agent_sdk import ClaudeAgentOptions

    from harness import TAKEBACK

    options = ClaudeAgentOptions(cli_path=TAKEBACK, cwd=ws.cwd, model="script", env=ws.env)
    async with ClaudeSDKClient(options) as client:
        await client.query("hello")
        messages = [m async for m in client.receive_response()]
    assert_went_well(messages)
    assert said(messages) != []


@only_script
async def test_the_sdk_finds_the_session_whatever_the_folder_is_called(ws):
    for name in ("漢字 and spaces", "cafe\u0301", "deep/" * 60 + "long"):
        cwd = ws.cwd / name
        cwd.mkdir(parents=True)
        messages = await ws.ask("hello", cwd=cwd)
        assert [s.session_id for s in list_sessions(directory=str(cwd))] == [session_id(messages)], name
