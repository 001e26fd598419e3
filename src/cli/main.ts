#!/usr/bin/env node
/** The `hawser` command. */

import { Command } from "commander";
import { version } from "../server/version.ts";
import { kill } from "./commands/kill.ts";
import { list } from "./commands/list.ts";
import { logs } from "./commands/logs.ts";
import { remove } from "./commands/remove.ts";
import { run } from "./commands/run.ts";
import { send } from "./commands/send.ts";
import { serve } from "./commands/serve.ts";
import { explain } from "./errors.ts";
import { endOnClosedPipe, remark } from "./output.ts";
import { safeText } from "./safe-text.ts";

const program = new Command("hawser")
	.description("Interactive processes: start a shell or a command, leave, come back from anywhere, miss nothing.")
	.version(version)
	.enablePositionalOptions()
	.addHelpText(
		"after",
		"\nExamples:\n  hawser serve\n  hawser run --detach --name build -- make\n  hawser logs -f build\n\n" +
			"A session is named by its id, the beginning of it, or its name.",
	);
for (const command of [serve, run, list, logs, send, kill, remove]) program.addCommand(command);
for (const command of [program, ...program.commands]) {
	command.configureOutput({
		outputError: (text) =>
			remark(
				safeText(text)
					.trim()
					.replace(/^error: /, ""),
			),
	});
}

endOnClosedPipe();
try {
	await program.parseAsync();
} catch (error) {
	const explained = explain(error);
	// A bug of ours is the one thing that deserves its stack.
	if (!explained) throw error;
	remark(explained.sentence);
	process.exitCode = explained.exitCode;
}
