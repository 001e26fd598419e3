/** A session without a terminal of ours: stdin goes in, stdout and stderr come out, signals are handed on. */

import type { Attachment, ExitMessage, Session } from "../client/index.ts";
import { cutBy, type Ending } from "./ending.ts";
import { explain } from "./errors.ts";
import { print, printError, remark, unread } from "./output.ts";

const HANDED_ON = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"] as const;
/** How much of stdin may be on its way; more is left to wait in whatever we read it from. */
const AHEAD_BYTES = 1024 * 1024;

type PipeOptions = {
	/** How long the server may be away, in milliseconds. */
	readonly patienceMs: number;
	/** The program has a terminal, though we have none on both sides: its size follows ours if there is one. */
	readonly hasTerminal: boolean;
};

export async function attachPipes(session: Session, options: PipeOptions): Promise<Ending> {
	const over = new AbortController();
	const connection = { isThere: false };
	const attachment = session.attach({
		patienceMs: options.patienceMs,
		onConnection: ({ state }) => {
			connection.isThere = state === "connected";
		},
	});
	const signals = handOnSignals(attachment, connection, over.signal);
	if (options.hasTerminal) handOnSize(attachment, over.signal);
	const forwarding = forward(attachment, over.signal);
	try {
		let unreadEnding: Promise<Ending> | undefined;
		const nobodyReads = unread().then(() => {
			unreadEnding = endUnread(session);
			return unreadEnding;
		});
		const ending = await Promise.race([signals, show(attachment), nobodyReads]);
		// The program's end may be heard of before the answer to what ended it.
		return (await unreadEnding) ?? ending;
	} finally {
		over.abort();
		process.stdin.destroy();
		await attachment.detach();
		await forwarding;
	}
}

/** What the kernel does to a program that writes into a pipe without a reader; here the pipe is ours, and the program's is not. */
async function endUnread(session: Session): Promise<Ending> {
	await session.kill({ killSignal: "PIPE" });
	return { kind: "unread" };
}

async function show(attachment: Attachment): Promise<Ending> {
	try {
		return await showAll(attachment);
	} catch (error) {
		// The program was started, so this is no failure to start it.
		const ending = cutBy(error);
		if (!ending) throw error;
		return ending;
	}
}

async function showAll(attachment: Attachment): Promise<Ending> {
	let exit: ExitMessage | undefined;
	let isAway = false;
	for await (const event of attachment) {
		if (event.kind === "output") await (event.stream === "stderr" ? printError(event.bytes) : print(event.bytes));
		else if (event.kind === "gap") remark(`bytes ${event.from} to ${event.to} are gone (${event.reason})`);
		else if (event.kind === "exited") exit = event.exit;
		else if (event.kind === "closed" && exit) return { kind: "exited", exit };
		else if (event.kind === "lost") return { kind: "lost", message: event.message };
		else if (event.kind === "connection") {
			const isAwayNow = event.state === "disconnected";
			if (isAwayNow !== isAway) remark(isAwayNow ? "the server is away; waiting for it" : "the server is back");
			isAway = isAwayNow;
		}
	}
	return { kind: "lost", message: "its output ended without a word" };
}

/** Stdin to its end, and then the end itself. A program that does not want it is no reason to fail. */
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
		// The program has ended or closed its input, or we are done and took stdin away.
		if (!signal.aborted && !explain(error)) remark(`stdin can't be read: ${String(error)}`);
	}
}

/** Resolves only if a signal can't be handed on because the server is away: then it is for us. */
function handOnSignals(
	attachment: Attachment,
	connection: { readonly isThere: boolean },
	over: AbortSignal,
): Promise<Ending> {
	return new Promise((resolve) => {
		const handOn = (signal: NodeJS.Signals) => {
			if (!connection.isThere) return resolve({ kind: "left", signal });
			// It overtakes stdin that the program does not read: an interrupt is for such programs, too.
			attachment.signal(signal, { urgent: true }).catch((error: unknown) => {
				if (!over.aborted) remark(`${signal} did not arrive: ${explain(error)?.sentence ?? String(error)}`);
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
		// A program that has ended needs no size.
		if (columns && rows) attachment.resize({ cols: columns, rows }).catch(() => undefined);
	};
	process.stdout.on("resize", resize);
	over.addEventListener("abort", () => process.stdout.off("resize", resize));
}
