/** Follows a session on stdin, stdout and stderr, without a local terminal, and forwards signals. */

import type { Attachment, ExitMessage, Session } from "../../client/index.ts";
import { toUserError } from "../print/errors.ts";
import { outputClosed, print, printError, printNotice } from "../print/output.ts";
import { disconnectedOutcome, type Outcome } from "./outcome.ts";

const HANDED_ON = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"] as const;
/** Bytes of stdin sent ahead of acknowledgment. The rest stays in the pipe. */
const AHEAD_BYTES = 1024 * 1024;

type PipeOptions = {
	/** How long to wait for an unreachable server, in milliseconds. */
	readonly reconnectTimeoutMs: number;
	/**
	 * The program has a terminal although stdin or stdout is a pipe. Its size follows the local terminal, if there is
	 * one.
	 */
	readonly hasTerminal: boolean;
};

export async function attachPipes(session: Session, options: PipeOptions): Promise<Outcome> {
	const over = new AbortController();
	const connection = { isThere: false };
	const attachment = session.attach({
		reconnectTimeoutMs: options.reconnectTimeoutMs,
		onConnection: ({ state }) => {
			connection.isThere = state === "connected";
		},
	});
	const signals = handOnSignals(attachment, connection, over.signal);
	if (options.hasTerminal) handOnSize(attachment, over.signal);
	const forwarding = forward(attachment, over.signal);
	try {
		let unreadEnding: Promise<Outcome> | undefined;
		const nobodyReads = outputClosed().then(() => {
			unreadEnding = endUnread(session);
			return unreadEnding;
		});
		const ending = await Promise.race([signals, show(attachment), nobodyReads]);
		// The exit event may arrive before the response to the kill request.
		return (await unreadEnding) ?? ending;
	} finally {
		over.abort();
		process.stdin.destroy();
		await attachment.detach();
		await forwarding;
	}
}

/**
 * Ends the program with SIGPIPE when our stdout is closed, as the kernel would if the program wrote to the pipe itself.
 */
async function endUnread(session: Session): Promise<Outcome> {
	await session.kill({ killSignal: "PIPE" });
	return { kind: "output-closed" };
}

async function show(attachment: Attachment): Promise<Outcome> {
	try {
		return await showAll(attachment);
	} catch (error) {
		// The program was started, so this error must not use the exit code for failed starts.
		const ending = disconnectedOutcome(error);
		if (!ending) throw error;
		return ending;
	}
}

async function showAll(attachment: Attachment): Promise<Outcome> {
	let exit: ExitMessage | undefined;
	let isAway = false;
	for await (const event of attachment) {
		if (event.kind === "output") await (event.stream === "stderr" ? printError(event.bytes) : print(event.bytes));
		else if (event.kind === "gap")
			printNotice(`bytes ${event.from} to ${event.to} are no longer available (${event.reason})`);
		else if (event.kind === "exited") exit = event.exit;
		else if (event.kind === "closed" && exit) return { kind: "exited", exit };
		else if (event.kind === "lost") return { kind: "lost", message: event.message };
		else if (event.kind === "connection") {
			const isAwayNow = event.state === "disconnected";
			if (isAwayNow !== isAway) printNotice(isAwayNow ? "server unreachable; reconnecting" : "reconnected");
			isAway = isAwayNow;
		}
	}
	return { kind: "lost", message: "the output ended unexpectedly" };
}

/** Sends stdin and then its end. Errors of a program that takes no input are ignored. */
async function forward(attachment: Attachment, signal: AbortSignal): Promise<void> {
	let ahead = 0;
	let wake = () => {};
	signal.addEventListener("abort", () => wake(), { once: true });
	try {
		for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
			if (signal.aborted) return;
			ahead += chunk.byteLength;
			attachment
				.write(chunk)
				.catch(() => undefined)
				.finally(() => {
					ahead -= chunk.byteLength;
					wake();
				});
			while (ahead > AHEAD_BYTES && !signal.aborted) {
				await new Promise<void>((resolve) => {
					wake = resolve;
				});
			}
		}
		if (!signal.aborted) await attachment.eof();
	} catch (error) {
		// Expected if the program ended or closed its input, or if the caller stopped reading stdin.
		if (!signal.aborted && !toUserError(error)) printNotice(`can't read stdin: ${String(error)}`);
	}
}

/**
 * Forwards signals. Resolves with a signal that can't be forwarded because the server is unreachable: it is for this
 * process.
 */
function handOnSignals(
	attachment: Attachment,
	connection: { readonly isThere: boolean },
	over: AbortSignal,
): Promise<Outcome> {
	return new Promise((resolve) => {
		const handOn = (signal: NodeJS.Signals) => {
			if (!connection.isThere) return resolve({ kind: "left", signal });
			// Urgent: an interrupt overtakes stdin that the program does not read.
			attachment.signal(signal, { urgent: true }).catch((error: unknown) => {
				if (!over.aborted) printNotice(`could not forward ${signal}: ${toUserError(error)?.message ?? String(error)}`);
			});
		};
		for (const signal of HANDED_ON) process.on(signal, handOn);
		over.addEventListener("abort", () => {
			for (const signal of HANDED_ON) process.off(signal, handOn);
		});
	});
}

function handOnSize(attachment: Attachment, over: AbortSignal): void {
	const resize = () => {
		const { columns, rows } = process.stdout;
		// Fails only if the program has ended.
		if (columns && rows) attachment.resize({ cols: columns, rows }).catch(() => undefined);
	};
	process.stdout.on("resize", resize);
	over.addEventListener("abort", () => process.stdout.off("resize", resize));
}
