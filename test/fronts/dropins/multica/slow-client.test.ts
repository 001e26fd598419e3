/** Clients that do not read. */

import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createConnection } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Session } from "../../../../src/core/session/session.ts";
import { isAlive } from "../../../support/alive.ts";
import { numberedLines } from "../../../support/numbered-lines.ts";
import { eventually } from "../../../support/reading.ts";
import { standsStill } from "../../../support/standstill.ts";
import { MulticaClient } from "./support/multica-client.ts";
import { ISSUE, startMultica, WORKSPACE } from "./support/multica-server.ts";

describe("a client that does not read", () => {
	it("B1, W2, S9, R10: a client that stops reading stalls the program, and later gets all 50 MB", async () => {
		const server = await startMultica();
		const client = await MulticaClient.open(server);
		client.type("stty -echo -onlcr; PS1=; echo ready-$((1+1))\n");
		await client.text(/ready-2\n/);
		const whole = numberedLines(50_000_000);
		await writeFile(join(server.workDir, "large"), whole);
		client.type("exec cat large\n");
		const session = server.sessions.get(client.session) as Session;
		const { pid } = await session.info();
		for (let pause = 0; pause < 5; pause++) {
			const seen = client.frames.length;
			await client.until("more", () => client.frames.length > seen + 20);
			client.socket.pause();
			// The program is stalled with all read bytes in transit.
			const printed = async () => (await session.end()).offset;
			const isOver = () => session.state.status !== "running";
			await eventually("the program to wait", () => isOver() || standsStill(pid as number, printed));
			// The kernel's buffers grow, but at first they take far less than the whole output.
			if (pause === 0) expect(await printed()).toBeLessThan(whole.byteLength);
			client.socket.resume();
		}
		await client.frame("terminal.exit", 100_000);
		const output = client.output();
		const at = output.indexOf(whole.subarray(0, 80));
		expect(output.subarray(at, at + whole.byteLength).equals(whole)).toBe(true);
		expect(client.types.includes("terminal.gap")).toBe(false);
	}, 120_000);

	it("S15, W4: a client that does not read is disconnected after the write deadline, and its shell waits for it", async () => {
		const server = await startMultica({ times: { writeMs: 300 } });
		const token = await server.token();
		const client = await MulticaClient.open(server, token);
		client.type("echo pid=$$.; yes hawser\n");
		const pid = Number(/pid=(\d+)\./.exec(await client.text(/pid=\d+\./))?.[1]);
		client.socket.pause();
		await eventually("the client to be cut", async () => {
			const session = server.sessions.get(client.session);
			return (await session?.info())?.attachments === 0;
		});
		expect(isAlive(pid)).toBe(true);
		client.cut();
		const again = await MulticaClient.open(server, token);
		expect(again.session).toBe(client.session);
		again.type("\u0003");
		again.type("echo back-$((1+1))\n");
		await again.text(/back-2/);
	});

	it("S16, B10: a client that does not answer pings either is disconnected", async () => {
		const server = await startMultica({ times: { pingMs: 50, deadMs: 50 } });
		const tcp = createConnection(Number(new URL(server.url).port), "127.0.0.1");
		const head = [
			`GET /ws/issues/${ISSUE}/terminal?workspace_id=${WORKSPACE} HTTP/1.1`,
			"host: localhost",
			"connection: upgrade",
		];
		const cookie = `cookie: multica_auth=${await server.token()}`;
		tcp.write(
			[
				...head,
				"upgrade: websocket",
				"sec-websocket-version: 13",
				"sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==",
				cookie,
				"",
				"",
			].join("\r\n"),
		);
		tcp.resume();
		await once(tcp, "close");
	});
});
