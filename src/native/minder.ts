/**
 * A program's minder: the small process that is its parent, below which no process can escape. This is our side of the
 * socket to it; see native/minder.c.
 */

import { closeSync } from "node:fs";
import { constants } from "node:os";
import {
	builtFile,
	isNativeError,
	type MinderMessage,
	type MinderPool,
	type NativeError,
	nativeError,
	openNursery,
	order as orderNative,
	type ProgramFds,
	poll,
	type Reaped,
	receiveFromMinder,
	sendToMinder,
	wait,
} from "./addon.ts";

/** A program to start. Attributes that are left out are inherited. */
export type Order = {
	/** The session of the program: `HAWSER_MINDER` in the minder's environment, which identifies it from outside. */
	readonly session: string;
	readonly stdio: "pty" | "pipe";
	readonly size: { readonly cols: number; readonly rows: number };
	/** On pipes: an empty input, and one pipe for stdout and stderr. */
	readonly emptyInput?: boolean;
	readonly oneOutput?: boolean;
	/** Tried in order; see `candidates`. */
	readonly files: readonly string[];
	readonly argv: readonly string[];
	/** `NAME=value` each. */
	readonly env: readonly string[];
	readonly cwd: string;
	/** See `Command`. */
	readonly isRealCwd?: boolean;
	readonly umask?: number;
	readonly uid?: number;
	readonly gid?: number;
	/** Supplementary groups, if user or group change. */
	readonly groups?: readonly number[];
	/** The soft limit, and the hard one if given. */
	readonly limits?: Readonly<Record<string, Limit>>;
	/** Directories that exist while it runs; see `Command`. */
	readonly placeholders?: readonly string[];
	/** See `Command`. */
	readonly cgroup?: { readonly path: string; readonly settings: Readonly<Record<string, string>> };
	/** Timeout for access to the program's directory and file, which may be on an unreachable server. */
	readonly startMs: number;
};

export type Limit = { readonly soft: number; readonly hard?: number };

/**
 * A program may stop its minder before that reports the start. So the minder is continued at this interval until it
 * does.
 */
const continueMs = 500;

/**
 * Additional time for a minder to report its own timeout.
 * @limit a minder's answer, after those 10 s | `spawn_failed`; the minders that wait are replaced
 */
const answerMs = 2_000;

/** Message kinds, as in native/minder.h. */
const received = { gone: 0, started: 1, failed: 2, exited: 3, taken: 6, starting: 7 } as const;
const sent = { signal: 4, reap: 5 } as const;

export class Minder {
	/** The program's pid. */
	readonly pid: number;
	/** The minder's pid. It may be reused once the minder is gone, so check first. */
	readonly ownPid: number;
	/** All descriptors but the first belong to the caller. */
	readonly ends: ProgramFds;
	/** Resolves when the minder is gone, and with it everything below, unless the minder was killed. */
	readonly gone: Promise<void>;
	#resolveGone: () => void = () => {};
	#isGone = false;
	#hasExited = false;
	#onExit: ((reaped: Reaped | undefined) => void) | undefined;

	private constructor(pid: number, ownPid: number, ends: ProgramFds) {
		this.pid = pid;
		this.ownPid = ownPid;
		this.ends = ends;
		this.gone = new Promise((resolve) => {
			this.#resolveGone = resolve;
		});
	}

