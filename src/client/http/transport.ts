/** HTTP requests to a server that may move or be unreachable. */

import { operations } from "../../api/operations.ts";
import { pageKeyHeader } from "../../api/page-key.ts";
import type { Operations } from "../../api/types.ts";
import type { WebSocketConstructor } from "../attach/websocket.ts";
import { errorFromResponse, HawserError, isProgrammingError, notFromHawser } from "../errors.ts";
import { storedPageKey } from "./page-key.ts";
import { type ConnectionTimeouts, defaultTimeouts } from "./retries.ts";
import { checkProof } from "./server-proof.ts";
import { joinUrl } from "./urls.ts";

/** A server's address, how to connect, and the credentials. */
export type ServerAddress = {
	/** May include a path, behind a proxy. */
	readonly url: string;
	readonly token?: string | undefined;
	/** Sent by a page with its cookie. Default: the key that signing in stored for this origin. */
	readonly pageKey?: string | undefined;
	/** Replaces the global `fetch`. */
	readonly fetch?: typeof globalThis.fetch;
	/** Replaces the browser's WebSocket, or the package `ws` in Node.js. */
	readonly WebSocket?: WebSocketConstructor;
	/** For `ws`: creates connections that don't follow from the URL. They are used without TLS. */
	readonly createConnection?: () => object;
	/**
	 * Whether the server must prove that it knows the token before the token is sent, and again after each lost
	 * connection, because another program may have taken the address. True for servers that `locate` finds on plain HTTP;
	 * with TLS the certificate proves it.
	 */
	readonly mustProve?: boolean;
};

/** An address, or a function that finds one. */
export type ConnectOptions = (
	| ServerAddress
	| (Partial<ServerAddress> & { readonly locate: () => Promise<ServerAddress> })
) & {
	/** Called for the address if none is given, and again when the server can't be reached at the old one. */
	readonly locate?: () => Promise<ServerAddress>;
	/** Connection timeouts; omitted ones keep their default. */
	readonly times?: Partial<ConnectionTimeouts>;
};

export type OperationName = keyof Operations;

/** The query of an operation. True is sent as `1`, false is omitted. */
type QueryOf<Name extends OperationName> = {
	readonly [Key in keyof Operations[Name]["query"]]?:
		| (NonNullable<Operations[Name]["query"][Key]> extends "0" | "1" ? boolean : Operations[Name]["query"][Key])
		| undefined;
};

/** The parameters of an operation, and optional settings. */
export type CallOptions<Name extends OperationName> = {
	readonly query?: QueryOf<Name>;
	readonly headers?: Readonly<Record<string, string>>;
	readonly signal?: AbortSignal | undefined;
} & (keyof Operations[Name]["params"] extends never ? unknown : { readonly params: Operations[Name]["params"] }) &
	(undefined extends Operations[Name]["body"]
		? { readonly body?: Operations[Name]["body"] }
		: { readonly body: Operations[Name]["body"] });

/** Options common to all operations. */
type AnyCall = {
	readonly params?: Readonly<Record<string, string>>;
	readonly query?: Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;
	readonly body?: unknown;
	readonly headers?: Readonly<Record<string, string>>;
	readonly signal?: AbortSignal | undefined;
};

export class Transport {
	readonly times: ConnectionTimeouts;
	readonly #locate: (() => Promise<ServerAddress>) | undefined;
	/** Connection settings for the located server. Settings for one URL don't apply to another. */
	readonly #overrides: Pick<ServerAddress, "fetch" | "WebSocket">;
	#address: ServerAddress;
	#isStale: boolean;
	#isProven = false;

	constructor({ locate, times, url = "", ...rest }: ConnectOptions) {
		if (url === "" && !locate) throw new TypeError("connect() needs a url");
		const address = { url, ...rest };
		const { fetch, WebSocket, createConnection } = address;
		this.#overrides = createConnection ? {} : { ...(fetch && { fetch }), ...(WebSocket && { WebSocket }) };
		this.#address = address;
		this.#isStale = url === "";
		this.times = { ...defaultTimeouts, ...times };
		this.#locate = locate;
	}

