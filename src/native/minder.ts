/**
 * A program and its minder: the small process that is its parent and out of whose sight nothing below it can get.
 * See native/minder.c; this is our side of the socket between us.
 */

import { closeSync } from "node:fs";
import { constants } from "node:os";
import {
	builtFile,
	type Ends,
	hearMinder,
	isNativeError,
	type MinderMessage,
	type NativeError,
	type Nursery,
	nativeError,
	openNursery,
	order as orderNative,
	poll,
	type Reaped,
	tellMinder,
	wait,
} from "./addon.ts";

/** What is started. Numbers that are left out stay as they are with us. */
export type Order = {
	/** Whose program it is: `HAWSER_MINDER` in the minder's environment, by which that is found from outside. */
	readonly session: string;
	readonly stdio: "pty" | "pipe";
	readonly size: { readonly cols: number; readonly rows: number };
	/** On pipes: an empty input, and one pipe for stdout and stderr. */
	readonly emptyInput?: boolean;
	readonly oneOutput?: boolean;
	/** Tried in turn; see `candidates`. */
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
	/** Besides `gid`, where user or group change. */
	readonly groups?: readonly number[];
	/** The soft limit, and the hard one too where it is given. */
	readonly limits?: Readonly<Record<string, Limit>>;
	/** Directories that stand while it runs; see `Command`. */
	readonly placeholders?: readonly string[];
	/** See `Command`. */
	readonly cgroup?: { readonly path: string; readonly settings: Readonly<Record<string, string>> };
	/** How long the program's directory and file may take to answer: they may be on a server that does not. */
	readonly startMs: number;
};

export type Limit = { readonly soft: number; readonly hard?: number };

/** A program may stop its minder before that has told of it, so it is continued so often until it has. */
const continueMs = 500;

/** How long a minder may take to say that it took too long. */
const answerMs = 2_000;

/** As in native/minder.h. */
const told = { gone: 0, started: 1, failed: 2, exited: 3, taken: 6 } as const;
const tell = { signal: 4, reap: 5 } as const;

export class Minder {
	/** The program's. */
	readonly pid: number;
	/** The minder's own. It may be another's once the minder is gone, so look first. */
	readonly ownPid: number;
	/** All but the first belong to whoever runs the program. */
	readonly ends: Ends;
	/** Resolves when the minder is gone, and with it all that was below; unless it was killed itself. */
	readonly gone: Promise<void>;
	#resolveGone: () => void = () => {};
	#isGone = false;
	#hasExited = false;
	#onExit: ((reaped: Reaped | undefined) => void) | undefined;

	private constructor(pid: number, ownPid: number, ends: Ends) {
		this.pid = pid;
		this.ownPid = ownPid;
		this.ends = ends;
		this.gone = new Promise((resolve) => {
			this.#resolveGone = resolve;
		});
	}

