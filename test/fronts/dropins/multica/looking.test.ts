/** Several clients of one terminal: viewers and take-overs. */

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Session } from "../../../../src/core/session/session.ts";
import { numberedLines } from "../../../support/numbered-lines.ts";
import { operator } from "../../../support/owner.ts";
import { eventually } from "../../../support/reading.ts";
import { MulticaClient } from "./support/multica-client.ts";
import { ISSUE, OTHER_WORKSPACE, startMultica, WORKSPACE } from "./support/multica-server.ts";

describe("a viewer", () => {
	it("B11: a viewer sees all past and new output, types nothing, sets no size, and ends nothing", async () => {
		const server = await startMultica();
		const owner = await MulticaClient.open(server);
		owner.type("echo before-$((1+1))\n");
		await owner.text(/before-2/);
		const viewer = await server.token(`workspace:${WORKSPACE}:read`);
		const looks = [
			await MulticaClient.open(server, viewer, { query: { mode: "view" } }),
			await MulticaClient.open(server, viewer, { query: { mode: "view", attach: owner.session } }),
		];
		for (const client of looks) {
			expect(client.session).toBe(owner.session);
			await client.text(/before-2/);
			client.resize(200, 50);
			client.type("echo intruder\n");
			client.type("echo intruder\n");
			const { payload } = await client.frame("terminal.error");
			expect(payload).toMatchObject({ code: "forbidden", session_id: owner.session });
		}
		looks[0]?.say("terminal.close", { session_id: owner.session, reason: "kill it" });
		expect((await looks[0]?.closed)?.code).toBe(1000);
		owner.type("stty size; echo after-$((1+1))\n");
		const text = await looks[1]?.text(/after-2/);
		expect(text).toContain("24 80");
		expect(text).not.toContain("intruder");
		const errors = looks.map(({ frames }) => frames.filter(({ type }) => type === "terminal.error").length);
		expect(errors).toEqual([1, 1]);
		owner.type("exit 5\n");
		expect((await looks[1]?.frame("terminal.exit"))?.payload.exit_code).toBe(5);
	});

	it("B11: a viewer that is too slow is disconnected, and stalls no other client", async () => {
		const server = await startMultica();
		const owner = await MulticaClient.open(server);
		const viewer = await MulticaClient.open(server, undefined, { query: { mode: "view" } });
		viewer.socket.pause();
		await writeFile(join(server.workDir, "large"), numberedLines(16_000_000));
		owner.type("cat large; echo end-$((1+1))\n");
		await owner.until("the end", () => owner.newest.includes("end-2"));
		viewer.socket.resume();
		expect((await viewer.closed).code).toBe(1013);
		expect(viewer.frames.at(-1)?.payload.code).toBe("limit_reached");
	});

	it("B11: a viewer gets an error when the terminal is missing or not visible to it", async () => {
		const server = await startMultica();
		const token = await server.token();
		const refused = async (query: Record<string, string>) => {
			const client = MulticaClient.connect(server, { query });
			await client.auth(token);
			const { code } = await client.closed;
			return [client.frames[1]?.payload.code, code];
		};
		expect(await refused({ mode: "view" })).toEqual(["session_not_found", 1008]);
		expect(await refused({ attach: "nowhere" })).toEqual(["session_not_found", 1008]);
	});
});

describe("attaching to a terminal by its id", () => {
	it("B11: attaching by id takes the terminal over and closes the previous client", async () => {
		const server = await startMultica();
		const token = await server.token();
		const first = await MulticaClient.open(server, token);
		const pid = await first.pid();
		const second = await MulticaClient.open(server, token, { query: { attach: first.session } });
		expect((await first.closed).code).toBe(4001);
		expect(await second.pid()).toBe(pid);
		// The terminal is not free although the first client has left.
		expect((await MulticaClient.open(server, token)).session).not.toBe(first.session);
	});

	it("B11: a client of another protocol may set the size, which the Multica client sets again on its next resize", async () => {
		const server = await startMultica();
		const client = await MulticaClient.open(server);
		const session = server.sessions.get(client.session) as Session;
		const set = (cols: number) => eventually(`${cols} columns`, () => session.state.size.cols === cols);
		client.resize(100, 30);
		await set(100);
		await session.act({ kind: "resize", size: { cols: 50, rows: 10 } });
		await set(50);
		client.resize(100, 30);
		await set(100);
	});

	it("B11: a take-over requires the right to type; without it the previous client stays", async () => {
		const server = await startMultica();
		const owner = await MulticaClient.open(server);
		const reader = MulticaClient.connect(server, { query: { attach: owner.session } });
		await reader.auth(await server.token(`workspace:${WORKSPACE}:read`));
		expect((await reader.frame("terminal.error")).payload.code).toBe("forbidden");
		owner.type("echo kept-$((1+1))\n");
		await owner.text(/kept-2/);
	});

	it("B11: a terminal of another workspace is not found, for viewing or taking over, with any rights there", async () => {
		const server = await startMultica();
		await server.workspaces.put(OTHER_WORKSPACE, { roots: [] });
		await server.workspaces.putTask(OTHER_WORKSPACE, "there", { workDir: server.workDir, issueId: ISSUE }, operator);
		const token = await server.token(`workspace:${WORKSPACE}:manage`, `workspace:${OTHER_WORKSPACE}:manage`);
		const there = await MulticaClient.open(server, token, { query: { workspace_id: OTHER_WORKSPACE } });
		for (const mode of ["view", "control"]) {
			const client = MulticaClient.connect(server, { query: { attach: there.session, mode } });
			await client.auth(token);
			expect((await client.frame("terminal.error")).payload.code).toBe("session_not_found");
		}
	});
});
