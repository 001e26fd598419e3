/**
 * However a program's output is split, held and mixed with other events, its log has no secret and loses nothing else.
 */

import fc from "fast-check";
import { expect, test } from "vitest";
import type { Fact } from "../../../src/core/log/event.ts";
import { SecretMasker } from "../../../src/core/secrets/masks.ts";
import { MaskedOutput } from "../../../src/core/secrets/output-mask.ts";
import { FakeClock } from "../../support/fake-clock.ts";

/** They overlap each other and themselves. */
const SECRETS = ["hunter-two", "hunter-two-more", "two-more-text", "abcabcab", "x1y2z3"];
/** A shorter beginning may be shown when no more comes in time. */
const shownAtMost = (secret: string) => Math.max(6, secret.length / 2) - 1;
const HELD_MS = 50;

const words = [
	...SECRETS,
	...SECRETS.map((secret) => secret.slice(0, 4)),
	"hunter-",
	"two-",
	"abcabc",
	"\r\n",
	" ",
	"plain",
];
const text = fc.array(fc.constantFrom(...words), { minLength: 1, maxLength: 12 }).map((parts) => parts.join(""));

type Step =
	| { readonly do: "write"; readonly text: string }
	| { readonly do: "read"; readonly bytes: number }
	| { readonly do: "resize" | "pause" | "resume" | "exit" }
	| { readonly do: "wait"; readonly ms: number };
const step: fc.Arbitrary<Step> = fc.oneof(
	{ weight: 3, arbitrary: fc.record({ do: fc.constant("write" as const), text }) },
	{ weight: 6, arbitrary: fc.record({ do: fc.constant("read" as const), bytes: fc.integer({ min: 1, max: 30 }) }) },
	{ weight: 3, arbitrary: fc.record({ do: fc.constantFrom("resize" as const, "pause" as const, "resume" as const) }) },
	{ weight: 1, arbitrary: fc.constant({ do: "exit" as const }) },
	{ weight: 3, arbitrary: fc.record({ do: fc.constant("wait" as const), ms: fc.integer({ min: 1, max: 120 }) }) },
);

type Reported = { readonly fact: Fact; readonly offset: number };

/** A program whose output waits in a kernel until it is read. */
class World {
	readonly clock = new FakeClock();
	readonly reported: Reported[] = [];
	written = "";
	#read = 0;
	#cols = 1;
	isPaused = false;
	hasExited = false;
	/** Whether held bytes may have been released before their time. */
	hasWaited = false;
	/** The events before they passed through the masks. */
	readonly given: Reported[] = [];
	readonly masked = new MaskedOutput({
		clock: this.clock,
		onFact: (fact) => {
			this.reported.push({ fact, offset: this.shown.length });
			if (fact.kind === "output") this.shown += Buffer.from(fact.bytes).toString("latin1");
		},
		catchUp: () => this.read(Number.POSITIVE_INFINITY),
	});
	shown = "";

	constructor(secrets: readonly string[]) {
		for (const secret of secrets) this.masked.mask(Buffer.from(secret));
	}

