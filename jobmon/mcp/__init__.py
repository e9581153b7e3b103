"""`jobmon mcp`: jobmon's JSON for AI agents, by the Model Context Protocol (modelcontextprotocol.io).

The server (`server`, `protocol`, `tools`) waits for hours beside an agent, so it loads almost nothing. It
forks for each call of a tool, and the child (`call`) runs the command of that name.
"""
