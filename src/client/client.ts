/** A server as a program sees it: its sessions, what happens to them, and who may use it. */

import type {
	CreatedTicket,
	CreatedToken,
	CreateTicket,
	CreateToken,
	SignedIn,
	SignIn,
	SignInLink,
	TokenList,
	TokenMessage,
} from "../protocol/access.ts";
import type { InputReceipt } from "../protocol/acts.ts";
import type {
	ApprovalList,
	ApprovalMessage,
	DecideApproval,
	SecretRequestList,
	SecretRequestMessage,
} from "../protocol/asking.ts";
import {
	type AuditList,
	type CreateSession,
	type Health,
	type Info,
	idempotencyKeyHeader,
	type Me,
	type SessionList,
	type SessionMessage,
	type SessionState,
} from "../protocol/messages.ts";
import type { ActOptions } from "./attachment.ts";
import { type Ended, end } from "./ended.ts";
import { HawserError } from "./error.ts";
import { type FeedItem, type FeedOptions, followFeed } from "./feed.ts";
import { forgetPageKey, storePageKey } from "./page-key.ts";
import { type RunOptions, type RunRequest, type RunResult, runOnce } from "./run.ts";
import { Screens, type ScreensOptions } from "./screens.ts";
import { type KnownSession, Session } from "./session.ts";
import { type Call, type ConnectOptions, Transport } from "./transport.ts";
import { type WebhooksClient, webhooksAt } from "./webhooks.ts";
import { type WorkspacesClient, workspacesAt } from "./workspaces.ts";

export type ListFilter = {
	readonly state?: readonly SessionState[];
	readonly workspace?: string;
	readonly task?: string;
	readonly name?: string;
	/** Each is `key` or `key=value`, and all must hold. */
	readonly label?: readonly string[];
	/** Which come first; the oldest, if left out. */
	readonly order?: "oldest" | "newest";
	/** Whether each is told with how it looks now: its last line, its activity, what it waits for. */
	readonly overview?: boolean;
};

export type CreateOptions = ActOptions & {
	/** Makes it safe to ask again after an answer was lost: with the same key, nothing is started twice. */
	readonly idempotencyKey?: string;
};

export type AuditFilter = {
	readonly session?: string | undefined;
	/** The id of whoever did it. */
	readonly principal?: string | undefined;
	readonly action?: string | undefined;
};

