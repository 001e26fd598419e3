import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { AuditList } from "../../../../src/api/types.ts";
import { systemClock } from "../../../../src/backends/system-clock.ts";
import { writeAtomically } from "../../../../src/disk/write-atomically.ts";
import { loadConfig } from "../../../../src/server/config.ts";
import { StoredWorkspaces } from "../../../../src/workspaces/stored-workspaces.ts";
import { AUDIENCE, hmacSigner, ISSUER } from "../../../access/jwt-signer.ts";
import { MulticaClient } from "../../../fronts/dropins/multica/support/multica-client.ts";
import { ISSUE, TASK, WORKSPACE } from "../../../fronts/dropins/multica/support/multica-server.ts";
import { operator } from "../../../support/owner.ts";
import { eventually } from "../../../support/reading.ts";
import { start } from "../../../support/server.ts";
import { temporaryDirectory } from "../../../support/temporary.ts";

/** A complete server with one task, and a JWT of a user who may work on it. */
async function serve(flags: { readonly multicaIdle?: string } = {}) {
	const stateDir = await temporaryDirectory();
	const workDir = await temporaryDirectory();
	const store = { directory: join(stateDir, "workspaces"), write: writeAtomically, clock: systemClock };
	const workspaces = await StoredWorkspaces.open(store);
	await workspaces.put(WORKSPACE, { roots: [workDir] });
	await workspaces.putTask(WORKSPACE, TASK, { workDir, issueId: ISSUE, env: { HOME: workDir } }, operator);
	const signer = hmacSigner();
	const jwtKey = join(workDir, "secret");
	await writeFile(jwtKey, signer.keyFile);
	const times = { multicaGrace: "0", multicaIdle: "30m", ...flags };
	const server = await start({ stateDir, jwtKey, jwtIssuer: ISSUER, jwtAudience: AUDIENCE, ...times });
	return { server, workDir, token: signer.sign({ sub: "alice", workspaces: { [WORKSPACE]: "manage" } }) };
}

describe("Multica in hawser serve", () => {
	it("hawser serve has the terminals of issues, as ordinary sessions", async () => {
		const { server, token } = await serve();
		const client = MulticaClient.connect(server, { headers: { cookie: `multica_auth=${token}` } });
		await client.frame("terminal.opened");
		client.type("echo $MULTICA_USER_ID-$((1+1))\n");
		await client.text(/alice-2/);
		const look = await server.request(`/v1/sessions/${client.session}`, {
			headers: { authorization: `Bearer ${token}` },
		});
		expect(await look.json()).toMatchObject({
			id: client.session,
			workspace: WORKSPACE,
			argv: ["bash", "-l"],
			durable: false,
			idleTimeoutMs: 1_800_000,
			task: TASK,
			labels: { "multica.issue": ISSUE, "multica.user": "alice" },
		});
		client.say("terminal.close", { session_id: client.session, reason: "user_requested" });
		expect((await client.frame("terminal.exit")).payload.reason).toBe("user_requested");
		expect((await client.closed).code).toBe(1000);
		expect(server.problems).toEqual([]);
	});

	it("B18: the audit records who opened a terminal, how much they typed, how it ended, and who was refused", async () => {
		const { server, token } = await serve();
		const stranger = MulticaClient.connect(server);
		await stranger.ready();
		stranger.say("auth", { token: "wrong" });
		await stranger.closed;
		const client = MulticaClient.connect(server);
		await client.auth(token);
		await client.frame("terminal.opened");
		client.type("echo hunter2\n");
		await client.text(/hunter2\r\n/);
		client.say("terminal.close", { session_id: client.session, reason: "user_requested" });
		await client.closed;
		const entries = async (query: string) => {
			const answer = await server.request(`/v1/audit?limit=1000&${query}`);
			return ((await answer.json()) as AuditList).entries;
		};
		const told = (wanted: string) => async () =>
			(await entries(`session=${client.session}`)).some(({ action }) => action === wanted);
		await eventually("the leave", told("detach"));
		await eventually("the end", told("end"));
		const done = await entries(`session=${client.session}`);
		expect(done.map(({ action }) => action)).toEqual(
			expect.arrayContaining(["open", "attach", "input", "kill", "detach", "end"]),
		);
		const by = { name: expect.stringContaining("alice"), from: "127.0.0.1", front: "multica" };
		for (const action of ["open", "attach", "input", "kill"]) {
			expect(done.find((entry) => entry.action === action)).toMatchObject({ by, workspace: WORKSPACE });
		}
		expect(done.find(({ action }) => action === "input")).toMatchObject({ bytes: 13 });
		expect(JSON.stringify(done)).not.toContain("hunter2");
		expect(await entries("action=refused")).toMatchObject([
			{ code: "unauthenticated", by: { id: null, from: "127.0.0.1", front: "multica" } },
		]);
	});

	it("R13, M19 to M21, S24: the record of a terminal starts before it can end, ends once, and states why a terminal failed to open", async () => {
		const { server, token, workDir } = await serve();
		const entries = async (action: string) => {
			const answer = await server.request(`/v1/audit?limit=1000&action=${action}`);
			return ((await answer.json()) as AuditList).entries;
		};
		await writeFile(join(workDir, ".bash_profile"), "exit 3\n");
		const client = MulticaClient.connect(server);
		await client.auth(token);
		expect((await client.frame("terminal.exit")).payload.exit_code).toBe(3);
		// R14: the terminal ends with its shell, not with its client.
		await eventually("the end", async () => (await entries("end")).length > 0);
		const [opened, ended] = [await entries("open"), await entries("end")];
		expect(opened).toMatchObject([{ session: client.session }]);
		expect(ended).toMatchObject([{ session: client.session }]);
		expect(opened[0]?.seq).toBeLessThan(ended[0]?.seq ?? 0);
		await client.closed;
		await rm(workDir, { recursive: true });
		const failing = MulticaClient.connect(server);
		await failing.auth(token);
		expect((await failing.frame("terminal.error")).payload.code).toBe("spawn_failed");
		expect(await entries("open-failed")).toHaveLength(1);
		expect(await entries("end")).toHaveLength(1);
	});

	it("M10: an idle terminal is ended, and its client gets the reason", async () => {
		const { server, token } = await serve({ multicaIdle: "1s" });
		const client = MulticaClient.connect(server);
		await client.auth(token);
		expect((await client.frame("terminal.exit")).payload.reason).toBe("idle_timeout");
	});

	it("R4: Multica timeouts are applied as configured, and zero means none", () => {
		const times = (flags: object) => {
			const { multicaGraceMs, multicaIdleMs } = loadConfig({ stateDir: "/tmp", ...flags }, {});
			return [multicaGraceMs, multicaIdleMs];
		};
		expect(times({})).toEqual([600_000, 3_600_000]);
		expect(times({ multicaGrace: "0", multicaIdle: "0" })).toEqual([0, 0]);
		expect(() => times({ multicaGrace: "soon" })).toThrow("--multica-grace: expected a duration");
	});
});
