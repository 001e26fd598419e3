/** The `hawser` command in a real terminal: what a user would see and type. */

import { onTestFinished } from "vitest";
import { childEnvironment } from "../../src/backends/environment.ts";
import { spawn } from "../../src/backends/spawn.ts";
import { main, type TestHawser } from "./hawser-command.ts";
import { eventually, Run } from "./run-program.ts";

export type TerminalOptions = {
	readonly cols?: number;
	readonly rows?: number;
	/** Lines of shell before the command. */
	readonly before?: string;
};

/** Prints the command's exit code, and the terminal's settings before and after it. */
const SCRIPT = 'stty -a | tr -d "\\n"; echo "<before>"; "$@"; echo "<code $?>"; stty -a | tr -d "\\n"; echo "<after>"';

/** Echoes lines in brackets, to distinguish the program's output from its terminal's echo. */
export const ECHO = 'stty -echo; echo ready; while read -r line; do echo "[$line]"; done';
/** The exit of a command that was left while its program continues. */
export const LEFT = { code: 0, isRestored: true } as const;

export class Terminal {
	readonly run: Run;

	private constructor(run: Run) {
		this.run = run;
	}

	/** Starts a command in its own terminal, which is removed with the test. */
	static async start(hawser: TestHawser, args: readonly string[], options: TerminalOptions = {}): Promise<Terminal> {
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

	/** The output since the command took the terminal. */
	get output(): string {
		return this.screen.slice(this.screen.indexOf("<before>") + "<before>\r\n".length);
	}

	async type(text: string): Promise<void> {
		await this.run.process.write(Buffer.from(text, "latin1"));
	}

	resize(cols: number, rows: number): void {
		this.run.process.resize({ cols, rows });
	}

	/** Resolves once this was shown, or was shown `times` times. */
	shows(text: string, times = 1): Promise<void> {
		return this.run.until(() => this.screen.split(text).length > times);
	}

	/** Resolves once the command controls the terminal: keys are sent one by one and not echoed here. */
	async attached(): Promise<void> {
		await this.shows("the program keeps running");
		// No event reports this, so it has to be polled.
		await eventually(() => this.run.process.terminal()?.canonical === false);
	}

	/** The command's exit, and whether the terminal's settings are restored. */
	async ended(): Promise<{ code: number; isRestored: boolean }> {
		await this.run.closed();
		const [, code] = /<code (\d+)>/.exec(this.screen) ?? [];
		// The size may have changed and is not restored.
		const [, before] = /speed .*?; line = (.*?)<before>/.exec(this.screen) ?? [];
		const [, after] = /<code \d+>\r\nspeed .*?; line = (.*?)<after>/.exec(this.screen) ?? [];
		return { code: Number(code), isRestored: before !== undefined && before === after };
	}
}
