/** The webhooks of a server. Each has its own sender and its own file, `ID.json`, which survives restarts. */

import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../core/async/clock.ts";
import { SessionError } from "../../core/errors.ts";
import { JsonFile } from "../../disk/json-file.ts";
import { makePrivateDirectory } from "../../disk/private-directory.ts";
import { usualLookup } from "./resolved-address.ts";
import { toSecret } from "./signed-request.ts";
import { parseRecord, type StoredWebhook, toRecord } from "./webhook-record.ts";
import { type Counts, type DeliveryTimes, usualTimes, WebhookSender } from "./webhook-sender.ts";
import { checkedAddress } from "./webhook-url.ts";
import type {
	Delivery,
	DeliveryOutcome,
	Notices,
	WebhookFigures,
	WebhookOwner,
	WebhookRequest,
	WebhookStatus,
	Webhooks,
} from "./webhooks.ts";

export const webhookLimits = {
	/**
	 * Each webhook follows the feed, and has one connection and a few hundred notices at most.
	 * @limit webhooks | the one that stopped first makes room; without one, `limit_exceeded`
	 */
	all: 100,
	/**
	 * Webhooks of one workspace, so that other workspaces get some too.
	 * @limit webhooks of one workspace | the same
	 */
	ofWorkspace: 20,
} as const;
/** As many bits as the digest of the signature. */
const SECRET_BYTES = 32;
const ID_BYTES = 6;
const NOTICE_ID_BYTES = 16;
const ENDING = ".json";

type StoredWebhooksOptions = {
	/** Contains nothing else. */
	readonly directory: string;
	readonly clock: Clock;
	readonly randomBytes: (count: number) => Uint8Array;
	/** Aborts when the credentials of the principal with this id end; undefined if there is no such principal. */
	readonly revocationOf: (owner: string) => AbortSignal | undefined;
	/** Called when the credential of a webhook's owner has ended, and when a stopped webhook made room for another. */
	readonly onEnd: (action: "webhook-stopped" | "webhook-removed", webhook: WebhookStatus) => void;
	/** Whether webhooks may send to link-local addresses and to those that serve metadata of the machine. */
	readonly allowsLinkLocal: boolean;
	/** Reports disk failures and internal errors. */
	readonly report: (problem: unknown) => void;
	/** Shorter times for tests. */
	readonly times?: Partial<DeliveryTimes> | undefined;
};

type Entry = {
	readonly kept: StoredWebhook;
	readonly courier: WebhookSender;
	readonly file: JsonFile;
	/** Stops waiting for the end of the owner's credentials. */
	readonly left: AbortController;
};

export class StoredWebhooks implements Webhooks {
	readonly #options: StoredWebhooksOptions;
	/** In order of creation. */
	readonly #entries = new Map<string, Entry>();
	readonly #counts: Counts = { delivered: 0, refused: 0, givenUp: 0 };
	#notices: Notices | undefined;

	private constructor(options: StoredWebhooksOptions) {
		this.#options = options;
	}

