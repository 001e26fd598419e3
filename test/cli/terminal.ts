/** The `hawser` command in a real terminal: what a person would see of it, and what a person can type. */

import { onTestFinished } from "vitest";
import { childEnvironment } from "../../src/backends/environment.ts";
import { spawn } from "../../src/backends/spawn.ts";
import { eventually, Run } from "../backends/run.ts";
import { type Installation, main } from "./hawser.ts";

export type TerminalOptions = {
	readonly cols?: number;
	readonly rows?: number;
	/** Lines of shell before the command. */
	readonly before?: string;
};

/** Says how the command ended, and shows the terminal's settings before and after it. */
const SCRIPT = 'stty -a | tr -d "\\n"; echo "<before>"; "$@"; echo "<code $?>"; stty -a | tr -d "\\n"; echo "<after>"';

/** Echoes lines in brackets, so that what the program says differs from what its terminal echoes. */
export const ECHO = 'stty -echo; echo ready; while read -r line; do echo "[$line]"; done';
/** How a command ends that was left, and its program not. */
export const LEFT = { code: 0, isRestored: true } as const;

export class Terminal {
	readonly run: Run;

	private constructor(run: Run) {
		this.run = run;
	}

	/** Starts a command in a terminal of its own, which is gone with the test. */
	static async start(hawser: Installation, args: readonly string[], options: TerminalOptions = {}): Promise<Terminal> {
		const { cols = 80, rows = 24, before = ":" } = options;
		const argv = ["sh", "-c", `${before}; ${SCRIPT}`, "sh", process.execPath, main, ...args];
		const env = childEnvironment(process.env, { HAWSER_STATE_DIR: hawser.stateDir }, "terminal-test");
		const run = await Run.start(spawn, argv, { mode: "pty", size: { cols, rows }, env });
		onTestFinished(() => run.process.kill({ graceMs: 0 }));
		return new Terminal(run);
	}

	get screen(): string {
		return this.run.text();
	}

	/** What was shown since the command took the terminal. */
	get output(): string {
		return this.screen.slice(this.screen.indexOf("<before>") + "<before>\r\n".length);
	}

	async type(text: string): Promise<void> {
		await this.run.process.write(Buffer.from(text, "latin1"));
	}

	resize(cols: number, rows: number): void {
		this.run.process.resize({ cols, rows });
	}

	/** Resolves once this was shown; `times` it was shown, if given. */
	shows(text: string, times = 1): Promise<void> {
		return this.run.until(() => this.screen.split(text).length > times);
	}

	/** Resolves once the program has the terminal: keys go to it one by one and are not echoed here. */
	async attached(): Promise<void> {
		await this.shows("the program keeps running");
		// No fact is reported of it, so it has to be looked at.
		await eventually(() => this.run.process.terminal()?.canonical === false);
	}

	/** How the command ended, and whether the terminal is as it was before. */
	async ended(): Promise<{ code: number; isRestored: boolean }> {
		await this.run.closed();
		const [, code] = /<code (\d+)>/.exec(this.screen) ?? [];
		// The size may have changed, and is not what has to be put back.
		const [, before] = /speed .*?; line = (.*?)<before>/.exec(this.screen) ?? [];
		const [, after] = /<code \d+>\r\nspeed .*?; line = (.*?)<after>/.exec(this.screen) ?? [];
		return { code: Number(code), isRestored: before !== undefined && before === after };
	}
}
