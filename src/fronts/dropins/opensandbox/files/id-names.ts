/** Names of users and groups from the system's files. Read once per request. */

import { entriesOf, systemFiles } from "../user-groups.ts";

export class IdNames {
	readonly #users: ReadonlyMap<string, string>;
	readonly #groups: ReadonlyMap<string, string>;

	static async read(): Promise<IdNames> {
		return new IdNames(await byId(systemFiles.passwd), await byId(systemFiles.group));
	}

	private constructor(users: ReadonlyMap<string, string>, groups: ReadonlyMap<string, string>) {
		this.#users = users;
		this.#groups = groups;
	}

	/** The id itself if it has no name. */
	userName(uid: bigint): string {
		return this.#users.get(String(uid)) ?? String(uid);
	}

	groupName(gid: bigint): string {
		return this.#groups.get(String(gid)) ?? String(gid);
	}

	uidOf(name: string): number | undefined {
		return idOf(this.#users, name);
	}

	gidOf(name: string): number | undefined {
		return idOf(this.#groups, name);
	}
}

/** Also accepts a number, since `userName` may return one. */
function idOf(names: ReadonlyMap<string, string>, name: string): number | undefined {
	for (const [id, known] of names) if (known === name) return Number(id);
	return /^\d{1,10}$/.test(name) && Number(name) < 2 ** 32 - 1 ? Number(name) : undefined;
}

async function byId(path: string): Promise<ReadonlyMap<string, string>> {
	const names = new Map<string, string>();
	// The first entry of an id gives its name.
	for (const [name = "", , id = ""] of await entriesOf(path)) if (!names.has(id)) names.set(id, name);
	return names;
}
