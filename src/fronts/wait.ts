/** Waiting for what a session does: whichever of several causes comes first, looked for from one place of its output on. */

import { SessionError } from "../core/errors.ts";
import { isWaiting } from "../core/inspection.ts";
import type { FollowOptions, Session } from "../core/session.ts";
import { isEnded } from "../core/state.ts";
import { textOf, VisibleText } from "../protocol/visible-text.ts";

/** What may end a wait; that the program has ended always does. */
export type Causes = {
	/** This text is in the output as a person sees it. */
	readonly match?: string | undefined;
	/** Nothing was written for so many milliseconds. */
	readonly idleMs?: number | undefined;
	/** The program waits for somebody to type. */
	readonly input?: boolean | undefined;
	/** The shell is at its prompt. */
	readonly end?: boolean | undefined;
};

export type Cause = "match" | "idle" | "input" | "end" | "exit" | "timeout";

export type WaitOptions = {
	/** The first byte that counts. */
	readonly from: number;
	readonly timeoutMs: number;
	/** Nobody waits any more, which ends as a timeout does. */
	readonly signal: AbortSignal;
	/** As `flowFor` says: without loss, a match can't be written faster than it is looked for. */
	readonly flow?: FollowOptions["flow"] | undefined;
};

type Wait = { readonly session: Session; readonly causes: Causes } & Omit<WaitOptions, "timeoutMs">;

/** How each of them is found; undefined if it is not asked for. What is not found before the others is never told. */
const finders: readonly ((wait: Wait) => Promise<Cause> | undefined)[] = [
	exited,
	({ causes, ...wait }) => (causes.match === undefined ? undefined : matched(causes.match, wait)),
	({ causes, ...wait }) => (causes.idleMs === undefined ? undefined : idle(causes.idleMs, wait)),
	({ causes, ...wait }) => (causes.input || causes.end ? listening(causes, wait) : undefined),
];

export async function waitFor(session: Session, causes: Causes, options: WaitOptions): Promise<Cause> {
	const { timeoutMs } = options;
	const over = new AbortController();
	const signal = AbortSignal.any([options.signal, over.signal]);
	let timer: NodeJS.Timeout | undefined;
	const timeout = new Promise<"timeout">((resolve) => {
		timer = setTimeout(() => resolve("timeout"), timeoutMs);
		options.signal.addEventListener("abort", () => resolve("timeout"), { once: true });
		if (options.signal.aborted) resolve("timeout");
	});
	try {
		const found = finders.flatMap((find) => find({ ...options, session, causes, signal }) ?? []);
		return await Promise.race([...found, timeout]);
	} finally {
		clearTimeout(timer);
		over.abort();
	}
}

const never = (): Promise<never> => new Promise(() => {});

function exited({ session, signal }: Pick<Wait, "session" | "signal">): Promise<"exit"> {
	if (isEnded(session.state)) return Promise.resolve("exit");
	return new Promise((resolve) => {
		const stop = session.watch((state) => {
			if (isEnded(state)) resolve("exit");
		});
		signal.addEventListener("abort", stop, { once: true });
	});
}

async function matched(wanted: string, { session, from, signal, flow }: Omit<Wait, "causes">): Promise<"match"> {
	let visible = new VisibleText({ hasReturns: false });
	// What is looked for may begin in one piece and end in another, and so may a character.
	let seen: Uint8Array = new Uint8Array();
	const kept = Buffer.byteLength(wanted);
	for await (const item of session.follow({ offset: from }, { signal, ...(flow ? { flow } : {}) })) {
		if (item.kind === "gap") {
			visible = new VisibleText({ hasReturns: false });
			seen = new Uint8Array();
		}
		if (item.kind !== "output") continue;
		seen = Buffer.concat([seen, ...visible.take(item.offset, item.bytes).map(({ bytes }) => bytes)]);
		if (textOf(seen).includes(wanted)) return "match";
		seen = seen.subarray(-kept);
	}
	return never();
}

async function idle(ms: number, { session, from, signal }: Omit<Wait, "causes">): Promise<"idle"> {
	let isIdle = () => {};
	const found = new Promise<"idle">((resolve) => {
		isIdle = () => resolve("idle");
	});
	const timer = setTimeout(isIdle, ms);
	signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
	const follow = async () => {
		for await (const item of session.follow({ offset: from }, { signal, flow: "live" })) {
			if (item.kind === "output" && !signal.aborted) timer.refresh();
		}
	};
	return Promise.race([found, follow().then(never)]);
}

/** Input that was accepted before this is asked has been read when the program is found to wait. */
async function listening(causes: Causes, { session, signal }: Omit<Wait, "causes">): Promise<"input" | "end"> {
	try {
		for (let after = 0; ; ) {
			const found = await session.untilWaiting(after, signal);
			if (!isWaiting(found)) return await never();
			if (found.state === "prompt") return causes.end ? "end" : "input";
			if (causes.input) return "input";
			after = found.episode;
		}
	} catch (error) {
		if (signal.aborted) return never();
		// A keeper of an older version can't tell; the other causes can.
		if (error instanceof SessionError && error.code === "unsupported") return never();
		throw error;
	}
}
