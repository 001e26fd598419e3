/**
 * The typed interface of the native addon. It is loaded on first use, so that code that does not need it runs anywhere.
 */

import { spawnSync } from "node:child_process";
import { closeSync } from "node:fs";
import { createRequire } from "node:module";
import { constants } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildFolder, platform } from "../../native/platform.js";
import { SessionError } from "../core/errors.ts";
import type { ProcessSnapshot } from "../core/process/process-snapshot.ts";

/** A program to start; see `minder.ts`. */
type NativeOrder = {
	readonly order: Uint8Array;
	/** 1 for a terminal, 0 for pipes. */
	readonly terminal: 0 | 1;
	readonly cols: number;
	readonly rows: number;
	/** 1 for an empty input on pipes. */
	readonly emptyInput: 0 | 1;
	/** 1 for one pipe for stdout and stderr. */
	readonly oneOutput: 0 | 1;
};

/** Descriptors that the caller owns; -1 if there is none. */
export type ProgramFds = {
	/** Socket to the program's minder. */
	readonly control: number;
	/** For writing: the terminal, or the pipe to stdin. */
	readonly input: number;
	/** For reading: the terminal by its own descriptor, or the pipe from stdout. */
	readonly output: number;
	readonly error: number;
	/** The program's side of the terminal. While it is open the terminal can't hang up. */
	readonly slave: number;
	/** For the terminal's pump. */
	readonly wake: number;
};

/** The parent of minders, and our end of the socket for orders. */
export type MinderPool = { readonly pid: number; readonly orders: number };

/** A message from a minder; see native/minder.h. */
export type MinderMessage = {
	readonly kind: number;
	readonly value: number;
	readonly other: number;
	/** The step at which a start failed. */
	readonly step?: string;
};

/** A wait status; `signal` is a number. */
export type Reaped = { readonly pid: number; readonly code: number | null; readonly signal: number | null };

type NativeTerminal = {
	readonly cols: number;
	readonly rows: number;
	/** The foreground process group, and the leader of the terminal's session; zero for none. */
	readonly foreground: number;
	readonly leader: number;
	readonly echo: boolean;
	readonly canonical: boolean;
	/** The end-of-file character. */
	readonly eof: number;
};

/** A failed system call: `step` names the operation, `code` is the errno's name. */
export type NativeError = Error & { readonly step: string; readonly errno: number; readonly code: string };

type Addon = {
	openNursery(path: string, ahead: number): MinderPool;
	order(orders: number, order: NativeOrder): ProgramFds;
	hearMinder(control: number): MinderMessage | null;
	tellMinder(control: number, kind: number, value: number): boolean;
	startDetached(options: {
		readonly argv: readonly string[];
		readonly env: readonly string[];
		readonly output: number;
	}): { readonly pid: number; readonly pidfd: number };
	wait(pid: number): Reaped | null;
	openPoller(onReady: (token: number) => void): void;
	poll(fd: number, forWriting: boolean, token: number): void;
	holdPoller(isHeld: boolean): void;
	unpoll(fd: number): void;
	resize(fd: number, cols: number, rows: number): void;
	terminal(fd: number): NativeTerminal;
	signalTerminal(fd: number, signo: number): boolean;
	signalGroup(pgid: number, signo: number): boolean;
	signalProcess(pid: number, startTime: number, signo: number): boolean;
	lockFile(path: string): number | null;
	growSendBuffer(fd: number, bytes: number): void;
	peerProcess(fd: number): number | null;
	trimMemory(): void;
	crc32c(bytes: Uint8Array, seed?: number, byTable?: boolean): number;
	skim(bytes: Uint8Array, from: number): number;
	skimAnywhere(bytes: Uint8Array, from: number): number;
	openPump(fd: number, wake: number, onReady: () => void): Pump;
	takePump(pump: Pump, bytes: Uint8Array): number;
	drainPump(pump: Pump, bytes: Uint8Array): number;
	pausePump(pump: Pump, isPaused: boolean): void;
	closePump(pump: Pump): void;
	inspect(fd: number, root: number, done: (snapshot: ProcessSnapshot) => void): void;
};

/** A thread that reads one terminal, with its buffered output. Not usable after `closePump`. */
export type Pump = { readonly pump: unique symbol };

let loaded: Addon | undefined;
let failure: SessionError | undefined;

function addon(): Addon {
	if (failure !== undefined) throw failure;
	loaded ??= load();
	return loaded;
}

/** The path of a file built by native/build.js. */
export function builtFile(name: string): string {
	return join(buildFolder(), name);
}

