import { expect, it } from "vitest";
import { Change } from "../../../src/core/change.ts";
import { Inbox } from "../../../src/fronts/json-rpc/inbox.ts";
import type { Wire } from "../../../src/fronts/json-rpc/wire.ts";

/** A wire that carries nothing, and says what it was asked to keep and whether it is read. */
class IdleWire implements Wire {
	readonly bufferedBytes = 0;
	readonly ended: AbortSignal = new AbortController().signal;
	readonly taken: Change = new Change();
	kept = 0;
	isPaused = false;
	send(): void {}
	keep(bytes: number): void {
		this.kept += bytes;
	}
	pause(): void {
		this.isPaused = true;
	}
	resume(): void {
		this.isPaused = false;
	}
	probe(): void {}
	close(): void {}
}

const request = { kind: "request", id: "1", method: "fs/writeFile", params: {} } as const;

function opened(waitingBytes: number) {
	const wire = new IdleWire();
	const answers: (() => void)[] = [];
	const inbox = new Inbox({
		wire,
		limits: { waitingRequests: 100, waitingBytes },
		concurrency: 1,
		isReady: () => true,
		controls: new Set(),
		handle: () => new Promise((resolve) => answers.push(resolve)),
	});
	const answer = async () => {
		answers.shift()?.();
		await new Promise((resolve) => setImmediate(resolve));
	};
	return { wire, inbox, answer };
}

it("a request counts among what is kept for its connection until it is answered", async () => {
	const { wire, inbox, answer } = opened(100);
	inbox.add(request, 60);
	expect(wire.kept).toBe(60);
	await answer();
	expect(wire.kept).toBe(0);
});

it("no more is read while too much waits for its turn, which one that has begun does not", async () => {
	const { wire, inbox, answer } = opened(100);
	inbox.add(request, 200);
	inbox.add(request, 60);
	expect(wire.isPaused).toBe(false);
	inbox.add(request, 60);
	expect(wire.isPaused).toBe(true);
	await answer();
	// More than half of the bound is left.
	expect(wire.isPaused).toBe(true);
	await answer();
	expect(wire.isPaused).toBe(false);
});
