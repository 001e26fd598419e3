#!/usr/bin/env node
/** Takes the pictures in docs/images, from a server with sample sessions. Run it by hand when the UI changes. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";
import { connect } from "../dist/client/node/index.js";

const FOLDER = "docs/images";
const WINDOW = { width: 1440, height: 900 };
const PHONE = { width: 390, height: 844 };
/** Around a part of a page. */
const EDGE = 16;
/** Long enough for some activity to show. */
const LIFE_MS = 30_000;

const samples = [
	[
		"nightly-e2e",
		"i=100; while :; do i=$((i+1)); printf '\\033[32m✓\\033[0m %d checkout › keeps the basket after sign-in\\n' $i; sleep 2; done",
		"ci",
	],
	[
		"logs-edge",
		"while :; do printf '\\033[2m%s\\033[0m edge[811]: GET /v1/health \\033[32m200\\033[0m 0.4ms\\n' $(date +%T); sleep 1; done",
		"ops",
	],
	[
		"train-tiny",
		"i=18000; while :; do i=$((i+50)); printf 'step %d  loss \\033[33m2.184\\033[0m  lr 2.9e-4  41.2k tok/s\\n' $i; sleep 1; done",
		"ml",
	],
	[
		"agent-tests",
		"while :; do printf '\\033[36m●\\033[0m Edited \\033[1mtest/ledger/balance.test.ts\\033[0m  \\033[32m+38\\033[0m \\033[31m-4\\033[0m\\n'; sleep 2; done",
		"agent",
	],
	[
		"web-dev",
		"while :; do printf '\\033[2m%s\\033[0m \\033[36m[vite]\\033[0m \\033[32mhmr update\\033[0m /src/views/invoice.ts\\n' $(date +%T); sleep 1; done",
		"dev",
	],
	["build-413", "echo built dist/hawser-0.4.1.tgz in 2m 04s", "ci"],
	["lint", "echo Checked 214 files in 812ms. No fixes applied.", "ci"],
	["release-4.2", "echo npm error 403 You cannot publish over version 4.2.0; exit 1", "ci"],
	["db-migrate", "printf 'Password for user app: '; stty -echo; read a", "ops"],
];

/** Replacements for the programs of these names in the sample shell. */
const programs = {
	npm: `cat <<'END'

[2m> billing@4.2.0 test[0m
[2m> vitest run --changed[0m

 [30;44m RUN [0m [34mv4.1.12[0m [2m~/src/billing[0m

 [32m✓[0m src/ledger/entry.test.ts [2m(18 tests)[0m [32m41[0m[2mms[0m
 [32m✓[0m src/ledger/balance.test.ts [2m(9 tests)[0m [32m22[0m[2mms[0m
 [32m✓[0m src/invoice/number.test.ts [2m(31 tests)[0m [32m63[0m[2mms[0m
 [33m❯[0m src/invoice/tax.test.ts [2m(12 tests |[0m [31m1 failed[0m[2m)[0m [33m88[0m[2mms[0m
   [31m×[0m applies the reduced rate once [2m6ms[0m
     [31m→ expected 107.00 to be 107.07[0m

 [30;41m FAIL [0m src/invoice/tax.test.ts [2m>[0m [1mapplies the reduced rate once[0m
 [31mAssertionError: expected 107.00 to be 107.07[0m

 [2m Test Files[0m  [31m1 failed[0m | [32m3 passed[0m [2m(4)[0m
 [2m      Tests[0m  [31m1 failed[0m | [32m69 passed[0m [2m(70)[0m

END
exit 1`,
	agent: `cat <<'END'

[36m●[0m Read [1msrc/invoice/tax.ts[0m, [1msrc/invoice/discount.ts[0m
[36m●[0m The discount is taken off after tax; the test wants it before.
[36m●[0m Edited [1msrc/invoice/tax.ts[0m  [32m+2[0m [31m-1[0m
    41  [31;48;2;43;23;25m- const total = net * (1 + rate) - discount;         [0m
    41  [32;48;2;18;39;26m+ const base = net - discount;                       [0m
    42  [32;48;2;18;39;26m+ const total = roundHalfEven(base * (1 + rate));    [0m
[36m●[0m npm test -- --changed  [32m70 passed[0m  [2m1.27 s[0m
[36m●[0m Committed [33m3f9c1e2[0m  invoice: take the discount off before tax

END
printf '\\033[1mPush 3 commits to origin/billing-split?\\033[0m [y/N] '
read answer`,
	git: `cat <<'END'
[33ma81d0c7[0m [2m([0m[36mHEAD → billing-split[0m[2m)[0m ledger: keep entries in one table
[33m59e22f1[0m ledger: balance is a fold over entries
[33mc07b9a4[0m invoice: numbers come from the sequence
[33m118fe3d[0m [2m([0m[31morigin/main[0m[2m)[0m release 4.1.9
END`,
};
const PROMPT =
	"\\[\\e]0;ada@build-host: ~/src/billing\\a\\e[36m\\]~/src/billing\\[\\e[0m\\] \\[\\e[35m\\]billing-split\\[\\e[0m\\] ❯ ";
