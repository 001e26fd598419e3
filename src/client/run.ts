/** One program from its start to its end: what it wrote, and how it ended. */

import type { CreateSession, ExitMessage } from "../protocol/messages.ts";
import type { Client } from "./client.ts";
import { HawserError } from "./error.ts";
import type { Session } from "./session.ts";

/** As for a session, on pipes. It does not outlive the server unless that is asked for. */
export type RunRequest = Omit<CreateSession, "mode" | "stdin" | "cols" | "rows">;

export type RunOptions = {
	/** What it reads; nothing, if left out. */
	readonly input?: Uint8Array | string;
	/** How much it may write, over both streams: 16 MiB, if left out. Then it is ended, and `isTruncated` says so. */
	readonly maxBytes?: number;
	/** Ends the program, and rejects with the signal's reason. */
	readonly signal?: AbortSignal;
};

export type RunResult = {
	/** As UTF-8. */
	readonly stdout: string;
	readonly stderr: string;
	readonly exit: ExitMessage;
	/** Something that it wrote is missing: it wrote more than it may, or we were too slow for what the server keeps. */
	readonly isTruncated: boolean;
};

const MAX_BYTES = 16 * 1024 * 1024;

/** Whatever becomes of it, nothing is left on the server. */
export async function runOnce(
	sessions: Pick<Client["sessions"], "create">,
	request: RunRequest,
	{ input, maxBytes = MAX_BYTES, signal }: RunOptions = {},
): Promise<RunResult> {
	signal?.throwIfAborted();
	const stdin = input === undefined ? "closed" : "open";
	// Not aborted: a session whose id is not known could not be ended.
	const session = await sessions.create({ durable: false, holdOutput: true, ...request, mode: "pipe", stdin });
	try {
		signal?.throwIfAborted();
		return await collect(session, { input, maxBytes, signal });
	} finally {
		// Should it fail, there is no server, which is what the caller hears of already.
		await session.remove().catch(() => {});
	}
}

type Collecting = {
	readonly input: RunOptions["input"];
	readonly maxBytes: number;
	readonly signal: AbortSignal | undefined;
};

async function collect(session: Session, { input, maxBytes, signal }: Collecting): Promise<RunResult> {
	const texts = { stdout: new TextDecoder(), stderr: new TextDecoder() };
	const read = { stdout: "", stderr: "" };
	let left = maxBytes;
	let isTruncated = false;
	let exit: ExitMessage | undefined;
	const attachment = session.attach();
	const abort = () => void attachment.detach();
	signal?.addEventListener("abort", abort, { once: true });
	try {
		// A program need not read what it is given: its end tells.
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
