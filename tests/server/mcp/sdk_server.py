#!/usr/bin/env python3
"""An MCP server written with the official Python SDK, as its documents have it.

    sdk_server.py              on its standard streams
    sdk_server.py http PORT    streamable HTTP, at /mcp
"""
import asyncio
import os
import sys

from mcp.server.mcpserver import Context, Image, MCPServer
from pydantic import BaseModel

server = MCPServer("sdk", instructions="Tools for a test.")


class Place(BaseModel):
    city: str
    degrees: float


@server.tool()
def add(a: int, b: int = 10) -> int:
    """Adds two numbers."""
    return a + b


@server.tool()
def weather(city: str) -> Place:
    """The weather of a city."""
    return Place(city=city, degrees=21.5)


@server.tool()
def picture() -> Image:
    """A picture."""
    return Image(data=b"GIF89a", format="gif")


@server.tool()
def fail(why: str) -> str:
    """Does not work."""
    raise ValueError(why)


@server.tool()
async def long_work(context: Context, steps: int) -> str:
    """Tells how far it is."""
    for step in range(steps):
        await context.report_progress(step, steps)
        await context.info(f"step {step}")
        await asyncio.sleep(0.01)
    return f"{steps} steps"


@server.tool()
async def sleep(seconds: float) -> str:
    """Does not answer soon."""
    await asyncio.sleep(seconds)
    return "slept"


@server.tool()
def die() -> str:
    """Ends the server."""
    os._exit(7)


@server.tool()
def process() -> int:
    """Which process this is."""
    return os.getpid()


if __name__ == "__main__":
    if sys.argv[1:2] == ["http"]:
        server.run("streamable-http", port=int(sys.argv[2]))
    else:
        server.run("stdio")
