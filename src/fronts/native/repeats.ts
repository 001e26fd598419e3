/**
 * Recognises a request to start a program that was made before, by its `Idempotency-Key`, and answers it with the
 * session that it made.
 *
 * What was made under a key stands in the session's own spec, which is on disk for those that outlive the server: so
 * a server that was restarted recognises their keys as well.
 */

import { createHash } from "node:crypto";
import type { Principal } from "../../core/access.ts";
import type { Clock } from "../../core/clock.ts";
import { SessionError } from "../../core/errors.ts";
import type { SessionSpec } from "../../core/session.ts";
import { limits } from "../../protocol/messages.ts";

/** What a session was asked for with: digests of who and which key, and of the body. */
type RequestMark = NonNullable<SessionSpec["request"]>;

type RepeatsClock = Pick<Clock, "now" | "monotonic">;

type Known = {
	readonly body: string;
	/** By the monotonic clock. */
	readonly endsAt: number;
	/** The session's id; rejected, and forgotten, when none was made. */
	readonly made: Promise<string>;
};

export class Repeats {
	readonly #clock: RepeatsClock;
	/** The oldest first: all are remembered equally long. */
	readonly #known = new Map<string, Known>();

	/** With what is known of the sessions there are. */
	constructor(clock: RepeatsClock, specs: readonly SessionSpec[]) {
		this.#clock = clock;
		for (const spec of specs) this.remember(spec);
	}

	/** A session that was found, and may have been asked for with a key. */
	remember({ id, request, createdAt }: SessionSpec): void {
		// Only the wall clock was there before us.
		const age = Math.max(0, this.#clock.now() - createdAt);
		if (!request || age >= limits.idempotencyMs || this.#known.has(request.key)) return;
		void this.#add(request, limits.idempotencyMs - age, Promise.resolve(id));
	}

	/** The session that the request makes, or has made: whoever repeats it meanwhile waits for the first. */
	async once(mark: RequestMark, make: () => Promise<string>): Promise<string> {
		const known = this.#known.get(mark.key);
		if (!known || known.endsAt <= this.#clock.monotonic()) return this.#add(mark, limits.idempotencyMs, make());
		if (known.body === mark.body) return known.made;
		throw new SessionError("conflict", "idempotency-key: was used before, with another body", {
			hint: "a key stands for one request; use a new one for another",
		});
	}

	#add({ key, body }: RequestMark, forMs: number, made: Promise<string>): Promise<string> {
		const known = { body, endsAt: this.#clock.monotonic() + forMs, made };
		// Also one that is over: it is the newest now.
		this.#known.delete(key);
		this.#makeRoom();
		this.#known.set(key, known);
		made.catch(() => {
			// Nothing was made, so that it may be tried again.
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

/** The mark of a request; undefined without a key. Digests, because neither a key nor a body is anybody else's to read. */
export function markOf(
	principal: Principal,
	header: string | string[] | undefined,
	body: unknown,
): RequestMark | undefined {
	if (header === undefined) return undefined;
	const key = String(header);
	if (!/^[\x21-\x7e]{1,255}$/.test(key)) {
		throw new SessionError("invalid_argument", "idempotency-key: must be 1 to 255 visible ASCII characters", {
			hint: "a UUID is good",
		});
	}
	return { key: digest(`${principal.id}\n${key}`), body: digest(canonical(body)) };
}

function digest(text: string): string {
	return createHash("sha256").update(text).digest("base64url");
}

/** JSON whose members are in order: what says the same is the same. */
function canonical(value: unknown): string {
	return JSON.stringify(value, (_key, one: unknown) =>
		typeof one === "object" && one !== null && !Array.isArray(one)
			? Object.fromEntries(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1)))
			: one,
	);
}
