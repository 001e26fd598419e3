/** Names that our MCP server and `hawser mcp` share, in addition to the protocol. */

/** HTTP path for the messages of a conversation. */
export const mcpPath = "/mcp";

/** Member of a call's `_meta` in which `hawser mcp` reports its environment: name of the shell, directory and variables. */
export const environmentKey = "hawser/surroundings";
