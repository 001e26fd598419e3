import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { rm } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { SessionError } from "../../../../src/core/errors.ts";
import { eventually } from "../../../support/reading.ts";
import { MulticaClient } from "./support/multica-client.ts";
import { ISSUE, putTask, startMultica, TASK, WORKSPACE } from "./support/multica-server.ts";

/** A shell that prints only what the test makes it print. */
async function quiet(client: MulticaClient): Promise<void> {
	client.type("stty -echo; PS1=; echo ready-$((1+1))\n");
	await client.text(/ready-2/);
}

describe("opening a terminal", () => {
	it("M1, B15, R12: a terminal is a login shell in the task's directory, of the client's size, with all five variables", async () => {
		const server = await startMultica();
		await putTask(server, TASK, { priorSessionId: "claude-7", env: { FROM_TASK: "yes", MULTICA_TASK_ID: "forged" } });
		const token = await server.token();
		const client = await MulticaClient.open(server, token, { query: { cols: "120", rows: "40" } });
		expect(client.frames[1]?.payload).toEqual({
			request_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
			session_id: expect.any(String),
			work_dir: server.workDir,
			shell: "bash",
		});
		client.type(
			'stty size; pwd; shopt -q login_shell && echo login; env | sort | grep -E "^(MULTICA|CLAUDE|FROM|TERM)"; echo end-$((1+1))\n',
		);
		const text = await client.text(/end-2/);
		expect(text).toContain("40 120");
		expect(text).toContain(server.workDir);
		expect(text).toContain("login");
		const user = /hwt_([0-9a-f]{12})/.exec(token)?.[1];
		const variables = {
			MULTICA_WORKSPACE_ID: WORKSPACE,
			MULTICA_TASK_ID: TASK,
			MULTICA_ISSUE_ID: ISSUE,
			MULTICA_USER_ID: user,
		};
		for (const [name, value] of Object.entries({
			...variables,
			CLAUDE_SESSION_ID: "claude-7",
			FROM_TASK: "yes",
			TERM: "xterm-256color",
		})) {
			expect(text).toContain(`${name}=${value}`);
		}
	});

	it("M2: a size that is missing, zero or invalid is 80×24, each dimension separately", async () => {
		const server = await startMultica();
		const size = async (query: Record<string, string>) => {
			const client = await MulticaClient.open(server, undefined, { query });
			const [session] = server.running().slice(-1);
			client.cut();
			return [session?.state.size.cols, session?.state.size.rows];
		};
		expect(await size({})).toEqual([80, 24]);
		expect(await size({ cols: "0", rows: "50" })).toEqual([80, 50]);
		expect(await size({ cols: "132", rows: "x" })).toEqual([132, 24]);
		expect(await size({ cols: "65536", rows: "-1" })).toEqual([80, 24]);
	});

	it("2.2: a terminal opens only in an existing directory that the workspace permits; one error frame states the reason", async () => {
		const server = await startMultica();
		const refused = async () => {
			const client = MulticaClient.connect(server);
			await client.auth(await server.token());
			const { code } = await client.closed;
			expect(client.types).toEqual(["auth_ack", "terminal.error"]);
			return [client.frames[1]?.payload.code, code];
		};
		await server.workspaces.put(WORKSPACE, { roots: ["/usr"] });
		expect(await refused()).toEqual(["forbidden", 1008]);
		await server.workspaces.put(WORKSPACE, { roots: [] });
		await rm(server.workDir, { recursive: true });
		expect(await refused()).toEqual(["spawn_failed", 1011]);
		expect(server.running()).toEqual([]);
	});

	it("M13, R2: a start that this machine can't do is unsupported_os, not a failed start", async () => {
		const server = await startMultica({
			home: (home) => ({
				...home,
				start: async () => {
					throw new SessionError("unsupported", "there are no terminals here", { cause: new Error("spawn failed") });
				},
			}),
		});
		const client = MulticaClient.connect(server);
		await client.auth(await server.token());
		await client.closed;
		expect(client.frames[1]?.payload).toMatchObject({ code: "unsupported_os", message: "there are no terminals here" });
		expect(server.problems).toEqual([]);
	});

	it("B13: a terminal opens only below the session limit", async () => {
		const server = await startMultica({ maxRunning: 1 });
		await MulticaClient.open(server);
		const client = MulticaClient.connect(server);
		await client.auth(await server.token());
		expect((await client.closed).code).toBe(1013);
		expect(client.frames[1]?.payload.code).toBe("limit_reached");
	});
});

