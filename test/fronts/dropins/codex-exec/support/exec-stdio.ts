/** The drop-in on two pipes in this process, as a client that launches it sees it. */

import { PassThrough } from "node:stream";
import { serveExecOnStdio } from "../../../../../src/server/dropins/codex-exec.ts";
import type { ExecOptions } from "./exec-harness.ts";
import type { Link } from "./exec-link.ts";

export type StdioExec = {
	readonly link: Link;
	readonly input: PassThrough;
	readonly output: PassThrough;
	readonly problems: unknown[];
	/** Resolves once the server and everything it started have ended. */
	readonly ended: Promise<void>;
	stop(): void;
};

export function startStdioExec({ concurrency = 1, limits = {} }: ExecOptions = {}): StdioExec {
	const input = new PassThrough();
	const output = new PassThrough();
	const problems: unknown[] = [];
	const over = new AbortController();
	const report = (problem: unknown) => problems.push(problem);
	const ended = serveExecOnStdio({ input, output }, { concurrency, limits, report }, over.signal);
	const link: Link = {
		send: (text) => input.write(`${text}\n`),
		cut: () => input.end(),
		onText: () => {},
		onClosed: () => {},
	};
	let rest = "";
	output.on("data", (bytes: Buffer) => {
		const lines = (rest + bytes.toString("latin1")).split("\n");
		rest = lines.pop() ?? "";
		for (const line of lines) link.onText(Buffer.from(line, "latin1").toString());
	});
	void ended.then(() => link.onClosed());
	return { link, input, output, problems, ended, stop: () => over.abort() };
}
