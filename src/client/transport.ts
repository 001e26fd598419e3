/** One HTTP request at a time to a server that may move or be away. */

import { pageKeyHeader } from "../protocol/page-key.ts";
import { below } from "./address.ts";
import { errorOf, HawserError, isMistake } from "./error.ts";
import { storedPageKey } from "./page-key.ts";
import { checkProof } from "./proof.ts";
import { defaultTimes, type Times } from "./times.ts";
import type { WebSocketConstructor } from "./web-socket.ts";

/** Where a server is, how to get there, and what to show it. */
export type Address = {
	/** May have a path, behind a proxy that serves us below one. */
	readonly url: string;
	readonly token?: string | undefined;
	/** What a page shows besides its cookie; by default what signing in has left for pages of this origin. */
	readonly pageKey?: string | undefined;
	/** Instead of the global one. */
	readonly fetch?: typeof globalThis.fetch;
	/** Instead of the browser's, or of the package `ws` in Node. */
	readonly WebSocket?: WebSocketConstructor;
	/** For `ws`: where its connections come from, when not from the url. They are taken as they are, without TLS. */
	readonly createConnection?: () => object;
	/**
	 * Whether the server must prove that it knows the token before the token is sent, again after each loss: an address
	 * may be a stranger's by now. So it is for what `locate` finds on plain HTTP; a certificate is proof enough.
	 */
	readonly mustProve?: boolean;
};

/** An address, or how to find one. */
export type ConnectOptions = (Address | (Partial<Address> & { readonly locate: () => Promise<Address> })) & {
	/** Asked for the address when there is none, and again once the server can't be reached under the old one. */
	readonly locate?: () => Promise<Address>;
	/** How patient attachments are; what is left out is as usual. */
	readonly times?: Partial<Times>;
};

export type Call = {
	readonly method?: "GET" | "POST" | "PATCH" | "PUT" | "DELETE";
	readonly path: string;
	readonly query?: Readonly<Record<string, string | number | readonly string[] | undefined>>;
	readonly json?: unknown;
	readonly bytes?: Uint8Array;
	readonly headers?: Readonly<Record<string, string>>;
	readonly signal?: AbortSignal | undefined;
};

export class Transport {
	readonly times: Times;
	readonly #locate: (() => Promise<Address>) | undefined;
	/** How to get to wherever the server is found, when that does not say; a way to one address leads to no other. */
	readonly #way: Pick<Address, "fetch" | "WebSocket">;
	#address: Address;
	#isStale: boolean;
	#isProven = false;

	constructor({ locate, times, url = "", ...rest }: ConnectOptions) {
		if (url === "" && !locate) throw new TypeError("an address is needed: connect({ url })");
		const address = { url, ...rest };
		const { fetch, WebSocket, createConnection } = address;
		this.#way = createConnection ? {} : { ...(fetch && { fetch }), ...(WebSocket && { WebSocket }) };
		this.#address = address;
		this.#isStale = url === "";
		this.times = { ...defaultTimes, ...times };
		this.#locate = locate;
	}

	/** Where the server is now, as far as can be known. */
	async address(): Promise<Address> {
		if (this.#isStale && this.#locate) {
			const found = await this.#locate();
			const isPlain = found.url.startsWith("http:") && found.createConnection === undefined;
			this.#address = { ...this.#way, mustProve: isPlain, ...found };
			this.#isProven = false;
		}
		if (!this.#isProven) await this.#prove(this.#address);
		const { url, token } = this.#address;
		// Looked for each time: somebody may sign in while we wait.
		return token === undefined ? { pageKey: storedPageKey(url), ...this.#address } : this.#address;
	}

	async #prove({ url, token, mustProve, fetch = globalThis.fetch }: Address): Promise<void> {
		try {
			if (mustProve && token !== undefined) await checkProof({ url, token, fetch });
			this.#isProven = true;
		} catch (error) {
			throw error instanceof HawserError ? error : this.#unreachable(error, undefined);
		}
	}

	/** The server could not be reached where it was, or went away: it is looked for again. */
	lost(): void {
		this.#isStale = true;
		this.#isProven = false;
	}

	/** The answer, if it is a success; throws a HawserError otherwise, and the signal's reason when that is aborted. */
	async request(call: Call): Promise<Response> {
		const address = await this.address();
		const { token, pageKey } = address;
		const headers = new Headers(call.headers);
		if (token !== undefined) headers.set("authorization", `Bearer ${token}`);
		else if (pageKey !== undefined) headers.set(pageKeyHeader, pageKey);
		if (call.json !== undefined) headers.set("content-type", "application/json");
		if (call.bytes !== undefined) headers.set("content-type", "application/octet-stream");
		const response = await this.#send(address, call, headers);
		if (!response.ok) throw await errorOf(response);
		return response;
	}

	/** The whole body; a connection that breaks off in the middle of it is the same as none. */
	async body(response: Response, signal?: AbortSignal): Promise<Uint8Array> {
		try {
			return new Uint8Array(await response.arrayBuffer());
		} catch (error) {
			throw this.#unreachable(error, signal);
		}
	}

	/** The body as it comes, for one that may be long; the same of a connection that breaks off. */
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

	async #send({ url, fetch = globalThis.fetch }: Address, call: Call, headers: Headers): Promise<Response> {
		const target = addressOf(url, call);
		try {
			const response = await fetch(target, {
				method: call.method ?? "GET",
				headers,
				body:
					(call.bytes as Uint8Array<ArrayBuffer> | undefined) ??
					(call.json === undefined ? null : JSON.stringify(call.json)),
				signal: call.signal ?? null,
			});
			this.#isStale = false;
			return response;
		} catch (error) {
			throw this.#unreachable(error, call.signal);
		}
	}

	#unreachable(error: unknown, signal: AbortSignal | undefined): unknown {
		if (signal?.aborted) return signal.reason;
		if (isMistake(error))
			return new HawserError("internal", `the request could not be made: ${error}`, { cause: error });
		this.lost();
		if (error instanceof HawserError) return error;
		const { url } = this.#address;
		const distrust = certificateProblem(error);
		const message = distrust
			? `the certificate of ${url} is not accepted: ${distrust}`
			: `no server can be reached at ${url}`;
		return new HawserError("node_unavailable", message, {
			cause: error,
			...(distrust ? { hint: TRUST_HINT } : hintForPage(url)),
		});
	}
}

function addressOf(base: string, { path, query = {} }: Call): URL {
	const url = below(base, path);
	for (const [key, value] of Object.entries(query)) {
		for (const one of Array.isArray(value) ? value : [value]) {
			if (one !== undefined) url.searchParams.append(key, String(one));
		}
	}
	return url;
}

const TRUST_HINT = "NODE_EXTRA_CA_CERTS=FILE in the environment names certificates that are to be trusted";

/** What Node says of a certificate that it does not trust; a browser says nothing. */
export function certificateProblem(error: unknown): string | undefined {
	const { code, message } = (error instanceof Error ? (error.cause ?? error) : {}) as {
		code?: string;
		message?: string;
	};
	return code !== undefined && /CERT|_TLS_|SIGNATURE|ISSUER/.test(code) ? (message ?? code) : undefined;
}

/** A browser does not say whether it refused to ask for a page from elsewhere, or found nobody there. */
function hintForPage(url: string): { hint?: string } {
	const { location } = globalThis as { location?: { readonly origin: string } };
	if (location === undefined || location.origin === new URL(url).origin) return {};
	return { hint: `if it runs, it must allow this page: hawser serve --allowed-origins ${location.origin}` };
}
