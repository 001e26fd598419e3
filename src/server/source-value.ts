/** Gets a secret from where its source has it: a variable of the server, a file, or what a command prints. */

import { spawn } from "node:child_process";
import { wholeEnvironment } from "../backends/environment.ts";
import { SessionError } from "../core/errors.ts";
import { outsideHeap } from "../core/outside-heap.ts";
import { GROUP_READS, readPrivate } from "./private-file.ts";

export type ValueFrom =
	| { readonly kind: "env"; readonly name: string }
	| { readonly kind: "file"; readonly path: string }
	| { readonly kind: "command"; readonly argv: readonly string[] };

/** More than a line that a terminal takes, with its end. */
const MOST_BYTES = 4096;
/** A program waits at its prompt meanwhile, and a person who could answer it, too. */
const COMMAND_MS = 10_000;

const NEWLINE = 0x0a;
const RETURN = 0x0d;

/** In memory that the caller overwrites. Says what went wrong without what was got or printed, which may be the secret. */
export async function readValue(from: ValueFrom, signal: AbortSignal): Promise<Buffer> {
	switch (from.kind) {
		case "env":
			return bytesOf(process.env[from.name] ?? "");
		case "file":
			return withoutNewline(await readPrivate(from.path, GROUP_READS, MOST_BYTES));
		case "command":
			return withoutNewline(await printedBy(from.argv, signal));
	}
}

function bytesOf(text: string): Buffer {
	const bytes = outsideHeap(Buffer.byteLength(text));
	bytes.write(text);
	return bytes;
}

function withoutNewline(bytes: Buffer): Buffer {
	return bytes.at(-1) === NEWLINE ? bytes.subarray(0, bytes.at(-2) === RETURN ? -2 : -1) : bytes;
}

async function printedBy([program = "", ...args]: readonly string[], signal: AbortSignal): Promise<Buffer> {
	const pieces: Buffer[] = [];
	try {
		await collect(program, args, pieces, signal);
		const all = outsideHeap(pieces.reduce((sum, { byteLength }) => sum + byteLength, 0));
		let at = 0;
		for (const piece of pieces) at += piece.copy(all, at);
		return all;
	} finally {
		for (const piece of pieces) piece.fill(0);
	}
}

/** Resolves when it has ended well, and rejects otherwise, once nothing of it is left that could still print. */
function collect(program: string, args: readonly string[], pieces: Buffer[], signal: AbortSignal): Promise<void> {
	return new Promise((resolve, reject) => {
		// What it says on stderr may be the secret, too. A group of its own can be ended with all that it started.
		const child = spawn(program, args, {
			cwd: "/",
			env: wholeEnvironment(process.env),
			stdio: ["ignore", "pipe", "ignore"],
			detached: true,
		});
		let length = 0;
		let why: string | undefined;
		const end = (reason: string) => {
			why ??= reason;
			killGroup(child.pid);
			// Somebody who has left the group may still have the other end.
			child.stdout.destroy();
		};
		const abort = () => end("was stopped, because nobody asks any more");
		const timer = setTimeout(() => end(`took longer than ${COMMAND_MS / 1000} s`), COMMAND_MS);
		signal.addEventListener("abort", abort, { once: true });
		if (signal.aborted) abort();
		child.stdout.on("data", (piece: Buffer) => {
			pieces.push(piece);
			length += piece.byteLength;
			if (length > MOST_BYTES) end(`printed more than ${MOST_BYTES} bytes`);
		});
		child.on("error", (error: NodeJS.ErrnoException) => end(`can't be started (${error.code})`));
		child.on("close", (code, by) => {
			clearTimeout(timer);
			signal.removeEventListener("abort", abort);
			if (code !== 0) why ??= `ended with ${code ?? by}`;
			if (why === undefined) resolve();
			else reject(new SessionError("spawn_failed", `its command ${why}`));
		});
	});
}

function killGroup(pid: number | undefined): void {
	if (pid === undefined) return;
	try {
		process.kill(-pid, "SIGKILL");
	} catch {
		// None of it is left.
	}
}
