/** `hawser secret`: a person types a password into a session, and nobody sees it. */

import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { buffer } from "node:stream/consumers";
import { promisify } from "node:util";
import { Command } from "commander";
import type { Client, ProgramState, Session, SessionMessage } from "../../client/index.ts";
import { askHidden } from "../ask-hidden.ts";
import { nameOf } from "../describe-session.ts";
import { UsageError } from "../errors.ts";
import { findServer, type WorkspaceFlags, withWorkspace } from "../find-server.ts";
import { findSession } from "../find-session.ts";
import { remark } from "../output.ts";

type SecretFlags = WorkspaceFlags & { readonly from?: string };

export const secret: Command = withWorkspace(new Command("secret"))
	.summary("type a password that nobody sees")
	.description(
		"Types a secret, and Enter, into a program that asks for one without showing it; anything else is refused. It is " +
			"asked for here, not shown, and read from stdin where that is no terminal. It is neither logged nor recorded, and " +
			"wherever the program or a later one writes it, everybody sees as many * instead (from 6 bytes on).",
	)
	.argument("[session]", "its id, its name, or the beginning of either (default: the newest that asks for a secret)")
	.option("--from <source>", "where it is instead: env:NAME, file:PATH or cmd:LINE, here and not on the server")
	.addHelpText(
		"after",
		"\nExamples:\n  hawser secret\n  hawser secret build\n  hawser secret build --from file:~/.sudo-password\n" +
			"  hawser secret deploy --from 'cmd:pass show deploy'",
	)
	.action(async (wanted: string | undefined, flags: SecretFlags) => {
		const { client } = await findServer(flags);
		const { info, session, state } = await asking(client, wanted, flags);
		const who = state.program ?? "its program";
		remark(`${nameOf(info)}: ${who} asks for a secret${state.lastLine === "" ? "" : `: ${state.lastLine}`}`);
		const value = await valueFrom(flags.from);
		try {
			await session.secret(value, { ifWaiting: state.offset });
		} finally {
			value.fill(0);
		}
	});

type Asking = { readonly info: SessionMessage; readonly session: Session; readonly state: ProgramState };

/** Said before anything is typed here, which would be in vain. */
async function asking(client: Client, wanted: string | undefined, flags: SecretFlags): Promise<Asking> {
	const { workspace } = flags;
	const candidates =
		wanted === undefined
			? await client.sessions.list({
					state: ["running"],
					order: "newest",
					...(workspace === undefined ? {} : { workspace }),
				})
			: [await findSession(client, wanted, flags)];
	for (const info of candidates) {
		const session = client.sessions.at(info.id);
		const state = await session.inspect();
		if (state.state === "waiting" && state.kind === "secret") return { info, session, state };
	}
	const [info] = candidates;
	if (wanted === undefined || !info) throw new UsageError("no session asks for a secret");
	throw new UsageError(`${nameOf(info)} does not ask for a secret (hawser why ${nameOf(info)} says what it does)`);
}

async function valueFrom(source: string | undefined): Promise<Buffer> {
	if (source === undefined) {
		return process.stdin.isTTY ? Buffer.from(await askHidden("Secret: ")) : withoutNewline(await buffer(process.stdin));
	}
	const [, kind, what = ""] = /^(env|file|cmd):(.+)$/s.exec(source) ?? [];
	if (kind === "env") {
		const value = process.env[what];
		if (value === undefined) throw new UsageError(`--from: there is no variable ${what}`);
		return Buffer.from(value);
	}
	if (kind === "file") return withoutNewline(await readFile(what.replace(/^~(?=\/)/, process.env.HOME ?? "~")));
	if (kind === "cmd") return withoutNewline(await printedBy(what));
	throw new UsageError(`--from: expected env:NAME, file:PATH or cmd:LINE, not ${JSON.stringify(source)}`);
}

/** What it says on stderr is not told: that may be the secret, too. */
async function printedBy(line: string): Promise<Buffer> {
	try {
		return (await promisify(execFile)("/bin/sh", ["-c", line], { encoding: "buffer" })).stdout;
	} catch {
		throw new UsageError("--from: the command failed");
	}
}

function withoutNewline(bytes: Buffer): Buffer {
	return bytes.at(-1) === 0x0a ? bytes.subarray(0, bytes.at(-2) === 0x0d ? -2 : -1) : bytes;
}
