/** The client of a server: sessions, events, and access. */

import { idempotencyKeyHeader } from "../api/messages.ts";
import type {
	ApprovalMessage,
	AuditList,
	CreatedTicket,
	CreatedToken,
	CreateSession,
	CreateTicket,
	CreateToken,
	DecideApproval,
	Health,
	Info,
	InputReceipt,
	Me,
	Operations,
	SecretRequestMessage,
	SessionMessage,
	SignedIn,
	SignIn,
	SignInLink,
	TokenMessage,
} from "../api/types.ts";
import type { RequestOptions } from "./attach/attachment.ts";
import { HawserError } from "./errors.ts";
import { forgetPageKey, storePageKey } from "./http/page-key.ts";
import { whenAllowed } from "./http/rate-limit.ts";
import { type RevokeResult, revoke } from "./http/revocation.ts";
import { type ConnectOptions, Transport } from "./http/transport.ts";
import { bytesOf } from "./input/bytes.ts";
import { type RunOptions, type RunRequest, type RunResult, runProgram } from "./output/run.ts";
import { type FeedItem, type FeedOptions, followFeed } from "./resources/feed.ts";
import { type WebhooksClient, webhooks } from "./resources/webhooks.ts";
import { type WorkspacesClient, workspaces } from "./resources/workspaces.ts";
import { ScreenStream, type ScreenStreamOptions } from "./screen/screen-stream.ts";
import { type LoadedSession, Session } from "./session.ts";

/** Without `limit` and `after`: the client reads page after page. */
export type ListFilter = Omit<Operations["listSessions"]["query"], "limit" | "after" | "overview"> & {
	/** Whether to include an overview of each session: last line, activity, what it waits for. */
	readonly overview?: boolean;
};

export type CreateOptions = RequestOptions & {
	/** Makes a retry after a lost response safe: the same key starts nothing twice. */
	readonly idempotencyKey?: string;
	/** How long to wait for the server's start rate, in milliseconds. Default: one minute; zero does not wait. */
	readonly retryTimeoutMs?: number;
};

export type AuditFilter = {
	readonly session?: string | undefined;
	/** ID of the caller. */
	readonly principal?: string | undefined;
	readonly action?: string | undefined;
};

export interface Client {
	/** Runs a program until it ends, and returns its output. */
	run(request: RunRequest, options?: RunOptions): Promise<RunResult>;
	/** Events of all sessions, across lost connections, until the loop ends or the signal is aborted. */
	events(options?: FeedOptions): AsyncGenerator<FeedItem, void, void>;
	/** Screens of several sessions over one connection, for thumbnails. */
	screens(options?: ScreenStreamOptions): ScreenStream;
	/** The server's version, limits and features. */
	info(options?: RequestOptions): Promise<Info>;
	/** The caller's identity and rights. */
	me(options?: RequestOptions): Promise<Me>;
	health(options?: RequestOptions): Promise<Health>;
	/** Whether the server accepts requests; false while it shuts down. */
	isReady(options?: RequestOptions): Promise<boolean>;
	/** Server metrics in Prometheus format. */
	metrics(options?: RequestOptions): Promise<string>;
	/** The OpenAPI document. */
	openApi(options?: RequestOptions): Promise<object>;
	/**
	 * Signs this browser in with a token, a guest key or a sign-in code. Pages of the server's origin then need no token.
	 * Rejects with `unauthenticated` for an unknown credential, and `token_ended` for one that is no longer valid.
	 */
	signIn(request: SignIn, options?: RequestOptions): Promise<SignedIn>;
	/** Signs this browser out. */
	signOut(options?: RequestOptions): Promise<RevokeResult>;
	/** One page of the audit log after an entry number. Operator only. */
	audit(filter?: AuditFilter & { after?: number; limit?: number }, options?: RequestOptions): Promise<AuditList>;
	readonly sessions: {
		/** Starts a program; `snapshot` is the server's response. */
		create(request: CreateSession, options?: CreateOptions): Promise<LoadedSession>;
		/** All sessions, oldest first. */
		list(filter?: ListFilter, options?: RequestOptions): Promise<SessionMessage[]>;
		/** Rejects with `session_not_found` if it does not exist. */
		get(id: string, options?: RequestOptions): Promise<LoadedSession>;
		/** Imports a recording, an asciicast version 2 or 3, as an ended session. */
		importRecording(cast: Uint8Array | string, options?: ImportOptions): Promise<LoadedSession>;
		/** The session with this ID. Makes no request. */
		at(id: string): Session;
	};
	readonly workspaces: WorkspacesClient;
	readonly webhooks: WebhooksClient;
	/** Requests for secrets by callers that may not type them, such as agents. */
	readonly secretRequests: {
		/** Requests of sessions that the caller may read, oldest first. */
		list(options?: RequestOptions): Promise<readonly SecretRequestMessage[]>;
		/**
		 * Sends the secret and Enter if the program still shows the same prompt. Otherwise rejects with `not_waiting` and
		 * sends nothing.
		 */
		give(id: string, secret: Uint8Array | string, options?: RequestOptions): Promise<InputReceipt>;
		refuse(id: string, options?: RequestOptions): Promise<void>;
	};
	readonly tokens: {
		/** Creates a token with at most the caller's rights and lifetime. Only this response contains its secret. */
		create(request: CreateToken, options?: RequestOptions): Promise<CreatedToken>;
		/** Tokens that the caller may revoke. */
		list(options?: RequestOptions): Promise<readonly TokenMessage[]>;
		revoke(id: string, options?: RequestOptions): Promise<RevokeResult>;
	};
	/** Held actions of tokens with a gate. */
	readonly approvals: {
		/** Pending approvals, oldest first. */
		list(options?: RequestOptions): Promise<readonly ApprovalMessage[]>;
		/** A pending or recently decided approval. */
		get(id: string, options?: RequestOptions): Promise<ApprovalMessage>;
		/** Approves or denies an action. Check `state` of the result, because an approval may come too late. */
		decide(id: string, decision: DecideApproval, options?: RequestOptions): Promise<ApprovalMessage>;
	};
	readonly tickets: {
		/** Creates a short-lived ticket for one WebSocket, for a page without a token. */
		create(request: CreateTicket, options?: RequestOptions): Promise<CreatedTicket>;
	};
	readonly signInLinks: {
		/** Creates a link that signs in one browser as the caller, within five minutes. */
		create(options?: RequestOptions): Promise<SignInLink>;
	};
}

