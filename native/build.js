// Compiles the addon with the system's C compiler; needs neither node-gyp nor a download of headers.

import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, renameSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const folder = dirname(fileURLToPath(import.meta.url));
const inFolder = (ending) =>
	readdirSync(folder)
		.filter((name) => name.endsWith(ending))
		.map((name) => join(folder, name));
const sources = inFolder(".c");
const headers = inFolder(".h");
const target = join(folder, "build", `${process.platform}-${process.arch}`, "hawser.node");

/** Builds `native/build/<platform>-<arch>/hawser.node` unless it is newer than its sources; returns its path. */
export function buildAddon({ log = () => {} } = {}) {
	const isNewer = (file) => statSync(target).mtimeMs > statSync(file).mtimeMs;
	if (existsSync(target) && [...sources, ...headers].every(isNewer)) return target;
	if (process.platform !== "linux")
		throw new Error(
			`the addon supports only Linux, not ${process.platform}; sessions with a terminal are not available here`,
		);
	mkdirSync(dirname(target), { recursive: true });
	const api = join(folder, "..", "node_modules", "node-api-headers", "include");
	if (!existsSync(api)) throw new Error('the package "node-api-headers" is not installed; run "npm install" first');
	// A rename, because another process may have the old file mapped, and two builds may run at once.
	const partial = `${target}.${process.pid}`;
	const compiler = process.env.CC || "cc";
	const flags = ["-std=gnu11", "-shared", "-fPIC", "-O2", "-Wall", "-Wextra", "-Werror", "-fvisibility=hidden"];
	log(`compiling ${sources.join(" ")}`);
	const result = spawnSync(compiler, [...flags, "-I", api, "-o", partial, ...sources, "-lpthread"], {
		encoding: "utf8",
	});
	if (result.error?.code === "ENOENT")
		throw new Error(
			`no C compiler: "${compiler}" was not found in PATH; install one (Debian: apt-get install gcc libc6-dev) and run "npm run build" again`,
		);
	if (result.error) throw result.error;
	if (result.status !== 0) throw new Error(`the addon does not compile:\n${result.stderr}`);
	renameSync(partial, target);
	return target;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
	try {
		process.stdout.write(`${buildAddon({ log: (line) => process.stdout.write(`${line}\n`) })}\n`);
	} catch (error) {
		process.stderr.write(`${error.message}\n`);
		process.exitCode = 1;
	}
}