/** Recordings of real agents, and the states to play: the first one at once, each next one after an answer. */
const agents = [
	["fix-flaky", "codex-0.166.0", ["permission-shell", "done"]],
	["schema", "gemini-0.61.0", ["question", "answered"]],
	["ui-polish", "opencode-1.18.33", ["permission-edit"]],
];
/** Pause between two commands, so that the timeline has some length. */
const PAUSE_MS = 6_000;
const lines = ["git log --oneline -4", "npm test -- --changed", 'agent "fix the failing tax test, then push"'];

const state = mkdtempSync(join(tmpdir(), "hawser-pictures-"));
const work = join(state, "billing");
mkdirSync(work);
for (const [name, text] of Object.entries(programs)) {
	// The texts above omit the ESC character of color sequences.
	writeFileSync(join(work, name), `#!/bin/sh\n${text.replaceAll(/(?<!033)\[(?=[\d;]*m)/g, "\u001b[")}\n`);
	chmodSync(join(work, name), 0o755);
}
writeFileSync(join(work, ".bashrc"), `PS1='${PROMPT}'\n`);
const server = spawn(process.execPath, ["dist/cli/main.js", "serve", "--port", "0", "--state-dir", state]);
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
try {
	const link = await signInLink();
	const { sessions } = connect({ stateDir: state });
	await sessions.create({ argv: ["bash", "--norc"], name: "shell" });
	for (const [name, command, kind] of samples) await sessions.create({ name, command, labels: { kind } });
	for (const agent of agents) await startAgent(...agent);
	const shell = await sessions.create({
		argv: ["bash"],
		name: "api-refactor",
		cwd: work,
		env: { HOME: work, PATH: `${work}:${process.env.PATH}` },
		labels: { kind: "agent" },
	});
	const context = await browser.newContext({ viewport: WINDOW, colorScheme: "dark" });
	const page = await context.newPage();
	const picture = (name) => page.screenshot({ path: join(FOLDER, `${name}.png`) });
	await page.goto(link);
	await page.getByRole("button").click();
	await page.getByRole("link", { name: "api-refactor", exact: true }).click();
	await page.getByRole("button", { name: "Use my size" }).click();
	for (const line of lines) {
		await page.waitForTimeout(PAUSE_MS);
		await shell.write(`${line}\r`);
	}
	await page.getByText(/^Waits for an answer/).waitFor();
	await page.getByRole("link", { name: "All sessions" }).click();
	await page.getByText("Needs a secret").waitFor();
	await page.waitForTimeout(LIFE_MS);
	mkdirSync(FOLDER, { recursive: true });
	await picture("list");
	await agentPictures(page);
	await page.getByRole("link", { name: "api-refactor", exact: true }).click();
	await page.getByText(/^Live/).waitFor();
	await page.waitForTimeout(1_000);
	await picture("terminal");
	await page.getByRole("link", { name: "Playback" }).first().click();
	await page.getByRole("button", { name: "Pause" }).click();
	await page.getByRole("button", { name: /^npm test/ }).click();
	await page.keyboard.press("ArrowRight");
	await page.waitForTimeout(1_000);
	await picture("playback");
	await page.goto(new URL("grid", page.url().replace(/s\/.*/, "")).href);
	await page.getByRole("region", { name: /^agent-tests/ }).click();
	await page.getByText("typing here").waitFor();
	await page.waitForTimeout(2_000);
	await picture("grid");
	await page.setViewportSize(PHONE);
	await page.getByRole("link", { name: "Needs you" }).last().click();
	await page.getByRole("heading", { name: "Needs you" }).first().waitFor();
	await picture("phone-list");
	// A phone has touch input, unlike the window. It is signed in like the window.
	const phone = await browser.newContext({
		viewport: PHONE,
		colorScheme: "dark",
		hasTouch: true,
		isMobile: true,
		storageState: await context.storageState(),
	});
	const held = await phone.newPage();
	await held.goto(new URL(`s/${shell.id}`, page.url()).href);
	await held.getByRole("toolbar", { name: "Keys" }).waitFor();
	await held.waitForTimeout(1_000);
	await held.screenshot({ path: join(FOLDER, "phone-terminal.png") });
	for (const { id } of await sessions.list()) await sessions.at(id).remove();
} finally {
	await browser.close();
	const ended = once(server, "exit");
	server.kill();
	await ended;
	rmSync(state, { recursive: true, force: true });
}

