/**
 * Installs our hooks into the configuration of an agent, and removes them. A removal restores the file byte for byte if
 * nobody has changed it since; otherwise it takes away our entries and keeps the changes.
 */

import { readFile, stat } from "node:fs/promises";
import { errorCode, UsageError } from "../print/errors.ts";
import { entriesFor, type HookedAgent } from "./agents.ts";
import {
	backupPath,
	type ConfigFile,
	keepBackup,
	readConfigFile,
	removeBackup,
	removeConfigFile,
	replaceConfigFile,
} from "./config-file.ts";
import { entriesIn, type HookEntries, withEntries, withoutEntries } from "./hook-entries.ts";

/** A change that was not made yet. */
export type Change = {
	/** The file that changes, where a link leads to one. */
	readonly path: string;
	readonly before: string;
	/** Undefined if the file is removed. */
	readonly after: string | undefined;
	/** Where the text before is kept. */
	readonly backup: string | undefined;
	apply(): Promise<void>;
};

/** `outdated`: installed by another version. `own`: a file of this name that is not ours. */
export type InstallState = "installed" | "outdated" | "absent" | "own";

/** Begins our files that are not shared. */
const OWN_FILE = /\$HAWSER_HOOK|^\/\/ Reports the state of opencode to Hawser\./;

/** Undefined if the hooks are installed already. */
export async function planInstall(agent: HookedAgent): Promise<Change | undefined> {
	await checkHome(agent);
	const file = await readConfigFile(agent.target);
	const state = await stateOf(agent, file);
	if (state === "own") throw new UsageError(`${file.path} exists and was not written by hawser; move it away first`);
	if (state === "installed") return undefined;
	const { path, text } = file;
	const isFirst = state === "absent" && agent.isShared && text !== undefined;
	return {
		path,
		before: text ?? "",
		after: await installedText(agent, file),
		backup: isFirst ? backupPath(path) : undefined,
		async apply() {
			if (state === "absent" && agent.isShared) await keepBackup(file);
			await replaceConfigFile(file, await installedText(agent, file));
		},
	};
}

/** Undefined if the hooks are not installed. */
export async function planRemove(agent: HookedAgent): Promise<Change | undefined> {
	const file = await readConfigFile(agent.target);
	const state = await stateOf(agent, file);
	if (state === "absent" || state === "own") return undefined;
	const after = agent.isShared ? textWithout(file) : undefined;
	return {
		path: file.path,
		before: file.text ?? "",
		after,
		backup: undefined,
		async apply() {
			if (after === undefined) await removeConfigFile(file, agent.home);
			else await replaceConfigFile(file, after);
			// The user's later changes are not in it.
			await removeBackup(file);
		},
	};
}

export async function installState(agent: HookedAgent): Promise<InstallState> {
	return stateOf(agent, await readConfigFile(agent.target));
}

async function stateOf(agent: HookedAgent, { path, text }: ConfigFile): Promise<InstallState> {
	if (text === undefined) return "absent";
	if (agent.isShared) {
		const found = read(path, () => entriesIn(text));
		if (Object.keys(found).length === 0) return "absent";
		return isSame(found, await entriesFor(agent)) ? "installed" : "outdated";
	}
	if (text === (await readFile(agent.source, "utf8"))) return "installed";
	return OWN_FILE.test(text) ? "outdated" : "own";
}

/** The text of the agent's file with our entries, or our own file. */
async function installedText(agent: HookedAgent, file: ConfigFile): Promise<string> {
	if (!agent.isShared) return readFile(agent.source, "utf8");
	const entries = await entriesFor(agent);
	return read(file.path, () => withEntries(withoutOlder(file), entries));
}

/** The text without entries of another version. */
function withoutOlder(file: ConfigFile): string {
	const { text = "" } = file;
	return Object.keys(entriesIn(text)).length === 0 ? text : (textWithout(file) ?? "");
}

/** Undefined if there was no file before. */
function textWithout({ path, text = "", backup }: ConfigFile): string | undefined {
	const entries = entriesIn(text);
	// Nothing else has changed if the same entries make the same text.
	if (backup !== undefined && makes(backup, entries, text)) return backup;
	if (backup === undefined && makes("", entries, text)) return undefined;
	return read(path, () => withoutEntries(text, backup ?? ""));
}

function makes(before: string, entries: HookEntries, text: string): boolean {
	try {
		return withEntries(before, entries) === text;
	} catch (error) {
		if (error instanceof SyntaxError) return false;
		throw error;
	}
}

function read<Result>(path: string, work: () => Result): Result {
	try {
		return work();
	} catch (error) {
		if (!(error instanceof SyntaxError)) throw error;
		throw new UsageError(`${path} was left as it is, since ${error.message}; correct it first`);
	}
}

function isSame(one: HookEntries, other: HookEntries): boolean {
	const sorted = (entries: HookEntries) => JSON.stringify(Object.entries(entries).sort());
	return sorted(one) === sorted(other);
}

async function checkHome({ name, home }: HookedAgent): Promise<void> {
	try {
		if ((await stat(home)).isDirectory()) return;
	} catch (error) {
		if (errorCode(error) !== "ENOENT") throw error;
	}
	throw new UsageError(`there is no directory ${home}; start ${name} once, so that it creates its configuration`);
}
