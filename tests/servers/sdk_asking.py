"""A server on the SDK whose tool asks twice, the second question resting on the first; stdio or `--http PORT`."""

from __future__ import annotations

import sys
from typing import Annotated

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.resolve import Elicit, Resolve
from pydantic import BaseModel

server = MCPServer("asks")


class Who(BaseModel):
    name: str


class Age(BaseModel):
    years: int


def who() -> Elicit[Who]:
    return Elicit("Who are you?", Who)


def age(who: Annotated[Who, Resolve(who)]) -> Elicit[Age]:
    return Elicit(f"How old are you, {who.name}?", Age)


@server.tool()
def introduce(who: Annotated[Who, Resolve(who)], age: Annotated[Age, Resolve(age)]) -> str:
    """Asks for a name, then for an age."""
    return f"{who.name} is {age.years}."


if __name__ == "__main__":
    if "--http" in sys.argv:
        server.run("streamable-http", port=int(sys.argv[-1]))
    else:
        server.run("stdio")
