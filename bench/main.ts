/** The command line of the benchmarks. */

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import type { Case } from "./case.ts";
import { agentsCase } from "./cases/agents.ts";
import { answersCase } from "./cases/answers.ts";
import { budgetCases } from "./cases/budget.ts";
import { codexAppCase } from "./cases/codex-app.ts";
import { codexExecCase } from "./cases/codex-exec.ts";
import { drainCase } from "./cases/drain.ts";
import { echoCase } from "./cases/echo.ts";
import { feedCase } from "./cases/feed.ts";
import { firstScreenCase } from "./cases/first-screen.ts";
import { floodsCase } from "./cases/floods.ts";
import { journalCase } from "./cases/journal.ts";
import { keeperMemoryCase, memoryCase } from "./cases/memory.ts";
import { openSandboxCase } from "./cases/opensandbox.ts";
import { restartCase } from "./cases/restart.ts";
import { sandboxCase } from "./cases/sandbox.ts";
import { scanCase } from "./cases/scan.ts";
import { screensCase } from "./cases/screens.ts";
import { sdkTortureCase } from "./cases/sdk-torture.ts";
import { searchCase } from "./cases/search.ts";
import { sessionsCase } from "./cases/sessions.ts";
import { longInputCase, plainShellCase, shellCase } from "./cases/shell.ts";
import { socketEchoCase } from "./cases/socket-echo.ts";
import { socketReplayCase } from "./cases/socket-replay.ts";
import { socketThroughputCase } from "./cases/socket-throughput.ts";
import { socketViewersCase } from "./cases/socket-viewers.ts";
import { stalledCase } from "./cases/stalled.ts";
import { blockCase, startCase } from "./cases/start.ts";
import { pipeCase, ptyCase } from "./cases/throughput.ts";
import { tortureCase } from "./cases/torture.ts";
import { waitsCase } from "./cases/waits.ts";
import { webGridCase, webOpenCase } from "./cases/web.ts";
import { describeMachine, StealMeter } from "./machine.ts";
import { type Results, toMarkdown, toText } from "./report.ts";
import { type CaseResult, runCase } from "./rounds.ts";
import { Workshop } from "./workshop.ts";

/** Next to the sources; this file runs from dist-bench/bench. */
const resultsFolder = fileURLToPath(new URL("../../bench-results/", import.meta.url));

const USAGE = `Usage: npm run bench -- [CASE...] [options]

Measures all cases, or those that are named, and keeps the results beside those of earlier runs.

  --quick       smaller and fewer measurements, kept apart
  --rounds N    how often each case is measured
  --list        the cases
  --markdown    the results that are kept, as in docs/benchmarks.md; measures nothing
  --help        this text

  npm run bench -- pty echo --rounds 3
`;

const { values: options, positionals: names } = parseArgs({
	allowPositionals: true,
	options: {
		quick: { type: "boolean", default: false },
		rounds: { type: "string" },
		list: { type: "boolean", default: false },
		markdown: { type: "boolean", default: false },
		help: { type: "boolean", short: "h", default: false },
	},
});
const isQuick = options.quick;
// A quick run must not overwrite results that took ten minutes.
const resultsFile = `${resultsFolder}${isQuick ? "quick" : "latest"}.json`;

const cases: readonly Case[] = [
	ptyCase(isQuick),
	journalCase(isQuick),
	scanCase(isQuick),
	shellCase(isQuick),
	plainShellCase(isQuick),
	longInputCase(isQuick),
	pipeCase(isQuick),
	echoCase(isQuick),
	startCase(isQuick),
	blockCase(),
	sandboxCase(isQuick),
	memoryCase(isQuick),
	keeperMemoryCase(isQuick),
	stalledCase(isQuick),
	drainCase(isQuick),
	socketThroughputCase(isQuick),
	socketEchoCase(isQuick),
	socketViewersCase(isQuick),
	socketReplayCase(isQuick),
	searchCase(),
	waitsCase(isQuick),
	firstScreenCase(isQuick),
	answersCase(),
	agentsCase(isQuick),
	screensCase(isQuick),
	sessionsCase(isQuick),
	restartCase(isQuick),
	floodsCase(isQuick),
	openSandboxCase(isQuick),
	codexExecCase(isQuick),
	codexAppCase(isQuick),
	webOpenCase(isQuick),
	webGridCase(isQuick),
	...budgetCases(isQuick),
	tortureCase(isQuick),
	sdkTortureCase(isQuick),
	feedCase(isQuick),
];

if (options.help) process.stdout.write(USAGE);
else if (options.list) for (const { name, title } of cases) console.log(`${name.padEnd(18)} ${title}`);
else if (options.markdown) process.stdout.write(toMarkdown(JSON.parse(readFileSync(resultsFile, "utf8")) as Results));
else await run(chosen());

function chosen(): readonly Case[] {
	const unknown = names.filter((name) => !cases.some((each) => each.name === name));
	if (unknown.length > 0) {
		throw new Error(`no case "${unknown.join('", "')}"; there are ${cases.map(({ name }) => name).join(", ")}`);
	}
	return names.length === 0 ? cases : cases.filter(({ name }) => names.includes(name));
}

async function run(wanted: readonly Case[]): Promise<void> {
	const workshop = new Workshop();
	const meter = new StealMeter();
	const done: CaseResult[] = [];
	try {
		for (const bench of wanted) {
			const rounds = options.rounds === undefined ? bench.rounds[isQuick ? "quick" : "full"] : Number(options.rounds);
			try {
				const result = await runCase(bench, rounds, workshop);
				workshop.say("");
				console.log(toText(result));
				done.push(result);
			} catch (error) {
				console.error(`${bench.name} failed:`, error);
				process.exitCode = 1;
				continue;
			}
			// Saved after each case, so that an interrupted run keeps its results.
			save(done, meter.share);
		}
	} finally {
		workshop.close();
	}
	const missed = done.flatMap(({ bars }) => bars).filter(({ isReached }) => !isReached);
	const failed = wanted.length - done.length;
	if (failed > 0) console.log(`${failed} cases failed`);
	const verdict = missed.length === 0 ? "all measured bars were reached" : `${missed.length} bars were missed`;
	// A failed case may have left a client that keeps retrying.
	process.stdout.write(`${verdict}\n`, () => process.exit());
}

/** Cases that did not run keep their previous results with their dates, if those are from this machine. */
function save(done: readonly CaseResult[], steal: number): void {
	const machine = describeMachine();
	const before = earlier();
	const kept = JSON.stringify(before?.machine) === JSON.stringify(machine) ? (before?.cases ?? []) : [];
	const all = cases.flatMap(({ name }) => {
		const result = done.find((each) => each.name === name) ?? kept.find((each) => each.name === name);
		return result ? [result] : [];
	});
	const results: Results = { date: new Date().toISOString(), machine, isQuick, steal, cases: all };
	mkdirSync(resultsFolder, { recursive: true });
	writeFileSync(resultsFile, `${JSON.stringify(results, null, "\t")}\n`);
}

function earlier(): Results | undefined {
	try {
		return JSON.parse(readFileSync(resultsFile, "utf8")) as Results;
	} catch {
		// There are no results yet, or an older version wrote them.
		return undefined;
	}
}