/** Loads the addon from the package, or compiles it with this machine's C compiler. */
function load(): Addon {
	const require = createRequire(import.meta.url);
	const file = builtFile("hawser.node");
	try {
		return require(file) as Addon;
	} catch (cause) {
		if (process.platform !== "linux") throw fail("sessions run on Linux only", notLinux, cause);
	}
	process.stderr.write(`hawser: no native addon for ${platform}; compiling it once\n`);
	const build = spawnSync(process.execPath, [builder], { encoding: "utf8" });
	if (build.status !== 0) {
		const why = build.error?.message ?? build.stderr.trim();
		throw fail(`the native addon for ${platform} is missing and can't be compiled: ${why}`, compileByHand);
	}
	try {
		return require(file) as Addon;
	} catch (cause) {
		throw fail(`the native addon for ${platform} can't be loaded: ${(cause as Error).message}`, compileByHand, cause);
	}
}

const builder = fileURLToPath(new URL("../../native/build.js", import.meta.url));
const compileByHand = `compile it with "node ${builder}" as the owner of that directory`;
const notLinux =
	"from here, use a server on a Linux machine: hawser --url https://HOST …, or connect() of hawser/client";

/** Remembers the failure, so that the compiler runs at most once per process. */
function fail(message: string, hint: string, cause?: unknown): SessionError {
	failure = new SessionError("unsupported", message, { hint, cause });
	return failure;
}

export function isNativeError(thrown: unknown): thrown is NativeError {
	return thrown instanceof Error && "step" in thrown && "errno" in thrown;
}

/**
 * errno names. util.getSystemErrorName knows only those that libuv returns. If there are two names, the first one
 * (EAGAIN).
 */
const errnoNames: ReadonlyMap<number, string> = new Map(
	Object.entries(constants.errno)
		.map(([name, errno]): [number, string] => [errno, name])
		.reverse(),
);

/** A NativeError for a call that failed in another process of ours. */
export function nativeError(step: string, errno: number): NativeError {
	const code = errnoNames.get(errno) ?? `errno ${errno}`;
	return Object.assign(new Error(`${step}: ${code}`), { step, errno, code });
}

/** Adds the errno's name to errors of the call as their `code`. */
function named<Result>(call: () => Result): Result {
	try {
		return call();
	} catch (thrown) {
		if (isNativeError(thrown)) Object.assign(thrown, { code: errnoNames.get(thrown.errno) ?? `errno ${thrown.errno}` });
		throw thrown;
	}
}

/**
 * Starts the parent of minders in its own session, with `ahead` minders forked in advance. If it throws a
 * `NativeError`, nothing is left behind.
 */
export function openNursery(path: string, ahead: number): MinderPool {
	// First, so that a lack of descriptors shows before there is a program whose end could not be observed.
	ensurePoller();
	return named(() => addon().openNursery(path, ahead));
}

/**
 * Starts a program. The outcome comes over `control`. Throws a `NativeError`: EPIPE or ECONNRESET when the parent of
 * minders is gone.
 */
export function order(orders: number, what: NativeOrder): ProgramFds {
	return named(() => addon().order(orders, what));
}

/** The next message of a minder: null if there is none yet, kind 0 when it is gone. */
export function receiveFromMinder(control: number): MinderMessage | null {
	return named(() => addon().hearMinder(control));
}

/** Returns whether the minder still receives messages. */
export function sendToMinder(control: number, kind: number, value: number): boolean {
	return addon().tellMinder(control, kind, value);
}

export type Detached = {
	readonly pid: number;
	/** Resolves when it has ended and was reaped. Does not keep the process alive. */
	readonly ended: Promise<Reaped>;
};

/**
 * Starts a program that outlives us: in its own session and in "/", without input. Its output goes to the given
 * descriptor, which the caller keeps, or nowhere.
 */
export function spawnDetached(options: {
	readonly argv: readonly string[];
	readonly env: Readonly<Record<string, string>>;
	readonly output?: number;
}): Detached {
	const { argv, env, output = -1 } = options;
	ensurePoller();
	const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
	const { pid, pidfd } = named(() => addon().startDetached({ argv, env: variables, output }));
	const ended = new Promise<Reaped>((resolve) => {
		poll(pidfd, "read", () => {
			closeSync(pidfd);
			resolve(wait(pid) ?? { pid, code: null, signal: null });
		});
	});
	return { pid, ended };
}

/**
 * Reaps a child that has ended, or any child for -1; null if there is none. Throws ECHILD if the pid is not a child.
 */
export function wait(pid: number): Reaped | null {
	return named(() => addon().wait(pid));
}

/** Interests by token. Tokens are never reused, so a late report finds nothing. */
const interests = new Map<number, Interest>();
type Interest = { readonly fd: number; readonly ready: () => void; readonly hold: boolean };
let lastToken = 0;
let held = 0;
let hasPoller = false;

function ensurePoller(): void {
	if (hasPoller) return;
	named(() => addon().openPoller(onReady));
	hasPoller = true;
}