	/** The server's current address, as far as known. */
	async address(): Promise<ServerAddress> {
		if (this.#isStale && this.#locate) {
			const found = await this.#locate();
			const isPlain = found.url.startsWith("http:") && found.createConnection === undefined;
			this.#address = { ...this.#overrides, mustProve: isPlain, ...found };
			this.#isProven = false;
		}
		if (!this.#isProven) await this.#prove(this.#address);
		const { url, token } = this.#address;
		// Read each time, because the user may sign in meanwhile.
		return token === undefined ? { pageKey: storedPageKey(url), ...this.#address } : this.#address;
	}

	async #prove({ url, token, mustProve, fetch = globalThis.fetch }: ServerAddress): Promise<void> {
		try {
			if (mustProve && token !== undefined) await checkProof({ url, token, fetch });
			this.#isProven = true;
		} catch (error) {
			throw error instanceof HawserError ? error : this.#unreachable(error, undefined);
		}
	}

	/** The server is unreachable at its address, so locate it again. */
	lost(): void {
		this.#isStale = true;
		this.#isProven = false;
	}

	/** Calls an operation and returns the JSON response. */
	async call<Name extends OperationName>(name: Name, options: CallOptions<Name>): Promise<Operations[Name]["answer"]> {
		const response = await this.open(name, options);
		try {
			return (await response.json()) as Operations[Name]["answer"];
		} catch (error) {
			throw error instanceof SyntaxError ? notFromHawser(response.status) : error;
		}
	}

	/**
	 * Calls an operation and returns the successful response. Throws a HawserError otherwise, or the signal's reason if
	 * it is aborted.
	 */
	async open<Name extends OperationName>(name: Name, options: CallOptions<Name>): Promise<Response> {
		const call = options as AnyCall;
		const address = await this.address();
		const { token, pageKey } = address;
		const headers = new Headers(call.headers);
		if (token !== undefined) headers.set("authorization", `Bearer ${token}`);
		else if (pageKey !== undefined) headers.set(pageKeyHeader, pageKey);
		const body = encodeBody(call.body, headers);
		const [method = "", route = ""] = operations[name].split(" ");
		const target = addressOf(address.url, route, call);
		const response = await this.#send(address, target, { method, headers, body, signal: call.signal ?? null });
		if (!response.ok) throw await errorFromResponse(response);
		return response;
	}

	/** The whole body. An interrupted body counts as no response. */
	async body(response: Response, signal?: AbortSignal): Promise<Uint8Array> {
		try {
			return new Uint8Array(await response.arrayBuffer());
		} catch (error) {
			throw this.#unreachable(error, signal);
		}
	}

	/** The body in chunks, for long ones; an interruption is the same error. */
	async *chunks(response: Response, signal?: AbortSignal): AsyncGenerator<Uint8Array, void, void> {
		const reader = response.body?.getReader();
		try {
			for (;;) {
				const { value } = (await reader?.read()) ?? {};
				if (value === undefined) return;
				yield value;
			}
		} catch (error) {
			throw this.#unreachable(error, signal);
		} finally {
			await reader?.cancel().catch(() => {});
		}
	}

	async #send({ fetch = globalThis.fetch }: ServerAddress, target: URL, request: RequestInit): Promise<Response> {
		try {
			const response = await fetch(target, request);
			this.#isStale = false;
			return response;
		} catch (error) {
			throw this.#unreachable(error, request.signal);
		}
	}

	#unreachable(error: unknown, signal: AbortSignal | null | undefined): unknown {
		if (signal?.aborted) return signal.reason;
		if (isProgrammingError(error)) return new HawserError("internal", `the request failed: ${error}`, { cause: error });
		this.lost();
		if (error instanceof HawserError) return error;
		const { url } = this.#address;
		const distrust = certificateProblem(error);
		const message = distrust ? `can't verify the certificate of ${url}: ${distrust}` : `can't reach a server at ${url}`;
		return new HawserError("node_unavailable", message, {
			cause: error,
			...(distrust ? { hint: TRUST_HINT } : hintForPage(url)),
		});
	}
}

/** Encodes the body and sets the content type. */
function encodeBody(body: unknown, headers: Headers): Uint8Array<ArrayBuffer> | string | null {
	if (body === undefined) return null;
	const isBytes = body instanceof Uint8Array;
	headers.set("content-type", isBytes ? "application/octet-stream" : "application/json");
	return isBytes ? (body as Uint8Array<ArrayBuffer>) : JSON.stringify(body);
}

function addressOf(base: string, route: string, { params = {}, query = {} }: Pick<AnyCall, "params" | "query">): URL {
	const url = joinUrl(
		base,
		route.replace(/:(\w+)/g, (_all, name: string) => encodeURIComponent(params[name] ?? "")),
	);
	for (const [key, value] of Object.entries(query)) {
		for (const one of Array.isArray(value) ? value : [value]) {
			if (one !== undefined && one !== false) url.searchParams.append(key, one === true ? "1" : String(one));
		}
	}
	return url;
}

const TRUST_HINT = "set NODE_EXTRA_CA_CERTS=FILE to trust a CA";

/** Node's message for an untrusted certificate; undefined in browsers, which report nothing. */
export function certificateProblem(error: unknown): string | undefined {
	const { code, message } = (error instanceof Error ? (error.cause ?? error) : {}) as {
		code?: string;
		message?: string;
	};
	return code !== undefined && /CERT|_TLS_|SIGNATURE|ISSUER/.test(code) ? (message ?? code) : undefined;
}

/** Browsers don't tell a blocked cross-origin request from an unreachable server. */
function hintForPage(url: string): { hint?: string } {
	const { location } = globalThis as { location?: { readonly origin: string } };
	if (location === undefined || location.origin === new URL(url).origin) return {};
	return { hint: `if the server is running, allow this page: hawser serve --allowed-origins ${location.origin}` };
}
