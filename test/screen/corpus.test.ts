/** Real programs: a terminal that comes back at any moment is the terminal that never left. */

import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../fronts/native/test-server.ts";
import { TestSocket } from "../fronts/native/test-socket.ts";
import { play, programs } from "./programs.ts";
import { terminalOf } from "./received.ts";
import { stateOf } from "./terminal-state.ts";

let server: TestServer;
beforeAll(async () => {
	// Whoever comes is shown the screen, however long a busy machine takes for it.
	server = await startTestServer({ memoryBytes: 8 * 1024 * 1024, socketLimits: { screenMs: 30_000 } });
});
afterAll(() => server.close());

it.each(programs)("$name", { timeout: 60_000 }, async (program) => {
	let stayed: TestSocket | undefined;
	const returned: TestSocket[] = [];
	await play(server, program, async (id) => {
		stayed ??= await TestSocket.open(server.url, id, { role: "viewer" });
		returned.push(await TestSocket.open(server.url, id, { role: "viewer", from: "screen", scrollback: 200 }));
	});
	if (!stayed) throw new Error("a program without a step");
	await Promise.all([stayed, ...returned].map((socket) => socket.closed));
	const isResized = program.steps.some(([input]) => typeof input === "object");
	const expected = shownTo(stayed, isResized);
	for (const socket of returned) expect(shownTo(socket, isResized)).toEqual(expected);
	expect(returned.length).toBeGreaterThan(2);
	expect(returned.filter(({ received }) => received.some((one) => "kind" in one && one.kind === "screen")).length).toBe(
		returned.length,
	);
});

/** What a terminal shows at the end; how much was scrolled away before a client came is its own business. */
function shownTo({ received }: TestSocket, isResized: boolean) {
	return stateOf(terminalOf(received), { hasScrollback: false, isResized });
}
