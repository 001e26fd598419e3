import { expect, it } from "vitest";
import { eventually } from "../../support/reading.ts";
import { start } from "../../support/server.ts";

it("/v1/info reports what enforces sandboxes and their limits", async () => {
	const server = await start();
	const response = await server.request("/v1/info");
	expect(await response.json()).toMatchObject({
		version: expect.any(String),
		platform: process.platform,
		sandbox: { enforced: true, by: expect.stringMatching(/\/bwrap$/), limits: "rlimits" },
		audit: { kept: true, healthy: true, lost: 0 },
	});
});

it("a server with an unusable control group does not start", async () => {
	await expect(start({ cgroup: "/nowhere" })).rejects.toThrow("--cgroup: no such directory: /nowhere");
});

it("a sandbox is requested when a session is created", async () => {
	const server = await start();
	const { body } = await server.post("/v1/sessions", {
		command: "touch /etc/hawser-new 2>&1; echo done",
		mode: "pipe",
		durable: false,
		sandbox: { type: "readOnly", networkAccess: true },
	});
	const text = await eventually("the output", async () => {
		const said = await (await server.request(`/v1/sessions/${body.id}/output`)).text();
		return said.endsWith("done\n") && said;
	});
	expect(text).toContain("Read-only file system");
});

it.each([
	[{ type: "everything" }, 400],
	[{ type: "readOnly", writableRoots: ["/tmp"] }, 400],
	[{ type: "workspaceWrite", writableRoots: ["relative"] }, 400],
	[{ type: "workspaceWrite", writableRoots: ["/proc/sys"] }, 400],
	[{ type: "paths", paths: [{ path: "/tmp", access: "all" }] }, 400],
	[{ type: "readOnly", limits: { cpuSeconds: 0 } }, 400],
])("an invalid sandbox is refused: %j", async (sandbox, status) => {
	const server = await start();
	expect(await server.post("/v1/sessions", { argv: ["true"], sandbox })).toMatchObject({ status });
});

it("a policy that can't be enforced is refused, and nothing runs", async () => {
	const path = process.env.PATH;
	process.env.PATH = "/nowhere";
	const server = await start().finally(() => {
		process.env.PATH = path;
	});
	const { status, body } = await server.post("/v1/sessions", { argv: ["/bin/true"], sandbox: { type: "readOnly" } });
	expect({ status, body }).toMatchObject({ status: 501, body: { error: { code: "unsupported" } } });
	const response = await server.request("/v1/info");
	expect(await response.json()).toMatchObject({ sandbox: { enforced: false } });
	expect(await (await server.request("/v1/sessions")).json()).toMatchObject({ sessions: [] });
});
