/** Runs many commands in a decorated shell in a keeper, and counts wrong results. */

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { shellText } from "../../src/core/shell/shell-text.ts";
import { decorations, type ShellName } from "../../test/shell/support/decorations.ts";
import { randomCommands } from "../../test/shell/support/random-commands.ts";
import { BenchHome } from "../homes.ts";
import { outputBetween } from "../output-between.ts";
import { percentile } from "../statistics.ts";
import { finish, readInput } from "./input.ts";

export type ShellInput = { readonly shell: ShellName; readonly commands: number; readonly heredocs: number };

const SEED = 4711;
const TIMED = 200;
const PATIENCE_MS = 30_000;

const { shell, commands, heredocs, directory } = readInput<ShellInput>();
const own = join(directory, "home");
for (const [path, text] of Object.entries(decorations[shell])) {
	mkdirSync(dirname(join(own, path)), { recursive: true });
	writeFileSync(join(own, path), text);
}
process.env.HOME = own;
const home = await BenchHome.open({ kind: "keeper", directory });
const session = await home.start([shell], { mode: "pty", cwd: own, shellHooks: true, answersQueries: true });
const run = (command: string) => session.run({ command, timeoutMs: PATIENCE_MS, options: {} });

let wrong = 0;
for (const { command, text, exitCode } of randomCommands(commands, SEED)) {
	const answer = await run(command);
	if (answer.exitCode !== exitCode || shellText(await outputBetween(session, answer.output)) !== text) wrong++;
}

let lost = 0;
const file = Array.from({ length: 600 }, (_, index) => `\tline ${index}\t!$ "$(x)" ${"z".repeat(20)}\n`).join("");
for (let turn = 0; turn < heredocs; turn++) {
	const wanted = `${turn}\n${file}`;
	// fish has no heredocs.
	const { exitCode } = await run(shell === "fish" ? `printf %s '${wanted}' >file` : `cat >file <<'END'\n${wanted}END`);
	if (exitCode !== 0 || readFileSync(join(own, "file"), "utf8") !== wanted) lost++;
}

const times: number[] = [];
for (let turn = 0; turn < TIMED; turn++) {
	const begin = performance.now();
	await run("true");
	times.push(performance.now() - begin);
}
await home.close();
finish({ wrong, lost, p50: percentile(times, 0.5), p99: percentile(times, 0.99) });
