/** Servers on other machines by name, with what to show them: kept where only their user can read it. */

import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { UsageError } from "./errors.ts";
import { closest } from "./spelling.ts";

type Remote = { readonly url: string; readonly token: string };

function remotesFile(env: NodeJS.ProcessEnv): string {
	return join(env.XDG_CONFIG_HOME || join(homedir(), ".config"), "hawser", "remotes.json");
}

export async function readRemotes(env: NodeJS.ProcessEnv = process.env): Promise<Readonly<Record<string, Remote>>> {
	const file = remotesFile(env);
	try {
		return JSON.parse(await readFile(file, "utf8")) as Record<string, Remote>;
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === "ENOENT") return {};
		if (error instanceof SyntaxError) throw new UsageError(`${file} is damaged; remove it, and log in again`);
		throw error;
	}
}

export async function findRemote(name: string): Promise<Remote> {
	const remotes = await readRemotes();
	const remote = Object.hasOwn(remotes, name) ? remotes[name] : undefined;
	if (remote) return remote;
	const similar = closest(name, Object.keys(remotes));
	const hint =
		similar === undefined ? "hawser login NAME URL adds one, hawser remotes lists them" : `did you mean ${similar}?`;
	throw new UsageError(`there is no remote ${JSON.stringify(name)} (${hint})`);
}

/** Undefined takes it away. */
export async function setRemote(name: string, remote: Remote | undefined): Promise<void> {
	const { [name]: _former, ...others } = await readRemotes();
	const remotes = remote === undefined ? others : { ...others, [name]: remote };
	const file = remotesFile(process.env);
	await mkdir(dirname(file), { recursive: true, mode: 0o700 });
	// Whole or not at all, and never readable by anybody else.
	const draft = `${file}.${process.pid}`;
	try {
		await writeFile(draft, `${JSON.stringify(remotes, null, "\t")}\n`, { mode: 0o600, flag: "wx" });
		await rename(draft, file);
	} finally {
		await rm(draft, { force: true });
	}
}
