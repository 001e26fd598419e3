/** Implements the five terminal methods of the Agent Client Protocol on sessions. */

import { limits } from "../../api/messages.ts";
import { type Client, type ExitMessage, HawserError, offsetsOf, type Session } from "../../client/index.ts";
import { joined, textOf, VisibleText } from "../../words/visible-text.ts";
import { callerEnvironment } from "../connect/caller-environment.ts";

/**
 * Output returned when the agent sets no limit: its end, as much as a model can read.
 * @limit output of a terminal for an ACP agent, by default | only the newest is returned
 */
const OUTPUT_BYTES = 1024 * 1024;
/** An agent's terminal has no user who could page through output. */
const PAGERS = { PAGER: "cat", GIT_PAGER: "cat" };
/** Truncated output starts at a line break if that drops less than 1/4 of it. */
const LEAST_OF_LINE = 4;
/** Read this much before the cut, so that a sequence that starts there is recognized. */
const SEQUENCE_BYTES = 8 * 1024;
const NEWLINE = 0x0a;

type ServerConnection = { readonly client: Client; readonly isLocal: boolean };

/** Parameters as the protocol defines them; optional fields may be null. */
export type CreateTerminal = {
	readonly sessionId: string;
	readonly command: string;
	readonly args?: readonly string[] | null;
	readonly env?: readonly { readonly name: string; readonly value: string }[] | null;
	readonly cwd?: string | null;
	readonly outputByteLimit?: number | null;
};

type ExitStatus = { readonly exitCode: number | null; readonly signal: string | null };

type Terminal = { readonly session: Session; readonly outputBytes: number };

export class AcpTerminals {
	readonly #home: () => Promise<ServerConnection>;
	readonly #workspace: string | undefined;
	readonly #terminals = new Map<string, Terminal>();

	/** `home` connects to the server before each start, and starts one if none is running. */
	constructor(home: () => Promise<ServerConnection>, workspace: string | undefined) {
		this.#home = home;
		this.#workspace = workspace;
	}

	has(terminalId: string): boolean {
		return this.#terminals.has(terminalId);
	}

	async create({
		sessionId,
		command,
		args,
		env,
		cwd,
		outputByteLimit,
	}: CreateTerminal): Promise<{ terminalId: string }> {
		const { client, isLocal } = await this.#home();
		const options = { hasTerminal: true, changesDirectory: cwd !== undefined && cwd !== null, isConfined: false };
		const directory = cwd ?? (isLocal ? process.cwd() : undefined);
		const session = await client.sessions.create({
			// Agents send a program with arguments, or a line for a shell.
			...(args && args.length > 0 ? { argv: [command, ...args] } : { command }),
			mode: "pty",
			...(directory === undefined ? {} : { cwd: directory }),
			...(isLocal ? { baseEnv: callerEnvironment(process.env, options) } : {}),
			env: { ...PAGERS, ...Object.fromEntries((env ?? []).map(({ name, value }) => [name, value])) },
			labels: { acp: sessionId.slice(0, limits.labelLength) },
			...(this.#workspace === undefined ? {} : { workspace: this.#workspace }),
			shellHooks: false,
		});
		this.#terminals.set(session.id, { session, outputBytes: outputByteLimit ?? OUTPUT_BYTES });
		return { terminalId: session.id };
	}

	async output(terminalId: string): Promise<{ output: string; truncated: boolean; exitStatus?: ExitStatus }> {
		const { session, outputBytes } = this.#find(terminalId);
		const info = await session.info();
		const { exit, state } = info;
		const offsets = offsetsOf(info);
		const from = Math.max(offsets.oldest, offsets.end - outputBytes - SEQUENCE_BYTES);
		const bytes = await read(session, from, offsets.end);
		const seen = joined(new VisibleText({ hasReturns: false }).take(from, bytes).map((run) => run.bytes));
		const isCut = from > 0 || seen.byteLength > outputBytes;
		const output = textOf(isCut ? endOf(seen, outputBytes) : seen);
		const isEnded = exit !== null && state !== "running";
		return { output, truncated: isCut, ...(isEnded ? { exitStatus: statusOf(exit) } : {}) };
	}

	async waitForExit(terminalId: string): Promise<ExitStatus> {
		const result = await this.#find(terminalId).session.wait({ exit: true });
		if (result.kind === "exit") return statusOf(result.exit);
		throw new HawserError("node_unavailable", `terminal ${terminalId} was lost`);
	}

	async kill(terminalId: string): Promise<void> {
		await this.#find(terminalId).session.kill();
	}

	/** Kills the program; the server keeps its output. */
	async release(terminalId: string): Promise<void> {
		await this.kill(terminalId);
		this.#terminals.delete(terminalId);
	}

	#find(terminalId: string): Terminal {
		const terminal = this.#terminals.get(terminalId);
		if (terminal) return terminal;
		throw new HawserError("session_not_found", `unknown terminal ${JSON.stringify(terminalId)}`);
	}
}

/** The last bytes of a text. Starts at a line break if one is near, never inside a character. */
function endOf(text: Uint8Array, length: number): Uint8Array {
	const end = text.subarray(Math.max(0, text.byteLength - length));
	const line = end.indexOf(NEWLINE) + 1;
	if (line > 0 && line < end.byteLength / LEAST_OF_LINE) return end.subarray(line);
	let start = 0;
	while (start < 3 && isContinuation(end[start])) start++;
	return end.subarray(start);
}

/** Whether a byte continues a UTF-8 character. */
function isContinuation(byte = 0): boolean {
	return (byte & 0xc0) === 0x80;
}

function statusOf({ code, signal }: ExitMessage): ExitStatus {
	return { exitCode: code, signal };
}

async function read(session: Session, from: number, end: number): Promise<Buffer> {
	const parts: Uint8Array[] = [];
	for (let next = from; next < end; ) {
		const output = await session.output(next, { limit: Math.min(limits.maxOutputBytes, end - next) });
		parts.push(output.bytes);
		if (output.next === next) break;
		next = output.next;
	}
	return Buffer.concat(parts);
}