	/**
	 * Starts a program. Rejects with a `NativeError` if that fails; nothing is left behind then. A program that killed its
	 * minder at once counts as started. `run` is called in the turn in which the start is reported. It takes ownership of
	 * the descriptors, and its result is returned.
	 */
	static start<Result>(order: Order, run: (minder: Minder) => Result): Promise<Result> {
		return Minder.#start(order, run).catch((thrown: unknown) => {
			// The parent of minders was killed before the order was taken, so nothing was started. Try once more with a new
			// one.
			if (isNativeError(thrown) && thrown.step === untaken && thrown.code === "ECHILD")
				return Minder.#start(order, run);
			throw thrown;
		});
	}

	static #start<Result>(order: Order, run: (minder: Minder) => Result): Promise<Result> {
		const ends = send(order);
		const sentTo = nursery;
		const { control, input, output, error, slave, wake } = ends;
		return new Promise((resolve, reject) => {
			// When the socket is closed, the minder kills its program, if any, and exits.
			const fail = (thrown: unknown, fds: readonly number[]) => {
				clearTimeout(timer);
				clearInterval(continuing);
				for (const fd of fds) if (fd >= 0) closeSync(fd);
				reject(thrown);
			};
			const all = [control, input, output, error, slave, wake];
			let cancel = () => {};
			// The minder has its own timeout. But if not even a signal ends its wait, it can't report that.
			const timer = setTimeout(() => {
				cancel();
				// If this process was stopped itself, the answer may wait to be read.
				if (isAnswered()) return;
				// The minder is probably stopped, and would delay the next start too.
				if (takenBy === undefined) replace(sentTo);
				fail(nativeError(takenBy === undefined ? untaken : "start", constants.errno.ETIMEDOUT), all);
			}, order.startMs + answerMs);
			let takenBy: number | undefined;
			/** The program's pid, once it may have run. */
			let program: number | undefined;
			let continuing: NodeJS.Timeout | undefined;
			const started = (pid: number, minder: number) => {
				clearTimeout(timer);
				clearInterval(continuing);
				try {
					resolve(run(new Minder(pid, minder, ends)));
				} catch (thrown) {
					fail(thrown, [control]);
				}
			};
			const isAnswered = (): boolean => {
				for (let answer = receiveFromMinder(control); answer !== null; answer = receiveFromMinder(control)) {
					if (answer.kind === received.taken) {
						takenBy = answer.value;
						continuing = setInterval(continueProcess, continueMs, takenBy);
						continue;
					}
					if (answer.kind === received.starting) {
						program = answer.value;
						continue;
					}
					// A minder that is being killed may still take an order that it will never execute.
					if (answer.kind === received.gone && takenBy === undefined) replace(sentTo);
					const running = answer.kind === received.started ? answer.value : undefined;
					// A program that may have run must not be reported as not started.
					const pid = answer.kind === received.gone ? program : running;
					if (pid !== undefined && takenBy !== undefined) started(pid, takenBy);
					else fail(toError(answer, takenBy !== undefined), all);
					return true;
				}
				return false;
			};
			const listen = () => {
				try {
					cancel = poll(control, "read", () => void (isAnswered() || listen()), { hold: true });
				} catch (thrown) {
					fail(thrown, all);
				}
			};
			listen();
		});
	}

	/** Calls back once when the program has ended; with undefined if its minder was killed, so the exit is unknown. */
	onExit(callback: (reaped: Reaped | undefined) => void): void {
		this.#listen();
		this.#onExit = callback;
	}

	/** Sends a signal once to every existing process. SIGKILL also goes to those started later, until none is left. */
	signalAll(signo: number): void {
		if (!this.#isGone) sendToMinder(this.ends.control, sent.signal, signo);
	}

	#listen(): void {
		const receive = () => {
			for (
				let next = receiveFromMinder(this.ends.control);
				next !== null;
				next = receiveFromMinder(this.ends.control)
			) {
				if (next.kind === received.gone) return this.#end();
				if (next.kind === received.exited) this.#exit(next.value, next.other);
			}
			this.#listen();
		};
		// A running program keeps us alive, as its output does. Processes that it leaves behind do not.
		poll(this.ends.control, "read", receive, { hold: !this.#hasExited });
	}

	#exit(code: number, signal: number): void {
		this.#hasExited = true;
		const or = (value: number) => (value < 0 ? null : value);
		this.#onExit?.({ pid: this.pid, code: or(code), signal: or(signal) });
		// Only now may its pid be reused.
		sendToMinder(this.ends.control, sent.reap, 0);
	}

	#end(): void {
		this.#isGone = true;
		closeSync(this.ends.control);
		if (!this.#hasExited) this.#onExit?.(undefined);
		this.#resolveGone();
	}
}

