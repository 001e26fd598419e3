/** Finds the session a user means: by id, by name, by the beginning of either, or the most recent one. */

import { type Client, HawserError, type SessionMessage } from "../client/index.ts";
import { nameOf } from "./describe-session.ts";
import { UsageError } from "./errors.ts";
import type { WorkspaceFlags } from "./find-server.ts";
import { ownSessions } from "./own-environment.ts";
import { closest } from "./spelling.ts";
import { callSession } from "./wording.ts";

export type Wanted = Pick<WorkspaceFlags, "workspace"> & {
	/** Whether the most recent one is the most recent that runs. */
	readonly running?: boolean;
};

/**
 * Among those that may be seen, or those of a workspace. What is said of it later calls it as its user does. It is told as
 * it is now: a list does not wait for a keeper that is late, and where the output ends counts for what comes after that.
 */
export async function findSession(
	client: Client,
	wanted: string | undefined,
	{ workspace, running = false }: Wanted = {},
): Promise<SessionMessage> {
	const list = () => client.sessions.list(workspace === undefined ? {} : { workspace });
	let sessions = await list();
	const [own] = ownSessions(process.env);
	if (own !== undefined && !sessions.some(({ id }) => id === own)) {
		// The program that we are may run before its server has heard that it does; who asks for it by id waits until then.
		await client.sessions
			.at(own)
			.info()
			.catch(() => {});
		sessions = await list();
	}
	const found = select(sessions, wanted, running);
	if (wanted === undefined || !found.id.startsWith(wanted)) callSession(found.id, nameOf(found));
	return client.sessions.at(found.id).info();
}

function select(sessions: readonly SessionMessage[], wanted: string | undefined, running: boolean): SessionMessage {
	if (wanted === undefined) return mostRecent(sessions, running);
	const byId = sessions.find(({ id }) => id === wanted);
	if (byId) return byId;
	const byName = meant(sessions.filter(({ name }) => name === wanted));
	if (byName.length > 0) return only(byName, `sessions named ${JSON.stringify(wanted)}`);
	const begins = (text: string | null) => wanted !== "" && text?.startsWith(wanted) === true;
	const byPrefix = sessions.filter(({ id }) => begins(id));
	const names = new Set(sessions.flatMap(({ name }) => (name !== null && begins(name) ? name : [])));
	for (const each of names) byPrefix.push(...meant(sessions.filter(({ name }) => name === each)));
	if (byPrefix.length > 0) return only(byPrefix, `sessions whose id or name begins with ${JSON.stringify(wanted)}`);
	const known = sessions.flatMap(({ id, name }) => (name === null ? [id] : [name, id]));
	const similar = closest(wanted, known);
	const hint = similar === undefined ? "hawser ls --all shows those there are" : `did you mean ${similar}?`;
	throw new HawserError("session_not_found", `there is no session ${JSON.stringify(wanted)}`, { hint });
}

/** A scope with the session's id in it, where people name one as everywhere else: only an id is good for ever. */
export async function scopeById(client: Client, scope: string): Promise<string> {
	const [, wanted, right] = /^session:(.+):(view|control)$/.exec(scope) ?? [];
	if (wanted === undefined) return scope;
	return `session:${(await findSession(client, wanted)).id}:${right}`;
}

/** Never one that we are in ourselves: to wait for it, or to show it in itself, would have no end. */
function mostRecent(sessions: readonly SessionMessage[], running: boolean): SessionMessage {
	const own = ownSessions(process.env);
	const others = sessions.filter(({ id, state }) => !own.includes(id) && (!running || state === "running"));
	const latest = others.at(-1);
	if (latest) return latest;
	const which = running ? "no session is running" : "there are no sessions";
	const besides = sessions.some(({ id }) => own.includes(id)) ? ", but for the one that you are in" : "";
	throw new HawserError("session_not_found", which + besides, { hint: "hawser run starts one" });
}

/** A name may be used again once its session has ended: the one that runs is meant, else the newest. */
function meant(sameName: readonly SessionMessage[]): SessionMessage[] {
	const running = sameName.filter(({ state }) => state === "running");
	return running.length > 0 ? running : sameName.slice(-1);
}

function only(candidates: readonly SessionMessage[], what: string): SessionMessage {
	const [first, second] = candidates;
	if (first && !second) return first;
	const all = candidates.map(({ id, name, workspace }) => `${id} (${name ?? "no name"}, in ${workspace})`);
	throw new UsageError(`there are ${candidates.length} ${what}: ${all.join(", ")}`);
}
