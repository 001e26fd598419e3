/** The addon, typed: what Node can't do itself. Loaded on first use, so that what needs none of it runs anywhere. */

import { spawnSync } from "node:child_process";
import { closeSync } from "node:fs";
import { createRequire } from "node:module";
import { constants } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildFolder, platform } from "../../native/platform.js";
import { SessionError } from "../core/errors.ts";
import type { Sight } from "../core/inspection.ts";

/** What is to be started, and on what; see `minder.ts`. */
type NativeOrder = {
	readonly order: Uint8Array;
	/** 1 for a terminal, 0 for pipes. */
	readonly terminal: 0 | 1;
	readonly cols: number;
	readonly rows: number;
	/** 1 gives a program on pipes an empty input. */
	readonly emptyInput: 0 | 1;
	/** 1 gives it one pipe for stdout and stderr. */
	readonly oneOutput: 0 | 1;
};

/** Descriptors that the caller owns; -1 where there is none. */
export type Ends = {
	/** The socket to the program's minder. */
	readonly control: number;
	/** Written to: the terminal, or the pipe to stdin. */
	readonly input: number;
	/** Read from: the terminal by a descriptor of its own, or the pipe from stdout. */
	readonly output: number;
	readonly error: number;
	/** The program's side of the terminal; while it is open the terminal can't hang up. */
	readonly slave: number;
	/** For the pump of the terminal. */
	readonly wake: number;
};

/** The parent of minders, and our end of the socket over which it takes orders. */
export type Nursery = { readonly pid: number; readonly orders: number };

/** A packet from a minder; see native/minder.h. */
export type MinderMessage = {
	readonly kind: number;
	readonly value: number;
	readonly other: number;
	/** What a start failed at. */
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
	/** The character that ends the input. */
	readonly eof: number;
};

/** A failed system call: `step` says what was being done, `code` is the errno's name. */
export type NativeError = Error & { readonly step: string; readonly errno: number; readonly code: string };

type Addon = {
	openNursery(path: string, ahead: number): Nursery;
	order(orders: number, order: NativeOrder): Ends;
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
	trimMemory(): void;
	crc32c(bytes: Uint8Array, seed?: number, byTable?: boolean): number;
	skim(bytes: Uint8Array, from: number): number;
	skimAnywhere(bytes: Uint8Array, from: number): number;
	openPump(fd: number, wake: number, onReady: () => void): Pump;
	takePump(pump: Pump, bytes: Uint8Array): number;
	drainPump(pump: Pump, bytes: Uint8Array): number;
	pausePump(pump: Pump, isPaused: boolean): void;
	closePump(pump: Pump): void;
	inspect(fd: number, root: number, done: (sight: Sight) => void): void;
};

/** A thread that reads one terminal, and what it has read; of no use after `closePump`. */
export type Pump = { readonly pump: unique symbol };

let loaded: Addon | undefined;
let failure: SessionError | undefined;

function addon(): Addon {
	if (failure !== undefined) throw failure;
	loaded ??= load();
	return loaded;
}

/** Where a product of native/build.js is. */
export function builtFile(name: string): string {
	return join(buildFolder(), name);
}

