/** Runs a command in the foreground and shows its output. */

import { spawnSync } from "node:child_process";

/** Prints progress to stderr, so that stdout has only a script's result. */
export function say(sentence) {
	console.error(`set-up: ${sentence}`);
}

/** Throws if the command can't be run or fails. Its output goes to stderr. */
export function run(command, args, env = {}) {
	const { error, status, signal } = spawnSync(command, args, {
		stdio: ["ignore", process.stderr, process.stderr],
		env: { ...process.env, ...env },
	});
	if (error) throw new Error(`${command} can't be run: ${error.message}`);
	if (status !== 0) throw new Error(`${[command, ...args].join(" ")} failed (${signal ?? `exit code ${status}`})`);
}

/** Whether a command is in PATH. */
export function has(command) {
	return spawnSync("sh", ["-c", 'command -v "$1"', "sh", command], { stdio: "ignore" }).status === 0;
}
