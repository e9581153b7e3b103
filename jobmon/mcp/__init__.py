"""`jobmon mcp`: jobmon's JSON for AI agents, by the Model Context Protocol (modelcontextprotocol.io)."""
