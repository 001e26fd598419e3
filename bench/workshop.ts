/** What the measurements share: a directory of their own, the payload, the C programs, and children that measure. */

import { execFile, execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { sweep } from "./homes.ts";

/** The benchmark's sources; this runs from dist-bench/bench. */
const sources = fileURLToPath(new URL("../../bench/", import.meta.url));
/** No measurement takes longer unless something hangs. */
const PATIENCE_MS = 300_000;
/** 79 columns and a line feed, which a terminal turns into two characters. */
const LINE_BYTES = 80;

/** A file of text; `ttyBytes` is what a cooked terminal makes of it. */
export type Payload = { readonly path: string; readonly bytes: number; readonly ttyBytes: number };

export class Workshop {
	readonly directory: string;
	#sites = 0;
	readonly #compiled = new Map<string, string>();
	readonly #payloads = new Map<string, Payload>();

	constructor() {
		this.directory = mkdtempSync(join(tmpdir(), "hawser-bench-"));
	}

	/** Progress goes to stderr, so that stdout is the report. */
	say(sentence: string): void {
		process.stderr.write(process.stderr.isTTY ? `\r\x1b[K${sentence}` : `${sentence}\n`);
	}

	/** Base64 text of about this size, made once. */
	payload(name: string, megabytes: number): Payload {
		const known = this.#payloads.get(name);
		if (known) return known;
		const lines = Math.floor((megabytes * 1e6) / LINE_BYTES);
		const path = join(this.directory, `${name}.txt`);
		// One random block repeated: no reader here looks at the content, and making it takes no time.
		const block = Array.from(
			{ length: 1000 },
			() =>
				`${randomBytes(60)
					.toString("base64")
					.slice(0, LINE_BYTES - 1)}\n`,
		);
		const chunks = Array.from({ length: Math.ceil(lines / 1000) }, (_, index) =>
			block.slice(0, lines - index * 1000).join(""),
		);
		writeFileSync(path, chunks.join(""));
		const payload = { path, bytes: lines * LINE_BYTES, ttyBytes: lines * (LINE_BYTES + 1) };
		this.#payloads.set(name, payload);
		return payload;
	}

	/** The same line again and again. */
	repeated(line: string, megabytes: number): Payload {
		const name = `repeated-${megabytes}-${line}`;
		const known = this.#payloads.get(name);
		if (known) return known;
		const lines = Math.floor((megabytes * 1e6) / line.length);
		const path = join(this.directory, `repeated-${this.#payloads.size}.txt`);
		writeFileSync(path, line.repeat(lines));
		const payload = { path, bytes: lines * line.length, ttyBytes: lines * (line.length + 1) };
		this.#payloads.set(name, payload);
		return payload;
	}

	/** Runs the bare C program (limit.c) and returns what it measured. */
	async limit(...parameters: (string | number)[]): Promise<Record<string, number>> {
		const { stdout } = await promisify(execFile)(this.compiled("limit.c"), parameters.map(String), {
			timeout: PATIENCE_MS,
		});
		return JSON.parse(stdout) as Record<string, number>;
	}

	/** Compiles a C program, once, and returns where it is. The first of its sources names it. */
	compiled(...names: readonly [string, ...string[]]): string {
		const known = this.#compiled.get(names[0]);
		if (known !== undefined) return known;
		const output = join(this.directory, basename(names[0], ".c"));
		const files = names.map((name) => join(sources, name));
		execFileSync("cc", ["-O2", "-Wall", "-Wextra", "-Werror", "-o", output, ...files], { stdio: "inherit" });
		this.#compiled.set(names[0], output);
		return output;
	}

	/** A new directory with nothing in it. */
	newSite(): string {
		const directory = join(this.directory, `site-${++this.#sites}`);
		mkdirSync(directory);
		return directory;
	}

	/**
	 * Runs one of `programs/` in a Node.js process of its own, so that no measurement sees the heap of another.
	 * It gets its input and a new directory, may print lines for `onLine`, and prints its result last.
	 */
	async child<Result>(
		program: string,
		input: Readonly<Record<string, unknown>>,
		options: { readonly flags?: readonly string[]; readonly onLine?: (line: string) => void } = {},
	): Promise<Result> {
		const directory = this.newSite();
		const script = fileURLToPath(new URL(`./programs/${program}.js`, import.meta.url));
		const child = spawn(process.execPath, [...(options.flags ?? []), script, JSON.stringify({ directory, ...input })], {
			stdio: ["ignore", "pipe", "inherit"],
			timeout: PATIENCE_MS,
			killSignal: "SIGKILL",
		});
		const ended = new Promise<number | null>((resolve, reject) => child.on("error", reject).on("exit", resolve));
		let last = "";
		for await (const line of createInterface({ input: child.stdout })) {
			last = line;
			options.onLine?.(line);
		}
		const code = await ended;
		await sweep(directory);
		if (code !== 0) throw new Error(`${program} ended with ${code}; its input was ${JSON.stringify(input)}`);
		return JSON.parse(last) as Result;
	}

	close(): void {
		rmSync(this.directory, { recursive: true, force: true });
	}
}
