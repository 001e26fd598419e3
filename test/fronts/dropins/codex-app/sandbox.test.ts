/** Commands under the sandbox policies of the protocol (contract §3), checked by the client and on the host. */

import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, readdir } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { eventually } from "../../../support/reading.ts";
import type { AppClient } from "./support/app-client.ts";
import {
	type AppOptions,
	findByArgument,
	inDirectory,
	startApp,
	startStdioApp,
	workspace,
} from "./support/app-harness.ts";

const readOnly = { sandboxPolicy: { type: "readOnly" } } as const;
const workspaceWrite = { sandboxPolicy: { type: "workspaceWrite" } } as const;
const forever = { disableTimeout: true } as const;

/** A client of a server started in `work`. */
async function connect(carrier: string, work: string, options: AppOptions = {}): Promise<AppClient> {
	return inDirectory(work, async () => {
		const client = carrier === "stdio" ? startStdioApp(options).client : await (await startApp(options)).stranger();
		return client.initialize({ experimentalApi: true });
	});
}

/** A port of the host with a listener. */
async function listeningPort(): Promise<number> {
	const server = createServer((socket) => socket.destroy()).listen(0, "127.0.0.1");
	onTestFinished(() => void server.close());
	await once(server, "listening");
	return (server.address() as AddressInfo).port;
}

let count = 0;
/** A sleep of unique length, so that its processes can be found. */
function marker(): string {
	return `1000.${process.pid}${++count}`;
}

