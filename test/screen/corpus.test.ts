/** Real programs: a terminal that comes back at any moment is the terminal that never left. */

import { afterAll, beforeAll, expect, it } from "vitest";
import { type OpenedTerminal, openTerminal } from "../../src/screen/inside.ts";
import { startTestServer, type TestServer } from "../fronts/native/test-server.ts";
import { TestSocket } from "../fronts/native/test-socket.ts";
import { COLS, play, programs, ROWS } from "./programs.ts";
import { stateOf } from "./terminal-state.ts";

let server: TestServer;
beforeAll(async () => {
	server = await startTestServer({ memoryBytes: 8 * 1024 * 1024 });
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
	const expected = shownTo(stayed);
	for (const socket of returned) expect(shownTo(socket)).toEqual(expected);
	expect(returned.length).toBeGreaterThan(2);
	expect(returned.filter(({ received }) => received.some((one) => "kind" in one && one.kind === "screen")).length).toBe(
		returned.length,
	);
});

/** What a terminal shows at the end that was given everything that this client was. */
function shownTo({ received }: TestSocket) {
	const terminal = openTerminal({ cols: COLS, rows: ROWS, scrollback: 200 });
	// As one: a character that is cut in two is another matter.
	let waiting: Uint8Array[] = [];
	const flush = () => {
		if (waiting.length > 0) terminal.inside.writeSync(Buffer.concat(waiting));
		waiting = [];
	};
	for (const one of received) {
		if ("kind" in one) {
			if (one.kind !== "receipt") waiting.push(one.bytes);
		} else if (one.type === "resized" || (one.type === "welcome" && one.screen)) {
			flush();
			resizeTo(terminal, one.type === "resized" ? one : one.screen);
		}
	}
	flush();
	// How much was scrolled away before a client came is its own business.
	return stateOf(terminal, { hasScrollback: false });
}

function resizeTo({ terminal }: OpenedTerminal, size: { cols: number; rows: number } | undefined): void {
	if (size) terminal.resize(size.cols, size.rows);
}
