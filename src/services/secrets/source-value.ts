/** Reads a secret from its location: a variable of the server, a file, or the output of a command. */

import { spawn } from "node:child_process";
import { wholeEnvironment } from "../../backends/environment.ts";
import { SessionError } from "../../core/errors.ts";
import { allocateOffHeap } from "../../core/secrets/secret-memory.ts";
import { GROUP_READS, readPrivate } from "../../disk/private-file.ts";

export type SecretLocation =
	| { readonly kind: "env"; readonly name: string }
	| { readonly kind: "file"; readonly path: string }
	| { readonly kind: "command"; readonly argv: readonly string[] };

/**
 * Longer than a line that a terminal accepts.
 * @limit what a secret source may give | a person is asked
 */
const MOST_BYTES = 4096;
/**
 * The program, and perhaps a user, wait at the prompt meanwhile.
 * @limit the command of a secret source | a person is asked
 */
const COMMAND_MS = 10_000;

const NEWLINE = 0x0a;
const RETURN = 0x0d;

/** Returns memory that the caller must overwrite. Errors never quote the value or the output. */
export async function readValue(from: SecretLocation, signal: AbortSignal): Promise<Buffer> {
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
	const bytes = allocateOffHeap(Buffer.byteLength(text));
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
		const all = allocateOffHeap(pieces.reduce((sum, { byteLength }) => sum + byteLength, 0));
		let at = 0;
		for (const piece of pieces) at += piece.copy(all, at);
		return all;
	} finally {
		for (const piece of pieces) piece.fill(0);
	}
}

/** Resolves on success, and rejects otherwise, when no process is left that could still print. */
function collect(program: string, args: readonly string[], pieces: Buffer[], signal: AbortSignal): Promise<void> {
	return new Promise((resolve, reject) => {
		// stderr may contain the secret. A separate process group can be killed with all its children.
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
			// A child that has left the group may still have the other end of the pipe.
			child.stdout.destroy();
		};
		const abort = () => end("was stopped because the request was closed");
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
			else reject(new SessionError("spawn_failed", `the source's command ${why}`));
		});
	});
}

function killGroup(pid: number | undefined): void {
	if (pid === undefined) return;
	try {
		process.kill(-pid, "SIGKILL");
	} catch {
		// The group is already gone.
	}
}
