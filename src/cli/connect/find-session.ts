/** Finds a session by ID, name or unique prefix of either, or the most recent one. */

import { type Client, HawserError, type SessionMessage } from "../../client/index.ts";
import { closestWord } from "../args/did-you-mean.ts";
import { nameSession } from "../print/error-text.ts";
import { UsageError } from "../print/errors.ts";
import { displayName } from "../print/session-text.ts";
import { enclosingSessions } from "./caller-environment.ts";
import type { WorkspaceFlags } from "./find-server.ts";

type FindOptions = Pick<WorkspaceFlags, "workspace"> & {
	/** Whether only running sessions count for "most recent". */
	readonly running?: boolean;
};

/**
 * Searches the visible sessions, or those of a workspace. Later messages use the name the user typed. Returns fresh
 * info instead of the list's, which does not wait for a slow keeper.
 */
export async function findSession(
	client: Client,
	wanted: string | undefined,
	{ workspace, running = false }: FindOptions = {},
): Promise<SessionMessage> {
	const list = () => client.sessions.list(workspace === undefined ? {} : { workspace });
	let sessions = await list();
	const [own] = enclosingSessions(process.env);
	if (own !== undefined && !sessions.some(({ id }) => id === own)) {
		// Right after the start, the list may not have the enclosing session yet; a request by ID waits for it.
		await client.sessions
			.at(own)
			.info()
			.catch(() => {});
		sessions = await list();
	}
	const found = select(sessions, wanted, running);
	if (wanted === undefined || !found.id.startsWith(wanted)) nameSession(found.id, displayName(found));
	return client.sessions.at(found.id).info();
}

function select(sessions: readonly SessionMessage[], wanted: string | undefined, running: boolean): SessionMessage {
	if (wanted === undefined) return mostRecent(sessions, running);
	const byId = sessions.find(({ id }) => id === wanted);
	if (byId) return byId;
	const byName = preferRunning(sessions.filter(({ name }) => name === wanted));
	if (byName.length > 0)
		return single(byName, (count) => `${JSON.stringify(wanted)} matches ${count} sessions; use an ID`);
	const begins = (text: string | null) => wanted !== "" && text?.startsWith(wanted) === true;
	const byPrefix = sessions.filter(({ id }) => begins(id));
	const names = new Set(sessions.flatMap(({ name }) => (name !== null && begins(name) ? name : [])));
	for (const each of names) byPrefix.push(...preferRunning(sessions.filter(({ name }) => name === each)));
	if (byPrefix.length > 0)
		return single(byPrefix, (count) => `prefix ${JSON.stringify(wanted)} is ambiguous; it matches ${count} sessions`);
	const known = sessions.flatMap(({ id, name }) => (name === null ? [id] : [name, id]));
	const similar = closestWord(wanted, known);
	const hint = similar === undefined ? "list all with hawser ls --all" : `did you mean ${JSON.stringify(similar)}?`;
	throw new HawserError("session_not_found", `no session ${JSON.stringify(wanted)}`, { hint });
}

/** Resolves the session in a scope to its ID, because a name may be reused. */
export async function resolveScope(client: Client, scope: string): Promise<string> {
	const [, wanted, right] = /^session:(.+):(view|control)$/.exec(scope) ?? [];
	if (wanted === undefined) return scope;
	return `session:${(await findSession(client, wanted)).id}:${right}`;
}

/** Excludes enclosing sessions: waiting for one, or showing it in itself, would never end. */
function mostRecent(sessions: readonly SessionMessage[], running: boolean): SessionMessage {
	const own = enclosingSessions(process.env);
	const others = sessions.filter(({ id, state }) => !own.includes(id) && (!running || state === "running"));
	const latest = others.at(-1);
	if (latest) return latest;
	const which = running ? "no running session" : "no session";
	const besides = sessions.some(({ id }) => own.includes(id)) ? " other than the current one" : "";
	throw new HawserError("session_not_found", which + besides, { hint: "start one with hawser run" });
}

/** A name may be reused once its session has ended: prefers the running session, else the newest. */
function preferRunning(sameName: readonly SessionMessage[]): SessionMessage[] {
	const running = sameName.filter(({ state }) => state === "running");
	return running.length > 0 ? running : sameName.slice(-1);
}

function single(candidates: readonly SessionMessage[], problem: (count: number) => string): SessionMessage {
	const [first, second] = candidates;
	if (first && !second) return first;
	const all = candidates.map(({ id, name, workspace }) => `${id} (${name ?? "no name"}, in ${workspace})`);
	throw new UsageError(`${problem(candidates.length)}: ${all.join(", ")}`);
}
