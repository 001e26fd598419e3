/** The webhooks of a server: each told by a courier of its own, and in a file of its own, `ID.json`, to outlive it. */

import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../core/clock.ts";
import { SessionError } from "../core/errors.ts";
import type {
	Delivery,
	Notices,
	Outcome,
	WebhookFigures,
	WebhookRequest,
	WebhookStatus,
	Webhooks,
} from "../core/webhooks.ts";
import { JsonFile } from "../disk/json-file.ts";
import { checkedAddress } from "./address.ts";
import { type Counts, Courier, type DeliveryTimes, usualTimes } from "./courier.ts";
import { toSecret } from "./post.ts";
import { type Kept, parseRecord, toRecord } from "./record.ts";

/** Each follows all that happens, and has a connection and some hundred notices at the most. */
const MAX_WEBHOOKS = 100;
/** Of one workspace, so that it leaves some to others. */
const MAX_OF_WORKSPACE = 20;
/** What a digest of 256 bits is worth signing with. */
const SECRET_BYTES = 32;
const ID_BYTES = 6;
const NOTICE_ID_BYTES = 16;
const ENDING = ".json";

type StoredWebhooksOptions = {
	/** Nothing else is in it. */
	readonly directory: string;
	readonly clock: Clock;
	readonly randomBytes: (count: number) => Uint8Array;
	/** Hears of failing disks and our own bugs. */
	readonly report: (problem: unknown) => void;
	/** Instead of the usual ones, for tests that do not want to wait. */
	readonly times?: Partial<DeliveryTimes> | undefined;
};

type Entry = { readonly courier: Courier; readonly file: JsonFile };

export class StoredWebhooks implements Webhooks {
	readonly #options: StoredWebhooksOptions;
	/** In the order in which they were made. */
	readonly #entries = new Map<string, Entry>();
	readonly #counts: Counts = { delivered: 0, refused: 0, givenUp: 0 };
	#notices: Notices | undefined;

	private constructor(options: StoredWebhooksOptions) {
		this.#options = options;
	}

	/** Rejects with `unsupported` when a file can't be understood, rather than to lose what somebody waits for. */
	static async open(options: StoredWebhooksOptions): Promise<StoredWebhooks> {
		const { directory } = options;
		await mkdir(directory, { recursive: true, mode: 0o700 });
		const store = new StoredWebhooks(options);
		const kept: Kept[] = [];
		for (const name of await readdir(directory)) {
			// What a crash left half written ends otherwise, and was never promised to anybody.
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
		for (const { courier } of this.#entries.values()) courier.start(notices);
	}

	/** Ends what is under way. */
	async close(): Promise<void> {
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

	async add(request: WebhookRequest): Promise<{ readonly webhook: WebhookStatus; readonly secret: string }> {
		const url = checkedAddress(request);
		const notices = this.#served();
		this.#checkRoom(request.workspace);
		const { clock, randomBytes } = this.#options;
		const webhook = { ...request, url, id: this.#newId(ID_BYTES), createdAt: clock.now() };
		const secret = toSecret(randomBytes(SECRET_BYTES));
		const kept: Kept = { webhook, secret, cursor: notices.end, waiting: [], failed: [], dropped: 0 };
		const file = this.#file(webhook.id);
		// Counts at once, so that of many that come together none is too many; told of when nobody relies on what a crash would undo.
		const { courier } = this.#enter(kept, file);
		try {
			await file.write(toRecord(kept));
		} catch (error) {
			this.#entries.delete(webhook.id);
			throw new SessionError("limit_exceeded", "the webhook can't be kept: the disk does not take it", {
				cause: error,
			});
		}
		courier.start(notices);
		return { webhook: courier.status, secret };
	}

	async remove(id: string): Promise<boolean> {
		const entry = this.#entries.get(id);
		if (!entry) return false;
		this.#entries.delete(id);
		await entry.courier.stop();
		await entry.file.remove();
		return true;
	}

	async leaveWorkspace(workspace: string): Promise<readonly string[]> {
		const ids = this.list().flatMap((one) => (one.workspace === workspace ? [one.id] : []));
		for (const id of ids) await this.remove(id);
		return ids;
	}

	async test(id: string): Promise<Outcome> {
		const { courier } = this.#find(id);
		const outcome = await courier.test(this.#served().test(courier.status));
		if (outcome) return outcome;
		throw new SessionError("limit_exceeded", "this webhook is being tried already");
	}

	async failed(id: string): Promise<readonly Delivery[]> {
		return this.#find(id).courier.failed;
	}

	async retry(id: string, delivery?: string): Promise<{ readonly retried: number; readonly left: number }> {
		const answer = await this.#find(id).courier.retry(delivery);
		if (answer) return answer;
		throw new SessionError("not_found", `no notice ${JSON.stringify(delivery?.slice(0, 64))} was given up`);
	}

	#served(): Notices {
		if (this.#notices) return this.#notices;
		throw new SessionError("node_unavailable", "the server is not ready to tell anybody anything");
	}

	#find(id: string): Entry {
		const entry = this.#entries.get(id);
		if (entry) return entry;
		throw new SessionError("not_found", `there is no webhook ${JSON.stringify(id.slice(0, 64))}`);
	}

	#checkRoom(workspace: string | null): void {
		const own = this.list().filter((one) => one.workspace === workspace).length;
		if (this.#entries.size < MAX_WEBHOOKS && (workspace === null || own < MAX_OF_WORKSPACE)) return;
		const most = `there may be ${MAX_OF_WORKSPACE} webhooks of a workspace, and ${MAX_WEBHOOKS} in all`;
		throw new SessionError("limit_exceeded", most, { hint: "remove one that is not needed any more" });
	}

	#enter(kept: Kept, file: JsonFile): Entry {
		const { clock, times, report } = this.#options;
		const courier = new Courier(kept, {
			clock,
			times: { ...usualTimes, ...times },
			save: (one) => file.write(toRecord(one)),
			newId: () => `msg_${this.#newId(NOTICE_ID_BYTES)}`,
			counts: this.#counts,
			random: Math.random,
			report,
		});
		const entry = { courier, file };
		this.#entries.set(kept.webhook.id, entry);
		return entry;
	}

	#newId(bytes: number): string {
		return Buffer.from(this.#options.randomBytes(bytes)).toString("hex");
	}

	#file(id: string): JsonFile {
		// Not with the room that is kept for what must be written on a full disk: notices can wait.
		return new JsonFile(join(this.#options.directory, `${id}${ENDING}`));
	}
}
