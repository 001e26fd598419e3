#!/usr/bin/env node
/**
 * Runs the addon and the minder under the sanitizers of the C compiler.
 *
 * Run by hand: `npm run check:native`. Installs missing packages on Debian, as root. Each run has a copy of `dist` with
 * its own addon and runs `native-scenario.js`.
 */

import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { platform } from "../native/platform.js";
import { say } from "./run.js";
import { setUp } from "./setup.js";

const scenario = fileURLToPath(new URL("native-scenario.js", import.meta.url));
/** Longer than a scenario takes on a slow machine under the slower sanitizer. */
const timeLimitMs = 60_000;

/** The sanitizers and their options. Their library is preloaded, because Node itself was built without it. */
const sanitizers = [
	{
		name: "address",
		library: "libasan.so",
		flags: ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"],
		// Node frees little memory at its end.
		options: { ASAN_OPTIONS: "detect_leaks=0:abort_on_error=0:exitcode=66" },
	},
	{
		name: "thread",
		library: "libtsan.so",
		flags: ["-fsanitize=thread"],
		// It reports false races between Node's own threads, whose synchronization it can't see. So our thread runs alone.
		isAlone: true,
		// V8's remaining threads never call us.
		suppressed: "race:v8::platform::\n",
		options: { TSAN_OPTIONS: "exitcode=66:report_signal_unsafe=0:suppressions=suppressions" },
	},
];

async function main() {
	if (process.platform !== "linux") throw new Error("the addon is for Linux");
	await setUp("build");
	// Imported late: it needs headers that the set-up installs.
	const native = await import("../native/build.js");
	const folder = mkdtempSync(join(tmpdir(), "hawser-check-"));
	try {
		const failed = sanitizers.filter((sanitizer) => !check(native, sanitizer, join(folder, sanitizer.name)));
		if (failed.length > 0) throw new Error(`${failed.map(({ name }) => name).join(" and ")}: see above`);
		say("the addon and the minder are clean");
	} finally {
		rmSync(folder, { recursive: true, force: true });
	}
}

function check({ compile, products }, { name, library, flags, options, suppressed = "", isAlone = false }, folder) {
	say(`${name} sanitizer`);
	const target = join(folder, "native", "build", platform);
	const reports = join(folder, "minder-report");
	mkdirSync(target, { recursive: true });
	cpSync("dist", join(folder, "dist"), { recursive: true });
	cpSync("native/platform.js", join(folder, "native", "platform.js"));
	cpSync("package.json", join(folder, "package.json"));
	symlinkSync(join(process.cwd(), "node_modules"), join(folder, "node_modules"));
	writeFileSync(join(folder, "suppressions"), suppressed);
	// A minder has no environment and no output, so the path of its reports is compiled in.
	const defaults = join(folder, "defaults.c");
	writeFileSync(
		defaults,
		`const char *__asan_default_options(void) { return "log_path=${reports}:detect_leaks=0"; }\n`,
	);
	for (const { file, sources, flags: own } of products) {
		const isMinder = file === "minder";
		// A minder has one thread, and this library would turn its vfork into a fork.
		const isWatched = !isMinder || name !== "thread";
		const watched = [...own.filter((flag) => flag !== "-static" && flag !== "-Os"), ...flags, "-g", "-O1"];
		compile({
			compiler: process.env.CC || "cc",
			sources: isMinder ? [...sources, defaults] : sources,
			flags: isWatched ? watched : own,
			output: join(target, file),
		});
	}
	const preload = spawnSync(process.env.CC || "cc", [`-print-file-name=${library}`], {
		encoding: "utf8",
	}).stdout.trim();
	// Without address randomization, with which the thread sanitizer does not always work.
	const result = spawnSync(
		"setarch",
		["-R", process.execPath, "--no-warnings", scenario, join(folder, "dist"), ...(isAlone ? ["alone"] : [])],
		{
			stdio: "inherit",
			cwd: folder,
			timeout: timeLimitMs,
			env: { ...process.env, ...options, LD_PRELOAD: preload },
		},
	);
	const complaints = readdirSync(folder).filter((each) => each.startsWith("minder-report"));
	for (const each of complaints) console.error(readFileSync(join(folder, each), "utf8"));
	if (result.signal !== null) console.error(`ended by ${result.signal}, perhaps for taking too long`);
	return result.status === 0 && complaints.length === 0;
}

try {
	await main();
} catch (error) {
	console.error(`check:native: ${error instanceof Error ? error.message : String(error)}`);
	process.exitCode = 1;
}
