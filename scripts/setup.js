#!/usr/bin/env node
/**
 * Makes a fresh checkout ready, and does nothing, quickly, when it is.
 *
 * Plain JavaScript without dependencies, because it runs before there are any:
 * `node scripts/setup.js [start|test|build|bench]`.
 */

import { fileURLToPath } from "node:url";
import { installPackages } from "./packages.js";
import { say } from "./run.js";
import { ensureCommands, ensureCompiler } from "./system.js";
import { bundleTypebox } from "./typebox.js";
import { compile } from "./typescript.js";
import { buildWeb } from "./web.js";

const LOWEST_NODE = 20;

const purposes = ["start", "test", "build", "bench"];

export async function setUp(purpose) {
	process.chdir(fileURLToPath(new URL("..", import.meta.url)));
	checkNode();
	installPackages();
	if (purpose === "test" || purpose === "bench") installPackages("scripts/agents");
	await buildAddon();
	compile({
		project: "tsconfig.json",
		root: "src",
		sources: ["src"],
		output: "dist",
		executables: ["cli/main.js"],
		others: ["web", "node_modules"],
	});
	await bundleTypebox();
	await buildWeb();
	if (purpose === "test") ensureCommands();
	if (purpose === "bench") {
		// Emitted as dist-bench/src, dist-bench/bench and dist-bench/chaos; the links put the addon, the hooks of shells, the web UI and real agents where src and test look for them.
		compile({
			project: "tsconfig.test.json",
			root: ".",
			sources: ["src", "bench", "chaos", "test", "vitest.config.ts"],
			output: "dist-bench",
			links: {
				native: "../native",
				shell: "../shell",
				agents: "../agents",
				dist: "../dist",
				scripts: "../scripts",
			},
		});
	}
}

function checkNode() {
	const major = Number(process.versions.node.split(".")[0]);
	if (major >= LOWEST_NODE) return;
	throw new Error(
		`Hawser needs Node.js ${LOWEST_NODE} or newer, and this is ${process.version}. See https://nodejs.org`,
	);
}

async function buildAddon() {
	if (process.platform !== "linux") {
		say(`sessions run on Linux only; on ${process.platform} this is a client for servers elsewhere`);
		return;
	}
	const { buildAddon } = await import("../native/build.js");
	buildAddon({
		log(sentence) {
			// Called only when something has to be compiled, so an existing addon needs no compiler.
			ensureCompiler();
			say(sentence);
		},
	});
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
	const purpose = process.argv[2] ?? "build";
	try {
		if (!purposes.includes(purpose)) throw new Error(`usage: node scripts/setup.js [${purposes.join("|")}]`);
		await setUp(purpose);
	} catch (error) {
		console.error(`set-up: ${error instanceof Error ? error.message : String(error)}`);
		process.exitCode = 1;
	}
}
