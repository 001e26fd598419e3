/**
 * Recognizes a repeated start by its `Idempotency-Key`, and answers it with the session that the first request created.
 *
 * The key is part of the session's spec, which is on disk for durable sessions, so a restarted server recognizes it too.
 */

import { createHash } from "node:crypto";
import { limits } from "../../api/messages.ts";
import type { Clock } from "../../core/async/clock.ts";
import { SessionError } from "../../core/errors.ts";
import type { Principal } from "../../core/policy/access.ts";
import type { SessionSpec } from "../../core/session/session-info.ts";

/** Identifies a request: digests of the caller with its key, and of the body. */
type RequestMark = NonNullable<SessionSpec["request"]>;

type RepeatsClock = Pick<Clock, "now" | "monotonic">;

type Known = {
	readonly body: string;
	/** By the monotonic clock. */
	readonly endsAt: number;
	/** The session's id. A failed start rejects and is forgotten. */
	readonly made: Promise<string>;
};

export class IdempotentStarts {
	readonly #clock: RepeatsClock;
	/** Oldest first; all are kept equally long. */
	readonly #known = new Map<string, Known>();

	/** Restores the keys of existing sessions. */
	constructor(clock: RepeatsClock, specs: readonly SessionSpec[]) {
		this.#clock = clock;
		for (const spec of specs) this.remember(spec);
	}

	/** Restores the key of an existing session. */
	remember({ id, request, createdAt }: SessionSpec): void {
		// The session was created before this server started, so only the wall clock applies.
		const age = Math.max(0, this.#clock.now() - createdAt);
		if (!request || age >= limits.idempotencyMs || this.#known.has(request.key)) return;
		void this.#add(request, limits.idempotencyMs - age, Promise.resolve(id));
	}

	/** The session that the request creates or has created. A repeat waits for the first request. */
	async once(mark: RequestMark, make: () => Promise<string>): Promise<string> {
		const known = this.#known.get(mark.key);
		if (!known || known.endsAt <= this.#clock.monotonic()) return this.#add(mark, limits.idempotencyMs, make());
		if (known.body === mark.body) return known.made;
		throw new SessionError("conflict", "idempotency-key: already used with another body", {
			hint: "use a new key for each new request",
		});
	}

	#add({ key, body }: RequestMark, forMs: number, made: Promise<string>): Promise<string> {
		const known = { body, endsAt: this.#clock.monotonic() + forMs, made };
		// Removed first, so that a replaced entry becomes the newest.
		this.#known.delete(key);
		this.#makeRoom();
		this.#known.set(key, known);
		made.catch(() => {
			// Nothing was created, so the key may be used again.
			if (this.#known.get(key) === known) this.#known.delete(key);
		});
		return made;
	}

	#makeRoom(): void {
		const now = this.#clock.monotonic();
		for (const [key, { endsAt }] of this.#known) {
			if (endsAt > now && this.#known.size < limits.idempotencyKeys) return;
			this.#known.delete(key);
		}
	}
}

/** The mark of a request; undefined without a key. Digests hide keys and bodies from other readers of the spec. */
export function markOf(
	principal: Principal,
	header: string | string[] | undefined,
	body: unknown,
): RequestMark | undefined {
	if (header === undefined) return undefined;
	const key = String(header);
	if (!/^[\x21-\x7e]{1,255}$/.test(key)) {
		throw new SessionError("invalid_argument", "idempotency-key: must be 1 to 255 visible ASCII characters", {
			hint: "use a UUID",
		});
	}
	return { key: digest(`${principal.id}\n${key}`), body: digest(canonical(body)) };
}

function digest(text: string): string {
	return createHash("sha256").update(text).digest("base64url");
}

/** JSON with sorted members, so that equal bodies have equal digests. */
function canonical(value: unknown): string {
	return JSON.stringify(value, (_key, one: unknown) =>
		typeof one === "object" && one !== null && !Array.isArray(one)
			? Object.fromEntries(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1)))
			: one,
	);
}
