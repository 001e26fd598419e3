/** Whether a server answers: one that hangs is noticed, instead of being waited for without end. */

import type { Socket } from "node:net";
import { below } from "../client/address.ts";
import { type Address, HawserError } from "../client/index.ts";
import { certificateProblem } from "../client/transport.ts";
import type { Health } from "../protocol/messages.ts";

/** How long a server that is well may take to say so. */
const HEALTH_MS = 3_000;
/** How long an answer may take before we ask whether the server is well. Some take long, such as that to a kill. */
const DOUBT_MS = 2_000;
/** And before we ask again. */
const DOUBT_AGAIN_MS = 5_000;

/** What a server says of itself to everybody; undefined when none answers. */
export async function healthOf({ url, fetch = globalThis.fetch }: Address): Promise<Health | undefined> {
	try {
		const response = await fetch(below(url, "/healthz"), { signal: AbortSignal.timeout(HEALTH_MS) });
		const health = (await response.json()) as Health | null;
		return health?.status === "ok" ? health : undefined;
	} catch {
		// Nobody there, or somebody else: no server of ours in either case.
		return undefined;
	}
}

/** The same way to the server, on which no request waits for one that hangs. */
export function watched(address: Address): Address {
	const { fetch = globalThis.fetch } = address;
	return {
		...address,
		fetch: async (input, init = {}) => {
			const doubt = new AbortController();
			let isAnswered = false;
			const check = async () => {
				const isThere = await answers(address);
				// The answer may have come meanwhile: nobody waits any more, and its body must not be cut off.
				if (isAnswered) return;
				if (isThere) timer = setTimeout(check, DOUBT_AGAIN_MS);
				else doubt.abort(hangs(address));
			};
			let timer = setTimeout(check, DOUBT_MS);
			try {
				const signal = init.signal ? AbortSignal.any([doubt.signal, init.signal]) : doubt.signal;
				return await fetch(input, { ...init, signal });
			} catch (error) {
				if (doubt.signal.aborted) throw doubt.signal.reason;
				if (init.signal?.aborted || address.createConnection) throw error;
				throw (await otherScheme(address)) ?? error;
			} finally {
				isAnswered = true;
				clearTimeout(timer);
			}
		},
	};
}

/** What to say of an address whose http should be https, or the other way round; undefined when that would not help. */
async function otherScheme({ url }: Address): Promise<HawserError | undefined> {
	const [asked, spoken] = url.startsWith("https:") ? ["https", "http"] : ["http", "https"];
	const other = spoken + url.slice(asked.length);
	try {
		const response = await fetch(below(other, "/healthz"), { signal: AbortSignal.timeout(HEALTH_MS) });
		await response.body?.cancel();
	} catch (error) {
		// Whoever shows a certificate speaks https, whatever it is worth.
		if (certificateProblem(error) === undefined) return undefined;
	}
	return new HawserError("node_unavailable", `no server can be reached at ${url}`, {
		hint: `${spoken} is spoken there: ${other}`,
	});
}

/** Whether anything comes back at all: a proxy may keep to itself how the server is. */
async function answers({ url, fetch = globalThis.fetch }: Address): Promise<boolean> {
	try {
		const response = await fetch(below(url, "/healthz"), { signal: AbortSignal.timeout(HEALTH_MS) });
		await response.body?.cancel();
		return true;
	} catch {
		return false;
	}
}

export function hangs({ url }: Address): HawserError {
	return new HawserError("node_unavailable", `the server at ${url} does not answer any more`, {
		hint: "if it hangs, hawser stop --force ends it; its sessions keep running, and the next server finds them again",
	});
}

/** Whether something has the server's socket; the kernel takes connections for a server that hangs, too. */
export function isConnectable({ createConnection }: Address): Promise<boolean> {
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
