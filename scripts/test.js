#!/usr/bin/env node
/**
 * `npm test`: sets up, checks types, lint and format, runs the tests, and ends with one line that counts them.
 *
 * Further arguments go to vitest: `npm test -- test/core`.
 */

import { spawnSync } from "node:child_process";
import { setUp } from "./setup.js";
import { runTests } from "./suite.js";

const checks = {
	"types of src": ["node_modules/typescript/bin/tsc", "--noEmit", "-p", "tsconfig.json"],
	"types of the client, in a browser": ["node_modules/typescript/bin/tsc", "-p", "tsconfig.client.json"],
	"types of the web UI": ["node_modules/typescript/bin/tsc", "-p", "tsconfig.web.json"],
	"types of tests": ["node_modules/typescript/bin/tsc", "--noEmit", "-p", "tsconfig.test.json"],
	"lint and format": ["node_modules/@biomejs/biome/bin/biome", "check", "."],
};

let passed = 0;
let failed = 0;

try {
	await setUp("test");
	for (const [name, args] of Object.entries(checks)) {
		console.log(`check: ${name}`);
		if (node(args) !== 0) fail(`${name}: not in order`);
	}
	await countTests(process.argv.slice(2));
} catch (error) {
	fail(error instanceof Error ? error.message : String(error));
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;

async function countTests(args) {
	const counted = await runTests(args);
	passed += counted.passed;
	failed += counted.failed;
	if (counted.status !== 0 && counted.failed === 0) fail(`vitest ended with exit code ${counted.status}`);
}

function node(args) {
	return spawnSync(process.execPath, args, { stdio: "inherit" }).status;
}

function fail(sentence) {
	failed += 1;
	console.error(sentence);
}