/** Starts a program that plays the recording. It has the name of its agent, and no arguments that a list would show. */
function startAgent(name, recording, states) {
	const folder = join(work, name);
	mkdirSync(folder);
	const agent = recording.replace(/-.*/, "");
	const args = [join(folder, "typed"), resolve("test/fixtures/agents", recording, "120x40"), ...states];
	const player = pathToFileURL(resolve("test/fixtures/recorded-agent.js")).href;
	const program = `process.argv.push(...${JSON.stringify(args)});\nimport(${JSON.stringify(player)});\n`;
	writeFileSync(join(folder, agent), `#!${process.execPath}\n${program}`);
	chmodSync(join(folder, agent), 0o755);
	const env = { PATH: `${folder}:${process.env.PATH}` };
	const size = { cols: 120, rows: 40 };
	return connect({ stateDir: state }).sessions.create({
		...size,
		argv: [agent],
		name,
		cwd: "/srv",
		env,
		labels: { kind: "agent" },
	});
}

/** An agent's dialog on its page, and dialogs in the list, one of which was just answered. */
async function agentPictures(page) {
	await page.getByRole("link", { name: "fix-flaky", exact: true }).click();
	await page.getByRole("group", { name: "codex asks permission" }).waitFor();
	await page.getByText(/^Live/).waitFor();
	await page.waitForTimeout(1_000);
	await page.screenshot({ path: join(FOLDER, "agent.png") });
	await page.getByRole("link", { name: "All sessions" }).click();
	await page.getByPlaceholder("Filter").fill("kind=agent");
	const row = page.getByRole("listitem").filter({ hasText: "schema" });
	await row.getByRole("button", { name: /Postgres$/ }).click();
	await row.getByText(/^Sent/).waitFor();
	const { x, y, width, height } = await page.getByRole("region", { name: "Needs you" }).boundingBox();
	const clip = { x: x - EDGE, y, width: width + 2 * EDGE, height: height + EDGE };
	await page.screenshot({ path: join(FOLDER, "agents.png"), clip });
	await page.getByPlaceholder("Filter").fill("");
}

/** The sign-in link that the server prints. */
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