export type ImportOptions = RequestOptions & {
	/** Replaces the recording's title. */
	readonly name?: string;
	readonly workspace?: string;
};

/** Makes no request; the first one shows whether the server is reachable. */
export function connect(options: ConnectOptions): Client {
	const transport = new Transport(options);
	const sessions: Client["sessions"] = {
		async create(request, { signal, idempotencyKey, retryTimeoutMs } = {}) {
			const headers = idempotencyKey === undefined ? {} : { [idempotencyKeyHeader]: idempotencyKey };
			const call = { body: request, headers, signal };
			const created = await whenAllowed(() => transport.call("createSession", call), { retryTimeoutMs, signal });
			return Session.known(transport, created);
		},
		list: (filter = {}, { signal } = {}) => listAll(transport, filter, { signal }),
		async get(id, options) {
			const session = new Session(transport, id);
			return Session.known(transport, await session.info(options));
		},
		async importRecording(cast, { signal, name, workspace } = {}) {
			const body = bytesOf(cast);
			const imported = transport.call("importRecording", { query: { name, workspace }, body, signal });
			return Session.known(transport, await imported);
		},
		at: (id) => new Session(transport, id),
	};
	return {
		run: (request, options) => runProgram(sessions, request, options),
		events: (options) => followFeed(transport, options),
		screens: (options) => new ScreenStream(transport, options),
		info: (options = {}) => transport.call("getInfo", options),
		me: (options = {}) => transport.call("getMe", options),
		health: (options = {}) => transport.call("getHealth", options),
		async isReady(options = {}) {
			try {
				await transport.call("getReadiness", options);
				return true;
			} catch (error) {
				// An error without a status means that no server responds.
				if (error instanceof HawserError && error.status === 503) return false;
				throw error;
			}
		},
		audit: (query = {}, options = {}) => transport.call("listAudit", { query, ...options }),
		metrics: async (options = {}) => (await transport.open("getMetrics", options)).text(),
		openApi: async (options = {}) => (await transport.open("getOpenApi", options)).json() as Promise<object>,
		async signIn(body, options) {
			const signedIn = await transport.call("signInBrowser", { body, ...options });
			storePageKey((await transport.address()).url, signedIn.pageKey);
			return signedIn;
		},
		async signOut(options = {}) {
			const ended = await revoke(transport, "signOut", options);
			forgetPageKey((await transport.address()).url);
			return ended;
		},
		sessions,
		secretRequests: {
			list: async (options = {}) => (await transport.call("listSecretRequests", options)).requests,
			give: (id, secret, options) =>
				transport.call("giveSecret", { params: { id }, body: bytesOf(secret), ...options }),
			async refuse(id, options) {
				await transport.open("refuseSecret", { params: { id }, ...options });
			},
		},
		tokens: {
			create: (body, options) => transport.call("createToken", { body, ...options }),
			list: async (options = {}) => (await transport.call("listTokens", options)).tokens,
			revoke: (id, options) => revoke(transport, "revokeToken", { params: { id }, ...options }),
		},
		approvals: {
			list: async (options = {}) => (await transport.call("listApprovals", options)).approvals,
			get: (id, options) => transport.call("getApproval", { params: { id }, ...options }),
			decide: (id, body, options) => transport.call("decideApproval", { params: { id }, body, ...options }),
		},
		tickets: {
			create: (body, options) => transport.call("createTicket", { body, ...options }),
		},
		signInLinks: {
			create: (options = {}) => transport.call("createSignInLink", options),
		},
		workspaces: workspaces(transport),
		webhooks: webhooks(transport),
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
		const page = await transport.call("listSessions", { query: { ...filter, after, limit: 1000 }, signal });
		all.push(...page.sessions);
		after = page.next ?? undefined;
	} while (after !== undefined);
	return all;
}