	read(bytes: number): void {
		const part = this.written.slice(this.#read, this.#read + bytes);
		if (this.isPaused || part === "") return;
		this.#read += part.length;
		this.masked.report({ kind: "output", stream: "pty", bytes: Buffer.from(part) });
	}

	report(fact: Fact): void {
		this.given.push({ fact, offset: this.#read });
		this.masked.report(fact);
	}

	do(step: Step): void {
		const before = this.shown.length;
		switch (step.do) {
			case "write":
				this.written += step.text;
				break;
			case "read":
				this.read(step.bytes);
				break;
			case "resize":
				this.report({ kind: "resized", size: { cols: this.#cols++, rows: 24 } });
				break;
			case "exit":
				if (!this.hasExited) this.report({ kind: "exited", exit: { code: 0, signal: null } });
				this.hasExited = true;
				break;
			case "pause":
				this.isPaused = true;
				this.masked.pause();
				break;
			case "resume":
				this.isPaused = false;
				this.masked.resume();
				break;
			case "wait":
				if (!this.isPaused) this.hasWaited = true;
				this.clock.advance(step.ms);
		}
		if (step.do === "resize" || step.do === "exit" || step.do === "pause" || this.isPaused)
			expect({ step: step.do, released: this.shown.length - before }).toEqual({ step: step.do, released: 0 });
	}

	end(): void {
		this.do({ do: "resume" });
		this.read(Number.POSITIVE_INFINITY);
		this.do({ do: "exit" });
		this.report({ kind: "closed" });
	}
}

function placesOf(text: string, part: string): number[] {
	return [...text.matchAll(new RegExp(`(?=${part})`, "g"))].map(({ index }) => index);
}

/** Line ends are not part of a secret, except empty lines: the position of each other character. */
function withoutLineEnds(text: string): { readonly text: string; readonly at: number[] } {
	let ends = 0;
	const isKept = (letter: string) => {
		ends = letter === "\r" || letter === "\n" ? ends + 1 : 4;
		if (ends < 4) return false;
		ends = 0;
		return true;
	};
	const at = [...text].flatMap((letter, index) => (isKept(letter) ? [index] : []));
	return { text: at.map((index) => text[index]).join(""), at };
}

test("no reader gets a secret, and except for masks no byte is lost and no event out of order", () => {
	fc.assert(
		fc.property(fc.subarray(SECRETS, { minLength: 1 }), fc.array(step, { maxLength: 60 }), (secrets, steps) => {
			const world = new World(secrets);
			for (const each of steps) world.do(each);
			world.end();

			const { written, shown } = world;
			expect(shown.length).toBe(written.length);
			const changed = [...shown].filter((letter, index) => letter !== written[index]);
			expect(changed.every((letter) => letter === "*")).toBe(true);

			const { text, at } = withoutLineEnds(written);
			for (const secret of secrets) {
				for (const from of placesOf(text, secret)) {
					const letters = [...secret].map((_, index) => shown[at[from + index] ?? 0]);
					const inTheClear = letters.indexOf("*");
					expect(letters.slice(inTheClear).every((letter) => letter === "*")).toBe(true);
					expect(inTheClear).toBeGreaterThanOrEqual(0);
					expect(inTheClear).toBeLessThanOrEqual(shownAtMost(secret));
					if (!world.hasWaited) expect(inTheClear).toBe(0);
				}
			}
			if (!world.hasWaited) {
				const masks = new SecretMasker();
				for (const secret of secrets) masks.add(Buffer.from(secret));
				const whole = Buffer.concat([masks.take(Buffer.from(written)), masks.release()]).toString();
				expect(shown).toBe(whole);
			}

			const events = world.reported.filter(({ fact }) => fact.kind !== "output");
			// Each event keeps its position. The last of several sizes at one offset may stand for all.
			const expected = world.given.filter(
				({ fact, offset }, index) =>
					events.some((event) => event.fact === fact) ||
					fact.kind !== "resized" ||
					world.given[index + 1]?.fact.kind !== "resized" ||
					world.given[index + 1]?.offset !== offset,
			);
			expect(events).toEqual(expected);
			expect(events.at(-1)?.fact.kind).toBe("closed");
			expect(world.clock.pending).toBe(0);
		}),
		{ numRuns: 300 },
	);
});

function world(...secrets: string[]): World {
	return new World(secrets);
}

const read = (world: World, text: string) => {
	world.do({ do: "write", text });
	world.do({ do: "read", bytes: text.length });
};

test("a resize waits behind the held beginning of a secret, and releases nothing", () => {
	const one = world("hunter-two");
	read(one, "<hunter");
	one.do({ do: "resize" });
	expect(one.shown).toBe("<");
	expect(one.reported).toHaveLength(1);
	read(one, "-two>");
	expect(one.shown).toBe("<**********>");
	expect(one.reported.map(({ fact, offset }) => [fact.kind, offset])).toEqual([
		["output", 0],
		["output", 1],
		["resized", 7],
		["output", 7],
	]);
});

test("while the output is not read, no time passes for held bytes", () => {
	const one = world("hunter-two");
	read(one, "<hun");
	one.do({ do: "pause" });
	one.do({ do: "wait", ms: 10_000 });
	expect(one.shown).toBe("<");
	one.do({ do: "resume" });
	one.do({ do: "wait", ms: HELD_MS - 1 });
	expect(one.shown).toBe("<");
	one.do({ do: "wait", ms: 1 });
	expect(one.shown).toBe("<hun");
});

test("bytes in the kernel at the deadline count as arrived in time", () => {
	const one = world("hunter-two");
	read(one, "<hu");
	one.do({ do: "write", text: "nt" });
	one.do({ do: "wait", ms: HELD_MS });
	expect(one.shown).toBe("<");
	one.do({ do: "write", text: "er-two>" });
	one.do({ do: "wait", ms: HELD_MS });
	expect(one.shown).toBe("<**********>");
});

test("the rest of a secret whose beginning was released is masked, however long ago that was", () => {
	const one = world("hunter-two");
	read(one, "<hun");
	one.do({ do: "wait", ms: 60_000 });
	expect(one.shown).toBe("<hun");
	read(one, "ter-two>");
	expect(one.shown).toBe("<hun*******>");
});

test("a beginning of half a secret or more is masked when no more comes in time, or when the session ends", () => {
	const one = world("hunter-two");
	read(one, "<hunter");
	one.do({ do: "wait", ms: HELD_MS });
	expect(one.shown).toBe("<******");
	read(one, "s> <hunter-");
	one.end();
	expect(one.shown).toBe("<******s> <*******");
});

test("a program that writes a secret letter by letter shows less than half of it", () => {
	const one = world("correct-horse-battery");
	for (const letter of "correct-horse-battery!") {
		read(one, letter);
		one.do({ do: "wait", ms: 1_000 });
	}
	expect(one.shown).toBe(`correct-ho${"*".repeat(11)}!`);
});

test("consecutive sizes merge while they wait, so that few can wait", () => {
	const one = world("hunter-two");
	read(one, "<hun");
	for (let count = 0; count < 10_000; count++) one.do({ do: "resize" });
	one.end();
	const sizes = one.reported.flatMap(({ fact }) => (fact.kind === "resized" ? [fact.size.cols] : []));
	expect(sizes).toEqual([10_000]);
});
