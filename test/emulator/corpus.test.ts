/** Real programs: a terminal that reconnects at any moment shows the same as one that stayed connected. */

import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../support/native-server.ts";
import { terminalOf } from "../support/received.ts";
import { play, programs } from "../support/screen-programs.ts";
import { TestSocket } from "../support/socket-client.ts";
import { stateOf } from "../support/terminal-state.ts";

let server: TestServer;
beforeAll(async () => {
	// Clients get the screen, even if a busy machine takes long.
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

/** The final state of a terminal, without the scrollback from before the client connected. */
function shownTo({ received }: TestSocket, isResized: boolean) {
	return stateOf(terminalOf(received), { hasScrollback: false, isResized });
}
