/** Reads and replaces the configuration files of other programs: whole, with their mode and owner, through links. */

import { lstat, readFile, realpath, rm, rmdir, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { makePrivateDirectory } from "../../disk/private-directory.ts";
import { writeAtomically } from "../../disk/write-atomically.ts";
import { errorCode, UsageError } from "../print/errors.ts";

/** Larger files are refused. @limit a configuration file that `hawser agent` changes | it is refused */
const MAX_BYTES = 4 * 1024 ** 2;
const BACKUP_ENDING = ".before-hawser";

export type ConfigFile = {
	/** The file itself, where a link leads to one. */
	readonly path: string;
	/** Undefined if there is none. */
	readonly text: string | undefined;
	/** The text before our entries were added, if it was kept. */
	readonly backup: string | undefined;
};

export async function readConfigFile(link: string): Promise<ConfigFile> {
	const path = await target(link);
	return { path, text: await readText(path), backup: await readText(backupPath(path)) };
}

/** Fails if the file is no longer as it was read. */
export async function replaceConfigFile({ path, text: before }: ConfigFile, text: string): Promise<void> {
	if ((await readText(path)) !== before) throw new UsageError(`${path} has just been changed; try again`);
	await makePrivateDirectory(dirname(path));
	const owner = before === undefined ? undefined : await stat(path);
	await writeAtomically(path, text, owner);
}

export async function keepBackup({ path, text }: ConfigFile): Promise<void> {
	if (text === undefined) return rm(backupPath(path), { force: true });
	await writeAtomically(backupPath(path), text, await stat(path));
}

export async function removeBackup({ path }: Pick<ConfigFile, "path">): Promise<void> {
	await rm(backupPath(path), { force: true });
}

/** Removes a file that we created, and its folder if that is `home`'s and empty now. */
export async function removeConfigFile({ path }: Pick<ConfigFile, "path">, home: string): Promise<void> {
	await rm(path, { force: true });
	if (dirname(path) !== home) await rmdir(dirname(path)).catch(() => {});
}

export function backupPath(path: string): string {
	return `${path}${BACKUP_ENDING}`;
}

/** Follows links, so that a file elsewhere is changed and its link stays. */
async function target(link: string): Promise<string> {
	try {
		return await realpath(link);
	} catch (error) {
		if (errorCode(error) !== "ENOENT") throw error;
		const isLink = await lstat(link).then(
			() => true,
			() => false,
		);
		if (isLink) throw new UsageError(`${link} is a link to a file that does not exist`);
		return link;
	}
}

async function readText(path: string): Promise<string | undefined> {
	try {
		const status = await stat(path);
		if (!status.isFile()) throw new UsageError(`${path} is not a regular file`);
		if (status.size > MAX_BYTES) throw new UsageError(`${path} is too large (limit ${MAX_BYTES} bytes)`);
		const bytes = await readFile(path);
		const text = bytes.toString("utf8");
		if (!Buffer.from(text).equals(bytes)) throw new UsageError(`${path} is not UTF-8`);
		return text;
	} catch (error) {
		if (errorCode(error) === "ENOENT") return undefined;
		throw error;
	}
}