describe("typed input", () => {
	it("M7, S11: input reaches the program unchanged, whatever session id the client sends", async () => {
		const server = await startMultica();
		const client = await MulticaClient.open(server);
		const other = await MulticaClient.open(server);
		await quiet(client);
		client.type("echo mine-$((2+3))\n", other.session);
		await client.text(/mine-5/);
		expect(other.output().toString()).not.toContain("mine-5");
	});

	it("S13, B4: a paste in one frame of up to a million bytes arrives unchanged", async () => {
		const server = await startMultica();
		const client = await MulticaClient.open(server);
		await quiet(client);
		for (const size of [49_074, 49_075, 1_000_000]) {
			const paste = Buffer.alloc(size, "0123456789abcdefghijklmnopqrstuvwxyz\t~`");
			client.type(`stty raw; echo raw-${size}-$((1+1)); head -c ${size} | sha256sum; stty -raw; echo done-${size}\n`);
			await client.text(new RegExp(`raw-${size}-2`));
			client.type(paste);
			const text = await client.text(new RegExp(`done-${size}`));
			expect(text).toContain(createHash("sha256").update(paste).digest("hex"));
		}
	});

	it("B4, 1.11: a larger frame closes with 1009 and a reason, and the shell continues", async () => {
		const server = await startMultica();
		const token = await server.token();
		const client = await MulticaClient.open(server, token);
		client.type(Buffer.alloc(2 * 1024 * 1024));
		expect((await client.closed).code).toBe(1009);
		expect(client.frames.at(-1)?.payload.code).toBe("too_large");
		const again = await MulticaClient.open(server, token);
		expect(again.session).toBe(client.session);
	});

	it("S14, W11, 1.7: an invalid frame or field is skipped silently", async () => {
		const server = await startMultica();
		const client = await MulticaClient.open(server);
		await quiet(client);
		const session_id = client.session;
		client.say("terminal.data", { session_id, data_b64: "<".repeat(60_000) });
		client.say("terminal.data", { session_id, data_b64: "ZWNobyB3cm9uZwo" });
		client.say("terminal.data", { session_id, data_b64: 7 });
		client.say("terminal.unknown", { session_id });
		client.socket.send("nonsense");
		client.socket.send("[]");
		client.socket.send("null");
		for (const [cols, rows] of [
			[-1, 10],
			[65_536, 10],
			[1.5, 10],
			["80", 10],
			[null, {}],
		])
			client.resize(cols, rows);
		const binary = JSON.stringify({
			type: "terminal.data",
			payload: { data_b64: Buffer.from("stty size\n").toString("base64") },
		});
		client.socket.send(Buffer.from(binary), { binary: true });
		expect(await client.text(/24 80/)).not.toContain("wrong");
		expect(client.types.filter((type) => type === "terminal.error")).toEqual([]);
	});

	it("S20, W8: input waits for a program that does not read, which can still be closed", async () => {
		const server = await startMultica();
		const client = await MulticaClient.open(server);
		client.type("stty raw -echo; echo ready-$((1+1)); sleep 1000\n");
		await client.text(/ready-2/);
		client.type(Buffer.alloc(1_000_000, "x"));
		client.say("terminal.close", { session_id: client.session, reason: "enough" });
		expect((await client.frame("terminal.exit")).payload).toMatchObject({ exit_code: -1, reason: "enough" });
		expect((await client.closed).code).toBe(1000);
	});
});

describe("a client that does not read", () => {
	it("M12, R1, B5: a client that does not read can close its terminal, and its unread output blocks nothing", async () => {
		const server = await startMultica();
		const client = await MulticaClient.open(server);
		client.type("yes hawser\n");
		await client.text(/hawser\r\nhawser/);
		client.socket.pause();
		client.say("terminal.close", { session_id: client.session, reason: "enough" });
		await eventually("the shell to end", () => server.running().length === 0);
		client.socket.resume();
		expect((await client.frame("terminal.exit")).payload.reason).toBe("enough");
		expect(server.problems).toEqual([]);
	});
});

describe("resizing", () => {
	it("M8: a resize reaches the terminal, and zero is the default in each dimension", async () => {
		const server = await startMultica();
		const client = await MulticaClient.open(server);
		client.resize(132, 50);
		client.type("stty size\n");
		await client.text(/50 132/);
		client.resize(0, 33);
		client.type("stty size\n");
		await client.text(/33 80/);
	});

	it("S22, 1.9: of a burst of resizes the last one applies, in order with typed input", async () => {
		const server = await startMultica();
		const client = await MulticaClient.open(server);
		await quiet(client);
		for (let index = 1; index <= 500; index++) client.resize(100 + index, 30);
		client.type("stty size\n");
		await client.text(/30 600/);
		client.resize(77, 7);
		await eventually("the last size", () => server.sessions.get(client.session)?.state.size.cols === 77);
		client.type("stty size\n");
		await client.text(/7 77/);
	});
});

