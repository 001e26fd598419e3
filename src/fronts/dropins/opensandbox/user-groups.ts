/** The groups of a user, from the system's files. */

import { readFile } from "node:fs/promises";

type UserFiles = { readonly passwd: string; readonly group: string };

export const systemFiles: UserFiles = { passwd: "/etc/passwd", group: "/etc/group" };

type Groups = {
	/** Primary group, if the user exists. */
	readonly gid: number | undefined;
	/** All groups; empty if the user does not exist. */
	readonly groups: readonly number[];
};

export async function groupsOf(uid: number, files: UserFiles = systemFiles): Promise<Groups> {
	const users = await entriesOf(files.passwd);
	const [name, , , primary] = users.find((fields) => fields[2] === String(uid)) ?? [];
	if (name === undefined || !isId(primary)) return { gid: undefined, groups: [] };
	const gid = Number(primary);
	const others = (await entriesOf(files.group))
		.filter(([, , id, members = ""]) => isId(id) && members.split(",").includes(name))
		.map(([, , id]) => Number(id));
	return { gid, groups: [...new Set([gid, ...others])] };
}

/** A missing file is empty. */
export async function entriesOf(path: string): Promise<string[][]> {
	const text = await readFile(path, "utf8").catch(() => "");
	return text.split("\n").map((line) => line.split(":"));
}

function isId(text: string | undefined): text is string {
	return text !== undefined && /^\d+$/.test(text);
}
