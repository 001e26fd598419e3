/** Health checks, so that a command fails when the server hangs instead of waiting forever. */

import type { Socket } from "node:net";
import type { Health } from "../../api/types.ts";
import { certificateProblem } from "../../client/http/transport.ts";
import { joinUrl } from "../../client/http/urls.ts";
import { HawserError, type ServerAddress } from "../../client/index.ts";

/**
 * Time allowed for a health check.
 * @limit the server's sign of life, while a command waits for an answer | the command ends, and says that the server hangs
 */
const HEALTH_MS = 3_000;
/**
 * A request without a response for this long triggers a health check. Some requests, such as kill, take that long.
 * @limit an answer that a command waits for | the server is asked for a sign of life, and again every 5 s
 */
const SLOW_REQUEST_MS = 2_000;
/** Delay before the next health check. */
const DOUBT_AGAIN_MS = 5_000;

/** The server's health; undefined if there is no response. */
export async function fetchHealth({ url, fetch = globalThis.fetch }: ServerAddress): Promise<Health | undefined> {
	try {
		const response = await fetch(joinUrl(url, "/healthz"), { signal: AbortSignal.timeout(HEALTH_MS) });
		const health = (await response.json()) as Health | null;
		return health?.status === "ok" ? health : undefined;
	} catch {
		// No response, or not from a Hawser server.
		return undefined;
	}
}

/** Adds health checks to an address: a slow request fails if the server hangs. */
export function withHealthChecks(address: ServerAddress): ServerAddress {
	const { fetch = globalThis.fetch } = address;
	return {
		...address,
		fetch: async (input, init = {}) => {
			const hungSignal = new AbortController();
			let isAnswered = false;
			const check = async () => {
				const isThere = await answers(address);
				// The response may have arrived meanwhile; aborting now would truncate its body.
				if (isAnswered) return;
				if (isThere) timer = setTimeout(check, DOUBT_AGAIN_MS);
				else hungSignal.abort(serverHungError(address));
			};
			let timer = setTimeout(check, SLOW_REQUEST_MS);
			try {
				const signal = init.signal ? AbortSignal.any([hungSignal.signal, init.signal]) : hungSignal.signal;
				return await fetch(input, { ...init, signal });
			} catch (error) {
				if (hungSignal.signal.aborted) throw hungSignal.signal.reason;
				if (init.signal?.aborted || address.createConnection) throw error;
				throw (await otherScheme(address)) ?? error;
			} finally {
				isAnswered = true;
				clearTimeout(timer);
			}
		},
	};
}

/** An error if the server uses https instead of http or the other way round; undefined otherwise. */
async function otherScheme({ url }: ServerAddress): Promise<HawserError | undefined> {
	const [asked, spoken] = url.startsWith("https:") ? ["https", "http"] : ["http", "https"];
	const other = spoken + url.slice(asked.length);
	try {
		const response = await fetch(joinUrl(other, "/healthz"), { signal: AbortSignal.timeout(HEALTH_MS) });
		await response.body?.cancel();
	} catch (error) {
		// A certificate error means that the server uses https.
		if (certificateProblem(error) === undefined) return undefined;
	}
	return new HawserError("node_unavailable", `can't reach a server at ${url}`, {
		hint: `the server uses ${spoken}; try ${other}`,
	});
}

/** Whether there is any response: a proxy may hide the server's health. */
async function answers({ url, fetch = globalThis.fetch }: ServerAddress): Promise<boolean> {
	try {
		const response = await fetch(joinUrl(url, "/healthz"), { signal: AbortSignal.timeout(HEALTH_MS) });
		await response.body?.cancel();
		return true;
	} catch {
		return false;
	}
}

export function serverHungError({ url }: ServerAddress): HawserError {
	return new HawserError("node_unavailable", `the server at ${url} is not responding`, {
		hint: "if it hangs, run hawser stop --force; sessions keep running",
	});
}

/** Whether the server's socket accepts connections; the kernel accepts them even while the server hangs. */
export function isConnectable({ createConnection }: ServerAddress): Promise<boolean> {
	if (!createConnection) return Promise.resolve(false);
	return new Promise((resolve) => {
		const connection = createConnection() as Socket;
		connection.once("error", () => resolve(false));
		connection.once("connect", () => {
			connection.destroy();
			resolve(true);
		});
	});
}
