"""Clients in Python, driven by JSON lines: one call a line on stdin, questions and ends on stdout.

in   {"type": "call", "id", "client", "url", "tool", "args", "meanwhile"}
     {"type": "reply", "id", "question", "reply"}     {"type": "cancel" | "leave", "id"}
out  {"type": "ready"}   {"type": "question", "id", "question", "message"}
     {"type": "back", "id"}   {"type": "told", "id", "told"}
"""

import asyncio
import json
import sys

import anyio
import fastmcp
import fastmcp_tasks
import mcp_types
from fastmcp.client.elicitation import ElicitResult
from fastmcp.client.transports import StdioTransport
from mcp import Client, StdioServerParameters


def tell(**line):
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


class Call:
    def __init__(self, line):
        self.id = line["id"]
        self.url = line["url"]
        self.tool = line["tool"]
        self.args = line["args"]
        self.meanwhile = line["meanwhile"]
        self.questions = 0
        self.replies = {}
        self.cancel = asyncio.Event()
        self.leave = asyncio.Event()

    async def respond(self, message):
        self.questions += 1
        question = self.questions
        self.replies[question] = asyncio.get_running_loop().create_future()
        tell(type="question", id=self.id, question=question, message=message)
        return await self.replies[question]


def told_by(result):
    return {"text": result.content[0].text if result.content else "", "isError": bool(result.is_error)}


async def cancellable(call, work):
    """Runs `work` in a scope that the call's cancellation cancels, as a program's own would."""
    async with anyio.create_task_group() as group:

        async def watch():
            await call.cancel.wait()
            group.cancel_scope.cancel()

        group.start_soon(watch)
        result = await work()
        group.cancel_scope.cancel()
        return told_by(result)
    return {"failed": "cancelled"}


def pipe_of(call):
    """The command behind a URL that says `stdio+http://…`; None for one that is reached over HTTP."""
    if not call.url.startswith("stdio+"):
        return None
    node, main = sys.argv[1:3]
    return {"command": node, "args": [main, "stdio", "--url", call.url.removeprefix("stdio+")]}


def mcp_client(call, mode):
    async def elicit(_context, params):
        return mcp_types.ElicitResult(**await call.respond(params.message))

    pipe = pipe_of(call)
    target = StdioServerParameters(**pipe) if pipe else call.url
    return Client(target, mode=mode, elicitation_callback=elicit)


async def blocking(call):
    async with mcp_client(call, "legacy") as client:
        return await cancellable(call, lambda: client.call_tool(call.tool, call.args))


async def input_required(call):
    if call.meanwhile == "leave":
        return await come_back(call)
    async with mcp_client(call, "2026-07-28") as client:
        return await cancellable(call, lambda: client.call_tool(call.tool, call.args))


async def come_back(call):
    async with mcp_client(call, "2026-07-28") as client:
        first = await client.session.call_tool(call.tool, call.args, allow_input_required=True)
    async with mcp_client(call, "2026-07-28") as client:
        tell(type="back", id=call.id)
        responses = {
            key: mcp_types.ElicitResult(**await call.respond(request.params.message))
            for key, request in first.input_requests.items()
        }
        return told_by(
            await client.call_tool(call.tool, call.args, input_responses=responses, request_state=first.request_state)
        )


def fastmcp_client(call):
    async def elicit(message, _response_type, _params, _context):
        return ElicitResult(**await call.respond(message))

    pipe = pipe_of(call)
    target = StdioTransport(**pipe, keep_alive=False) if pipe else call.url
    return fastmcp.Client(target, elicitation_handler=elicit, mode="2026-07-28")


async def fastmcp_task(call):
    async with fastmcp_client(call) as client:
        task = await fastmcp_tasks.call_tool_task(client, call.tool, call.args, raise_on_error=False)
        if call.meanwhile == "cancel":
            driving = asyncio.ensure_future(task.result())
            await call.cancel.wait()
            await task.cancel()
            return told_by(await driving)
        if call.meanwhile != "leave":
            return told_by(await result_of(client, task))
        await task.wait(state="input_required")
    async with fastmcp_client(call) as client:
        tell(type="back", id=call.id)
        again = fastmcp_tasks.ToolTask(client, call.tool, task.create_result, raise_on_error=False)
        return told_by(await again.result())


async def result_of(client, task):
    """An answer that was refused ends the client's own doing, not the task: a client that takes it up again is asked again."""
    try:
        return await task.result()
    except fastmcp.exceptions.McpError as error:
        if error.error.code != mcp_types.INVALID_PARAMS:
            raise
        return await task.result()


CLIENTS = {"blocking": blocking, "input_required": input_required, "fastmcp_task": fastmcp_task}


def reason(error):
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"


async def run(call, client):
    try:
        told = await CLIENTS[client](call)
    except Exception as error:
        told = {"failed": reason(error)}
    tell(type="told", id=call.id, told=told)


async def main():
    calls = {}
    running = set()
    lines = asyncio.StreamReader(limit=2**20)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    tell(type="ready")
    while text := await lines.readline():
        line = json.loads(text)
        if line["type"] == "call":
            call = calls[line["id"]] = Call(line)
            task = asyncio.create_task(run(call, line["client"]))
            running.add(task)
            task.add_done_callback(running.discard)
        elif line["type"] == "reply":
            reply = calls[line["id"]].replies[line["question"]]
            if not reply.done():
                reply.set_result(line["reply"])
        elif line["type"] == "cancel":
            calls[line["id"]].cancel.set()


asyncio.run(main())