	/**
	 * Starts a program; rejects with a `NativeError` when it can't be started, and nothing is left behind then. `run` is
	 * called in the turn in which the start becomes known, and its result the answer; the ends are its own from then on.
	 */
	static start<Result>(order: Order, run: (minder: Minder) => Result): Promise<Result> {
		return Minder.#start(order, run).catch((thrown: unknown) => {
			// The nursery was killed before anybody had the order, so nothing was started; the next is another.
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
			// Without us the minder ends its program, if it has one, and itself.
			const fail = (thrown: unknown, fds: readonly number[]) => {
				clearTimeout(timer);
				clearInterval(continuing);
				for (const fd of fds) if (fd >= 0) closeSync(fd);
				reject(thrown);
			};
			const all = [control, input, output, error, slave, wake];
			let cancel = () => {};
			// The minder keeps the time itself; but where not even a signal ends the waiting, it can't tell us.
			const timer = setTimeout(() => {
				cancel();
				// Stopped, most likely: whoever waits in there would keep the next start waiting too.
				if (takenBy === undefined) replace(sentTo);
				fail(nativeError(takenBy === undefined ? untaken : "start", constants.errno.ETIMEDOUT), all);
			}, order.startMs + answerMs);
			let takenBy: number | undefined;
			let continuing: NodeJS.Timeout | undefined;
			const answered = () => {
				let answer = hearMinder(control);
				if (answer?.kind === told.taken) {
					takenBy = answer.value;
					continuing = setInterval(continueProcess, continueMs, takenBy);
					answer = hearMinder(control);
				}
				if (answer === null) return listen();
				// Who is just being killed may still take in what nobody will read.
				if (answer.kind === told.gone && takenBy === undefined) replace(sentTo);
				if (answer.kind !== told.started || takenBy === undefined)
					return fail(toError(answer, takenBy !== undefined), all);
				clearTimeout(timer);
				clearInterval(continuing);
				try {
					resolve(run(new Minder(answer.value, takenBy, ends)));
				} catch (thrown) {
					fail(thrown, [control]);
				}
			};
			const listen = () => {
				try {
					cancel = poll(control, "read", answered, { hold: true });
				} catch (thrown) {
					fail(thrown, all);
				}
			};
			listen();
		});
	}

	/** Calls back once when the program has ended; with nothing when its minder was killed, and nobody knows how. Call it once. */
	onExit(callback: (reaped: Reaped | undefined) => void): void {
		this.#listen();
		this.#onExit = callback;
	}

	/** Sends a signal once to every process there is, also to those that are found a little later; after SIGKILL, until none is left. */
	signalAll(signo: number): void {
		if (!this.#isGone) tellMinder(this.ends.control, tell.signal, signo);
	}

	#listen(): void {
		const hear = () => {
			for (let next = hearMinder(this.ends.control); next !== null; next = hearMinder(this.ends.control)) {
				if (next.kind === told.gone) return this.#end();
				if (next.kind === told.exited) this.#exit(next.value, next.other);
			}
			this.#listen();
		};
		// A running program keeps us alive, as its output does; what it leaves behind does not.
		poll(this.ends.control, "read", hear, { hold: !this.#hasExited });
	}

	#exit(code: number, signal: number): void {
		this.#hasExited = true;
		const or = (value: number) => (value < 0 ? null : value);
		this.#onExit?.({ pid: this.pid, code: or(code), signal: or(signal) });
		// Only now may its number pass on.
		tellMinder(this.ends.control, tell.reap, 0);
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
		// It is gone, as its socket will say.
	}
}

/** The step at which a start failed whose order nobody had taken. */
const untaken = "order";

function toError(answer: MinderMessage, isTaken: boolean): NativeError {
	if (answer.kind === told.failed) return nativeError(answer.step ?? "start", answer.other);
	return nativeError(isTaken ? "start" : untaken, constants.errno.ECHILD);
}

/** The program that nursery and minders run. */
export const minderFile: string = builtFile("minder");

/** The parent of this process's minders; it goes when we do. */
let nursery: Nursery | undefined;

/** Between two tries to reap a nursery, whose socket closes a moment before its end. */
const reapMs = 1;

/** So many minders wait for orders, unless it is said: one takes an order while another's place is being filled. */
let mindersAhead = 2;

/** Has so many minders wait for orders from now on; for who knows better than the default. */
export function prepareMinders(ahead: number): void {
	mindersAhead = ahead;
	nursery ??= openNursery(minderFile, ahead);
}

/** What sending an order says when the nursery is gone; the second, once, when it left orders unread. */
const nurseryGone = new Set(["EPIPE", "ECONNRESET"]);

function send(order: Order): Ends {
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
		// Somebody killed it, and nobody got the order. Its minders go on; the next has another parent.
		replace(nursery);
		if (isNew) throw thrown;
		return send(order);
	}
}

/** Has the next order go to another nursery than this, which is ended with all who wait in it, if it is there. */
function replace(former: Nursery | undefined): void {
	if (former === undefined || former !== nursery) return;
	nursery = undefined;
	closeSync(former.orders);
	// It is our child until it was reaped, and so is its number.
	process.kill(former.pid, "SIGKILL");
	void reap(former.pid);
}

async function reap(pid: number): Promise<void> {
	while (wait(pid) === null) await new Promise<void>((resolve) => setTimeout(resolve, reapMs));
}

/** As native/minder.c reads it: strings, each ended by a NUL. */
function encode(order: Order): Buffer {
	const { umask = -1, uid = -1, gid = -1, groups = [], limits = {}, cwd, files, argv, env } = order;
	const { placeholders = [], cgroup } = order;
	const list = (values: readonly (string | number)[]) => [values.length, ...values];
	const fields = [
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
	if (fields.some((field) => field.includes("\0"))) throw new Error("invariant: an order holds no NUL");
	return Buffer.from(`${fields.join("\0")}\0`);
}

/** Where a program may be, as execvp looks for it: in the PATH of its own environment, unless its name has a slash. */
export function candidates(program: string, path: string | undefined): string[] {
	if (program === "") return [];
	if (program.includes("/")) return [program];
	return (path ?? "/usr/local/bin:/usr/bin:/bin")
		.split(":")
		.map((folder) => (folder === "" ? program : `${folder}/${program}`));
}
