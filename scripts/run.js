/** Runs a command in the foreground and shows what it says. */

import { spawnSync } from "node:child_process";

/** Says what is about to happen; on stderr, so that what a script prints as its result stays clean. */
export function say(sentence) {
	console.error(`set-up: ${sentence}`);
}

/** Throws when the command can't be run or fails. What it prints goes to stderr. */
export function run(command, args, env = {}) {
	const { error, status, signal } = spawnSync(command, args, {
		stdio: ["ignore", process.stderr, process.stderr],
		env: { ...process.env, ...env },
	});
	if (error) throw new Error(`${command} can't be run: ${error.message}`);
	if (status !== 0) throw new Error(`${[command, ...args].join(" ")} failed (${signal ?? `exit code ${status}`})`);
}

/** Whether a command can be found. */
export function has(command) {
	return spawnSync("sh", ["-c", 'command -v "$1"', "sh", command], { stdio: "ignore" }).status === 0;
}
