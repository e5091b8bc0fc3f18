import subprocess

import pytest

from harness import FAKEAPI, TAKEBACK, Workspace

if not TAKEBACK.exists():
    raise pytest.UsageError(f'{TAKEBACK} is missing: run "make build"')


@pytest.fixture(scope="session")
def anyio_backend():
    return "asyncio"


@pytest.fixture(scope="session")
def fakeapi():
    """The URL of the Messages API on loopback; it serves until its stdin closes."""
    with subprocess.Popen([FAKEAPI], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        yield server.stdout.readline().strip()
        server.stdin.close()
        assert server.wait(10) == 0


@pytest.fixture(params=["script", "fakeapi"])
def model(request):
    """The two ways to answer a prompt. Both play the script that the prompt holds."""
    return request.param


@pytest.fixture
async def ws(request, model, monkeypatch):
    """A workspace. Whatever a test does, it leaves no process behind, and stderr silent
    unless it empties the list itself."""
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "ANTHROPIC_MODEL"):
        monkeypatch.delenv(name, raising=False)
    env = {}
    if model == "fakeapi":
        env = {"ANTHROPIC_BASE_URL": request.getfixturevalue("fakeapi"), "ANTHROPIC_API_KEY": "test"}
    workspace = Workspace(model, env)
    request.node.workspace = workspace
    # The SDK's session functions read this one.
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(workspace.config))
    try:
        yield workspace
        await workspace.processes_end()
        assert workspace.stderr == []
    finally:
        workspace.remove()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    report = yield
    if report.failed and hasattr(item, "workspace"):
        report.sections.append(("what went over the wire", item.workspace.account()))
    return report
