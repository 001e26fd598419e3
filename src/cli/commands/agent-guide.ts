/** `hawser agent-guide`: what an agent needs to know to use this command line. */

import { readFile } from "node:fs/promises";
import { Command } from "commander";
import { print } from "../output.ts";

/** The same from the sources and from what is built: both are two folders below `docs`' own. */
const guide = new URL("../../../docs/agent-guide.md", import.meta.url);

export const agentGuide: Command = new Command("agent-guide")
	.summary("what an agent needs to know to use these commands")
	.description("Prints a short guide to sessions for an agent that has a shell, to be put into its instructions.")
	.addHelpText("after", "\nExamples:\n  hawser agent-guide >> AGENTS.md")
	.action(async () => print(await readFile(guide)));
