"""A foreign server in Python: FastMCP, whose tool asks a person with `ctx.elicit`. Over stdio, or over http on the port that is given."""

import sys
from dataclasses import dataclass

from fastmcp import Context, FastMCP

mcp = FastMCP("fastmcp")


@dataclass
class Sure:
    ok: bool


@mcp.tool
async def confirm(text: str, ctx: Context) -> str:
    answer = await ctx.elicit(f"Really {text}?", response_type=Sure)
    return f"{text}: {answer.action}" + (f" {answer.data.ok}" if answer.action == "accept" else "")


@mcp.tool
def shout(text: str) -> str:
    return text.upper()


@mcp.prompt
def about(topic: str) -> str:
    return f"Tell me about {topic}."


if len(sys.argv) > 1:
    mcp.run(transport="http", host="127.0.0.1", port=int(sys.argv[1]), show_banner=False)
else:
    mcp.run(show_banner=False)
