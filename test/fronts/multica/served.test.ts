import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../../src/backends/clock.ts";
import { writeAtomically } from "../../../src/disk/write-atomically.ts";
import { loadConfig } from "../../../src/server/config.ts";
import { StoredWorkspaces } from "../../../src/workspaces/stored-workspaces.ts";
import { AUDIENCE, hmacSigner, ISSUER } from "../../access/jwt-signer.ts";
import { temporaryDirectory } from "../../helpers/temporary.ts";
import { start } from "../../server/start.ts";
import { MulticaClient } from "./multica-client.ts";
import { ISSUE, TASK, WORKSPACE } from "./multica-server.ts";

describe("hawser serve", () => {
	it("has the terminals of issues, as sessions like any other", async () => {
		const stateDir = await temporaryDirectory();
		const workDir = await temporaryDirectory();
		const store = { directory: join(stateDir, "workspaces"), write: writeAtomically, clock: systemClock };
		const workspaces = await StoredWorkspaces.open(store);
		await workspaces.put(WORKSPACE, { roots: [workDir] });
		await workspaces.putTask(WORKSPACE, TASK, { workDir, issueId: ISSUE, env: { HOME: workDir } });
		const signer = hmacSigner();
		const jwtKey = join(workDir, "secret");
		await writeFile(jwtKey, signer.keyFile);
		const times = { multicaGrace: "0", multicaIdle: "30m" };
		const server = await start({ stateDir, jwtKey, jwtIssuer: ISSUER, jwtAudience: AUDIENCE, ...times });

		const token = signer.sign({ sub: "alice", workspaces: { [WORKSPACE]: "manage" } });
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

	it("R4: takes the times as they are given, and zero for none", () => {
		const times = (flags: object) => {
			const { multicaGraceMs, multicaIdleMs } = loadConfig({ stateDir: "/tmp", ...flags }, {});
			return [multicaGraceMs, multicaIdleMs];
		};
		expect(times({})).toEqual([600_000, 3_600_000]);
		expect(times({ multicaGrace: "0", multicaIdle: "0" })).toEqual([0, 0]);
		expect(() => times({ multicaGrace: "soon" })).toThrow("--multica-grace: expected a duration");
	});
});
