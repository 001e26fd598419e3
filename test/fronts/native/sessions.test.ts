import { Compile } from "typebox/compile";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { session as sessionSchema } from "../../../src/api/schema/sessions.ts";
import { readAll, startTestServer, type TestServer } from "../../support/native-server.ts";

let server: TestServer;
beforeAll(async () => {
	server = await startTestServer({ maxRunning: 20 });
});
afterAll(async () => {
	await server.close();
	expect(server.problems).toEqual([]);
});

describe("POST /v1/sessions", () => {
	it("POST /v1/sessions starts a program and answers with all of its fields", async () => {
		const session = await server.create({ argv: ["cat"], mode: "pipe", name: "the cat", labels: { kind: "pet" } });
		expect(session).toEqual({
			id: expect.stringMatching(/^[a-z0-9]{12}$/),
			name: "the cat",
			state: "running",
			argv: ["cat"],
			cwd: "/tmp",
			mode: "pipe",
			size: { cols: 80, rows: 24 },
			pid: expect.any(Number),
			offsets: { oldest: 0, end: 0 },
			exit: null,
			createdAt: expect.any(Number),
			endedAt: null,
			attachments: 0,
			activeAt: expect.any(Number),
			lease: { fence: 0, holder: null, exclusive: false },
			labels: { kind: "pet" },
			workspace: "default",
			task: null,
			durable: false,
			retain: { memoryBytes: 1024 * 1024, journalBytes: 0 },
			timeoutMs: 0,
			idleTimeoutMs: 0,
			idleExemptJobs: false,
			sizePolicy: "latest",
		});
		// The schema must describe the answer correctly although it does not serialize it.
		expect([...Compile(sessionSchema).Errors(session)]).toEqual([]);
		const again = await server.request(`/v1/sessions/${session.id}`);
		expect(await again.json()).toEqual(session);
	});

	it("POST /v1/sessions runs a command line in a shell, with the requested size, directory and options", async () => {
		const { id } = await server.create({
			command: 'stty size; pwd; echo "$GREETING $HOME $HAWSER_SESSION"',
			cwd: "/usr",
			env: { GREETING: "grüß dich", HOME: null },
			cols: 65535,
			rows: 1,
		});
		const { bytes } = await readAll(server, id);
		expect(bytes.toString()).toBe(`1 65535\r\n/usr\r\ngrüß dich  ${id}\r\n`);
	});

	it("POST /v1/sessions reports why a program can't be started, and leaves nothing behind", async () => {
		const before = server.sessions.list().length;
		for (const body of [
			{ argv: ["/no/such/program"] },
			{ argv: ["true"], cwd: "/no/such/folder" },
			{ argv: ["/etc/passwd"] },
		]) {
			const response = await server.request("/v1/sessions", {
				method: "POST",
				headers: { "content-type": "application/json" },
				body: JSON.stringify(body),
			});
			expect(response.status).toBe(422);
			expect(await response.json()).toEqual({ error: expect.objectContaining({ code: "spawn_failed" }) });
		}
		expect(server.sessions.list().length).toBe(before);
	});
});

describe("GET /v1/sessions", () => {
	it("GET /v1/sessions has shorter pages if commands are long", async () => {
		const argv = ["true", ...Array<string>(16).fill("x".repeat(120_000))];
		const ids: string[] = [];
		for (let count = 0; count < 5; count++) ids.push((await server.create({ argv, workspace: "long" })).id);
		const list = async (after: string) => {
			const response = await server.request(`/v1/sessions?workspace=long${after}`);
			const { sessions, next } = (await response.json()) as { sessions: { id: string }[]; next: string | null };
			return { ids: sessions.map(({ id }) => id), next };
		};
		expect(await list("")).toEqual({ ids: ids.slice(0, 4), next: ids[3] });
		expect(await list(`&after=${ids[3]}`)).toEqual({ ids: ids.slice(4), next: null });
	});

	it("GET /v1/sessions filters by state, workspace, name and label, and pages by id from either end", async () => {
		const ids: string[] = [];
		for (const number of [1, 2, 3]) {
			const { id } = await server.create({
				argv: ["cat"],
				mode: "pipe",
				workspace: "listed",
				labels: { number: String(number), odd: String(number % 2) },
			});
			ids.push(id);
		}
		const list = async (query: string) => {
			const response = await server.request(`/v1/sessions?workspace=listed${query}`);
			const { sessions, next } = (await response.json()) as { sessions: { id: string }[]; next: string | null };
			return { ids: sessions.map(({ id }) => id), next };
		};
		expect(await list("")).toEqual({ ids, next: null });
		expect(await list("&limit=2")).toEqual({ ids: ids.slice(0, 2), next: ids[1] });
		expect(await list(`&limit=2&after=${ids[1]}`)).toEqual({ ids: ids.slice(2), next: null });
		expect(await list(`&after=${ids[2]}`)).toEqual({ ids: [], next: null });
		expect((await list("&label=odd=1")).ids).toEqual([ids[0], ids[2]]);
		expect((await list("&label=odd=1&label=number=3")).ids).toEqual([ids[2]]);
		expect((await list("&label=toString")).ids).toEqual([]);
		expect(await list("&order=newest")).toEqual({ ids: ids.toReversed(), next: null });
		expect(await list("&order=newest&limit=2")).toEqual({ ids: [ids[2], ids[1]], next: ids[1] });
		expect(await list(`&order=newest&after=${ids[1]}`)).toEqual({ ids: [ids[0]], next: null });
		const { id: named } = await server.create({ argv: ["cat"], workspace: "listed", name: "exactly" });
		expect((await list("&name=exactly")).ids).toEqual([named]);
		expect((await list("&name=exact")).ids).toEqual([]);
		await server.request(`/v1/sessions/${named}`, { method: "DELETE" });
		await server.request(`/v1/sessions/${ids[1]}/kill`, { method: "POST" });
		expect((await list("&state=running")).ids).toEqual([ids[0], ids[2]]);
		expect((await list("&state=closed&state=lost")).ids).toEqual([ids[1]]);
	});
});

describe("ending a session", () => {
	it("DELETE ends the program and removes the session", async () => {
		const { id, pid } = await server.create({ argv: ["cat"] });
		const response = await server.request(`/v1/sessions/${id}`, { method: "DELETE" });
		expect(response.status).toBe(204);
		expect((await server.request(`/v1/sessions/${id}`)).status).toBe(404);
		expect(() => process.kill(Number(pid), 0)).toThrow("ESRCH");
	});

	it("POST …/kill ends the program as requested, and keeps its output", async () => {
		const { id } = await server.create({
			command: "trap 'echo bye; exit 7' INT; echo hi; while :; do sleep 0.05; done",
			mode: "pipe",
		});
		await server.request(`/v1/sessions/${id}/output?wait=10000`);
		const response = await server.request(`/v1/sessions/${id}/kill`, {
			method: "POST",
			headers: { "content-type": "application/json" },
			body: '{"signal":"INT","graceMs":10000}',
		});
		expect(response.status).toBe(200);
		expect(await response.json()).toMatchObject({
			state: "closed",
			exit: { code: 7, signal: null, reason: "killed", by: "admin" },
		});
		expect((await readAll(server, id)).bytes.toString()).toBe("hi\nbye\n");
	});
});

it("a name belongs to one running session", async () => {
	await server.create({ argv: ["cat"], name: "single" });
	await expect(server.create({ argv: ["cat"], name: "single" })).rejects.toThrow("session_exists");
});
