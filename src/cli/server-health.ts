/** Whether a server answers: one that hangs is noticed, instead of being waited for without end. */

import type { Socket } from "node:net";
import { below } from "../client/address.ts";
import { type Address, HawserError } from "../client/index.ts";
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
				throw doubt.signal.aborted ? doubt.signal.reason : error;
			} finally {
				isAnswered = true;
				clearTimeout(timer);
			}
		},
	};
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