/**
 * Calls back once when a descriptor is ready, unless the returned function cancels that. One interest per descriptor at
 * a time, which must end before the descriptor is closed. Keeps the process alive only with `hold`.
 */
export function poll(
	fd: number,
	interest: "read" | "write",
	ready: () => void,
	options: { readonly hold?: boolean } = {},
): () => void {
	ensurePoller();
	const token = ++lastToken;
	named(() => addon().poll(fd, interest === "write", token));
	interests.set(token, { fd, ready, hold: options.hold === true });
	if (options.hold === true && ++held === 1) addon().holdPoller(true);
	return () => void forget(token);
}

function onReady(token: number): void {
	forget(token)?.ready();
}

/** Ends an interest. The kernel has forgotten it when this returns. */
function forget(token: number): Interest | undefined {
	const interest = interests.get(token);
	if (interest === undefined) return undefined;
	interests.delete(token);
	named(() => addon().unpoll(interest.fd));
	if (interest.hold && --held === 0) addon().holdPoller(false);
	return interest;
}

export function resize(fd: number, cols: number, rows: number): void {
	named(() => addon().resize(fd, cols, rows));
}

/** The state of a terminal, from either side. */
export function terminal(fd: number): NativeTerminal {
	return named(() => addon().terminal(fd));
}

/** Signals the terminal's foreground group, as a key press would; false if there is none. */
export function signalTerminal(fd: number, signo: number): boolean {
	return named(() => addon().signalTerminal(fd, signo));
}

/** Signals a process group whose leader is our unreaped child; false if it is empty. */
export function signalGroup(pgid: number, signo: number): boolean {
	return named(() => addon().signalGroup(pgid, signo));
}

/** Signals the process with this pid and start time; false if it is gone, even if the pid was reused. */
export function signalProcess(pid: number, startTime: number, signo: number): boolean {
	return named(() => addon().signalProcess(pid, startTime, signo));
}

/**
 * Inspects, in a thread, the processes below `root` whose input is our end `fd` of a terminal or a pipe (-1: none).
 * Rejects with a `NativeError`. May take any time. Does not keep the process alive.
 */
export function inspect(fd: number, root: number): Promise<ProcessSnapshot> {
	return new Promise((resolve) => named(() => addon().inspect(fd, root, resolve)));
}

/**
 * Starts to read a terminal. The pump takes ownership of both descriptors, and calls back when there is output to take.
 */
export function openPump({ output, wake }: Pick<ProgramFds, "output" | "wake">, onReady: () => void): Pump {
	return named(() => addon().openPump(output, wake, onReady));
}

/** Takes buffered output, as much as fits. Returns 0 if there is none, -1 at the end. */
export function takePump(pump: Pump, bytes: Uint8Array): number {
	return addon().takePump(pump, bytes);
}

/** Takes buffered output and then what the kernel has now. Returns 0 if there is none, -1 at the end. */
export function drainPump(pump: Pump, bytes: Uint8Array): number {
	return addon().drainPump(pump, bytes);
}

/** A paused pump reads only in `drainPump`. */
export function pausePump(pump: Pump, isPaused: boolean): void {
	addon().pausePump(pump, isPaused);
}

/** Ends the thread, and closes the descriptor when the thread no longer uses it. */
export function closePump(pump: Pump): void {
	addon().closePump(pump);
}

/**
 * Locks a file, which is created if needed, until the returned descriptor is closed or this process ends; null if
 * another process has the lock.
 */
export function lockFile(path: string): number | null {
	return named(() => addon().lockFile(path));
}

/** Increases a socket's send buffer, within the kernel's limits. */
export function growSendBuffer(fd: number, bytes: number): void {
	named(() => addon().growSendBuffer(fd, bytes));
}

/** The process that connected a Unix socket; null if it is not visible to this process. */
export function peerProcess(fd: number): number | null {
	return named(() => addon().peerProcess(fd));
}

/** Returns freed memory to the system. Takes some milliseconds after a flood. */
export function trimMemory(): void {
	addon().trimMemory();
}

/** The CRC-32C of the bytes. `seed` is the checksum of the bytes before them. */
export function crc32c(bytes: Uint8Array, seed = 0): number {
	return addon().crc32c(bytes, seed);
}

/** The same without processor support, for tests. */
export function crc32cByTable(bytes: Uint8Array, seed = 0): number {
	return addon().crc32c(bytes, seed, true);
}

/** A fast version of `skim` in core/terminal/skim.ts, about twenty times faster. */
export function skim(bytes: Uint8Array, from: number): number {
	return addon().skim(bytes, from);
}

/** The same without wide vector instructions, for tests. */
export function skimAnywhere(bytes: Uint8Array, from: number): number {
	return addon().skimAnywhere(bytes, from);
}
