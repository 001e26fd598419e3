/**
 * Exercises the addon and the minder under a sanitizer: `node native-scenario.js DIST [alone]`. Fails when a result is
 * wrong; the sanitizer reports memory errors and races.
 */

import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { isMainThread, Worker, workerData } from "node:worker_threads";

const dist = isMainThread ? process.argv[2] : workerData;
const load = (path) => import(pathToFileURL(join(dist, path)).href);
const { spawn } = await load("backends/spawn.js");
const { crc32c, crc32cByTable, skim: nativeSkim } = await load("native/addon.js");
const { skim } = await load("core/skim.js");

/** Starts a program; resolves with its output and exit. */
async function run(script, { mode, act = () => {} }) {
	const chunks = [];
	let exit;
	let over;
	const closed = new Promise((resolve) => {
		over = resolve;
	});
	let begun;
	const ready = new Promise((resolve) => {
		begun = resolve;
	});
	const command = {
		argv: ["/bin/bash", "-c", script],
		env: { PATH: process.env.PATH },
		cwd: "/",
		mode,
		size: { cols: 80, rows: 24 },
		stdin: "open",
		drainMs: 200,
		inherited: { umask: 0o22, openFiles: 256 },
		limits: { core: 0 },
		sessionId: "scenario",
	};
	const program = await spawn(command, (fact) => {
		if (fact.kind === "output") {
			chunks.push(fact.bytes);
			begun();
		}
		if (fact.kind === "exited") exit = fact.exit;
		if (fact.kind === "closed" || fact.kind === "lost") over();
	});
	await act(program, ready);
	await closed;
	await program.kill({ graceMs: 0 });
	return { text: Buffer.concat(chunks).toString("latin1"), exit };
}

function expect(isTrue, what) {
	if (!isTrue) throw new Error(`scenario: ${what}`);
}

for (const mode of ["pty", "pipe"]) {
	const runs = Array.from({ length: 20 }, (_, i) => run(`echo ${i}; exit ${i}`, { mode }));
	for (const [i, { text, exit }] of (await Promise.all(runs)).entries())
		expect(text.startsWith(`${i}`) && exit.code === i, `program ${i} on a ${mode}`);
	const flood = await run("stty -echo 2>/dev/null; head -c 3000000 /dev/zero | tr '\\0' x", {
		mode,
		async act(program) {
			for (let i = 0; i < 20; i++) {
				program.pause();
				await new Promise((resolve) => setTimeout(resolve, 2));
				program.resume();
				await new Promise((resolve) => setImmediate(resolve));
			}
		},
	});
	expect(flood.text.length === 3_000_000, `a flood of ${flood.text.length} bytes on a ${mode}`);
	const echoed = await run("stty raw -echo 2>/dev/null; echo ready; head -c 1000000 | wc -c", {
		mode,
		async act(program, ready) {
			await ready;
			await program.write(new Uint8Array(1_000_000).fill(97));
		},
	});
	expect(echoed.text.includes("1000000"), `input on a ${mode}`);
	const killed = await run(
		"trap '' TERM HUP; echo ready; (env -i setsid sleep 1000 &) ; setsid sleep 1000 & sleep 1000",
		{
			mode,
			async act(program, ready) {
				await ready;
				program.resize({ cols: 100, rows: 30 });
				program.terminal();
				const sights = await Promise.all(Array.from({ length: 10 }, () => program.look()));
				expect(
					sights.every(({ pid }) => pid !== null),
					`looks at a ${mode}`,
				);
				program.signal("WINCH");
				await program.kill({ graceMs: 50 });
			},
		},
	);
	expect(killed.exit.signal === "SIGKILL", `a kill on a ${mode}`);
	await run("exit 0", { mode }).then(({ exit }) => expect(exit.code === 0, "the end"));
	const missing = await spawn(
		{
			...{ argv: ["/no/such"], env: {}, cwd: "/", mode, size: { cols: 80, rows: 24 } },
			stdin: "open",
			drainMs: 0,
			sessionId: "scenario",
		},
		() => {},
	).catch(({ code }) => code);
	expect(missing === "spawn_failed", "a program that is not there");
}

const bytes = Buffer.from(Array.from({ length: 100_003 }, (_, i) => i % 251));
for (const from of [0, 1, 7]) expect(crc32c(bytes.subarray(from)) === crc32cByTable(bytes.subarray(from)), "checksums");

// Each piece has its own allocation, so that the sanitizer notices reads beyond its end.
const output = Buffer.from(
	"plain \u001b[1;38;5;244mcolours\u001b[0m \u00e4\u0085 \u001b[12;3H\u001b[?25h\u0007 more of it".repeat(3),
);
for (let from = 0; from < output.byteLength; from++) {
	const piece = Uint8Array.from(output.subarray(from));
	expect(nativeSkim(piece, 0) === skim(piece, 0), `what is plain from ${from} on`);
	const begun = Uint8Array.from(output.subarray(0, from));
	for (let at = 0; at <= from; at += 5) expect(nativeSkim(begun, at) === skim(begun, at), `what is plain to ${from}`);
}

// Threads that end while their pumps run, unless this thread is to run alone.
if (isMainThread) {
	for (let round = 0; round < 4 && process.argv[3] !== "alone"; round++) {
		const worker = new Worker(new URL(import.meta.url), { workerData: dist });
		const ended = new Promise((resolve) => worker.once("exit", resolve));
		await new Promise((resolve) => setTimeout(resolve, 200 + 150 * round));
		await worker.terminate();
		await ended;
	}
	console.log("scenario: done");
}
