/** What both ends of our MCP need besides the protocol itself. */

/** Where the messages of a conversation go, over HTTP. */
export const mcpPath = "/mcp";

/** The member of a call's `_meta` in which `hawser mcp` says where the conversation takes place: its shell's name, directory and variables. */
export const surroundingsKey = "hawser/surroundings";
