/** System packages that are needed besides Node: installed on Debian as root, otherwise named in a message. */

import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { has, run, say } from "./run.js";

const DEBIAN_PYTHON = "/usr/bin/python3";

/** Commands that the tests use, with their Debian packages. */
const testCommands = {
	bwrap: "bubblewrap",
	ps: "procps",
	setsid: "util-linux",
	chromium: "chromium",
	asciinema: "asciinema",
	faketime: "faketime",
	prlimit: "util-linux",
	chattr: "e2fsprogs",
	curl: "curl",
	mypy: "mypy",
	zsh: "zsh",
	fish: "fish",
	less: "less",
	nano: "nano",
	vim: "vim",
	nvim: "neovim",
	emacs: "emacs-nox",
	mc: "mc",
	htop: "htop",
	tmux: "tmux",
	gdb: "gdb",
	sqlite3: "sqlite3",
	psql: "postgresql-client",
	bc: "bc",
	"ssh-keygen": "openssh-client",
};

/** Modules of Debian's Python that the Python client and its tests use, with their packages. */
const testModules = {
	websockets: "python3-websockets",
};

/** The addon is compiled by the system's C compiler. */
export function ensureCompiler() {
	if (has(process.env.CC || "cc")) return;
	if (!canInstall())
		throw new Error("a C compiler is needed for the PTY addon: install gcc (or clang) and the C headers");
	install(["gcc", "libc6-dev"], "the C compiler for the PTY addon");
}

/** Installs missing commands. If that is not possible, their tests are skipped, except in CI. */
export function ensureCommands() {
	const missing = [
		...Object.entries(testCommands).filter(([command]) => !has(command)),
		...Object.entries(testModules).filter(([module]) => !hasModule(module)),
	];
	if (missing.length === 0) return;
	if (canInstall()) {
		install([...new Set(missing.map(([, name]) => name))], "what the tests need");
		return;
	}
	const names = missing.map(([what, name]) => `${what} (Debian: ${name})`).join(", ");
	if (process.env.CI === "true") throw new Error(`the tests need ${names}`);
	say(`not installed, so some tests can't run: ${names}`);
}

/** Installs packages if allowed. The caller must check the result. */
export function ensurePackages(names, purpose) {
	if (canInstall()) install(names, purpose);
}

/** Whether the Python of the tests can import a module: Debian's if there is one, since packages are installed for that. */
function hasModule(name) {
	const python = existsSync(DEBIAN_PYTHON) ? DEBIAN_PYTHON : "python3";
	return spawnSync(python, ["-c", `import ${name}`], { stdio: "ignore" }).status === 0;
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
