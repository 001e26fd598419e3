/** `hawser import`: imports a recording as an ended session. */

import { readFile, stat } from "node:fs/promises";
import { Command } from "commander";
import { limits } from "../../api/messages.ts";
import { HawserError } from "../../client/index.ts";
import { findServer, type WorkspaceFlags, withWorkspace } from "../connect/find-server.ts";
import { UsageError } from "../print/errors.ts";
import { print } from "../print/output.ts";

type ImportFlags = WorkspaceFlags & { readonly name?: string };

export const importRecording: Command = withWorkspace(new Command("import"), "workspace for the session")
	.summary("import a recording as a session")
	.description(
		"Imports an asciicast (version 2 or 3) from asciinema or hawser export as an ended session, and prints " +
			"its ID. It can be searched, shown and exported like any other session.",
	)
	.argument("<file>", "recording file")
	.option("--name <name>", "session name (default: the recording's title)")
	.addHelpText(
		"after",
		"\nExamples:\n  hawser import demo.cast\n  hawser screen --at 2026-01-31T12:00:00Z $(hawser import --name old demo.cast)",
	)
	.action(async (file: string, { name, ...flags }: ImportFlags) => {
		const { client } = await findServer(flags);
		const { workspace } = flags;
		if ((await size(file)) > limits.recordingBytes) {
			throw new UsageError(`${file} is too large (limit ${limits.recordingBytes} bytes)`);
		}
		const options = { ...(name === undefined ? {} : { name }), ...(workspace === undefined ? {} : { workspace }) };
		const session = await client.sessions.importRecording(await contentOf(file), options).catch(namingFile(file));
		await print(`${session.id}\n`);
	});

async function size(file: string): Promise<number> {
	return (await stat(file).catch(readError(file))).size;
}

function contentOf(file: string): Promise<Uint8Array> {
	return readFile(file).catch(readError(file));
}

/** Adds the file name to errors about a line. */
function namingFile(file: string): (error: unknown) => never {
	return (error) => {
		if (!(error instanceof HawserError) || error.code !== "invalid_argument") throw error;
		throw new UsageError(error.message.replace(/^(line \d+ of) the recording/, (_, line) => `${line} ${file}`));
	};
}

function readError(file: string): (error: NodeJS.ErrnoException) => never {
	return ({ code }) => {
		throw new UsageError(`can't read ${file} (${code})`);
	};
}
