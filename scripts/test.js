#!/usr/bin/env node
/**
 * `npm test`: sets up, checks types, lint and format, runs the tests, and ends with one line that counts them.
 *
 * `--quick` takes a minute and a half: types, and the tests that need neither the whole product nor much time. Other
 * arguments go to vitest: `npm test -- test/core`.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { setUp } from "./setup.js";
import { runTests } from "./suite.js";
import { quickFiles } from "./test-files.js";

const types = {
	"types of src": ["node_modules/typescript/bin/tsc", "--noEmit", "-p", "tsconfig.json"],
	"types of tests": ["node_modules/typescript/bin/tsc", "--noEmit", "-p", "tsconfig.test.json"],
};
const checks = {
	...types,
	"types of the client, in a browser": ["node_modules/typescript/bin/tsc", "-p", "tsconfig.client.json"],
	"types of the web UI": ["node_modules/typescript/bin/tsc", "-p", "tsconfig.web.json"],
	"lint and format": ["node_modules/@biomejs/biome/bin/biome", "check", "."],
	"layers of src and web": ["scripts/layers.js"],
};

let passed = 0;
let failed = 0;

try {
	await setUp("test");
	const args = process.argv.slice(2);
	const isQuick = args.includes("--quick");
	const others = args.filter((arg) => arg !== "--quick");
	// The checks run beside the tests, which mostly wait.
	const checked = check(isQuick ? types : checks);
	await countTests(isQuick && others.length === 0 ? quickFiles() : others);
	await checked;
} catch (error) {
	fail(error instanceof Error ? error.message : String(error));
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;

/** Runs the checks one after the other, and prints what they found. */
async function check(checks) {
	for (const [name, args] of Object.entries(checks)) {
		const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
		const [output, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
		if (code === 0) console.log(`check: ${name}: in order`);
		else fail(`check: ${name}: failed\n${output}${errors}`);
	}
}

async function countTests(args) {
	const counted = await runTests(args);
	passed += counted.passed;
	failed += counted.failed;
	if (counted.status !== 0 && counted.failed === 0) fail(`vitest ended with exit code ${counted.status}`);
}

function fail(sentence) {
	failed += 1;
	console.error(sentence);
}
