/** What must be on the machine besides Node: installed on Debian when we may, else named in a sentence. */

import { existsSync } from "node:fs";
import { has, run, say } from "./run.js";

/** What the tests use: the command, and the Debian package that has it. */
const testCommands = {
	bwrap: "bubblewrap",
	ps: "procps",
	setsid: "util-linux",
	chromium: "chromium",
};

/** The addon is compiled by the system's C compiler. */
export function ensureCompiler() {
	if (has(process.env.CC || "cc")) return;
	if (!canInstall())
		throw new Error("a C compiler is needed for the PTY addon: install gcc (or clang) and the C headers");
	install(["gcc", "libc6-dev"], "the C compiler for the PTY addon");
}

/** Installs what is missing; what can't be installed skips its tests, except in CI. */
export function ensureCommands() {
	const missing = Object.entries(testCommands).filter(([command]) => !has(command));
	if (missing.length === 0) return;
	if (canInstall()) {
		install([...new Set(missing.map(([, name]) => name))], "what the tests need");
		return;
	}
	const names = missing.map(([command, name]) => `${command} (Debian: ${name})`).join(", ");
	if (process.env.CI === "true") throw new Error(`the tests need ${names}`);
	say(`not installed, so some tests can't run: ${names}`);
}

/** Installs packages where we may; what can't be installed is the caller's to notice. */
export function ensurePackages(names, purpose) {
	if (canInstall()) install(names, purpose);
}

function canInstall() {
	return process.getuid?.() === 0 && existsSync("/etc/debian_version");
}

function install(names, purpose) {
	say(`installing ${purpose}: ${names.join(", ")} (apt-get)`);
	const env = { DEBIAN_FRONTEND: "noninteractive" };
	run("apt-get", ["-qq", "update"], env);
	run("apt-get", ["-qq", "install", "-y", "--no-install-recommends", ...names], env);
}
