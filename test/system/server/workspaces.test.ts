/** Workspaces and tasks over HTTP, and their effect on sessions started in them. */

import { mkdir, readFile, realpath, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { isAlive, killIfThere } from "../../support/alive.ts";
import { type Answer, call, refusalOf } from "../../support/calling.ts";
import { type Started, start } from "../../support/server.ts";
import { temporaryDirectory } from "../../support/temporary.ts";

/** A program that runs in the server and waits. */
const waiting = { argv: ["cat"], durable: false };

async function outputOf(server: Started, id: unknown): Promise<string> {
	const response = await server.request(`/v1/sessions/${id}/output?wait=20000`);
	return response.text();
}

describe("a workspace", () => {
	it("the operator declares, changes, lists and deletes workspaces", async () => {
		const server = await start();
		const put = await call(server, "PUT", "/v1/workspaces/red", {
			name: "Red",
			roots: ["/tmp"],
			limits: { sessions: 2 },
		});
		expect(put).toMatchObject({
			status: 200,
			body: { id: "red", name: "Red", roots: ["/tmp"], limits: { sessions: 2 } },
		});
		expect(await call(server, "GET", "/v1/workspaces/red")).toEqual(put);
		const again = await call(server, "PUT", "/v1/workspaces/red", { roots: [] });
		expect(again.body).toEqual({ ...put.body, name: null, roots: [], limits: {} });
		await call(server, "PUT", "/v1/workspaces/blue", { roots: [] });
		const list = await call(server, "GET", "/v1/workspaces");
		expect(list.body.workspaces).toMatchObject([{ id: "blue" }, { id: "red" }]);
		expect((await call(server, "DELETE", "/v1/workspaces/red")).status).toBe(204);
		expect(refusalOf(await call(server, "GET", "/v1/workspaces/red"))).toEqual([404, "not_found"]);
		expect(refusalOf(await call(server, "DELETE", "/v1/workspaces/red"))).toEqual([404, "not_found"]);
	});

	it("deleting a workspace removes its scopes from tokens, and revokes tokens that had no others", async () => {
		const server = await start();
		await call(server, "PUT", "/v1/workspaces/red", { roots: [] });
		const [member, both] = [
			await server.token("workspace:red:manage"),
			await server.token("workspace:red:manage", "workspace:blue:manage"),
		];
		const child = String((await server.post("/v1/tokens", { scopes: ["workspace:red:read"] }, member)).body.token);
		const startIn = async (workspace: string, token: string) =>
			(await server.post("/v1/sessions", { ...waiting, workspace }, token)).status;
		expect(await startIn("red", member)).toBe(201);
		expect((await call(server, "DELETE", "/v1/workspaces/red")).status).toBe(409);
		expect(await startIn("red", both)).toBe(201);
		expect((await call(server, "DELETE", "/v1/workspaces/red?force=1")).status).toBe(204);
		expect([await startIn("red", member), await startIn("red", child)]).toEqual([401, 401]);
		expect([await startIn("red", both), await startIn("blue", both)]).toEqual([403, 201]);
		const { tokens } = (await (await server.request("/v1/tokens")).json()) as { tokens: { scopes: string[] }[] };
		expect(tokens.map(({ scopes }) => scopes)).toEqual([["workspace:blue:manage"]]);
		// The same for the next server.
		const stored = await readFile(join(server.stateDir, "tokens.json"), "utf8");
		expect(stored).not.toContain("workspace:red");
	});

	it.each([".", ".."])("a workspace can't be named %s, which clients remove from URLs", async (workspace) => {
		const server = await start();
		const request = { argv: ["cat"], durable: false, workspace };
		expect((await call(server, "POST", "/v1/sessions", request)).status).toBe(400);
	});

	it.each([
		["a/b", { roots: [] }, 404],
		["a%20b", { roots: [] }, 400],
		["a", {}, 400],
		["a", { roots: ["tmp"] }, 400],
		["a", { roots: [], limits: { sessions: 0 } }, 400],
		["a", { roots: [], limits: { nonsense: 1 } }, 400],
		["a", { roots: [], more: 1 }, 400],
		["a", { roots: Array(33).fill("/") }, 400],
	])("a workspace named %s is refused with %j", async (id, body, status) => {
		const server = await start();
		expect((await call(server, "PUT", `/v1/workspaces/${id}`, body)).status).toBe(status);
	});

	it("the operator declares workspaces, managers add tasks, and readers see them", async () => {
		const server = await start();
		const [manager, reader, stranger] = await Promise.all([
			server.token("workspace:red:manage"),
			server.token("workspace:red:read"),
			server.token("workspace:blue:manage"),
		]);
		await call(server, "PUT", "/v1/workspaces/red", { roots: ["/tmp"] });
		const task = "/v1/workspaces/red/tasks/t1";
		const put = { workDir: "/tmp", env: { SECRET: "s3cret" }, issueKey: "MUL-1" };
		for (const token of [manager, reader, stranger]) {
			expect(refusalOf(await call(server, "PUT", "/v1/workspaces/red", { roots: [] }, token))).toEqual([
				403,
				"permission_denied",
			]);
			expect(refusalOf(await call(server, "DELETE", "/v1/workspaces/red", undefined, token))).toEqual([
				403,
				"permission_denied",
			]);
		}
		expect(refusalOf(await call(server, "PUT", task, put, reader))).toEqual([403, "permission_denied"]);
		expect(refusalOf(await call(server, "PUT", task, put, stranger))).toEqual([404, "not_found"]);
		expect((await call(server, "PUT", task, put, manager)).status).toBe(200);

		const seen = await call(server, "GET", task, undefined, manager);
		expect(seen.body).toMatchObject({ id: "t1", workspace: "red", env: { SECRET: "s3cret" }, issueKey: "MUL-1" });
		const { env: _, ...withoutEnv } = seen.body;
		expect((await call(server, "GET", task, undefined, reader)).body).toEqual(withoutEnv);
		expect((await call(server, "GET", "/v1/workspaces/red/tasks", undefined, reader)).body.tasks).toEqual([withoutEnv]);
		expect((await call(server, "GET", "/v1/workspaces", undefined, reader)).body.workspaces).toHaveLength(1);

		expect((await call(server, "GET", "/v1/workspaces", undefined, stranger)).body).toEqual({ workspaces: [] });
		for (const path of ["/v1/workspaces/red", task, "/v1/workspaces/red/tasks"]) {
			// Exactly as for one that never existed.
			const other = await call(server, "GET", path.replace("red", "xxx"), undefined, stranger);
			const hidden = await call(server, "GET", path, undefined, stranger);
			expect(JSON.stringify(hidden).replaceAll('"red\\"', '"xxx\\"')).toBe(JSON.stringify(other));
		}
		expect(refusalOf(await call(server, "DELETE", task, undefined, reader))).toEqual([403, "permission_denied"]);
		expect((await call(server, "DELETE", task, undefined, manager)).status).toBe(204);
		expect(refusalOf(await call(server, "DELETE", task, undefined, manager))).toEqual([404, "not_found"]);
		expect(refusalOf(await call(server, "PUT", "/v1/workspaces/none/tasks/t", put))).toEqual([404, "not_found"]);
	});

	it("a workspace with running sessions is deleted only by force, which removes them completely", async () => {
		const server = await start();
		await call(server, "PUT", "/v1/workspaces/red", { roots: [] });
		const id = await server.session("red");
		const neighbour = await server.session("blue");
		const refused = await call(server, "DELETE", "/v1/workspaces/red");
		expect(refusalOf(refused)).toEqual([409, "session_exists"]);
		expect((await call(server, "GET", `/v1/sessions/${id}`)).body.state).toBe("running");
		expect((await call(server, "DELETE", "/v1/workspaces/red?force=1")).status).toBe(204);
		expect(refusalOf(await call(server, "GET", `/v1/sessions/${id}`))).toEqual([404, "session_not_found"]);
		expect((await call(server, "GET", `/v1/sessions/${neighbour}`)).body.state).toBe("running");
	});

	it("a workspace with a process that an ended session left behind is deleted only by force", async () => {
		const server = await start();
		await call(server, "PUT", "/v1/workspaces/red", { roots: [] });
		const command = "trap '' HUP; setsid sleep 1000 </dev/null >/dev/null 2>&1 & echo left $!";
		const started = await server.post("/v1/sessions", { command, mode: "pipe", durable: false, workspace: "red" });
		const left = Number(/left (\d+)/.exec(await outputOf(server, started.body.id))?.[1]);
		onTestFinished(() => killIfThere(left));
		const stateOf = async () => (await call(server, "GET", `/v1/sessions/${started.body.id}`)).body.state;
		await expect.poll(stateOf).toBe("closed");
		const refused = await call(server, "DELETE", "/v1/workspaces/red");
		expect(refusalOf(refused)).toEqual([409, "session_exists"]);
		expect(refused.body.error).toMatchObject({
			message: 'workspace "red" has ended sessions that left processes running (1)',
		});
		expect(isAlive(left)).toBe(true);
		expect((await call(server, "DELETE", "/v1/workspaces/red?force=1")).status).toBe(204);
		expect(isAlive(left)).toBe(false);
	});

	it("deleting a workspace removes its ended sessions, so that a later owner of its id reads nothing of them", async () => {
		const server = await start();
		await call(server, "PUT", "/v1/workspaces/red", { roots: [] });
		const id = await server.session("red");
		await call(server, "POST", `/v1/sessions/${id}/kill`);
		expect((await call(server, "DELETE", "/v1/workspaces/red")).status).toBe(204);
		expect(refusalOf(await call(server, "GET", `/v1/sessions/${id}`))).toEqual([404, "session_not_found"]);
	});

	it("a workspace survives a restart of the server, and a damaged file prevents the start", async () => {
		const first = await start();
		const { stateDir } = first;
		await call(first, "PUT", "/v1/workspaces/red", { roots: ["/tmp"], limits: { sessions: 2 } });
		await call(first, "PUT", "/v1/workspaces/red/tasks/t1", { workDir: "/tmp" });
		const seen = await call(first, "GET", "/v1/workspaces/red");
		await first.close();
		const second = await start({ stateDir });
		expect(await call(second, "GET", "/v1/workspaces/red")).toEqual(seen);
		expect((await call(second, "GET", "/v1/workspaces/red/tasks/t1")).status).toBe(200);
		await second.close();
		const file = join(stateDir, "workspaces", "red.json");
		await writeFile(file, (await readFile(file, "utf8")).slice(0, 40));
		await expect(start({ stateDir })).rejects.toMatchObject({
			code: "unsupported",
			message: expect.stringContaining(file),
		});
	});
});

describe("a session for a task", () => {
	it("a session starts in its task's directory with its variables, and states its task", async () => {
		const server = await start();
		const directory = await realpath(await temporaryDirectory());
		await call(server, "PUT", "/v1/workspaces/red", { roots: [] });
		const env = { TOPIC: "of the task", OTHER: "too" };
		await call(server, "PUT", "/v1/workspaces/red/tasks/t1", { workDir: directory, env });
		const body = {
			command: 'echo "$PWD:$TOPIC:$OTHER"',
			mode: "pipe",
			durable: false,
			workspace: "red",
			task: "t1",
			env: { OTHER: "own" },
		};
		const created = await call(server, "POST", "/v1/sessions", body);
		expect(created).toMatchObject({ status: 201, body: { workspace: "red", task: "t1", cwd: directory } });
		expect(await outputOf(server, created.body.id)).toBe(`${directory}:of the task:own\n`);

		const elsewhere = await call(server, "POST", "/v1/sessions", { ...body, cwd: "/" });
		expect(elsewhere.body).toMatchObject({ task: "t1", cwd: "/" });
		const plain = await call(server, "POST", "/v1/sessions", { ...waiting, workspace: "red" });
		expect(plain.body.task).toBeNull();
		const listed = await call(server, "GET", "/v1/sessions?task=t1");
		expect(listed.body.sessions).toMatchObject([{ id: created.body.id }, { id: elsewhere.body.id }]);
	});

	it("a session for a missing task is refused, and for another workspace's task with the same error", async () => {
		const server = await start();
		const stranger = await server.token("workspace:blue:manage");
		await call(server, "PUT", "/v1/workspaces/red", { roots: [] });
		await call(server, "PUT", "/v1/workspaces/red/tasks/t1", { workDir: "/tmp" });
		const asked = (workspace: string, task: string, token?: string) =>
			call(server, "POST", "/v1/sessions", { ...waiting, workspace, task }, token);
		expect(refusalOf(await asked("red", "none"))).toEqual([404, "not_found"]);
		expect(refusalOf(await asked("blue", "t1", stranger))).toEqual([404, "not_found"]);
		expect(await asked("red", "t1", stranger)).toEqual(await asked("red", "none", stranger));
		expect(refusalOf(await asked("red", "t1", stranger))).toEqual([403, "permission_denied"]);
	});
});

describe("the roots of a workspace", () => {
	async function site(): Promise<{ server: Started; root: string; run: (cwd?: string) => Promise<Answer> }> {
		const server = await start();
		const root = await realpath(await temporaryDirectory());
		await mkdir(join(root, "in", "deep"), { recursive: true });
		await mkdir(join(root, "out"));
		await symlink(join(root, "out"), join(root, "in", "escape"));
		await symlink("deep", join(root, "in", "inside"));
		await call(server, "PUT", "/v1/workspaces/red", { roots: [join(root, "in")] });
		const run = (cwd?: string) =>
			call(server, "POST", "/v1/sessions", {
				command: "pwd -P",
				mode: "pipe",
				workspace: "red",
				durable: false,
				...(cwd === undefined ? {} : { cwd }),
			});
		return { server, root, run };
	}

	it("programs start within the roots, with any symbolic links", async () => {
		const { server, root, run } = await site();
		for (const cwd of ["in", "in/deep", "in/inside", "out/../in/inside"]) {
			const { status, body } = await run(`${root}/${cwd}`);
			expect(status, cwd).toBe(201);
			expect(body.cwd).toBe(await realpath(`${root}/${cwd}`));
			expect(await outputOf(server, body.id)).toBe(`${body.cwd}\n`);
		}
		for (const cwd of ["out", "in/escape", "in/..", "in/escape/.."]) {
			expect(refusalOf(await run(`${root}/${cwd}`)), cwd).toEqual([403, "permission_denied"]);
		}
		expect(refusalOf(await run(`${root}/in/none`))).toEqual([422, "spawn_failed"]);
		// The server's own directory, where a session without one starts, is in no root.
		expect(refusalOf(await run())).toEqual([403, "permission_denied"]);
	});

	it("a task must be within the roots, and a refused start leaves nothing behind", async () => {
		const { server, root } = await site();
		await call(server, "PUT", "/v1/workspaces/red/tasks/bad", { workDir: join(root, "in", "escape") });
		const refused = await call(server, "POST", "/v1/sessions", {
			...waiting,
			name: "x",
			workspace: "red",
			task: "bad",
		});
		expect(refusalOf(refused)).toEqual([403, "permission_denied"]);
		await call(server, "PUT", "/v1/workspaces/red/tasks/good", { workDir: join(root, "in", "inside") });
		const taken = await call(server, "POST", "/v1/sessions", { ...waiting, name: "x", workspace: "red", task: "good" });
		expect(taken).toMatchObject({ status: 201, body: { cwd: join(root, "in", "deep") } });
	});

	it("a directory replaced by a link during a start does not leave the roots", async () => {
		const { server, root, run } = await site();
		const [here, aside, out] = [join(root, "in", "deep"), join(root, "in", "aside"), join(root, "out")];
		let isOver = false;
		const swap = async () => {
			while (!isOver) {
				await rename(here, aside);
				await symlink(out, here);
				await rm(here);
				await rename(aside, here);
			}
		};
		const swapping = swap();
		try {
			for (let i = 0; i < 40; i++) {
				const { status, body } = await run(here);
				expect([201, 403, 422], JSON.stringify(body)).toContain(status);
				// It may be found under its other name, which is a real path in the root as well.
				if (status === 201) expect(await outputOf(server, body.id)).toMatch(new RegExp(`^${root}/in/(deep|aside)\n$`));
			}
		} finally {
			isOver = true;
			await swapping;
		}
	});

	it("sandboxed programs start within the roots, and write there by default", async () => {
		const { server, root } = await site();
		const made = await call(server, "POST", "/v1/sessions", {
			command: "pwd -P; touch made; ls",
			mode: "pipe",
			durable: false,
			workspace: "red",
			cwd: join(root, "in", "inside"),
			sandbox: { type: "workspaceWrite" },
		});
		expect(made).toMatchObject({ status: 201, body: { cwd: join(root, "in", "deep") } });
		await expect
			.poll(async () => (await call(server, "GET", `/v1/sessions/${made.body.id}`)).body.state)
			.toBe("closed");
		expect(await outputOf(server, made.body.id)).toBe(`${join(root, "in", "deep")}\nmade\n`);
	});

	it("programs of other protocols in the workspace start within the roots", async () => {
		const { server, root } = await site();
		await call(server, "PUT", "/v1/workspaces/default", { roots: [join(root, "in")] });
		const command = (cwd: string) =>
			server.request("/opensandbox/command", {
				method: "POST",
				headers: { "x-execd-access-token": server.adminToken, "content-type": "application/json" },
				body: JSON.stringify({ command: "pwd -P", cwd }),
			});
		expect(await (await command(join(root, "in", "inside"))).text()).toContain(join(root, "in", "deep"));
		const refused = await command(join(root, "in", "escape"));
		expect(await refused.text()).not.toContain(join(root, "out"));
		expect(refused.status).not.toBe(200);
	});
});

describe("the limits of a workspace", () => {
	it("the limit on running sessions holds for concurrent starts", async () => {
		const server = await start();
		await call(server, "PUT", "/v1/workspaces/red", { roots: [], limits: { sessions: 2 } });
		const make = () => call(server, "POST", "/v1/sessions", { ...waiting, workspace: "red" });
		const made = await Promise.all([make(), make(), make(), make()]);
		expect(made.map(({ status }) => status).sort()).toEqual([201, 201, 429, 429]);
		expect((await call(server, "POST", "/v1/sessions", { ...waiting, workspace: "blue" })).status).toBe(201);
		const id = made.find(({ status }) => status === 201)?.body.id;
		await call(server, "POST", `/v1/sessions/${id}/kill`);
		expect((await make()).status).toBe(201);
		await call(server, "PUT", "/v1/workspaces/red", { roots: [] });
		expect((await make()).status).toBe(201);
	});

	it("a workspace limits the rate of starts", async () => {
		const server = await start();
		await call(server, "PUT", "/v1/workspaces/red", { roots: [], limits: { startsPerSecond: 1 } });
		const made = await Promise.all(
			Array.from({ length: 30 }, () => call(server, "POST", "/v1/sessions", { ...waiting, workspace: "red" })),
		);
		const refused = made.filter(({ status }) => status === 429);
		expect(refused.length).toBeGreaterThanOrEqual(1);
		expect(made.length - refused.length).toBeGreaterThanOrEqual(5);
		expect(JSON.stringify(refused[0]?.body)).toMatch(/workspace .*red.* exceeded; retry in \d+ ms/);
		expect((await call(server, "POST", "/v1/sessions", { ...waiting, workspace: "blue" })).status).toBe(201);
	});
});
