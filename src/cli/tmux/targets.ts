/** The sessions of one tmux socket, selected by label, and tmux's target syntax. */

import { type Client, HawserError, type Session, type SessionMessage } from "../../client/index.ts";
import { enclosingSessions } from "../connect/caller-environment.ts";
import { findOrStartServer, findServer, type WorkspaceFlags } from "../connect/find-server.ts";
import { UsageError } from "../print/errors.ts";

/** Labels with the tmux socket and the tmux name of a session. */
const SERVER_LABEL = "tmux";
const NAME_LABEL = "tmux.name";

/** The default socket for commands inside a session. */
export const SOCKET = "HAWSER_TMUX";

export type TargetSession = { readonly info: SessionMessage; readonly session: Session };

export function nameOf({ id, labels }: Pick<SessionMessage, "id" | "labels">): string {
	return labels[NAME_LABEL] ?? id;
}

export class TmuxSessions {
	readonly flags: WorkspaceFlags;
	readonly socket: string;

	constructor(flags: WorkspaceFlags, socket: string) {
		this.flags = flags;
		this.socket = socket;
	}

	labels(name: string | undefined): Record<string, string> {
		return { [SERVER_LABEL]: this.socket, ...(name === undefined ? {} : { [NAME_LABEL]: name }) };
	}

	client(): Promise<{ client: Client; isLocal: boolean }> {
		return findServer(this.flags);
	}

	startingClient(): Promise<{ client: Client; isLocal: boolean }> {
		return findOrStartServer(this.flags);
	}

	/** Running sessions; tmux knows no others. */
	async all(): Promise<TargetSession[]> {
		const { client } = await this.client();
		const { workspace } = this.flags;
		const found = await client.sessions.list({
			state: ["running"],
			label: [`${SERVER_LABEL}=${this.socket}`],
			...(workspace === undefined ? {} : { workspace }),
		});
		return found.map((info) => ({ info, session: client.sessions.at(info.id) }));
	}

	/** As in tmux, no sessions means no server. */
	async running(): Promise<TargetSession[]> {
		const all = await this.all().catch((error: unknown) => {
			if (error instanceof HawserError && error.code === "node_unavailable") return [];
			throw error;
		});
		if (all.length > 0) return all;
		throw new UsageError(`no server running on ${this.socket}`);
	}

	/** Without a target: the enclosing session, else the newest. */
	async find(target: string | undefined): Promise<TargetSession> {
		const all = await this.running();
		if (target === undefined) {
			const own = enclosingSessions(process.env);
			const found = all.find(({ info }) => own.includes(info.id)) ?? all.at(-1);
			if (found) return found;
		}
		const [wanted = "", place] = splitTarget(target ?? "");
		const found = matching(all, wanted);
		if (!found) throw new UsageError(`can't find session: ${wanted}`);
		if (!isFirst(place)) throw new UsageError(`can't find window: ${place}`);
		return found;
	}
}

/** Splits `name:window.pane`. A pane or window ID is that of its session. */
function splitTarget(target: string): [session: string, place: string | undefined] {
	const colon = target.indexOf(":");
	if (colon < 0) return [target.replace(/^(.+)\.[01]$/, "$1"), undefined];
	return [target.slice(0, colon), target.slice(colon + 1)];
}

/** Matches the exact name or ID, else a unique prefix; `=` requires an exact match. */
function matching(all: readonly TargetSession[], wanted: string): TargetSession | undefined {
	const isExact = wanted.startsWith("=");
	const name = isExact ? wanted.slice(1) : wanted;
	const exact = all.find(
		({ info }) => nameOf(info) === name || [`${info.id}`, `@${info.id}`, `%${info.id}`].includes(name),
	);
	if (exact || isExact || name === "") return exact;
	const [first, second] = all.filter(({ info }) => nameOf(info).startsWith(name));
	return second ? undefined : first;
}

/** Whether it names the only window and pane, by number or name. */
function isFirst(place: string | undefined): boolean {
	return place === undefined || /^(?:|\.|0|1|0?\.[01]|1\.[01]|[^0-9.][^.]*(?:\.[01])?)$/.test(place);
}
