/** Installs the npm packages of a folder's package-lock.json unless they are already there. */

import { createHash } from "node:crypto";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { run, say } from "./run.js";

export function installPackages(folder = ".") {
	const stamp = join(folder, "node_modules/.hawser-installed");
	/** npm's record of the installed packages. */
	const record = join(folder, "node_modules/.package-lock.json");
	const lock = readFileSync(join(folder, "package-lock.json"), "utf8");
	const { packages: locked } = JSON.parse(lock);
	const hash = createHash("sha256").update(lock).digest("hex");
	if (read(stamp) === hash && read(record) !== undefined) return;
	if (!isInstalled(locked, record)) {
		say(`installing packages (npm)${folder === "." ? "" : ` in ${folder}`}`);
		// After an interrupted run neither record may claim that all is there. Without its own, npm looks at the packages.
		for (const file of [stamp, record]) rmSync(file, { force: true });
		// Not `npm ci`: it refuses a lockfile without the optional binaries of other platforms, which some registries do not
		// have. This installs the same versions, as is checked below. No package needs its install script; those of the
		// coding agents would only build or copy what our tests don't use.
		run("npm", ["install", "--prefix", folder, "--no-save", "--ignore-scripts", "--no-audit", "--no-fund"]);
		if (!isInstalled(locked, record))
			throw new Error(`package-lock.json does not fit package.json in ${folder}: run npm install there, and commit it`);
	}
	writeFileSync(stamp, hash);
}

/** Whether the installed packages are the locked ones. */
function isInstalled(locked, record) {
	const text = read(record);
	if (text === undefined) return false;
	const { packages: installed } = JSON.parse(text);
	const isSame = (path) =>
		locked[path]?.version === installed[path]?.version && locked[path]?.integrity === installed[path]?.integrity;
	// Optional packages are binaries for one platform each, so which are installed depends on the machine.
	const needed = (packages) => Object.keys(packages).filter((path) => path !== "" && !packages[path].optional);
	return needed(locked).every(isSame) && needed(installed).every(isSame);
}

function read(path) {
	try {
		return readFileSync(path, "utf8");
	} catch {
		// The file does not exist, so nothing is installed.
		return undefined;
	}
}
