/** One signed request to a receiver (https://www.standardwebhooks.com), and what became of it. */

import { createHmac } from "node:crypto";
import { type ClientRequest, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import type { Outcome } from "../core/webhooks.ts";
import { within } from "../core/within.ts";

/** Read of an answer so that its sender is not cut off in the middle of a word; nobody looks at it. */
const MAX_ANSWER_BYTES = 64 * 1024;

/** How often a receiver may say, by a status below 200, that its answer is to come. */
const MAX_WORDS = 16;

const SECRET_PREFIX = "whsec_";

/** As receivers keep it: a mark, and the key in base64. */
export function toSecret(key: Uint8Array): string {
	return SECRET_PREFIX + Buffer.from(key).toString("base64");
}

export type Message = {
	readonly id: string;
	/** Seconds since the epoch, when it is sent: a receiver refuses what is old. */
	readonly timestamp: number;
	/** From 1; more is a repeat. */
	readonly attempt: number;
	readonly body: string;
};

export type Posting = {
	readonly url: string;
	readonly secret: string;
	/** For all of it, from the name's lookup to the last byte of the answer. */
	readonly timeoutMs: number;
	readonly signal: AbortSignal;
};

export async function post({ id, timestamp, attempt, body }: Message, posting: Posting): Promise<Outcome> {
	const { url, secret, timeoutMs, signal } = posting;
	const options = {
		method: "POST",
		headers: {
			"content-type": "application/json",
			"content-length": Buffer.byteLength(body),
			"user-agent": "hawser",
			"webhook-id": id,
			"webhook-timestamp": String(timestamp),
			"webhook-signature": `v1,${signature(secret, `${id}.${timestamp}.${body}`)}`,
			"webhook-attempt": String(attempt),
		},
		// A connection of its own: nothing of the environment, such as a proxy, has a say in where it goes.
		agent: false,
		// Whatever the environment says of that.
		rejectUnauthorized: true,
	};
	return within(timeoutMs, [signal], async (over) => {
		try {
			const send = url.startsWith("https:") ? requestHttps : requestHttp;
			const request = send(url, { ...options, signal: over });
			request.end(body);
			return judged(await statusOf(request));
		} catch (error) {
			const isLate = over.aborted && !signal.aborted;
			return { isTaken: false, status: null, reason: isLate ? tooLate(timeoutMs) : sentence(error) };
		}
	});
}

function signature(secret: string, text: string): string {
	const key = Buffer.from(secret.slice(SECRET_PREFIX.length), "base64");
	return createHmac("sha256", key).update(text).digest("base64");
}

/** The status counts as soon as it is there; the rest is read to its end, as far as that is near. */
function statusOf(request: ClientRequest): Promise<number> {
	return new Promise((resolve, reject) => {
		let status: number | undefined;
		// Also for what goes wrong later: a request without a listener would end the server.
		request.on("error", (error) => (status === undefined ? reject(error) : resolve(status)));
		// Of words before the answer there may be any number, and nobody waits for them.
		let words = 0;
		request.on("information", () => {
			if (++words > MAX_WORDS) request.destroy(new Error("it goes on saying that it will answer"));
		});
		request.on("response", (response) => {
			const answered = response.statusCode ?? 0;
			status = answered;
			let left = MAX_ANSWER_BYTES;
			response.on("data", ({ length }: Uint8Array) => {
				left -= length;
				if (left < 0) request.destroy();
			});
			response.on("error", () => {});
			response.on("close", () => resolve(answered));
		});
		// A receiver that wants to speak something else has answered, too.
		request.on("upgrade", (response, socket) => {
			socket.destroy();
			resolve(response.statusCode ?? 0);
		});
	});
}

function judged(status: number): Outcome {
	if (status >= 200 && status < 300) return { isTaken: true, status, reason: null };
	const why = status >= 300 && status < 400 ? ", and redirects are not followed" : "";
	return { isTaken: false, status, reason: `it answered ${status}${why}` };
}

function tooLate(timeoutMs: number): string {
	return `it did not answer within ${timeoutMs / 1000} s`;
}

/** Of several addresses that a name has, the first that failed says enough. */
function sentence(error: unknown): string {
	const first = error instanceof AggregateError ? (error.errors[0] as unknown) : error;
	return first instanceof Error ? `it could not be reached: ${first.message}` : "it could not be reached";
}