describe("the end of a terminal", () => {
	it("S21, B7: an exit has the program's code and the reason exited; a signal is -1 with its name", async () => {
		const server = await startMultica();
		const end = async (command: string) => {
			const client = await MulticaClient.open(server);
			client.type(`${command}\n`);
			const { payload } = await client.frame("terminal.exit");
			expect((await client.closed).code).toBe(1000);
			expect(client.types.at(-1)).toBe("terminal.exit");
			expect(payload.session_id).toBe(client.session);
			const { exit_code, reason, signal } = payload;
			return { exit_code, reason, signal };
		};
		expect(await end("exit 0")).toEqual({ exit_code: 0, reason: "exited", signal: undefined });
		expect(await end("exit 3")).toEqual({ exit_code: 3, reason: "exited", signal: undefined });
		expect(await end("kill -9 $$")).toEqual({ exit_code: -1, reason: "exited", signal: "SIGKILL" });
	});

	it("S19, S10, B6, W3, W7: the exit follows every byte of a burst right before it", async () => {
		const server = await startMultica();
		const client = await MulticaClient.open(server);
		await quiet(client);
		const before = client.output().byteLength;
		client.type("head -c 262144 /dev/zero | tr '\\0' x; exit 4\n");
		expect((await client.frame("terminal.exit")).payload.exit_code).toBe(4);
		expect(client.types.at(-1)).toBe("terminal.exit");
		expect(client.output().subarray(before).toString().match(/x/g)?.length).toBe(262_144);
	});

	it("S8, W1, B12, 1.9: output starts with opened and includes the first prompt, whatever happens at that moment", async () => {
		const server = await startMultica();
		for (let round = 0; round < 5; round++) {
			const client = await MulticaClient.open(server);
			await client.text(/\$|#/);
			expect(client.types.indexOf("terminal.opened")).toBe(1);
			let next = 0;
			for (const { type, payload } of client.frames) {
				if (type !== "terminal.data") continue;
				expect(payload.offset).toBe(next);
				next += Buffer.from(String(payload.data_b64), "base64").byteLength;
			}
			client.type("exit\n");
			await client.closed;
		}
	});

	it("M9, 2.4: a close has the client's reason, or client_close without one", async () => {
		const server = await startMultica();
		for (const [given, told] of [
			["user_requested", "user_requested"],
			[undefined, "client_close"],
		] as const) {
			const client = await MulticaClient.open(server);
			client.say("terminal.close", { session_id: client.session, reason: given });
			expect((await client.frame("terminal.exit")).payload).toMatchObject({ exit_code: -1, reason: told });
			expect((await client.closed).code).toBe(1000);
		}
		expect(server.running()).toEqual([]);
	});

	it("2.4: a natural exit before a close keeps its reason, and an exit by a close keeps the close's", async () => {
		const server = await startMultica({ times: { killMs: 10_000 } });
		const client = await MulticaClient.open(server);
		client.type("exec sh -c 'trap \"exit 7\" HUP; echo ready-$((1+1)); while :; do sleep 0.02; done'\n");
		await client.text(/ready-2/);
		client.say("terminal.close", { session_id: client.session, reason: "first" });
		client.say("terminal.close", { session_id: client.session, reason: "second" });
		expect((await client.frame("terminal.exit")).payload).toMatchObject({ exit_code: 7, reason: "first" });
	});

	it("R3, W9: closing leaves none of the shell's jobs, however they hide", async () => {
		const server = await startMultica();
		const client = await MulticaClient.open(server);
		const mark = `hawser-multica-${process.pid}`;
		client.type(
			`nohup bash -c 'exec -a ${mark} sleep 1000' & disown; setsid bash -c 'exec -a ${mark} sleep 1000' & echo jobs-$((1+1))\n`,
		);
		await client.text(/jobs-2/);
		client.say("terminal.close", { session_id: client.session, reason: "done" });
		await client.closed;
		const left = () => {
			try {
				return execFileSync("pgrep", ["-f", mark]).toString();
			} catch {
				return "";
			}
		};
		await eventually("the jobs to be gone", () => left() === "");
	});
});
