"""A client of the official SDK, of either major version: MODE, and what to do as JSON on stdin."""

import asyncio
import json
import os
import sys
from typing import Any

from mcp import StdioServerParameters
from mcp.client.stdio import stdio_client


async def main(mode: str, order: dict[str, Any]) -> dict[str, Any]:
    """Start the server, list its tools and call some; return what the SDK made of the answers."""
    server = StdioServerParameters(
        command=order["command"][0], args=order["command"][1:], env={**os.environ, **order["environment"]}
    )
    if mode == "1.x":
        from mcp import ClientSession

        async with stdio_client(server) as streams, ClientSession(*streams) as session:
            version = (await session.initialize()).protocolVersion
            await session.send_ping()
            return {"version": version, **await used(session, order["calls"])}
    from mcp import Client

    async with Client(stdio_client(server), mode=mode) as client:
        return {"version": client.protocol_version, **await used(client, order["calls"])}


async def used(client: Any, calls: list[tuple[str, dict[str, Any]]]) -> dict[str, Any]:  # noqa: ANN401 - of either version
    """List the tools and call some at the same time."""
    listed = (await client.list_tools()).tools
    results = await asyncio.gather(*(client.call_tool(name, arguments) for name, arguments in calls))
    return {
        "tools": [each.model_dump(mode="json", by_alias=True, exclude_none=True) for each in listed],
        "results": [each.model_dump(mode="json", by_alias=True, exclude_none=True) for each in results],
    }


print(json.dumps(asyncio.run(main(sys.argv[1], json.load(sys.stdin)))))
