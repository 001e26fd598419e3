/** `hawser secret`: sends a secret without echo, and lists the secret requests of agents. */

import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { buffer } from "node:stream/consumers";
import { promisify } from "node:util";
import { Command } from "commander";
import { type Client, HawserError, type SecretRequestMessage, type SessionMessage } from "../../client/index.ts";
import { formatDuration } from "../../words/units.ts";
import { findServer, type WorkspaceFlags, withWorkspace } from "../connect/find-server.ts";
import { findSession } from "../connect/find-session.ts";
import { UsageError } from "../print/errors.ts";
import { print, printNotice, table } from "../print/output.ts";
import { displayName } from "../print/session-text.ts";
import { promptHidden } from "../terminal/prompt-hidden.ts";

type SecretFlags = WorkspaceFlags & { readonly from?: string; readonly list?: true; readonly refuse?: true };

export const secret: Command = withWorkspace(new Command("secret"))
	.summary("enter a secret without echo or logging")
	.description(
		"Sends a secret and Enter to a program that reads input without echo; refused otherwise. Reads the " +
			"secret from a hidden prompt, or from stdin if that is not a terminal. The secret is never logged or " +
			"recorded; where a program prints it, all output shows * instead (from 6 bytes on). Also answers " +
			"secret requests of agents, if the program still asks the same.",
	)
	.argument("[session]", "session ID or name, or request ID (default: the only session that asks)")
	.option("--from <source>", "read the secret from env:NAME, file:PATH or cmd:COMMAND on this machine")
	.option("--list", "list pending secret requests")
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
			if (!request) throw new UsageError(`no pending secret requests${wanted === undefined ? "" : ` by ${wanted}`}`);
			return client.secretRequests.refuse(request.id);
		}
		const asking = (request && ofRequest(client, request)) ?? (await ofSession(client, requests, wanted, flags));
		printNotice(asking.message);
		const value = await readSecret(flags.from);
		try {
			await asking.give(value);
		} finally {
			value.fill(0);
		}
	});

/** A prompt for a secret, and how to answer it. */
type SecretPrompt = { readonly message: string; give(value: Uint8Array): Promise<unknown> };

/** Empty with an older server. */
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
	if (requests.length === 0) return printNotice("no pending secret requests");
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

/** Finds a request by ID, name or session; without an argument, the only one. */
function requested(
	requests: readonly SecretRequestMessage[],
	wanted: string | undefined,
): SecretRequestMessage | undefined {
	const byId = requests.find(({ id }) => id === wanted);
	if (byId) return byId;
	const meant = requests.filter(
		({ name, session }) => wanted === undefined || [name, session.id, session.name].includes(wanted),
	);
	// Several requests for one prompt share the answer.
	const sessions = new Set(meant.map(({ session }) => session.id));
	if (sessions.size > 1)
		throw several(meant.map(({ id, session, prompt }) => `${id} (${displayName(session)}: ${prompt})`));
	return meant[0];
}

function several(which: readonly string[]): UsageError {
	return new UsageError(`several sessions ask for a secret; choose one: ${which.join(", ")}`);
}

function ofRequest(client: Client, request: SecretRequestMessage): SecretPrompt {
	const { id, session, program, prompt, askedBy, name, reason, source } = request;
	const what = name ?? "a secret";
	const why = reason === null ? "" : ` (requested by ${askedBy}: ${reason})`;
	const fault = source ? ` (source ${JSON.stringify(source.name)} failed: ${source.fault})` : "";
	return {
		message: `${displayName(session)}: ${program ?? "its program"} asks for ${what}: ${prompt}${why}${fault}`,
		give: (value) => client.secretRequests.give(id, value),
	};
}

/** Checks that the program asks for a secret before the user types one. */
async function ofSession(
	client: Client,
	requests: readonly SecretRequestMessage[],
	wanted: string | undefined,
	flags: SecretFlags,
): Promise<SecretPrompt> {
	const { workspace } = flags;
	const candidates =
		wanted === undefined
			? await client.sessions.list({ state: ["running"], ...(workspace === undefined ? {} : { workspace }) })
			: [await findSession(client, wanted, flags)];
	const asking = (await Promise.all(candidates.map((info) => askingOf(client, requests, info)))).flat();
	const [first, ...others] = asking;
	if (others.length > 0) throw several(asking.map(({ message }) => message));
	if (first) return first;
	const [info] = candidates;
	if (wanted === undefined || !info) throw new UsageError("no session is asking for a secret");
	throw new UsageError(`${displayName(info)} is not asking for a secret (see hawser why ${displayName(info)})`);
}

async function askingOf(
	client: Client,
	requests: readonly SecretRequestMessage[],
	info: SessionMessage,
): Promise<SecretPrompt[]> {
	const request = requests.find(({ session }) => session.id === info.id);
	if (request) return [ofRequest(client, request)];
	const session = client.sessions.at(info.id);
	const { state, kind, program, lastLine, offset, episode } = await session.inspect();
	if (state !== "waiting" || kind !== "secret") return [];
	return [
		{
			message: `${displayName(info)}: ${program ?? "its program"} asks for a secret: ${lastLine}`,
			give: (value) => session.secret(value, { ifWaiting: offset, episode }),
		},
	];
}

async function readSecret(source: string | undefined): Promise<Buffer> {
	if (source === undefined) {
		return process.stdin.isTTY
			? Buffer.from(await promptHidden("Secret: "))
			: withoutNewline(await buffer(process.stdin));
	}
	const [, kind, what = ""] = /^(env|file|cmd):(.+)$/s.exec(source) ?? [];
	if (kind === "env") {
		const value = process.env[what];
		if (value === undefined) throw new UsageError(`--from: variable ${what} is not set`);
		return Buffer.from(value);
	}
	if (kind === "file") return withoutNewline(await readFile(what.replace(/^~(?=\/)/, process.env.HOME ?? "~")));
	if (kind === "cmd") return withoutNewline(await commandOutput(what));
	throw new UsageError(`--from: expected env:NAME, file:PATH or cmd:LINE, got ${JSON.stringify(source)}`);
}

/** The command's stderr is not printed, because it may contain the secret. */
async function commandOutput(line: string): Promise<Buffer> {
	try {
		return (await promisify(execFile)("/bin/sh", ["-c", line], { encoding: "buffer" })).stdout;
	} catch {
		throw new UsageError("--from: the command failed");
	}
}

function withoutNewline(bytes: Buffer): Buffer {
	return bytes.at(-1) === 0x0a ? bytes.subarray(0, bytes.at(-2) === 0x0d ? -2 : -1) : bytes;
}
