/** A webhook as stored on disk: its secret, its cursor in the feed, and its pending and failed notices. */

import { SessionError } from "../../core/errors.ts";
import type { Delivery, Webhook } from "./webhooks.ts";

const VERSION = 1;

export type KeptDelivery = Delivery & {
	/** Attempts since it was last queued. After too many, it counts as failed. */
	readonly tries: number;
};

export type StoredWebhook = {
	webhook: Webhook;
	readonly secret: string;
	/** Cursor up to which events were processed. */
	cursor: string;
	/** Pending notices, oldest first. */
	waiting: readonly KeptDelivery[];
	/** Failed notices, oldest first. */
	failed: readonly KeptDelivery[];
	/** Number of failed notices that were dropped for newer ones. */
	dropped: number;
	/** When its owner's credentials ended; null while it is active. */
	stoppedAt: number | null;
	/** Whether an attempt went to a private address. */
	wasPrivate: boolean;
};

export function toRecord({ webhook, waiting, failed, ...rest }: StoredWebhook): object {
	return { version: VERSION, ...webhook, ...rest, waiting: waiting.map(written), failed: failed.map(written) };
}

function written({ kept, ...delivery }: KeptDelivery): object {
	return { ...delivery, body: kept };
}

function read(delivery: Omit<KeptDelivery, "kept">): KeptDelivery {
	return { ...delivery, kept: delivery.body };
}

/** Throws for an unknown format: ignoring it would silently lose notices. */
export function parseRecord(value: unknown, id: string, path: string): StoredWebhook {
	const version = isObject(value) ? value.version : undefined;
	if (typeof version === "number" && version > VERSION) {
		throw new SessionError("unsupported", `${path} was written by a newer version (${version})`, {
			hint: "start the newer server again; the file was not changed",
		});
	}
	if (!isObject(value) || version !== VERSION) throw foreign(path, "version");
	const { url, events, workspace, labels, allowsHttp, createdAt, secret, cursor, waiting, failed, dropped } = value;
	const { owner = null, stoppedAt = null, wasPrivate = false } = value;
	const check = (isGood: boolean, what: string) => {
		if (!isGood) throw foreign(path, what);
	};
	check(value.id === id, "id");
	check(isText(url) && URL.canParse(url), "url");
	check(isTexts(events), "events");
	check(isTextOrNull(workspace), "workspace");
	check(isTexts(labels), "labels");
	check(typeof allowsHttp === "boolean", "allowsHttp");
	check(isTextOrNull(owner), "owner");
	check(isCount(createdAt), "createdAt");
	check(stoppedAt === null || isCount(stoppedAt), "stoppedAt");
	check(typeof wasPrivate === "boolean", "wasPrivate");
	check(isText(secret), "secret");
	check(isText(cursor), "cursor");
	check(isDeliveries(waiting), "waiting");
	check(isDeliveries(failed), "failed");
	check(isCount(dropped), "dropped");
	const webhook = { id, url, events, workspace, labels, allowsHttp, owner, createdAt };
	const kept = { webhook, secret, cursor, waiting, failed, dropped, stoppedAt, wasPrivate } as StoredWebhook;
	return { ...kept, waiting: kept.waiting.map(read), failed: kept.failed.map(read) };
}

function foreign(path: string, what: string): SessionError {
	return new SessionError("unsupported", `${path} is invalid: unexpected value of "${what}"`, {
		hint: "correct the file, or move it away to start without this webhook",
	});
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}

const isText = (value: unknown): value is string => typeof value === "string";
const isTextOrNull = (value: unknown): boolean => value === null || isText(value);
const isTexts = (value: unknown): boolean => Array.isArray(value) && value.every(isText);
const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;
const isDeliveries = (value: unknown): boolean => Array.isArray(value) && value.every(isDelivery);

function isDelivery(value: unknown): boolean {
	if (!isObject(value)) return false;
	const { id, session, body, attempts, tries, reason } = value;
	return [id, body].every(isText) && [session, reason].every(isTextOrNull) && [attempts, tries].every(isCount);
}
