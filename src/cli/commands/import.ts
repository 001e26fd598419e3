/** `hawser import`: a recording as a session that has ended. */

import { readFile, stat } from "node:fs/promises";
import { Command } from "commander";
import { HawserError } from "../../client/index.ts";
import { limits } from "../../protocol/messages.ts";
import { UsageError } from "../errors.ts";
import { findServer, type WorkspaceFlags, withWorkspace } from "../find-server.ts";
import { print } from "../output.ts";

type ImportFlags = WorkspaceFlags & { readonly name?: string };

export const importRecording: Command = withWorkspace(new Command("import"), "which workspace it is to be in")
	.summary("take in a recording as a session")
	.description(
		"Takes in an asciicast of version 2 or 3, as asciinema and hawser export save them, as a session that has ended, " +
			"and prints its id. It can be searched, shown at any moment and exported as any other.",
	)
	.argument("<file>", "the recording")
	.option("--name <name>", "what to call it, if not as the recording is called")
	.addHelpText(
		"after",
		"\nExamples:\n  hawser import demo.cast\n  hawser screen --at 2026-01-31T12:00:00Z $(hawser import --name old demo.cast)",
	)
	.action(async (file: string, { name, ...flags }: ImportFlags) => {
		const { client } = await findServer(flags);
		const { workspace } = flags;
		if ((await size(file)) > limits.recordingBytes) {
			throw new UsageError(`${file} is larger than ${limits.recordingBytes} bytes, which is the most that is taken in`);
		}
		const options = { ...(name === undefined ? {} : { name }), ...(workspace === undefined ? {} : { workspace }) };
		const session = await client.sessions.importRecording(await contentOf(file), options).catch(damaged(file));
		await print(`${session.id}\n`);
	});

async function size(file: string): Promise<number> {
	return (await stat(file).catch(unreadable(file))).size;
}

function contentOf(file: string): Promise<Uint8Array> {
	return readFile(file).catch(unreadable(file));
}

/** Says of which file a line is damaged. */
function damaged(file: string): (error: unknown) => never {
	return (error) => {
		if (!(error instanceof HawserError) || error.code !== "invalid_argument") throw error;
		throw new UsageError(error.message.replace(/^(line \d+ of) the recording/, (_, line) => `${line} ${file}`));
	};
}

function unreadable(file: string): (error: NodeJS.ErrnoException) => never {
	return ({ code }) => {
		throw new UsageError(`${file} can't be read (${code})`);
	};
}
