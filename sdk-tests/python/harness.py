"""What all tests here share: a workspace of its own for each test, a session that takes
prompt after prompt, and an account of what went between SDK and test."""

import asyncio
import os
import shutil
import stat
import tempfile
import time
from pathlib import Path

import anyio
from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, query

from frames import is_result
from processes import children_named, has_ended

ROOT = Path(__file__).resolve().parents[2]
TAKEBACK = Path(os.environ.get("TAKEBACK_BIN", ROOT / ".bin" / "takeback"))
FAKEAPI = Path(os.environ.get("FAKEAPI_BIN", ROOT / ".bin" / "fakeapi"))
DEADLINE = 30


class Workspace:
    """A temporary project, and the Claude configuration and home that go with it."""

    def __init__(self, model, env):
        self.model = model
        # The real path: what takeback reports is compared with it, and macOS has /tmp behind a link.
        self.root = Path(tempfile.mkdtemp(prefix="takeback-python-")).resolve()
        self.cwd, self.config, self.home = (self.root / name for name in ("project", "config", "home"))
        for folder in (self.cwd, self.config, self.home):
            folder.mkdir()
        self.env = {"HOME": str(self.home), "CLAUDE_CONFIG_DIR": str(self.config), **env}
        self.stderr = []
        self.log = []
        self.started = time.monotonic()

    def options(self, **more):
        """Options as the documentation of file checkpointing gives them, and more."""

        def on_stderr(line):
            self.stderr.append(line)
            self.note("stderr", line)

        env = {**self.env, **more.pop("env", {})}
        settings = {
            "cwd": self.cwd,
            "cli_path": TAKEBACK,
            "enable_file_checkpointing": True,
            "permission_mode": "acceptEdits",
            "extra_args": {"replay-user-messages": None},
            "setting_sources": [],
            "stderr": on_stderr,
            **({"model": "script"} if self.model == "script" else {}),
            **more,
        }
        return ClaudeAgentOptions(env=env, **settings)

    def client(self, **more):
        return ClaudeSDKClient(self.options(**more))

    def talk(self, **more):
        return Talk(self, more)

    async def stream(self, prompt, **more):
        """The SDK's own query, with its messages noted."""
        self.note("prompt", prompt)
        async for message in query(prompt=prompt, options=self.options(**more)):
            self.note("message", message)
            yield message
        self.note("end of stream", "")

    async def ask(self, prompt, **more):
        """All that one prompt brings, read to the end."""
        with anyio.fail_after(DEADLINE):
            return [message async for message in self.stream(prompt, **more)]

    def put(self, name, content, mode=0o644):
        path = self.cwd / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        path.chmod(mode)

    def bytes(self, name):
        return (self.cwd / name).read_bytes()

    def exists(self, name):
        return os.path.lexists(self.cwd / name)

    async def appears(self, name):
        """Waits until a file is there: the sign that a command has come so far."""
        with anyio.fail_after(DEADLINE):
            while not self.exists(name):
                await anyio.sleep(0.005)

    def tree(self, times=False):
        """Every entry of the project: kind, mode and bytes, with times also what changes when it is touched."""
        entries = {}
        for folder, folders, files in os.walk(self.cwd):
            for name in folders + files:
                path = Path(folder) / name
                st = path.lstat()
                entry = (stat.filemode(st.st_mode), path.read_bytes() if stat.S_ISREG(st.st_mode) else None)
                entries[str(path.relative_to(self.cwd))] = (entry, st.st_mtime_ns, st.st_ctime_ns, st.st_ino) if times else entry
        return entries

    def garble_store(self, saved):
        """Overwrites saved bytes in the file history, wherever they lie, as a bad disk would."""
        found = 0
        for path in (self.config / "takeback").rglob("*"):
            if path.is_file() and saved in (content := path.read_bytes()):
                with path.open("r+b") as f:  # in place: the inode that takeback may hold open
                    f.write(content.replace(saved, b"#" * len(saved)))
                found += 1
        assert found, "the saved bytes are not in the store"

    async def processes_end(self):
        """Waits until every takeback that this test started has gone, not even a zombie left."""
        await has_ended(self.processes)

    def processes(self):
        """Each takeback that we started and that is there still, as "pid state"."""
        return children_named(TAKEBACK.name)

    def note(self, what, value):
        self.log.append(f"{(time.monotonic() - self.started) * 1000:6.0f} ms  {what}: {value}")

    def account(self):
        return "\n".join(line if len(line) <= 2000 else f"{line[:2000]}… ({len(line)})" for line in self.log)

    def remove(self):
        shutil.rmtree(self.root)


class Talk:
    """A client whose messages are kept as they come; any of them can be waited for."""

    def __init__(self, ws, more):
        self.ws = ws
        self.client = ws.client(**more)
        self.messages = []
        self.results = []
        self.error = None
        self.ended = False

    async def __aenter__(self):
        self.changed = asyncio.Event()
        with anyio.fail_after(DEADLINE):
            await self.client.connect()
        self.reading = asyncio.create_task(self._read())
        return self

    async def __aexit__(self, *_):
        with anyio.fail_after(DEADLINE):
            await self.client.disconnect()
            await self.reading

    async def _read(self):
        try:
            async for message in self.client.receive_messages():
                self.ws.note("message", message)
                self.messages.append(message)
                if is_result(message):
                    self.results.append(message)
                self._wake()
            self.ws.note("end of stream", "")
        except Exception as err:  # whoever waits gets it
            self.ws.note("end of stream", repr(err))
            self.error = err
        self.ended = True
        self._wake()

    def _wake(self):
        self.changed.set()
        self.changed = asyncio.Event()

    async def send(self, text):
        self.ws.note("send", text)
        await self.client.query(text)

    async def send_message(self, **fields):
        """Sends a message with fields that a plain prompt does not have."""
        message = {"type": "user", "parent_tool_use_id": None, **fields}
        self.ws.note("send", message)

        async def one():
            yield message

        await self.client.query(one())

    async def until(self, match, what):
        """The first message for which match holds."""
        looked_at = 0

        def found():
            nonlocal looked_at
            for message in self.messages[looked_at:]:
                if match(message):
                    return message
                looked_at += 1
            return None

        return await self._wait(found, what)

    async def result(self, n):
        """The result number n, from 1, of the session."""
        return await self._wait(lambda: self.results[n - 1] if len(self.results) >= n else None, f"result {n}")

    async def _wait(self, found, what):
        try:
            with anyio.fail_after(DEADLINE):
                while (value := found()) is None:
                    if self.error:
                        raise self.error
                    assert not self.ended, f"the stream ended before {what}"
                    await self.changed.wait()
                return value
        except TimeoutError:
            raise AssertionError(f"no {what} within {DEADLINE} s") from None

    async def turn(self, text):
        """Sends a prompt and returns the messages of its turn; nothing else may be running."""
        start, results = len(self.messages), len(self.results)
        await self.send(text)
        await self.result(results + 1)
        return self.messages[start:]

    async def call(self, method, *args):
        """A control request by the name of its method, noted."""
        self.ws.note(f"call {method}", args)
        try:
            answer = await getattr(self.client, method)(*args)
        except Exception as err:
            self.ws.note(f"{method} fails", err)
            raise
        self.ws.note(f"{method} answers", answer)
        return answer

    async def rewind(self, uuid):
        with anyio.fail_after(DEADLINE):
            await self.call("rewind_files", uuid)