function continueProcess(pid: number): void {
	try {
		process.kill(pid, "SIGCONT");
	} catch {
		// It is gone, which its socket will report.
	}
}

/** Step of a start that failed before a minder took the order. */
const untaken = "order";

function toError(answer: MinderMessage, isTaken: boolean): NativeError {
	if (answer.kind === received.failed) return nativeError(answer.step ?? "start", answer.other);
	return nativeError(isTaken ? "start" : untaken, constants.errno.ECHILD);
}

/** The executable of minders and of their parent. */
export const minderFile: string = builtFile("minder");

/** The parent of this process's minders. It exits when we do. */
let nursery: MinderPool | undefined;

/** Delay between attempts to reap the parent, whose socket closes a moment before its end. */
const reapMs = 1;

/** Default number of minders that wait for orders: one takes an order while another one is replaced. */
let mindersAhead = 2;

/** Sets the number of minders that wait for orders. */
export function prepareMinders(ahead: number): void {
	mindersAhead = ahead;
	nursery ??= openNursery(minderFile, ahead);
}

/** Errors of sending an order when the parent is gone; the second one if it left orders unread. */
const nurseryGone = new Set(["EPIPE", "ECONNRESET"]);

function send(order: Order): ProgramFds {
	const isNew = nursery === undefined;
	nursery ??= openNursery(minderFile, mindersAhead);
	try {
		return orderNative(nursery.orders, {
			order: encode(order),
			terminal: order.stdio === "pty" ? 1 : 0,
			...order.size,
			emptyInput: order.emptyInput === true ? 1 : 0,
			oneOutput: order.oneOutput === true ? 1 : 0,
		});
	} catch (thrown) {
		if (!isNativeError(thrown) || !nurseryGone.has(thrown.code)) throw thrown;
		// It was killed and the order was not taken. Its minders live on; a new parent starts the next program.
		replace(nursery);
		if (isNew) throw thrown;
		return send(order);
	}
}

/** Stops using this parent of minders and kills it with all minders that wait in it. */
function replace(former: MinderPool | undefined): void {
	if (former === undefined || former !== nursery) return;
	nursery = undefined;
	closeSync(former.orders);
	// Until it is reaped its pid can't be reused.
	process.kill(former.pid, "SIGKILL");
	void reap(former.pid);
}

async function reap(pid: number): Promise<void> {
	while (wait(pid) === null) await new Promise<void>((resolve) => setTimeout(resolve, reapMs));
}

/** As in native/minder.h. A minder of another version refuses the order. */
const ORDER_VERSION = 2;

/** Encodes an order as native/minder.c reads it: NUL-terminated strings. */
function encode(order: Order): Buffer {
	const { umask = -1, uid = -1, gid = -1, groups = [], limits = {}, cwd, files, argv, env } = order;
	const { placeholders = [], cgroup } = order;
	const list = (values: readonly (string | number)[]) => [values.length, ...values];
	const fields = [
		ORDER_VERSION,
		order.session,
		order.startMs,
		order.stdio === "pty" ? 1 : 0,
		umask,
		uid,
		gid,
		...list(groups),
		Object.keys(limits).length,
		...Object.entries(limits).flatMap(([name, { soft, hard = -1 }]) => [name, soft, hard]),
		order.isRealCwd ? 1 : 0,
		cwd,
		...list(files),
		...list(argv),
		...list(env),
		...list(placeholders),
		cgroup?.path ?? "",
		...list(Object.entries(cgroup?.settings ?? {}).flat()),
	].map(String);
	if (fields.some((field) => field.includes("\0"))) throw new Error("invariant: an order contains no NUL");
	return Buffer.from(`${fields.join("\0")}\0`);
}

/** Possible paths of a program, as execvp finds it: in the PATH of its environment, unless its name has a slash. */
export function candidates(program: string, path: string | undefined): string[] {
	if (program === "") return [];
	if (program.includes("/")) return [program];
	return (path ?? "/usr/local/bin:/usr/bin:/bin")
		.split(":")
		.map((folder) => (folder === "" ? program : `${folder}/${program}`));
}
