/** The terminals of the Agent Client Protocol on sessions of ours: an agent's five questions about them, answered. */

import { type Client, type ExitMessage, HawserError, type Session } from "../client/index.ts";
import { limits } from "../protocol/messages.ts";
import { joined, textOf, VisibleText } from "../protocol/visible-text.ts";
import { ownEnvironment } from "./own-environment.ts";

/** What is told of the output when the agent does not say how much it wants: its end, as much as a model can read. */
const OUTPUT_BYTES = 1024 * 1024;
/** Nobody scrolls in an agent's terminal: what pages its output would wait for ever. */
const PAGERS = { PAGER: "cat", GIT_PAGER: "cat" };
const NEWLINE = 0x0a;

export type Home = { readonly client: Client; readonly isLocal: boolean };

/** As the protocol has it; what is not there may be null, too. */
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
	readonly #home: () => Promise<Home>;
	readonly #workspace: string | undefined;
	readonly #terminals = new Map<string, Terminal>();

	/** `home` is asked whenever a program is to be started, and starts a server if none is there. */
	constructor(home: () => Promise<Home>, workspace: string | undefined) {
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
		const surroundings = { hasTerminal: true, isElsewhere: cwd !== undefined && cwd !== null, isConfined: false };
		const directory = cwd ?? (isLocal ? process.cwd() : undefined);
		const session = await client.sessions.create({
			// Agents give a program with its arguments, or a line for a shell.
			...(args && args.length > 0 ? { argv: [command, ...args] } : { command }),
			mode: "pty",
			...(directory === undefined ? {} : { cwd: directory }),
			...(isLocal ? { baseEnv: ownEnvironment(process.env, surroundings) } : {}),
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
		const { offsets, exit, state } = await session.info();
		const from = Math.max(offsets.oldest, offsets.end - outputBytes);
		const bytes = await read(session, from, offsets.end);
		// From the beginning of a line on: what comes before may be the rest of a character, or of an escape sequence.
		const start = from === 0 ? 0 : bytes.indexOf(NEWLINE) + 1;
		const seen = new VisibleText({ hasReturns: false }).take(start, bytes.subarray(start));
		const isEnded = exit !== null && state !== "running";
		const output = textOf(joined(seen.map((run) => run.bytes)));
		return { output, truncated: from > 0, ...(isEnded ? { exitStatus: statusOf(exit) } : {}) };
	}

	async waitForExit(terminalId: string): Promise<ExitStatus> {
		const result = await this.#find(terminalId).session.wait({ exit: true });
		if (result.kind === "exit") return statusOf(result.exit);
		throw new HawserError("node_unavailable", `terminal ${terminalId} was lost`);
	}

	async kill(terminalId: string): Promise<void> {
		await this.#find(terminalId).session.kill();
	}

	/** Its program is ended, and what it wrote stays with the server. */
	async release(terminalId: string): Promise<void> {
		await this.kill(terminalId);
		this.#terminals.delete(terminalId);
	}

	#find(terminalId: string): Terminal {
		const terminal = this.#terminals.get(terminalId);
		if (terminal) return terminal;
		throw new HawserError("session_not_found", `there is no terminal ${JSON.stringify(terminalId)}`);
	}
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
