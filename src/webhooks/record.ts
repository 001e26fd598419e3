/** A webhook as it stands on disk, with its secret, its place among the notices, and those on their way or given up. */

import { SessionError } from "../core/errors.ts";
import type { Delivery, Webhook } from "../core/webhooks.ts";

const VERSION = 1;

export type KeptDelivery = Delivery & {
	/** Of its attempts, those since it was taken up the last time, by which it is given up. */
	readonly tries: number;
};

export type Kept = {
	readonly webhook: Webhook;
	readonly secret: string;
	/** Up to where notices were taken in. */
	cursor: string;
	/** On their way, oldest first. */
	waiting: readonly KeptDelivery[];
	/** Given up, oldest first. */
	failed: readonly KeptDelivery[];
	/** How many that were given up had to make room for others. */
	dropped: number;
};

export function toRecord({ webhook, waiting, failed, ...rest }: Kept): object {
	return { version: VERSION, ...webhook, ...rest, waiting: waiting.map(written), failed: failed.map(written) };
}

function written({ kept, ...delivery }: KeptDelivery): object {
	return { ...delivery, body: kept };
}

function read(delivery: Omit<KeptDelivery, "kept">): KeptDelivery {
	return { ...delivery, kept: delivery.body };
}

/** Refuses what it does not understand: to go on without it would be to lose notices silently. */
export function parseRecord(value: unknown, id: string, path: string): Kept {
	const version = isObject(value) ? value.version : undefined;
	if (typeof version === "number" && version > VERSION) {
		throw new SessionError("unsupported", `${path} was written by a newer version (${version})`, {
			hint: "start the newer server again; nothing was changed",
		});
	}
	if (!isObject(value) || version !== VERSION) throw foreign(path, "version");
	const { url, events, workspace, labels, allowsHttp, createdAt, secret, cursor, waiting, failed, dropped } = value;
	const check = (isGood: boolean, what: string) => {
		if (!isGood) throw foreign(path, what);
	};
	check(value.id === id, "id");
	check(isText(url) && URL.canParse(url), "url");
	check(isTexts(events), "events");
	check(isTextOrNull(workspace), "workspace");
	check(isTexts(labels), "labels");
	check(typeof allowsHttp === "boolean", "allowsHttp");
	check(isCount(createdAt), "createdAt");
	check(isText(secret), "secret");
	check(isText(cursor), "cursor");
	check(isDeliveries(waiting), "waiting");
	check(isDeliveries(failed), "failed");
	check(isCount(dropped), "dropped");
	const webhook = { id, url, events, workspace, labels, allowsHttp, createdAt };
	const kept = { webhook, secret, cursor, waiting, failed, dropped } as Kept;
	return { ...kept, waiting: kept.waiting.map(read), failed: kept.failed.map(read) };
}

function foreign(path: string, what: string): SessionError {
	return new SessionError("unsupported", `${path} is not what this server wrote: its "${what}" makes no sense`, {
		hint: "put that right, or move the file away to start without this webhook",
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
