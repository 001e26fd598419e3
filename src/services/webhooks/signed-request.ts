/** Sends one signed request to a receiver (https://www.standardwebhooks.com) and reports its outcome. */

import { createHmac } from "node:crypto";
import { type ClientRequest, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import type { LookupFunction } from "node:net";
import { withDeadline } from "../../core/async/deadline.ts";
import { type Address, isLinkLocal, type Lookup, resolveTarget } from "./resolved-address.ts";
import type { DeliveryOutcome } from "./webhooks.ts";

/**
 * Bytes read of an answer, so that the receiver can finish writing. They are ignored.
 * @limit the answer of a receiver | it is cut off
 */
const MAX_ANSWER_BYTES = 64 * 1024;

/** Number of interim answers (status below 200) that a receiver may send. */
const MAX_WORDS = 16;

const SECRET_PREFIX = "whsec_";

/** The secret in the format of receivers: a prefix and the key in base64. */
export function toSecret(key: Uint8Array): string {
	return SECRET_PREFIX + Buffer.from(key).toString("base64");
}

type Message = {
	readonly id: string;
	/** Time of sending in seconds since the epoch. Receivers refuse old messages. */
	readonly timestamp: number;
	/** From 1; more means a repeat. */
	readonly attempt: number;
	readonly body: string;
};

type Posting = {
	readonly url: string;
	readonly lookup: Lookup;
	/** Whether it may send to link-local addresses and to those that serve metadata of the machine. */
	readonly allowsLinkLocal: boolean;
	/** Called with whether the address is private, before anything is sent. */
	readonly onTarget: (isPrivate: boolean) => void;
	readonly secret: string;
	/** For the whole request, from the name lookup to the last byte of the answer. */
	readonly timeoutMs: number;
	readonly signal: AbortSignal;
};

export async function post({ id, timestamp, attempt, body }: Message, posting: Posting): Promise<DeliveryOutcome> {
	const { url, secret, timeoutMs, signal, lookup, allowsLinkLocal, onTarget } = posting;
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
		// A new connection without an agent, so that no proxy from the environment applies.
		agent: false,
		// Overrides NODE_TLS_REJECT_UNAUTHORIZED.
		rejectUnauthorized: true,
	};
	return withDeadline(timeoutMs, [signal], async (over) => {
		try {
			const { addresses, isPrivate } = await unlessOver(resolveTarget(url, lookup), over);
			if (!allowsLinkLocal && addresses.some(isLinkLocal)) return { isTaken: false, status: null, reason: LINK_LOCAL };
			onTarget(isPrivate);
			const send = url.startsWith("https:") ? requestHttps : requestHttp;
			// Connects to the checked addresses, even if the name now resolves differently.
			const request = send(url, { ...options, lookup: pinned(addresses), signal: over });
			request.end(body);
			return judged(await statusOf(request));
		} catch (error) {
			const isLate = over.aborted && !signal.aborted;
			return { isTaken: false, status: null, reason: isLate ? tooLate(timeoutMs) : sentence(error) };
		}
	});
}

const LINK_LOCAL = "the receiver's address is link-local or serves metadata of the machine";

/** A name lookup can't be canceled by a signal. */
function unlessOver<T>(promise: Promise<T>, over: AbortSignal): Promise<T> {
	return new Promise((resolve, reject) => {
		const stop = () => reject(new Error("the name lookup timed out"));
		if (over.aborted) stop();
		over.addEventListener("abort", stop, { once: true });
		promise.then(resolve, reject);
	});
}

/** A lookup function that returns known addresses. */
function pinned(addresses: readonly Address[]): LookupFunction {
	return (_host, { all }, callback) => {
		const [first] = addresses;
		if (!first) callback(new Error("the name has no address"), "");
		else if (all) callback(null, [...addresses]);
		else callback(null, first.address, first.family);
	};
}

function signature(secret: string, text: string): string {
	const key = Buffer.from(secret.slice(SECRET_PREFIX.length), "base64");
	return createHmac("sha256", key).update(text).digest("base64");
}

/** Resolves with the status as soon as it arrives. The body is read up to a limit. */
function statusOf(request: ClientRequest): Promise<number> {
	return new Promise((resolve, reject) => {
		let status: number | undefined;
		// Stays for later errors: an error without a listener would end the server.
		request.on("error", (error) => (status === undefined ? reject(error) : resolve(status)));
		// A receiver may send any number of interim answers.
		let words = 0;
		request.on("information", () => {
			if (++words > MAX_WORDS) request.destroy(new Error("too many interim answers"));
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
		// A receiver that upgrades the connection has answered too.
		request.on("upgrade", (response, socket) => {
			socket.destroy();
			resolve(response.statusCode ?? 0);
		});
	});
}

function judged(status: number): DeliveryOutcome {
	if (status >= 200 && status < 300) return { isTaken: true, status, reason: null };
	const why = status >= 300 && status < 400 ? ", and redirects are not followed" : "";
	return { isTaken: false, status, reason: `the receiver answered ${status}${why}` };
}

function tooLate(timeoutMs: number): string {
	return `the receiver did not answer within ${timeoutMs / 1000} s`;
}

/** If all addresses of a name failed, the first error is reported. */
function sentence(error: unknown): string {
	const first = error instanceof AggregateError ? (error.errors[0] as unknown) : error;
	return first instanceof Error ? `could not reach the receiver: ${first.message}` : "could not reach the receiver";
}
