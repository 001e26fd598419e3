#!/usr/bin/env node
/**
 * Checks which folder may import which. `npm run check` fails when an import is not in this table.
 *
 * A folder's rule holds for everything below it, unless a deeper folder has a rule of its own. Imports within the
 * folder that has the rule are always allowed. An entry allows a folder with all below it (`src/core`), only the files
 * directly in it (`src/fronts/*`), one file, or a package; `node` means all of Node's modules. `!` takes an entry back.
 */

import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";

const lowest = ["src/words", "src/async", "src/core/errors.ts", "src/core/async"];
const session = ["log", "input", "process", "secrets", "terminal", "inspect", "shell", "session"].map(
	(room) => `src/core/${room}`,
);
const keeper = [...lowest, ...session, "src/disk", "src/native", "src/backends", "src/journal", "src/keeper/link"];
/** The adapters of this machine that have no state. */
const machine = ["src/backends/inherited-limits.ts", "src/backends/system-clock.ts", "src/backends/environment.ts"];
const http = ["node", "fastify", "ws", "typebox", "src/words", "src/async", "src/api", "src/core", ...machine];
const front = [...http, "src/http", "src/services", "!src/core/secrets"];
const dropin = [...front, "src/fronts/json-rpc"];

export const layers = {
	"src/words": [],
	"src/async": [],
	"src/core": ["src/words", "src/async"],
	"src/core/async": lowest,
	"src/core/log": lowest,
	"src/core/input": lowest,
	"src/core/process": [...lowest, "src/core/log"],
	"src/core/secrets": [...lowest, "src/core/input", "src/core/log"],
	"src/core/terminal": [...lowest, "src/core/log", "src/core/process"],
	"src/core/inspect": [...lowest, "src/core/terminal", "src/core/process"],
	"src/core/shell": [...lowest, "src/core/input", "src/core/inspect", "src/core/terminal", "src/core/process"],
	"src/core/session": [...lowest, ...session],
	"src/core/policy": [...lowest, ...session, "!src/core/secrets"],

	"src/api": ["src/words"],
	"src/api/schema": ["src/words", "src/api", "typebox"],
	"src/disk": ["node", ...lowest, "src/core/secrets/secret-memory.ts"],
	"src/native": ["node", ...lowest, "src/core/process", "native/platform.js"],
	"src/emulator": ["node", ...lowest, "src/core/terminal", "@xterm/headless", "@xterm/addon-unicode-graphemes"],
	"src/journal": ["node", ...lowest, "src/core/log", "src/disk", "src/native"],
	"src/backends": [
		"node",
		...lowest,
		"src/core/log",
		"src/core/process",
		"src/core/shell",
		"src/disk/private-directory.ts",
		"src/native",
	],
	"src/sandbox": ["node", ...lowest, "src/core/process", "src/core/session/session-registry.ts", "src/native"],
	"src/workspaces": ["node", ...lowest, "src/core/process", "src/core/session", "src/disk"],
	"src/access": ["node", ...lowest, "src/core/policy", "src/disk"],
	"src/audit": ["node", ...lowest, "src/core/policy", "src/disk"],
	"src/services": [
		"node",
		...lowest,
		...session,
		"src/core/policy",
		"src/disk",
		"src/emulator",
		"src/api",
		"src/core/json-scan.ts",
		"typebox",
		...machine,
	],
	"src/http": http,

	"src/keeper/link": ["node", ...lowest, ...session, "src/disk", "src/native", "src/backends/process-table.ts"],
	"src/keeper/process": ["node", ...keeper],
	"src/keeper/client": ["node", ...keeper],
	"src/keeper": ["node", "src/keeper/process", "src/keeper/link", "src/backends"],

	"src/fronts/json-rpc": front,
	"src/fronts/native": front,
	"src/fronts/mcp": [...front, "@modelcontextprotocol/server"],
	"src/fronts/web": front,
	"src/fronts/dropins/opensandbox": dropin,
	"src/fronts/dropins/codex-exec": dropin,
	"src/fronts/dropins/codex-app": dropin,
	"src/fronts/dropins/multica": dropin,

	"src/server": [
		"node",
		"fastify",
		"ws",
		"src",
		"native/platform.js",
		"!src/cli",
		"!src/client",
		"!src/fronts/native",
		"src/fronts/native/front.ts",
		"src/fronts/native/access/front.ts",
		"src/fronts/native/access/signin.ts",
	],
	"src/client": ["ws", "src/words", "src/async", "src/api", "!src/api/schema"],
	"src/client/node": [
		"node",
		"ws",
		"src/client",
		"src/words",
		"src/async",
		"src/api",
		"!src/api/schema",
		"src/disk/state-path.ts",
		"src/disk/trusted-path.ts",
	],
	"src/cli": [
		"node",
		"commander",
		"ws",
		"src/client",
		"src/words",
		"src/async",
		"src/api",
		"!src/api/schema",
		"src/disk",
		"src/server",
		"src/core/terminal/queries.ts",
		"src/core/terminal/program-status.ts",
	],
	src: ["src/core", "src/words", "src/server"],

	"web/state": ["hawser/client", "@preact/signals-core"],
	"web/terminal": ["web/state", "hawser/client", "@preact/signals-core", "lit-html", "@xterm"],
	"web/views": [
		"web/state",
		"web/terminal",
		"web/styles",
		"web/router.ts",
		"hawser/client",
		"@preact/signals-core",
		"lit-html",
	],
};

/** The forbidden imports of a file, each as a sentence. */
export function forbiddenImports(file, text) {
	const room = roomOf(file);
	if (room === undefined) return [];
	return importsOf(text)
		.map((specifier) => targetOf(file, specifier))
		.filter((target) => roomOf(target) !== room && !isAllowed(target, layers[room]))
		.map((target) => `${file}: ${room} may not import ${target} (scripts/layers.js)`);
}

function roomOf(path) {
	for (let folder = dirname(path); folder !== "."; folder = dirname(folder)) if (layers[folder]) return folder;
	return undefined;
}

/** The last matching entry decides, so that later entries refine earlier ones. */
function isAllowed(target, entries) {
	const last = entries.findLast((entry) => fits(target, entry.replace(/^!/, "")));
	return last !== undefined && !last.startsWith("!");
}

function fits(target, entry) {
	if (entry.endsWith("/*")) return dirname(target) === entry.slice(0, -2);
	return target === entry || target.startsWith(`${entry}/`);
}

function importsOf(text) {
	const found = text.matchAll(/^(?:import|export)\b[^;]*?from "([^"]+)";|^import "([^"]+)";|\bimport\("([^"]+)"\)/gm);
	return [...found].map(([, from, bare, dynamic]) => from ?? bare ?? dynamic);
}

function targetOf(file, specifier) {
	if (specifier.startsWith(".")) return normalize(join(dirname(file), specifier));
	return specifier.replace(/^node:/, "node/");
}

function sourceFiles(root, folder) {
	return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
		const path = `${folder}/${entry.name}`;
		if (entry.isDirectory()) return sourceFiles(root, path);
		return entry.name.endsWith(".ts") ? [path] : [];
	});
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
	const root = fileURLToPath(new URL("..", import.meta.url));
	const files = [...sourceFiles(root, "src"), ...sourceFiles(root, "web")];
	const problems = files.flatMap((file) => forbiddenImports(file, readFileSync(join(root, file), "utf8")));
	for (const problem of problems) console.error(problem);
	process.exitCode = problems.length === 0 ? 0 : 1;
}