export interface Client {
	/** Runs a program to its end and gives what it wrote. */
	run(request: RunRequest, options?: RunOptions): Promise<RunResult>;
	/** What happens to all sessions, across lost connections, until the loop is left or the signal aborted. */
	events(options?: FeedOptions): AsyncGenerator<FeedItem, void, void>;
	/** What the terminals of several sessions show, for small pictures of them, over one connection. */
	screens(options?: ScreensOptions): Screens;
	/** What the server is and can do on its machine. */
	info(options?: ActOptions): Promise<Info>;
	/** Who we are and what we may do there. */
	me(options?: ActOptions): Promise<Me>;
	health(options?: ActOptions): Promise<Health>;
	/** Whether it takes requests: not while it shuts down. */
	isReady(options?: ActOptions): Promise<boolean>;
	/** The server's numbers, as Prometheus reads them. */
	metrics(options?: ActOptions): Promise<string>;
	/** The API's description. */
	openApi(options?: ActOptions): Promise<object>;
	/**
	 * Signs this browser in, by a token, a guest's key or the code of a sign-in link; pages of the server's origin need
	 * nothing else from then on. `unauthenticated` for what is not known, `token_ended` for what was good once.
	 */
	signIn(request: SignIn, options?: ActOptions): Promise<SignedIn>;
	/** Ends the sign-in of this browser. */
	signOut(options?: ActOptions): Promise<Ended>;
	/** One page of who did what, from the entry after a number on; for the operator. */
	audit(filter?: AuditFilter & { after?: number; limit?: number }, options?: ActOptions): Promise<AuditList>;
	readonly sessions: {
		/** Starts a program; `snapshot` is what the server answered. */
		create(request: CreateSession, options?: CreateOptions): Promise<KnownSession>;
		/** Every session, oldest first. */
		list(filter?: ListFilter, options?: ActOptions): Promise<SessionMessage[]>;
		/** Throws `session_not_found` when there is none. */
		get(id: string, options?: ActOptions): Promise<KnownSession>;
		/** Takes in a recording, an asciicast of version 2 or 3, as a session that has ended. */
		importRecording(cast: Uint8Array | string, options?: ImportOptions): Promise<KnownSession>;
		/** The session of this id, without asking whether it exists. */
		at(id: string): Session;
	};
	readonly workspaces: WorkspacesClient;
	readonly webhooks: WebhooksClient;
	/** Secrets that somebody asked for who may not type them, such as an agent. */
	readonly secretRequests: {
		/** Those of sessions that we may read, oldest first. */
		list(options?: ActOptions): Promise<readonly SecretRequestMessage[]>;
		/** Types it, and Enter, if the program still asks the same; `not_waiting` else, and nothing was typed. */
		give(id: string, secret: Uint8Array | string, options?: ActOptions): Promise<InputReceipt>;
		refuse(id: string, options?: ActOptions): Promise<void>;
	};
	readonly tokens: {
		/** Makes one that may do no more and live no longer than ours; its secret is told only now. */
		create(request: CreateToken, options?: ActOptions): Promise<CreatedToken>;
		/** Those that we may revoke. */
		list(options?: ActOptions): Promise<readonly TokenMessage[]>;
		revoke(id: string, options?: ActOptions): Promise<Ended>;
	};
	/** What tokens with a gate want to do, and may not do alone. */
	readonly approvals: {
		/** Those that wait, oldest first. */
		list(options?: ActOptions): Promise<ApprovalMessage[]>;
		/** One that waits, or was decided not long ago. */
		get(id: string, options?: ActOptions): Promise<ApprovalMessage>;
		/** Grants or denies one; what became of it is its `state`, for a grant may come too late. */
		decide(id: string, decision: DecideApproval, options?: ActOptions): Promise<ApprovalMessage>;
	};
	readonly tickets: {
		/** Good for one WebSocket, soon: for a page that has no token. */
		create(request: CreateTicket, options?: ActOptions): Promise<CreatedTicket>;
	};
	readonly signInLinks: {
		/** Signs in one browser as us, within five minutes. */
		create(options?: ActOptions): Promise<SignInLink>;
	};
}

export type ImportOptions = ActOptions & {
	/** Instead of the title that it has. */
	readonly name?: string;
	readonly workspace?: string;
};

