/** Installs the npm packages of package-lock.json unless they are already there. */

import { createHash } from "node:crypto";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { run, say } from "./run.js";

const STAMP = "node_modules/.hawser-installed";
/** npm's record of the installed packages. */
const INSTALLED = "node_modules/.package-lock.json";

export function installPackages() {
	const lock = readFileSync("package-lock.json", "utf8");
	const { packages: locked } = JSON.parse(lock);
	const hash = createHash("sha256").update(lock).digest("hex");
	if (read(STAMP) === hash && read(INSTALLED) !== undefined) return;
	if (!isInstalled(locked)) {
		say("installing packages (npm)");
		// After an interrupted run neither record may claim that all is there. Without its own, npm looks at the packages.
		for (const record of [STAMP, INSTALLED]) rmSync(record, { force: true });
		// Not `npm ci`: it refuses a lockfile without the optional binaries of other platforms, which some registries do not
		// have. This installs the same versions, as is checked below. No package needs its install script; those of the
		// coding agents would only build or copy what our tests don't use.
		run("npm", ["install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund"]);
		if (!isInstalled(locked))
			throw new Error("package-lock.json does not fit package.json: run npm install, and commit it");
	}
	writeFileSync(STAMP, hash);
}

/** Whether the installed packages are the locked ones. */
function isInstalled(locked) {
	const text = read(INSTALLED);
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
