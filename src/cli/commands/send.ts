/** `hawser send`: types into a session. */

import { buffer } from "node:stream/consumers";
import { Command } from "commander";
import { encodeKey } from "../../protocol/keys.ts";
import { UsageError } from "../errors.ts";
import { findServer, type ServerFlags, withServer } from "../find-server.ts";
import { findSession } from "../find-session.ts";
import { collect } from "../parse.ts";

type SendFlags = ServerFlags & { readonly key?: readonly string[]; readonly enter?: true };

export const send: Command = withServer(new Command("send"))
	.summary("type into a session")
	.description(
		"Sends text, exactly as it is, and then keys in the order given. Keys are named as tmux does (Enter, Up, " +
			"C-c, M-x, S-Tab, F5) or as ctrl+c, alt+x, shift+tab.",
	)
	.argument("<session>", "its id, the beginning of it, or its name")
	.argument("[text]", "what to type; - reads it from stdin")
	.option("-k, --key <name>", "a key to press after the text; repeatable", collect)
	.option("--enter", "press Enter at the end")
	.addHelpText(
		"after",
		"\nExamples:\n  hawser send build 'make test' --enter\n  hawser send build --key C-c\n  hawser send k3v9 - < script.sql",
	)
	.action(async (wanted: string, text: string | undefined, { key = [], enter, ...flags }: SendFlags) => {
		const keys = [...key, ...(enter ? ["Enter"] : [])].map(bytesOf);
		const typed = text === "-" ? await buffer(process.stdin) : Buffer.from(text ?? "");
		if (text === undefined && keys.length === 0) throw new UsageError("nothing to send: give a text, --key or --enter");
		const { client } = await findServer(flags);
		const { id } = await findSession(client, wanted);
		await client.sessions.at(id).write(Buffer.concat([typed, ...keys]));
	});

function bytesOf(name: string): Uint8Array {
	const bytes = encodeKey(name);
	if (bytes) return bytes;
	throw new UsageError(`there is no key ${JSON.stringify(name)}; keys are named like Enter, Up, F5, C-c or ctrl+c`);
}