/** Makes no request yet: the first one shows whether the server is there. */
export function connect(options: ConnectOptions): Client {
	const transport = new Transport(options);
	const ask = async <Answer>(call: Call): Promise<Answer> => (await (await transport.request(call)).json()) as Answer;
	const sessions: Client["sessions"] = {
		async create(request, { signal, idempotencyKey } = {}) {
			const headers = idempotencyKey === undefined ? {} : { [idempotencyKeyHeader]: idempotencyKey };
			const created = await ask<SessionMessage>({
				method: "POST",
				path: "/v1/sessions",
				json: request,
				headers,
				signal,
			});
			return Session.known(transport, created);
		},
		list: (filter = {}, { signal } = {}) => listAll(transport, filter, { signal }),
		async get(id, options) {
			const session = new Session(transport, id);
			return Session.known(transport, await session.info(options));
		},
		async importRecording(cast, { signal, name, workspace } = {}) {
			const bytes = typeof cast === "string" ? new TextEncoder().encode(cast) : cast;
			const query = { name, workspace };
			const path = "/v1/recordings";
			return Session.known(transport, await ask<SessionMessage>({ method: "POST", path, query, bytes, signal }));
		},
		at: (id) => new Session(transport, id),
	};
	return {
		run: (request, options) => runOnce(sessions, request, options),
		events: (options) => followFeed(transport, options),
		screens: (options) => new Screens(transport, options),
		info: ({ signal } = {}) => ask({ path: "/v1/info", signal }),
		me: ({ signal } = {}) => ask({ path: "/v1/me", signal }),
		health: ({ signal } = {}) => ask({ path: "/healthz", signal }),
		async isReady({ signal } = {}) {
			try {
				await ask({ path: "/readyz", signal });
				return true;
			} catch (error) {
				// No server at all is something else than one that says so.
				if (error instanceof HawserError && error.status === 503) return false;
				throw error;
			}
		},
		audit: (filter = {}, { signal } = {}) => ask({ path: "/v1/audit", query: filter, signal }),
		metrics: async ({ signal } = {}) => (await transport.request({ path: "/metrics", signal })).text(),
		openApi: ({ signal } = {}) => ask({ path: "/openapi.json", signal }),
		async signIn(request, { signal } = {}) {
			const signedIn = await ask<SignedIn>({ method: "POST", path: "/v1/signin", json: request, signal });
			storePageKey((await transport.address()).url, signedIn.pageKey);
			return signedIn;
		},
		async signOut({ signal } = {}) {
			const ended = await end(transport, { method: "POST", path: "/v1/signout", signal });
			forgetPageKey((await transport.address()).url);
			return ended;
		},
		sessions,
		secretRequests: {
			list: async ({ signal } = {}) => (await ask<SecretRequestList>({ path: "/v1/secret-requests", signal })).requests,
			give(id, secret, { signal } = {}) {
				const bytes = typeof secret === "string" ? new TextEncoder().encode(secret) : secret;
				return ask({ method: "POST", path: `/v1/secret-requests/${encodeURIComponent(id)}`, bytes, signal });
			},
			async refuse(id, { signal } = {}) {
				await transport.request({ method: "DELETE", path: `/v1/secret-requests/${encodeURIComponent(id)}`, signal });
			},
		},
		tokens: {
			create: (request, { signal } = {}) => ask({ method: "POST", path: "/v1/tokens", json: request, signal }),
			list: async ({ signal } = {}) => (await ask<TokenList>({ path: "/v1/tokens", signal })).tokens,
			revoke: (id, { signal } = {}) =>
				end(transport, { method: "DELETE", path: `/v1/tokens/${encodeURIComponent(id)}`, signal }),
		},
		approvals: {
			list: async ({ signal } = {}) => (await ask<ApprovalList>({ path: "/v1/approvals", signal })).approvals,
			get: (id, { signal } = {}) => ask({ path: `/v1/approvals/${encodeURIComponent(id)}`, signal }),
			decide: (id, decision, { signal } = {}) =>
				ask({ method: "POST", path: `/v1/approvals/${encodeURIComponent(id)}`, json: decision, signal }),
		},
		tickets: {
			create: (request, { signal } = {}) => ask({ method: "POST", path: "/v1/tickets", json: request, signal }),
		},
		signInLinks: {
			create: ({ signal } = {}) => ask({ method: "POST", path: "/v1/signin-links", signal }),
		},
		workspaces: workspacesAt(transport),
		webhooks: webhooksAt(transport),
	};
}

async function listAll(
	transport: Transport,
	filter: ListFilter,
	{ signal }: { readonly signal: AbortSignal | undefined },
): Promise<SessionMessage[]> {
	const all: SessionMessage[] = [];
	let after: string | undefined;
	do {
		const response = await transport.request({
			path: "/v1/sessions",
			query: { ...filter, overview: filter.overview ? "1" : undefined, after, limit: 1000 },
			signal,
		});
		const page = (await response.json()) as SessionList;
		all.push(...page.sessions);
		after = page.next ?? undefined;
	} while (after !== undefined);
	return all;
}
