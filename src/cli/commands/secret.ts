/** `hawser secret`: a person types a password into a session, and nobody sees it; or sees what agents ask for. */

import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { buffer } from "node:stream/consumers";
import { promisify } from "node:util";
import { Command } from "commander";
import { type Client, HawserError, type SecretRequestMessage, type SessionMessage } from "../../client/index.ts";
import { formatDuration } from "../../protocol/units.ts";
import { askHidden } from "../ask-hidden.ts";
import { nameOf } from "../describe-session.ts";
import { UsageError } from "../errors.ts";
import { findServer, type WorkspaceFlags, withWorkspace } from "../find-server.ts";
import { findSession } from "../find-session.ts";
import { print, remark, table } from "../output.ts";

type SecretFlags = WorkspaceFlags & { readonly from?: string; readonly list?: true; readonly refuse?: true };

export const secret: Command = withWorkspace(new Command("secret"))
	.summary("type a password that nobody sees")
	.description(
		"Types a secret, and Enter, into a program that asks for one without showing it; anything else is refused. It is " +
			"asked for here, not shown, and read from stdin where that is no terminal. It is neither logged nor recorded, and " +
			"wherever the program or a later one writes it, everybody sees as many * instead (from 6 bytes on). What an agent " +
			"has asked for is given in the same way, if its program still asks the same.",
	)
	.argument("[session]", "its id or name, or that of a request (default: the only one that asks for a secret)")
	.option("--from <source>", "where it is instead: env:NAME, file:PATH or cmd:LINE, here and not on the server")
	.option("--list", "show what is asked for, and by whom")
	.option("--refuse", "refuse the request")
	.addHelpText(
		"after",
		"\nExamples:\n  hawser secret\n  hawser secret build\n  hawser secret build --from file:~/.sudo-password\n" +
			"  hawser secret deploy --from 'cmd:pass show deploy'\n  hawser secret --list\n  hawser secret 4f0c2a9be1d7 --refuse",
	)
	.action(async (wanted: string | undefined, flags: SecretFlags) => {
		const { client } = await findServer(flags);
		const requests = await requestsOf(client, flags);
		if (flags.list) return showRequests(requests);
		const request = requested(requests, wanted);
		if (flags.refuse) {
			if (!request) throw new UsageError(`no secret is asked for${wanted === undefined ? "" : ` by ${wanted}`}`);
			return client.secretRequests.refuse(request.id);
		}
		const asking = (request && ofRequest(client, request)) ?? (await ofSession(client, requests, wanted, flags));
		remark(asking.sentence);
		const value = await valueFrom(flags.from);
		try {
			await asking.give(value);
		} finally {
			value.fill(0);
		}
	});

/** Who asks for a secret, and how it is given. */
type Asking = { readonly sentence: string; give(value: Uint8Array): Promise<unknown> };

/** An older server knows of none. */
async function requestsOf(client: Client, { workspace }: SecretFlags): Promise<readonly SecretRequestMessage[]> {
	try {
		const all = await client.secretRequests.list();
		return all.filter(({ session }) => workspace === undefined || session.workspace === workspace);
	} catch (error) {
		if (error instanceof HawserError && error.code === "not_found") return [];
		throw error;
	}
}

async function showRequests(requests: readonly SecretRequestMessage[]): Promise<void> {
	if (requests.length === 0) return remark("no secret is asked for");
	const now = Date.now();
	const rows = requests.map(({ id, session, name, program, prompt, askedBy, reason, expiresAt }) => [
		id,
		session.name ?? session.id,
		name ?? "-",
		`${program ?? "?"}: ${prompt}`,
		askedBy,
		formatDuration(Math.max(0, expiresAt - now)),
		reason ?? "",
	]);
	await print(table(["ID", "SESSION", "NAME", "ASKS", "BY", "LEFT", "WHY"], rows, process.stdout.columns));
}

/** The request that is meant: by its id, its name or its session; the only one, if none is named. */
function requested(
	requests: readonly SecretRequestMessage[],
	wanted: string | undefined,
): SecretRequestMessage | undefined {
	const byId = requests.find(({ id }) => id === wanted);
	if (byId) return byId;
	const meant = requests.filter(
		({ name, session }) => wanted === undefined || [name, session.id, session.name].includes(wanted),
	);
	// Of one question several may have asked, and it has one answer.
	const sessions = new Set(meant.map(({ session }) => session.id));
	if (sessions.size > 1) throw several(meant.map(({ id, session, prompt }) => `${id} (${nameOf(session)}: ${prompt})`));
	return meant[0];
}

function several(which: readonly string[]): UsageError {
	return new UsageError(`several ask for a secret; name one of them: ${which.join(", ")}`);
}

function ofRequest(client: Client, request: SecretRequestMessage): Asking {
	const { id, session, program, prompt, askedBy, name, reason, source } = request;
	const what = name === null ? "a secret" : `a secret (${name})`;
	const why = reason === null ? "" : `, ${askedBy} says: ${reason}`;
	const fault = source ? ` (the source ${JSON.stringify(source.name)} did not answer: ${source.fault})` : "";
	return {
		sentence: `${nameOf(session)}: ${program ?? "its program"} asks for ${what}: ${prompt}${why}${fault}`,
		give: (value) => client.secretRequests.give(id, value),
	};
}

/** Said before anything is typed here, which would be in vain. */
async function ofSession(
	client: Client,
	requests: readonly SecretRequestMessage[],
	wanted: string | undefined,
	flags: SecretFlags,
): Promise<Asking> {
	const { workspace } = flags;
	const candidates =
		wanted === undefined
			? await client.sessions.list({ state: ["running"], ...(workspace === undefined ? {} : { workspace }) })
			: [await findSession(client, wanted, flags)];
	const asking = (await Promise.all(candidates.map((info) => askingOf(client, requests, info)))).flat();
	const [first, ...others] = asking;
	if (others.length > 0) throw several(asking.map(({ sentence }) => sentence));
	if (first) return first;
	const [info] = candidates;
	if (wanted === undefined || !info) throw new UsageError("no session asks for a secret");
	throw new UsageError(`${nameOf(info)} does not ask for a secret (hawser why ${nameOf(info)} says what it does)`);
}

async function askingOf(
	client: Client,
	requests: readonly SecretRequestMessage[],
	info: SessionMessage,
): Promise<Asking[]> {
	const request = requests.find(({ session }) => session.id === info.id);
	if (request) return [ofRequest(client, request)];
	const session = client.sessions.at(info.id);
	const { state, kind, program, lastLine, offset, episode } = await session.inspect();
	if (state !== "waiting" || kind !== "secret") return [];
	return [
		{
			sentence: `${nameOf(info)}: ${program ?? "its program"} asks for a secret: ${lastLine}`,
			give: (value) => session.secret(value, { ifWaiting: offset, episode }),
		},
	];
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
