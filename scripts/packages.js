/** Installs the npm packages that package-lock.json asks for, unless they are there. */

import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { run, say } from "./run.js";

const STAMP = "node_modules/.hawser-installed";
/** What npm itself notes about what it installed. */
const INSTALLED = "node_modules/.package-lock.json";

export function installPackages() {
	const lock = readFileSync("package-lock.json", "utf8");
	const { packages: locked } = JSON.parse(lock);
	const hash = createHash("sha256").update(lock).digest("hex");
	if (read(STAMP) === hash && read(INSTALLED) !== undefined) return;
	if (!isInstalled(locked)) {
		say("installing packages (npm)");
		// Not `npm ci`: it refuses a lock file without the optional binaries of other platforms, and a registry that
		// does not have these can't give us any other. This installs the same versions, and we check that it did.
		run("npm", ["install", "--no-save", "--no-audit", "--no-fund"]);
		if (!isInstalled(locked))
			throw new Error("package-lock.json does not fit package.json: run npm install, and commit it");
	}
	writeFileSync(STAMP, hash);
}

/** Whether what is installed is what is locked, as after an `npm install` that wrote the lock file. */
function isInstalled(locked) {
	const text = read(INSTALLED);
	if (text === undefined) return false;
	const { packages: installed } = JSON.parse(text);
	const isSame = (path) =>
		locked[path]?.version === installed[path]?.version && locked[path]?.integrity === installed[path]?.integrity;
	// Optional packages are the binaries of one platform each: which are there depends on where we are.
	const needed = (packages) => Object.keys(packages).filter((path) => path !== "" && !packages[path].optional);
	return needed(locked).every(isSame) && needed(installed).every(isSame);
}

function read(path) {
	try {
		return readFileSync(path, "utf8");
	} catch {
		// Not there, so not installed.
		return undefined;
	}
}
