#!/usr/bin/env node
/**
 * `npm test`: sets up, checks types, lint and format, runs the tests, and ends with one line that counts them.
 *
 * Further arguments go to vitest: `npm test -- test/core`.
 */

import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setUp } from "./setup.js";

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
	countTests(process.argv.slice(2));
} catch (error) {
	fail(error instanceof Error ? error.message : String(error));
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;

function countTests(args) {
	const folder = mkdtempSync(join(tmpdir(), "hawser-test-"));
	try {
		const report = join(folder, "report.json");
		const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
		const status = node(["node_modules/vitest/vitest.mjs", "run", ...reporters, ...args]);
		const failedBefore = failed;
		const { testResults, ...totals } = JSON.parse(readFileSync(report, "utf8"));
		passed += totals.numPassedTests;
		failed += totals.numFailedTests;
		// A file that can't even be loaded has no tests to count.
		failed += testResults.filter((file) => file.status === "failed" && file.assertionResults.length === 0).length;
		if (status !== 0 && failed === failedBefore) fail(`vitest ended with exit code ${status}`);
	} finally {
		rmSync(folder, { recursive: true, force: true });
	}
}

function node(args) {
	return spawnSync(process.execPath, args, { stdio: "inherit" }).status;
}

function fail(sentence) {
	failed += 1;
	console.error(sentence);
}
