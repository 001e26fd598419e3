import { expect, it } from "vitest";
import { Change } from "../../../src/core/async/change.ts";
import { Inbox } from "../../../src/fronts/dropins/codex-exec/request-queue.ts";
import type { RpcWire } from "../../../src/fronts/json-rpc/wire.ts";

/** A fake wire that carries nothing and records what it was asked to buffer and whether it is read. */
class IdleWire implements RpcWire {
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

it("a request counts against its connection's buffer until it is answered", async () => {
	const { wire, inbox, answer } = opened(100);
	inbox.add(request, 60);
	expect(wire.kept).toBe(60);
	await answer();
	expect(wire.kept).toBe(0);
});

it("reading stops while too many bytes are queued, not counting requests in progress", async () => {
	const { wire, inbox, answer } = opened(100);
	inbox.add(request, 200);
	inbox.add(request, 60);
	expect(wire.isPaused).toBe(false);
	inbox.add(request, 60);
	expect(wire.isPaused).toBe(true);
	await answer();
	// More than half of the limit is left.
	expect(wire.isPaused).toBe(true);
	await answer();
	expect(wire.isPaused).toBe(false);
});
