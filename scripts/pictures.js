#!/usr/bin/env node
/** Takes the pictures of the list in docs/images, of a server of its own with sample sessions; run by hand when the looks change. */

import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { connect } from "../dist/local/index.js";

const samples = [
	[
		"nightly-e2e",
		'i=100; while :; do i=$((i+1)); echo "✓ $i checkout › keeps the basket after sign-in"; sleep 2; done',
		"ci",
	],
	["logs-edge", 'while :; do echo "$(date +%T) edge[811]: GET /v1/health 200 0.4ms"; sleep 1; done', "ops"],
	["train-tiny", 'i=0; while :; do i=$((i+100)); echo "step $i/40000  loss 2.184  tok/s 41.2k"; sleep 1; done', "ml"],
	["agent-tests", "while :; do echo '● Edited test/ledger/balance.test.ts  +38 −4'; sleep 2; done", "agent"],
	["web-dev", 'while :; do echo "$(date +%T) [vite] hmr update /src/views/invoice.ts"; sleep 1; done', "dev"],
	["build-413", "echo built dist/hawser-0.4.1.tgz in 2m 04s", "ci"],
	["lint", "echo Checked 214 files in 812ms. No fixes applied.", "ci"],
	["release-4.2", "echo npm error 403 You cannot publish over version 4.2.0; exit 1", "ci"],
	["db-migrate", "printf 'Password for user app: '; stty -echo; read a", "ops"],
	["api-refactor", "printf 'Push 3 commits to origin/billing-split? [y/N] '; read a", "agent"],
];

const state = mkdtempSync(join(tmpdir(), "hawser-pictures-"));
const server = spawn(process.execPath, ["dist/cli/main.js", "serve", "--port", "0", "--state-dir", state]);
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
try {
	const link = await signInLink();
	const { sessions } = connect({ stateDir: state });
	await sessions.create({ argv: ["bash", "--norc"], name: "shell" });
	for (const [name, command, kind] of samples) await sessions.create({ name, command, labels: { kind } });
	const page = await browser.newPage({ viewport: { width: 1440, height: 900 }, colorScheme: "dark" });
	await page.goto(link);
	await page.getByRole("button").click();
	await page.getByText("Wants a secret").waitFor();
	// So that there is some activity to see.
	await page.waitForTimeout(45_000);
	mkdirSync("docs/images", { recursive: true });
	await page.screenshot({ path: "docs/images/list.png" });
	await page.setViewportSize({ width: 390, height: 844 });
	await page.getByRole("link", { name: "Needs you" }).last().click();
	await page.getByRole("heading", { name: "Needs you" }).first().waitFor();
	await page.screenshot({ path: "docs/images/phone-list.png" });
	for (const { id } of await sessions.list()) await sessions.at(id).remove();
} finally {
	await browser.close();
	server.kill();
	rmSync(state, { recursive: true, force: true });
}

/** As the server prints it. */
function signInLink() {
	let said = "";
	return new Promise((resolve) => {
		server.stderr.on("data", (chunk) => {
			said += chunk;
			const [link] = /http\S+signin\?code=\S+/.exec(said) ?? [];
			if (link) resolve(link);
		});
	});
}