describe.each(["stdio", "ws"])("sandbox policies over %s", (carrier) => {
	const free = "work repo repo/.git .git other tmp TMPDIR elsewhere shm network";
	const rows: [string, object, string][] = [
		["that is not named (dangerFullAccess here)", {}, free],
		["dangerFullAccess", { sandboxPolicy: { type: "dangerFullAccess" } }, free],
		["externalSandbox", { sandboxPolicy: { type: "externalSandbox" } }, free],
		["externalSandbox, enabled", { sandboxPolicy: { type: "externalSandbox", networkAccess: "enabled" } }, free],
		["readOnly", readOnly, "shm"],
		["readOnly with access", { sandboxPolicy: { type: "readOnly", access: { type: "fullAccess" } } }, "shm"],
		["readOnly with network", { sandboxPolicy: { type: "readOnly", networkAccess: true } }, "shm network"],
		["workspaceWrite", workspaceWrite, "work repo repo/.git tmp TMPDIR shm"],
		[
			"workspaceWrite with network",
			{ sandboxPolicy: { type: "workspaceWrite", networkAccess: true } },
			"work repo repo/.git tmp TMPDIR shm network",
		],
		[
			"workspaceWrite without /tmp",
			{ sandboxPolicy: { type: "workspaceWrite", excludeSlashTmp: true } },
			"work repo repo/.git TMPDIR shm",
		],
		[
			"workspaceWrite without TMPDIR",
			{ sandboxPolicy: { type: "workspaceWrite", excludeTmpdirEnvVar: true } },
			"work repo repo/.git tmp shm",
		],
		[
			"workspaceWrite with roots",
			{ sandboxPolicy: { type: "workspaceWrite", writableRoots: ["<other>", "/var/tmp/hawser-missing"] } },
			"work repo repo/.git other tmp TMPDIR shm",
		],
		[":read-only", { permissionProfile: ":read-only" }, "shm"],
		[":workspace", { permissionProfile: ":workspace" }, "repo tmp TMPDIR shm"],
		[":danger-full-access", { permissionProfile: ":danger-full-access" }, free],
	];

	it.each(rows)("the policy %s permits exactly what it states", async (_name, params, permitted) => {
		const [work, other, elsewhere, temporary] = await Promise.all(Array.from({ length: 4 }, workspace));
		await mkdir(join(String(work), ".git"));
		await mkdir(join(String(work), "repo/.git"), { recursive: true });
		const port = await listeningPort();
		// Some of the directories are writable by everyone.
		const probe = `.hawser-${process.pid}`;
		const script = [
			`w() { (: > "$2/${probe}") 2>/dev/null && rm "$2/${probe}" && echo "$1"; }`,
			`w work ${work}; w repo ${work}/repo; w repo/.git ${work}/repo/.git; w .git ${work}/.git; w other ${other}`,
			`w tmp /tmp; w TMPDIR "$TMPDIR"; w elsewhere ${elsewhere}; w shm /dev/shm`,
			`(: <> /dev/tcp/127.0.0.1/${port}) 2>/dev/null && echo network; :`,
		].join("\n");
		const client = await connect(carrier, String(work));
		const { stdout, stderr } = await client.exec(["bash", "-c", script], {
			cwd: join(String(work), "repo"),
			env: { TMPDIR: temporary },
			...(JSON.parse(JSON.stringify(params).replace("<other>", String(other))) as object),
		});
		expect(stderr).toBe("");
		expect(stdout.trim().split("\n")).toEqual(permitted.split(" "));
		await eventually("the workspace as it was", async () => (await readdir(String(work))).join() === ".git,repo");
	});

	it("a sandbox uses the command's TMPDIR, unless that is not a directory", async () => {
		const [work, temporary] = [await workspace(), await workspace()];
		const client = await connect(carrier, work);
		const wrote = async (env: object) => {
			const script = `(: > ${temporary}/x) 2>/dev/null && echo temporary; : > ${work}/x && echo workspace`;
			return (await client.sh(script, { env, ...workspaceWrite })).stdout;
		};
		expect(await wrote({ TMPDIR: temporary })).toBe("temporary\nworkspace\n");
		for (const TMPDIR of [null, "", "relative", "/nowhere", "/etc/passwd"])
			expect(await wrote({ TMPDIR })).toBe("workspace\n");
	});

	it("a sandbox prevents the creation of .git, .codex, .agents and .aws in every root", async () => {
		const [work, other] = [await workspace(), await workspace()];
		const client = await connect(carrier, work);
		const script = `for n in .git .codex .agents .aws; do mkdir ${work}/$n/x ${other}/$n/x || mkdir ${work}/$n && echo made; done`;
		const policy = { sandboxPolicy: { type: "workspaceWrite", writableRoots: [other] } };
		expect((await client.sh(script, policy)).stdout).toBe("");
		for (const root of [work, other])
			await eventually("nothing in the root", async () => (await readdir(root)).length === 0);
	});

	it("a sandboxed terminal has keys, resizes and job control", async () => {
		const client = await connect(carrier, await workspace());
		const tty = { ...workspaceWrite, ...forever, tty: true, size: { rows: 31, cols: 101 } };
		const script =
			"trap 'echo caught; exit 7' INT; trap 'stty size' WINCH; stty size; : < /dev/tty && echo ready; while :; do read -t 0.1; done";
		const answer = client.exec(["bash", "-c", script], { ...tty, processId: "keys" });
		expect(await client.output("keys", "ready")).toContain("31 101");
		await client.resize("keys", 45, 132);
		await client.output("keys", "45 132");
		await client.write("keys", "\x03");
		expect((await answer).exitCode).toBe(7);
		expect(client.deltas("keys").text()).toContain("caught");

		const plain = client.sh("echo ready; exec sleep 1000", { ...tty, processId: "plain" });
		await client.output("plain", "ready");
		await client.write("plain", "\x03");
		expect((await plain).exitCode).toBe(130);

		const shell = client.exec(["bash", "--norc", "-i"], { ...tty, processId: "shell" });
		await client.write("shell", "sleep 1000 & kill %1; wait; exit 5\n");
		expect((await shell).exitCode).toBe(5);
		expect(client.deltas("shell").text()).not.toContain("no job control");
	});

	it("a sandboxed command streams input and output in order", async () => {
		const client = await connect(carrier, await workspace());
		const answer = client.sh("cat; echo done >&2", {
			...readOnly,
			processId: "cat",
			streamStdin: true,
			streamStdoutStderr: true,
		});
		for (let i = 0; i < 20; i++) void client.write("cat", `${i};`);
		await client.write("cat", null, true);
		expect(await answer).toEqual({ exitCode: 0, stdout: "", stderr: "" });
		expect(client.deltas("cat").text()).toBe(Array.from({ length: 20 }, (_, i) => `${i};`).join(""));
		expect(client.deltas("cat").text("stderr")).toBe("done\n");
	});

	it.each(["terminate", "timeout", "its own end", "a disconnect"])(
		"a sandbox ends with its command by %s, and leaves nothing behind",
		async (how) => {
			const [work, seconds] = [await workspace(), marker()];
			const client = await connect(carrier, work);
			const isAll = async (wanted: number) => (await findByArgument(seconds)).length === wanted;
			const script = `setsid sleep ${seconds} & trap '' TERM INT HUP; sleep ${seconds} & read end`;
			const kinds = [
				{ processId: "pipe", streamStdin: true },
				{ processId: "tty", tty: true },
			];
			/** Until all of it runs. If the time limit came first, the next one is longer. */
			const begin = async (timeoutMs: number): Promise<{ all: Promise<{ exitCode: number }[]> }> => {
				const limit = how === "timeout" ? { timeoutMs } : forever;
				const all = Promise.all(kinds.map((kind) => client.sh(script, { ...workspaceWrite, ...limit, ...kind })));
				let isOver = false;
				const over = () => {
					isOver = true;
				};
				all.then(over, over);
				const seen = async () => ((await isAll(4)) ? "all" : isOver && "too late");
				if ((await eventually("all to run", seen)) === "all") return { all };
				await eventually("the end of all", () => isAll(0));
				return begin(4 * timeoutMs);
			};
			const { all } = await begin(2_000);
			expect(existsSync(join(work, ".git"))).toBe(true);
			if (how === "a disconnect") client.cut();
			else {
				const end = (id: string) => (how === "terminate" ? client.terminate(id) : client.write(id, "end\n"));
				if (how !== "timeout") for (const id of ["pipe", "tty"]) end(id).catch(() => {});
				const codes = (await all).map(({ exitCode }) => exitCode);
				expect(codes).toEqual({ terminate: [137, 137], timeout: [124, 124], "its own end": [0, 0] }[how]);
			}
			await eventually("the end of all", () => isAll(0));
			await eventually("nothing in the workspace", async () => (await readdir(work)).length === 0);
		},
	);

	it.each(["terminate", "timeout"])(
		"%s ends a sandboxed command at once even if it does not read its input",
		async (how) => {
			// With such a low acknowledgement bound, little input fills the queue, well before the time limit.
			const limits = { queuedBytes: 1 };
			const [client, seconds] = [await connect(carrier, await workspace(), { limits }), marker()];
			const isTerminated = how === "terminate";
			const limit = isTerminated ? forever : { timeoutMs: 1_000 };
			const answer = client.exec(["sleep", seconds], { ...readOnly, ...limit, processId: "deaf", streamStdin: true });
			const writes = Array.from({ length: 8 }, () => client.write("deaf", Buffer.alloc(65_536)));
			const outcomes = Promise.allSettled(writes);
			if (isTerminated) expect(await client.terminate("deaf")).toEqual({});
			expect((await answer).exitCode).toBe(isTerminated ? 137 : 124);
			expect((await outcomes).at(-1)).toMatchObject({
				reason: { message: 'command/exec "deaf" is no longer running' },
			});
			await eventually("its end", async () => (await findByArgument(seconds)).length === 0);
		},
	);

	it("a sandboxed command reports its exit as without a sandbox, also after the client has gone", async () => {
		const client = await connect(carrier, await workspace());
		const code = async (command: string[]) => (await client.exec(command, readOnly)).exitCode;
		expect(await code(["sh", "-c", "exit 42"])).toBe(42);
		expect(await code(["sh", "-c", "kill -9 $$"])).toBe(137);
		expect(await code(["sh", "-c", "kill -TERM $$"])).toBe(143);
		expect(await code(["definitely-not-a-program"])).toBe(127);
		expect(await code(["/etc/passwd"])).toBe(126);
		for (const tty of [false, true]) {
			const nowhere = client.exec(["true"], { ...readOnly, processId: "p", tty, cwd: "/nowhere" });
			await expect(nowhere).rejects.toMatchObject({
				code: -32603,
				message: "failed to spawn command: No such file or directory (os error 2)",
			});
		}
	});

	it("process/spawn is never sandboxed", async () => {
		const work = await workspace();
		const client = await connect(carrier, work, { policy: { type: "readOnly" } });
		expect((await client.sh("echo x > new")).exitCode).toBe(2);
		await client.spawn("free", ["/bin/sh", "-c", "echo x > new"], { cwd: work });
		expect((await client.exited("free")).exitCode).toBe(0);
	});
});
