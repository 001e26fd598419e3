/** Whatever is lost, acknowledged late or never, the server gets each byte and each action once and in order. */

import fc from "fast-check";
import { expect, test } from "vitest";
import { type Action, type InputChunk, Outbox } from "../../../src/client/attach/outbox.ts";

const WINDOW = 64;

/** The server's side of input: takes the next in order, and remembers its position. */
class Server {
	readonly done: string[] = [];
	next = 0;
	written = 0;

	accept(piece: InputChunk): void {
		const units = "act" in piece ? 1 : piece.bytes.byteLength;
		expect(piece.position, "a hole").toBeLessThanOrEqual(this.next);
		const isUrgent = "act" in piece && piece.act.type === "signal" && piece.act.urgent;
		if (!isUrgent)
			expect(piece.position + units - this.written, "beyond the window").toBeLessThanOrEqual(WINDOW + urgentRoom);
		if (piece.position + units <= this.next) return;
		if ("act" in piece) this.done.push(nameOf(piece.act));
		else for (const byte of piece.bytes.subarray(this.next - piece.position)) this.done.push(`${byte}`);
		this.next = piece.position + units;
	}
}

/** Urgent signals may exceed the window, one unit each. */
let urgentRoom = 0;

const nameOf = (act: Action) =>
	act.type === "resize" ? `resize ${act.cols}` : act.type === "signal" ? `signal ${act.signal}` : "eof";

type Step =
	| { kind: "write"; length: number }
	| { kind: "resize" | "urgent" | "cancel" }
	/** This many pieces are sent and arrive. */
	| { kind: "send"; pieces: number }
	/** The kernel takes this much; the receipt arrives or not. */
	| { kind: "drain"; units: number; told: boolean }
	/** Only this many of the sent pieces arrive, and then a new connection starts. */
	| { kind: "cut"; sent: number; arrived: number }
	| { kind: "rewind" };

const steps: fc.Arbitrary<Step[]> = fc.array(
	fc.oneof(
		fc.record({ kind: fc.constant("write" as const), length: fc.integer({ min: 0, max: 100 }) }),
		fc.record({ kind: fc.constantFrom("resize" as const, "urgent" as const, "cancel" as const, "rewind" as const) }),
		fc.record({ kind: fc.constant("send" as const), pieces: fc.integer({ min: 1, max: 4 }) }),
		fc.record({ kind: fc.constant("drain" as const), units: fc.integer({ min: 1, max: 80 }), told: fc.boolean() }),
		fc.record({ kind: fc.constant("cut" as const), sent: fc.nat(4), arrived: fc.nat(4) }),
	),
	{ minLength: 5, maxLength: 80, size: "max" },
);

