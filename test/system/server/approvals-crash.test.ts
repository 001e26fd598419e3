/** Held actions of a server in its own process: with keepers and with crashes. */

import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { connect } from "../../../src/client/index.ts";
import { readRecord } from "../../../src/keeper/link/session-record.ts";
import { PtyClient } from "../../fronts/dropins/opensandbox/support/pty-client.ts";
import { isAlive } from "../../support/alive.ts";
import { CrashingServer } from "../../support/crashing-server.ts";
import { eventually } from "../../support/reading.ts";
import { temporaryDirectory } from "../../support/temporary.ts";
import { pendingApproval, refused } from "../support/held.ts";

it("a PTY or bash session of OpenSandbox stays known until its deletion is approved, then goes with its program; refused input is reported", async () => {
	// PTYs run in keepers, which only the complete server has.
	const crashing = new CrashingServer(await temporaryDirectory());
	await crashing.start();
	onTestFinished(() => crashing.killAll());
	const operator = connect({ url: crashing.url, token: await crashing.token() });
	const gate = { match: ["held back"], stops: true };
	const { token } = await operator.tokens.create({ scopes: ["workspace:default:manage"], gate });
	const url = `${crashing.url}/opensandbox`;
	const headers = { "x-execd-access-token": token };
	const ask = async (path: string, method: string, body?: object) => {
		const init = { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) };
		const response = await fetch(`${url}${path}`, init);
		return { status: response.status, text: await response.text() };
	};
	const made = async (path: string, body: object) => {
		const { session_id: id } = JSON.parse((await ask(path, "POST", body)).text) as { session_id: string };
		return id;
	};
	const directory = await temporaryDirectory();
	const program = (name: string) => `echo $$ > ${directory}/${name}; exec sleep 1006`;
	const pty = await made("/pty", { command: program("pty") });
	const holder = await PtyClient.open({ url }, pty, "", { headers });
	onTestFinished(() => holder.socket.terminate());
	holder.type("held back\r");
	await operator.approvals.decide((await pendingApproval(operator)).id, { decision: "deny" });
	expect(await holder.message("error")).toMatchObject({
		code: "STDIN_WRITE_FAILED",
		error: expect.stringContaining("denied by admin"),
	});
	const bash = await made("/session", {});
	void ask(`/session/${bash}/run`, "POST", { command: program("session") }).catch(() => {});
	for (const [kind, id] of Object.entries({ pty, session: bash })) {
		const path = `/${kind}/${id}`;
		const pid = await eventually("the program", async () => {
			return Number(await readFile(join(directory, kind), "utf8").catch(() => "")) || undefined;
		});
		const denied = ask(path, "DELETE");
		const held = await pendingApproval(operator);
		expect((await ask(path, "GET")).status).toBe(200);
		await operator.approvals.decide(held.id, { decision: "deny" });
		expect(await denied).toMatchObject({ status: 403, text: expect.stringContaining("denied by admin") });
		expect([(await ask(path, "GET")).status, isAlive(pid)]).toEqual([200, true]);
		const approved = ask(path, "DELETE");
		await operator.approvals.decide((await pendingApproval(operator)).id, { decision: "grant" });
		expect((await approved).status).toBe(200);
		expect((await ask(path, "GET")).status).toBe(404);
		await eventually("the end of the program", () => !isAlive(pid));
	}
});

describe("a held action and a crash", () => {
	async function held() {
		const crashing = new CrashingServer(await temporaryDirectory());
		await crashing.start();
		onTestFinished(() => crashing.killAll());
		// Removed before its shell, which writes its history there when it ends.
		const home = await temporaryDirectory();
		const operator = connect({ url: crashing.url, token: await crashing.token() });
		const made = await operator.tokens.create({ scopes: ["workspace:default:manage"], gate: { match: ["touch"] } });
		const session = await operator.sessions.create({ argv: ["bash"], cwd: home, env: { HOME: home } });
		const asking = connect({ url: crashing.url, token: made.token }).sessions.at(session.id);
		await asking.write("true; ");
		const writing = asking.write(`touch ${home}/made\r`);
		writing.catch(() => {});
		const { id } = await pendingApproval(operator, session.id);
		return { home, crashing, operator, session, asking, writing, id };
	}

	it("a held action is never executed after kill -9 of the server", async () => {
		const { home, crashing, operator, session, asking, writing, id } = await held();
		await crashing.kill();
		await expect(writing).rejects.toThrow();
		await crashing.start();
		await expect(operator.approvals.decide(id, { decision: "grant" })).rejects.toMatchObject({ code: "not_found" });
		expect(await operator.approvals.list()).toEqual([]);
		// The line's earlier content is not known any more.
		const ending = asking.write("ls\r");
		ending.catch(() => {});
		const unknown = await pendingApproval(operator, session.id);
		expect(unknown.reason).toBe("unreadable");
		await operator.approvals.decide(unknown.id, { decision: "deny" });
		await expect(ending).rejects.toMatchObject(refused);
		await session.write("\r");
		await eventually("the shell", async () => (await session.exec("echo alive")).text.includes("alive"));
		expect(existsSync(join(home, "made"))).toBe(false);
	});

	it("a held action is never executed after kill -9 of the keeper", async () => {
		const { home, crashing, operator, session, writing, id } = await held();
		const record = await readRecord(join(crashing.stateDir, "sessions", session.id));
		process.kill(record?.keeper.pid ?? Number.NaN, "SIGKILL");
		await expect(writing).rejects.toMatchObject(refused);
		expect((await operator.approvals.get(id)).state).toBe("expired");
		await expect(operator.approvals.decide(id, { decision: "grant" })).rejects.toMatchObject({ code: "conflict" });
		expect(existsSync(join(home, "made"))).toBe(false);
	});
});
