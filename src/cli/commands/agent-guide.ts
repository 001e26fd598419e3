/** `hawser agent-guide`: prints the guide for AI agents. */

import { readFile } from "node:fs/promises";
import { Command } from "commander";
import { print } from "../print/output.ts";

/** Works from `src` and from `dist`: both are next to `docs`. */
const guide = new URL("../../../docs/agent-guide.md", import.meta.url);

export const agentGuide: Command = new Command("agent-guide")
	.summary("print the guide for AI agents")
	.description("Prints a short guide to Hawser for AI agents with a shell. Append it to the agent's instructions.")
	.addHelpText("after", "\nExamples:\n  hawser agent-guide >> AGENTS.md")
	.action(async () => print(await readFile(guide)));