test("every sequence of writes, actions, receipts, lost connections and rewinds delivers and settles each once", () => {
	fc.assert(
		fc.property(steps, (sequence) => {
			const outbox = new Outbox();
			const server = new Server();
			urgentRoom = 0;
			let byte = 0;
			let acts = 0;
			const wanted: string[] = [];
			const urgent: string[] = [];
			const settled = new Map<number, number>();
			let added = 0;
			let cancelled = 0;
			let last: { settle: () => void; names: string[] } | undefined;
			const add = (input: Uint8Array | Action, names: string[]) => {
				const number = added++;
				const settle = () => settled.set(number, (settled.get(number) ?? 0) + 1);
				outbox.add(input, settle);
				last = { settle, names };
			};
			const send = (pieces: number, arrived: number) => {
				for (let sent = 0; sent < pieces; sent++) {
					const piece = outbox.take();
					if (!piece) return;
					if (sent < arrived) server.accept(piece);
				}
			};
			const connect = () => outbox.open({ next: server.next, written: server.written, window: WINDOW });
			connect();
			for (const step of sequence) {
				switch (step.kind) {
					case "write": {
						const bytes = Uint8Array.from({ length: step.length }, () => byte++ % 256);
						wanted.push(...Array.from(bytes, String));
						add(bytes, Array.from(bytes, String));
						break;
					}
					case "resize": {
						const act: Action = { type: "resize", cols: ++acts, rows: 1 };
						wanted.push(nameOf(act));
						add(act, [nameOf(act)]);
						break;
					}
					case "urgent": {
						const act: Action = { type: "signal", signal: `${++acts}`, urgent: true };
						urgentRoom++;
						urgent.push(nameOf(act));
						add(act, []);
						last = undefined;
						break;
					}
					case "cancel":
						if (last && last.names.length > 0 && outbox.cancel(last.settle)) {
							wanted.splice(wanted.length - last.names.length);
							cancelled++;
						}
						last = undefined;
						break;
					case "send":
						send(step.pieces, step.pieces);
						break;
					case "drain":
						server.written = Math.min(server.next, server.written + step.units);
						if (step.told) outbox.receipt(server);
						break;
					case "cut":
						send(step.sent, step.arrived);
						outbox.close();
						expect(outbox.take()).toBeUndefined();
						connect();
						break;
					case "rewind":
						outbox.rewind(server.next);
				}
			}
			// Finish over a working connection, with a program that reads.
			server.written = server.next;
			connect();
			for (let piece = outbox.take(); piece; piece = outbox.take()) {
				server.accept(piece);
				server.written = server.next;
				outbox.receipt(server);
			}
			const isUrgent = (name: string) => name.startsWith("signal ");
			expect(server.done.filter((name) => !isUrgent(name))).toEqual(wanted);
			// Urgent signals keep their order among themselves.
			expect(server.done.filter(isUrgent).sort()).toEqual(urgent.sort());
			expect(server.next).toBe(wanted.length + urgent.length);
			expect(settled.size).toBe(added - cancelled);
			expect([...settled.values()].every((times) => times === 1)).toBe(true);
		}),
		{ numRuns: 1_000 },
	);
});

test("an urgent signal is sent despite a full window, before unsent input", () => {
	const outbox = new Outbox();
	outbox.open({ next: 0, written: 0, window: 4 });
	outbox.add(Uint8Array.of(1, 2, 3, 4, 5, 6), () => {});
	expect(outbox.take()).toMatchObject({ position: 0, bytes: Uint8Array.of(1, 2, 3, 4) });
	outbox.add({ type: "signal", signal: "SIGINT", urgent: true }, () => {});
	expect(outbox.take()).toMatchObject({ position: 4, act: { type: "signal" } });
	expect(outbox.take()).toBeUndefined();
	outbox.receipt({ written: 5 });
	expect(outbox.take()).toMatchObject({ position: 5, bytes: Uint8Array.of(5, 6) });
});

test("a refused input fails with everything after it, and its positions are reused", () => {
	const outbox = new Outbox();
	const told: unknown[] = [];
	outbox.open({ next: 0, written: 0, window: 100 });
	for (const name of ["a", "b", "c"])
		outbox.add(Uint8Array.of(1, 2, 3), (error) => told.push(error ? `no ${name}` : name));
	while (outbox.take());
	outbox.refuse(4, new Error("refused"));
	expect(told).toEqual(["no b", "no c"]);
	outbox.add(Uint8Array.of(9), () => told.push("d"));
	expect(outbox.take()).toEqual({ position: 4, bytes: Uint8Array.of(9) });
	outbox.receipt({ written: 5 });
	expect(told).toEqual(["no b", "no c", "a", "d"]);
});

test("an invalid input position of the server is an error", () => {
	const outbox = new Outbox();
	outbox.open({ next: 0, written: 0, window: 100 });
	outbox.add(Uint8Array.of(1, 2, 3), () => {});
	outbox.take();
	outbox.receipt({ written: 2 });
	expect(() => outbox.open({ next: 1, written: 1, window: 100 })).toThrow("not between 2 and 3");
	expect(() => outbox.open({ next: 4, written: 2, window: 100 })).toThrow("not between 2 and 3");
});
