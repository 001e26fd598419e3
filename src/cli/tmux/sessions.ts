/** The sessions of one tmux "server": those that carry its label, and which of them a target means. */

import { type Client, HawserError, type Session, type SessionMessage } from "../../client/index.ts";
import { UsageError } from "../errors.ts";
import { findOrStartServer, findServer, type WorkspaceFlags } from "../find-server.ts";
import { ownSessions } from "../own-environment.ts";

/** Under these labels a session has the name of the tmux server that it belongs to, and its own there. */
const SERVER_LABEL = "tmux";
const NAME_LABEL = "tmux.name";

/** The socket that commands in a session speak to when they name none. */
export const SOCKET = "HAWSER_TMUX";

export type Found = { readonly info: SessionMessage; readonly session: Session };

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

	clientToStartWith(): Promise<{ client: Client; isLocal: boolean }> {
		return findOrStartServer(this.flags);
	}

	/** Those that run: for tmux, there are no others. */
	async all(): Promise<Found[]> {
		const { client } = await this.client();
		const { workspace } = this.flags;
		const found = await client.sessions.list({
			state: ["running"],
			label: [`${SERVER_LABEL}=${this.socket}`],
			...(workspace === undefined ? {} : { workspace }),
		});
		return found.map((info) => ({ info, session: client.sessions.at(info.id) }));
	}

	/** Without sessions there is no server either, as with tmux. */
	async some(): Promise<Found[]> {
		const all = await this.all().catch((error: unknown) => {
			if (error instanceof HawserError && error.code === "node_unavailable") return [];
			throw error;
		});
		if (all.length > 0) return all;
		throw new UsageError(`no server running on ${this.socket}`);
	}

	/** Without a target it is the session that we are in, else the newest. */
	async find(target: string | undefined): Promise<Found> {
		const all = await this.some();
		if (target === undefined) {
			const own = ownSessions(process.env);
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

/** `name:window.pane`; an id of a pane or a window is that of its session. */
function splitTarget(target: string): [session: string, place: string | undefined] {
	const colon = target.indexOf(":");
	if (colon < 0) return [target.replace(/^(.+)\.[01]$/, "$1"), undefined];
	return [target.slice(0, colon), target.slice(colon + 1)];
}

/** By the exact name or an id, else by how the name begins; `=` wants it exactly. */
function matching(all: readonly Found[], wanted: string): Found | undefined {
	const isExact = wanted.startsWith("=");
	const name = isExact ? wanted.slice(1) : wanted;
	const exact = all.find(
		({ info }) => nameOf(info) === name || [`$${info.id}`, `@${info.id}`, `%${info.id}`].includes(name),
	);
	if (exact || isExact || name === "") return exact;
	const [first, second] = all.filter(({ info }) => nameOf(info).startsWith(name));
	return second ? undefined : first;
}

/** There is one window with one pane; by its number, or by a name. */
function isFirst(place: string | undefined): boolean {
	return place === undefined || /^(?:|\.|0|1|0?\.[01]|1\.[01]|[^0-9.][^.]*(?:\.[01])?)$/.test(place);
}
