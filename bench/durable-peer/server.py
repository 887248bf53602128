"""
The durable peer: FastMCP with its tasks on Docket and Redis, front end and worker in one process, as its documentation starts them.
Takes PORT and REDIS_URL.

A tool of it asks by returning the question; its task then waits in Redis, and the tool is run again from its beginning with the answer.
"""

import logging
import os
import time

from fastmcp import Context, FastMCP
from fastmcp_tasks import TasksExtension
from mcp_types import ElicitRequest, ElicitRequestFormParams, InputRequiredResult
from starlette.responses import PlainTextResponse

logging.disable(logging.WARNING)

SIZE = {"type": "integer", "minimum": 1, "maximum": 20}
QUESTION = ElicitRequest(
    params=ElicitRequestFormParams(
        message="How many?",
        requested_schema={"type": "object", "properties": {"size": SIZE}, "required": ["size"]},
    )
)

mcp = FastMCP("durable-peer")
# Its default of 10 runs at once is less than the clients that come at once.
mcp.add_extension(TasksExtension(url=os.environ["REDIS_URL"], concurrency=100))


@mcp.tool(task=True)
async def ask(note: str, ctx: Context):
    if ctx.input_responses is None:
        return InputRequiredResult(input_requests={"size": QUESTION})
    return str(time.monotonic_ns())


@mcp.custom_route("/readyz", methods=["GET"])
async def ready(_request):
    return PlainTextResponse("ok")


mcp.run(transport="http", host="127.0.0.1", port=int(os.environ["PORT"]), show_banner=False, log_level="error", stateless_http=True)
