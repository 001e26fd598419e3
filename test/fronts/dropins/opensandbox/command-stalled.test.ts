/** A client that stops reading for good: the program waits for a limited time, then continues. */

import { once } from "node:events";
import { connect } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { spawn } from "../../../../src/backends/spawn.ts";
import { systemClock } from "../../../../src/backends/system-clock.ts";
import { inProcess } from "../../../../src/core/session/in-process-sessions.ts";
import { eventually } from "../../../support/reading.ts";
import { startExecd } from "./support/execd-server.ts";

test("I-24: after the stall limit the command continues, and the stream ends with an error", async () => {
	const server = await startExecd({ transient: inProcess({ spawn, clock: systemClock, stallMs: 1_000 }) });
	const { port } = new URL(server.url);
	const socket = connect(Number(port), "127.0.0.1");
	onTestFinished(() => void socket.destroy());
	await once(socket, "connect");
	const body = JSON.stringify({ command: "yes 123456789 | head -c 60000000; exit 0" });
	socket.write(
		`POST /command HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
	);
	await eventually("the command", () => server.sessions.list().length > 0);
	const [session] = server.sessions.list();
	// The program stalls because the client does not read, and ends because of the limit.
	await eventually("output", async () => ((await session?.info())?.offsets.end ?? 0) > 0);
	expect(session?.state.status).toBe("running");
	const end = async () => session?.state.status === "closed";
	await eventually("the program's end", end);
	expect(session?.state.exit?.code).toBe(0);

	let tail = "";
	socket.on("data", (bytes: Buffer) => {
		tail = (tail + bytes.toString("latin1")).slice(-4096);
	});
	await once(socket, "end");
	const events = tail.split("\n\n").filter((piece) => piece.includes('"type"'));
	expect(events.at(-1)).toContain('"type":"error"');
	expect(events.at(-1)).toContain("made no progress for 1000 ms");
	expect(tail).not.toContain("execution_complete");
	expect(server.problems).toEqual([]);
});
