/** Saved servers by name, with their tokens. The file is readable only by its user. */

import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { closestWord } from "../args/did-you-mean.ts";
import { UsageError } from "../print/errors.ts";

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
		if (error instanceof SyntaxError)
			throw new UsageError(`${file} is not valid JSON; delete it and run hawser login again`);
		throw error;
	}
}

export async function findRemote(name: string): Promise<Remote> {
	const remotes = await readRemotes();
	const remote = Object.hasOwn(remotes, name) ? remotes[name] : undefined;
	if (remote) return remote;
	const similar = closestWord(name, Object.keys(remotes));
	const hint =
		similar === undefined
			? "add one with hawser login NAME URL; list them with hawser remotes"
			: `did you mean ${JSON.stringify(similar)}?`;
	throw new UsageError(`no saved server ${JSON.stringify(name)} (${hint})`);
}

/** Removes the server if `remote` is undefined. */
export async function setRemote(name: string, remote: Remote | undefined): Promise<void> {
	const { [name]: _former, ...others } = await readRemotes();
	const remotes = remote === undefined ? others : { ...others, [name]: remote };
	const file = remotesFile(process.env);
	await mkdir(dirname(file), { recursive: true, mode: 0o700 });
	// Written to a draft first, so that the file is never partial and never readable by others.
	const draft = `${file}.${process.pid}`;
	try {
		await writeFile(draft, `${JSON.stringify(remotes, null, "\t")}\n`, { mode: 0o600, flag: "wx" });
		await rename(draft, file);
	} finally {
		await rm(draft, { force: true });
	}
}