/** Loads the addon that came with the package, or else the one that this machine's C compiler makes of its source. */
function load(): Addon {
	const require = createRequire(import.meta.url);
	const file = builtFile("hawser.node");
	try {
		return require(file) as Addon;
	} catch (cause) {
		if (process.platform !== "linux") throw fail("sessions run on Linux only", notLinux, cause);
	}
	process.stderr.write(`hawser: no native addon here that fits ${platform}; compiling one, which happens once\n`);
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
const compileByHand = `"node ${builder}", run by the owner of that directory, compiles it`;
const notLinux =
	"from here, use a server on a Linux machine: hawser --url https://HOST …, or connect() of hawser/client";

/** Remembered, so that a compiler is tried once in the life of a process. */
function fail(message: string, hint: string, cause?: unknown): SessionError {
	failure = new SessionError("unsupported", message, { hint, cause });
	return failure;
}

export function isNativeError(thrown: unknown): thrown is NativeError {
	return thrown instanceof Error && "step" in thrown && "errno" in thrown;
}

/** Not util.getSystemErrorName, which knows only what libuv can return. Where there are two names, the first (EAGAIN) counts. */
const errnoNames: ReadonlyMap<number, string> = new Map(
	Object.entries(constants.errno)
		.map(([name, errno]): [number, string] => [errno, name])
		.reverse(),
);

/** A failed call as the addon would throw it, for what another process of ours failed at. */
export function nativeError(step: string, errno: number): NativeError {
	const code = errnoNames.get(errno) ?? `errno ${errno}`;
	return Object.assign(new Error(`${step}: ${code}`), { step, errno, code });
}

/** Gives a failed call the errno's name as its `code`. */
function named<Result>(call: () => Result): Result {
	try {
		return call();
	} catch (thrown) {
		if (isNativeError(thrown)) Object.assign(thrown, { code: errnoNames.get(thrown.errno) ?? `errno ${thrown.errno}` });
		throw thrown;
	}
}

/** Starts the parent of minders, in a session of its own; so many are forked ahead of orders. Throws a `NativeError`; nothing is left behind then. */
export function openNursery(path: string, ahead: number): Nursery {
	// First, so that a shortage of descriptors shows before there is a program whose end nobody would hear of.
	ensurePoller();
	return named(() => addon().openNursery(path, ahead));
}

/** Has a program started; what becomes of that comes over `control`. Throws a `NativeError`, EPIPE or ECONNRESET when the nursery is gone. */
export function order(orders: number, what: NativeOrder): Ends {
	return named(() => addon().order(orders, what));
}

/** What a minder says next: null when nothing yet, kind 0 when it is gone. */
export function hearMinder(control: number): MinderMessage | null {
	return named(() => addon().hearMinder(control));
}

/** Whether the minder still listens. */
export function tellMinder(control: number, kind: number, value: number): boolean {
	return addon().tellMinder(control, kind, value);
}

export type Detached = {
	readonly pid: number;
	/** Resolves once it has ended and was reaped; keeps no process alive. */
	readonly ended: Promise<Reaped>;
};

/** Starts a program that outlives us, by its path: own session, in "/", no input, output to a descriptor that stays the caller's, or nowhere. */
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

/** Reaps a child that has ended, any child for -1; null when there is none. Throws ECHILD for a pid that is no child. */
export function wait(pid: number): Reaped | null {
	return named(() => addon().wait(pid));
}

/** Interests by token. A token is never used twice, so a report that comes too late finds nothing. */
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
 * Calls back once when a descriptor is ready, unless the returned function is called first; both end the
 * interest. One interest per descriptor at a time, ended before it is closed. Keeps the process alive only
 * with `hold`.
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

/** Ends an interest, if it is not over; the kernel has forgotten it when this returns. */
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

/** The state of a terminal, seen from either side. */
export function terminal(fd: number): NativeTerminal {
	return named(() => addon().terminal(fd));
}

/** Signals the terminal's foreground group, as a key would; false when there is none. */
export function signalTerminal(fd: number, signo: number): boolean {
	return named(() => addon().signalTerminal(fd, signo));
}

/** Signals a process group whose leader is our child and was not reaped yet; false when it is empty. */
export function signalGroup(pgid: number, signo: number): boolean {
	return named(() => addon().signalGroup(pgid, signo));
}

/** Signals the process that has this pid and this start time; false when it is gone, whoever has its pid now. */
export function signalProcess(pid: number, startTime: number, signo: number): boolean {
	return named(() => addon().signalProcess(pid, startTime, signo));
}

/**
 * Looks, in a thread of its own, at what the processes below `root` do that have their input from our end `fd` of a
 * terminal or a pipe, or have none (-1). Rejects with a `NativeError`. May take any time; keeps no process alive.
 */
export function inspect(fd: number, root: number): Promise<Sight> {
	return new Promise((resolve) => named(() => addon().inspect(fd, root, resolve)));
}

/** Starts to read a terminal, whose two descriptors become the pump's own; calls back whenever there is something to take. */
export function openPump({ output, wake }: Pick<Ends, "output" | "wake">, onReady: () => void): Pump {
	return named(() => addon().openPump(output, wake, onReady));
}

/** Takes what was read, as much as fits; 0 when there is nothing, -1 when there never will be again. */
export function takePump(pump: Pump, bytes: Uint8Array): number {
	return addon().takePump(pump, bytes);
}

/** Takes what was read and then what the kernel holds now; 0 when there is nothing, -1 when there never will be again. */
export function drainPump(pump: Pump, bytes: Uint8Array): number {
	return addon().drainPump(pump, bytes);
}

/** While it is paused a pump reads nothing, but for who drains it. */
export function pausePump(pump: Pump, isPaused: boolean): void {
	addon().pausePump(pump, isPaused);
}

/** Ends the thread, and closes the descriptor when the thread has let go of it. */
export function closePump(pump: Pump): void {
	addon().closePump(pump);
}

/** Locks a file, made if need be, until the returned descriptor is closed or this process ends; null when another has it. */
export function lockFile(path: string): number | null {
	return named(() => addon().lockFile(path));
}

/** Lets a socket take more at once, as far as the kernel's limits go. */
export function growSendBuffer(fd: number, bytes: number): void {
	named(() => addon().growSendBuffer(fd, bytes));
}

/** Gives memory back to the system that was freed and kept for later; takes some milliseconds after a flood. */
export function trimMemory(): void {
	addon().trimMemory();
}

/** The CRC-32C of some bytes; with the checksum of what came before as `seed`, of the whole. */
export function crc32c(bytes: Uint8Array, seed = 0): number {
	return addon().crc32c(bytes, seed);
}

/** The same without the processor's help, as machines that lack it compute it. */
export function crc32cByTable(bytes: Uint8Array, seed = 0): number {
	return addon().crc32c(bytes, seed, true);
}

/** Passes over the plain parts of a terminal's output, as `skim` in core/skim.ts says, and some twenty times as fast. */
export function skim(bytes: Uint8Array, from: number): number {
	return addon().skim(bytes, from);
}

/** The same as processors do it that can look at fewer bytes together. */
export function skimAnywhere(bytes: Uint8Array, from: number): number {
	return addon().skimAnywhere(bytes, from);
}
