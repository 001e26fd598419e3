/** Shared by all measurements: a temporary directory, test data, C programs, and child processes. */

import { execFile, execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { sweep } from "./homes.ts";

/** Sources of the benchmarks; this file runs from dist-bench/bench. */
const sources = fileURLToPath(new URL("../../bench/", import.meta.url));
/** Longer than any measurement. */
const TIMEOUT_MS = 300_000;
/** 79 columns and a line feed, which a terminal expands to two characters. */
const LINE_BYTES = 80;

/** A text file. `ttyBytes` is its size after a cooked terminal has processed it. */
export type Payload = { readonly path: string; readonly bytes: number; readonly ttyBytes: number };

export class Workshop {
	readonly directory: string;
	#sites = 0;
	readonly #compiled = new Map<string, string>();
	readonly #payloads = new Map<string, Payload>();

	constructor() {
		this.directory = mkdtempSync(join(tmpdir(), "hawser-bench-"));
	}

	/** Progress goes to stderr; stdout has only the report. */
	say(sentence: string): void {
		process.stderr.write(process.stderr.isTTY ? `\r\x1b[K${sentence}` : `${sentence}\n`);
	}

	/** Base64 text of about this size, created once. */
	payload(name: string, megabytes: number): Payload {
		const known = this.#payloads.get(name);
		if (known) return known;
		const lines = Math.floor((megabytes * 1e6) / LINE_BYTES);
		const path = join(this.directory, `${name}.txt`);
		// One random block repeated: no reader checks the content, and generating it is fast.
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

	/** The same line repeated. */
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

	/** Runs limit.c and returns its results. */
	async limit(...parameters: (string | number)[]): Promise<Record<string, number>> {
		const { stdout } = await promisify(execFile)(this.compiled("limit.c"), parameters.map(String), {
			timeout: TIMEOUT_MS,
		});
		return JSON.parse(stdout) as Record<string, number>;
	}

	/** Compiles a C program once and returns its path. It is named after its first source. */
	compiled(...names: readonly [string, ...string[]]): string {
		const known = this.#compiled.get(names[0]);
		if (known !== undefined) return known;
		const output = join(this.directory, basename(names[0], ".c"));
		const files = names.map((name) => join(sources, name));
		execFileSync("cc", ["-O2", "-Wall", "-Wextra", "-Werror", "-o", output, ...files], { stdio: "inherit" });
		this.#compiled.set(names[0], output);
		return output;
	}

	/** A new empty directory. */
	newSite(): string {
		const directory = join(this.directory, `site-${++this.#sites}`);
		mkdirSync(directory);
		return directory;
	}

	/**
	 * Runs one of `programs/` in a separate Node.js process, so that measurements do not share a heap. The program gets its
	 * input and a new directory, may print lines for `onLine`, and prints its result last.
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
			timeout: TIMEOUT_MS,
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
