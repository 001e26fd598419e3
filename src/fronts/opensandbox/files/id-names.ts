/** The names of users and groups, from the files in which Unix keeps them; read once for each request. */

import { entriesOf, systemFiles } from "../users.ts";

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

	/** The number where nobody has a name for it. */
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

/** A number is taken, too, because it is what `userName` may have said. */
function idOf(names: ReadonlyMap<string, string>, name: string): number | undefined {
	for (const [id, known] of names) if (known === name) return Number(id);
	return /^\d{1,10}$/.test(name) && Number(name) < 2 ** 32 - 1 ? Number(name) : undefined;
}

async function byId(path: string): Promise<ReadonlyMap<string, string>> {
	const names = new Map<string, string>();
	// The first to have a number is who is named.
	for (const [name = "", , id = ""] of await entriesOf(path)) if (!names.has(id)) names.set(id, name);
	return names;
}
