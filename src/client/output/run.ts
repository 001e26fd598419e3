/** Runs one program from start to end, and returns its output and exit. */

import type { CreateSession, ExitMessage } from "../../api/types.ts";
import type { Client } from "../client.ts";
import { HawserError } from "../errors.ts";
import type { Session } from "../session.ts";

/** As for a session on pipes. By default it does not outlive the server. */
export type RunRequest = Omit<CreateSession, "mode" | "stdin" | "cols" | "rows">;

export type RunOptions = {
	/** Standard input. Default: empty. */
	readonly input?: Uint8Array | string;
	/**
	 * Maximum output of both streams together. Default: 16 MiB. Beyond it the program is killed, and `isTruncated` is
	 * set.
	 */
	readonly maxBytes?: number;
	/** Kills the program and rejects with the signal's reason. */
	readonly signal?: AbortSignal;
};

export type RunResult = {
	/** Decoded as UTF-8. */
	readonly stdout: string;
	readonly stderr: string;
	readonly exit: ExitMessage;
	/** Output is missing: it exceeded `maxBytes`, or the server's retention. */
	readonly isTruncated: boolean;
};

const MAX_BYTES = 16 * 1024 * 1024;

/** Leaves nothing on the server, whatever happens. */
export async function runProgram(
	sessions: Pick<Client["sessions"], "create">,
	request: RunRequest,
	{ input, maxBytes = MAX_BYTES, signal }: RunOptions = {},
): Promise<RunResult> {
	signal?.throwIfAborted();
	const stdin = input === undefined ? "closed" : "open";
	// Not aborted: a session with an unknown ID could not be removed.
	const session = await sessions.create({ durable: false, holdOutput: true, ...request, mode: "pipe", stdin });
	try {
		signal?.throwIfAborted();
		return await collectOutput(session, { input, maxBytes, signal });
	} finally {
		// If this fails, the server is gone, and the caller already gets that error.
		await session.remove().catch(() => {});
	}
}

type Collecting = {
	readonly input: RunOptions["input"];
	readonly maxBytes: number;
	readonly signal: AbortSignal | undefined;
};

async function collectOutput(session: Session, { input, maxBytes, signal }: Collecting): Promise<RunResult> {
	const texts = { stdout: new TextDecoder(), stderr: new TextDecoder() };
	const read = { stdout: "", stderr: "" };
	let left = maxBytes;
	let isTruncated = false;
	let exit: ExitMessage | undefined;
	const attachment = session.attach();
	const abort = () => void attachment.detach();
	signal?.addEventListener("abort", abort, { once: true });
	try {
		// The program may exit without reading its input.
		if (input !== undefined)
			attachment
				.write(input)
				.then(() => attachment.eof())
				.catch(() => {});
		for await (const event of attachment) {
			if (event.kind === "exited") exit = event.exit;
			if (event.kind === "gap") isTruncated = true;
			if (event.kind === "lost") throw new HawserError("node_unavailable", event.message);
			if (event.kind !== "output") continue;
			const bytes = event.bytes.subarray(0, left);
			read[event.stream] += texts[event.stream].decode(bytes, { stream: true });
			left -= bytes.byteLength;
			if (bytes.byteLength === event.bytes.byteLength) continue;
			isTruncated = true;
			exit = (await session.kill(signal ? { signal } : {})).exit ?? undefined;
			break;
		}
		signal?.throwIfAborted();
	} finally {
		signal?.removeEventListener("abort", abort);
		await attachment.detach();
	}
	if (!exit) throw new HawserError("internal", "the session ended without an exit");
	const rest = (stream: "stdout" | "stderr") => read[stream] + texts[stream].decode();
	return { stdout: rest("stdout"), stderr: rest("stderr"), exit, isTruncated };
}
