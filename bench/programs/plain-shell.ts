/** Types many commands into a shell without hooks in a keeper, and counts those that were taken for over too early. */

import { shellText } from "../../src/core/shell/shell-text.ts";
import { type PlainShellName, plainArguments, slowCommands } from "../../test/shell/support/plain-shells.ts";
import { BenchHome } from "../homes.ts";
import { outputBetween } from "../output-between.ts";
import { finish, readInput } from "./input.ts";

export type PlainShellInput = { readonly shell: PlainShellName; readonly commands: number };

const PATIENCE_MS = 30_000;

const { shell, commands, directory } = readInput<PlainShellInput>();
process.env.HOME = directory;
const home = await BenchHome.open({ kind: "keeper", directory });
const argv = [shell, ...plainArguments[shell]];
const session = await home.start(argv, { mode: "pty", cwd: directory, answersQueries: true });

let early = 0;
let undecided = 0;
for (const { command, last } of slowCommands(commands)) {
	const { status, output } = await session.run({ command, timeoutMs: PATIENCE_MS, options: {} });
	if (status !== "ended") undecided++;
	else if (!shellText(await outputBetween(session, output)).includes(last)) early++;
}
await home.close();
finish({ early, undecided });