	/** Rejects with `unsupported` if a file can't be parsed, rather than losing its notices. */
	static async open(options: StoredWebhooksOptions): Promise<StoredWebhooks> {
		const { directory } = options;
		await makePrivateDirectory(directory);
		const store = new StoredWebhooks(options);
		const kept: StoredWebhook[] = [];
		for (const name of await readdir(directory)) {
			// A file that was not written completely before a crash has another suffix. Its webhook was never confirmed.
			if (!name.endsWith(ENDING)) continue;
			const id = name.slice(0, -ENDING.length);
			kept.push(parseRecord(await store.#file(id).read(), id, join(directory, name)));
		}
		for (const one of kept.sort((a, b) => a.webhook.createdAt - b.webhook.createdAt)) {
			store.#enter(one, store.#file(one.webhook.id));
		}
		return store;
	}

	serve(notices: Notices): void {
		this.#notices = notices;
		for (const entry of [...this.#entries.values()]) {
			const { webhook, stoppedAt } = entry.kept;
			if (stoppedAt === null) this.#begin(entry, notices, webhook.owner);
		}
	}

	/** Cancels what is in progress. */
	async close(): Promise<void> {
		for (const { left } of this.#entries.values()) left.abort();
		await Promise.all([...this.#entries.values()].map(({ courier }) => courier.close()));
	}

	get figures(): WebhookFigures {
		const waiting = this.list().reduce((sum, one) => sum + one.waiting, 0);
		return { ...this.#counts, waiting };
	}

	list(): readonly WebhookStatus[] {
		return [...this.#entries.values()].map(({ courier }) => courier.status);
	}

	get(id: string): WebhookStatus | undefined {
		return this.#entries.get(id)?.courier.status;
	}

	async add(
		request: WebhookRequest,
		owner: WebhookOwner,
	): Promise<{ readonly webhook: WebhookStatus; readonly secret: string }> {
		const url = checkedAddress(request, this.#options.allowsLinkLocal);
		const notices = this.#served();
		const madeRoom = this.#makeRoom(request.workspace);
		const { clock, randomBytes } = this.#options;
		const webhook = { ...request, url, id: this.#newId(ID_BYTES), owner: owner.id, createdAt: clock.now() };
		const secret = toSecret(randomBytes(SECRET_BYTES));
		const place = { cursor: notices.end, waiting: [], failed: [], dropped: 0 };
		const kept: StoredWebhook = { webhook, secret, ...place, stoppedAt: null, wasPrivate: false };
		const file = this.#file(webhook.id);
		// Entered at once, so that simultaneous requests can't exceed the limit. Confirmed only once it is on disk.
		const entry = this.#enter(kept, file);
		try {
			await madeRoom;
			await file.write(toRecord(kept));
		} catch (error) {
			this.#entries.delete(webhook.id);
			throw error;
		}
		this.#begin(entry, notices, owner);
		return { webhook: entry.courier.status, secret };
	}

	async adopt(id: string, owner: WebhookOwner): Promise<WebhookStatus> {
		const { kept, courier, file, left } = this.#find(id);
		const notices = this.#served();
		left.abort();
		// The new sender continues where this one stops.
		await courier.stop();
		if (this.#entries.get(id)?.courier !== courier) throw changedMeanwhileError();
		kept.webhook = { ...kept.webhook, owner: owner.id };
		kept.stoppedAt = null;
		const entry = this.#enter(kept, file);
		this.#begin(entry, notices, owner);
		try {
			await file.write(toRecord(kept));
		} catch (error) {
			throw new SessionError("limit_exceeded", "the webhook was adopted, but the change could not be written to disk", {
				hint: "free disk space and adopt it again; otherwise a restart of the server undoes it",
				cause: error,
			});
		}
		return entry.courier.status;
	}

	async remove(id: string): Promise<boolean> {
		const entry = this.#entries.get(id);
		if (!entry) return false;
		this.#entries.delete(id);
		entry.left.abort();
		await entry.courier.stop();
		await entry.file.remove();
		return true;
	}

	async leaveWorkspace(workspace: string): Promise<readonly string[]> {
		const ids = this.list().flatMap((one) => (one.workspace === workspace ? [one.id] : []));
		for (const id of ids) await this.remove(id);
		return ids;
	}

	async test(id: string, hidesPrivate: boolean): Promise<DeliveryOutcome | "private"> {
		const { courier } = this.#findTold(id);
		const outcome = await courier.test(this.#served().test(courier.status), hidesPrivate);
		if (outcome) return outcome;
		throw new SessionError("limit_exceeded", "a test of this webhook is already in progress");
	}

	async failed(id: string): Promise<readonly Delivery[]> {
		return this.#find(id).courier.failed;
	}

	async retry(id: string, delivery?: string): Promise<{ readonly retried: number; readonly left: number }> {
		const answer = await this.#findTold(id).courier.retry(delivery);
		if (answer) return answer;
		throw new SessionError("not_found", `there is no failed notice ${JSON.stringify(delivery?.slice(0, 64))}`);
	}

	#served(): Notices {
		if (this.#notices) return this.#notices;
		throw new SessionError("node_unavailable", "the server is not ready to send notices");
	}

	#find(id: string): Entry {
		const entry = this.#entries.get(id);
		if (entry) return entry;
		throw new SessionError("not_found", `there is no webhook ${JSON.stringify(id.slice(0, 64))}`);
	}

	#findTold(id: string): Entry {
		const entry = this.#find(id);
		if (entry.kept.stoppedAt === null) return entry;
		throw new SessionError("conflict", "the webhook has stopped because its owner's token was revoked or has expired", {
			hint: "the operator can adopt it, or remove it",
		});
	}

	/** Starts sending until the owner's credentials end; not at all if they have ended. */
	#begin(entry: Entry, notices: Notices, owner: WebhookOwner | string | null): void {
		const { clock, onEnd, report, revocationOf } = this.#options;
		const { kept, courier, left } = entry;
		const stop = () => {
			kept.stoppedAt = clock.now();
			onEnd("webhook-stopped", courier.status);
			courier.close().catch((error: unknown) => report(error));
		};
		const revoked = typeof owner === "string" ? (revocationOf(owner) ?? AbortSignal.abort()) : owner?.revoked;
		if (revoked?.aborted) stop();
		else courier.start(notices);
		revoked?.addEventListener("abort", stop, { once: true, signal: left.signal });
	}

	/** Removes stopped webhooks, the one that stopped first, if a limit is reached. */
	#makeRoom(workspace: string | null): Promise<unknown> {
		const isOwn = (one: WebhookStatus) => one.workspace === workspace;
		const isOwnFull = workspace !== null && this.list().filter(isOwn).length >= webhookLimits.ofWorkspace;
		if (this.#entries.size < webhookLimits.all && !isOwnFull) return Promise.resolve();
		const stopped = this.list().filter((one) => one.stoppedAt !== null && (!isOwnFull || isOwn(one)));
		const [oldest] = stopped.sort((one, other) => Number(one.stoppedAt) - Number(other.stoppedAt));
		if (oldest) {
			this.#options.onEnd("webhook-removed", oldest);
			return this.remove(oldest.id);
		}
		const most = `too many webhooks (limit ${webhookLimits.ofWorkspace} per workspace, ${webhookLimits.all} in total)`;
		throw new SessionError("limit_exceeded", most, { hint: "remove one that is no longer needed" });
	}

	#enter(kept: StoredWebhook, file: JsonFile): Entry {
		const { clock, times, allowsLinkLocal, report } = this.#options;
		const courier = new WebhookSender(kept, {
			clock,
			times: { ...usualTimes, ...times },
			save: (one) => file.write(toRecord(one)),
			newId: () => `msg_${this.#newId(NOTICE_ID_BYTES)}`,
			counts: this.#counts,
			lookup: usualLookup,
			allowsLinkLocal,
			random: Math.random,
			report,
		});
		const entry = { kept, courier, file, left: new AbortController() };
		this.#entries.set(kept.webhook.id, entry);
		return entry;
	}

	#newId(bytes: number): string {
		return Buffer.from(this.#options.randomBytes(bytes)).toString("hex");
	}

	#file(id: string): JsonFile {
		// Does not use the reserved disk space: notices can wait.
		return new JsonFile(join(this.#options.directory, `${id}${ENDING}`));
	}
}

function changedMeanwhileError(): SessionError {
	return new SessionError("conflict", "the webhook was removed or adopted by another caller meanwhile");
}
