import { writeFile } from "node:fs/promises";
import { userInfo } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { temporaryDirectory } from "../../../support/temporary.ts";
import { type ExecClient, startParams } from "./support/exec-client.ts";
import { type Exec, sh, startExec } from "./support/exec-harness.ts";

let exec: Exec;
let client: ExecClient;
beforeEach(async () => {
	exec = await startExec();
	client = await exec.client();
});

describe("process/start", () => {
	it("P1: process/start runs true with an empty environment", async () => {
		const log = await client.start("proc-1", ["true"], { env: {} });
		await log.closed();
	});

	it("E1: true exits with 0 and closes", async () => {
		const log = await (await client.start("p", ["true"])).closed();
		expect(log.events).toEqual([
			{ kind: "exited", seq: 1, exitCode: 0 },
			{ kind: "closed", seq: 2 },
		]);
	});

	it("E3, invariants 3 and 5: stdout, stderr, exited and closed share one dense sequence", async () => {
		const log = await client.start("p", sh("printf out; read x; printf err >&2; read x; exit 7"), { pipeStdin: true });
		await log.output("out");
		await client.write("p", "\n", "1");
		await log.output("err");
		await client.write("p", "\n", "2");
		await log.closed();
		expect(log.events).toEqual([
			{ kind: "output", seq: 1, stream: "stdout", text: "out" },
			{ kind: "output", seq: 2, stream: "stderr", text: "err" },
			{ kind: "exited", seq: 3, exitCode: 7 },
			{ kind: "closed", seq: 4 },
		]);
	});

	it("invariant 9: the answer precedes every event of the process, however fast it runs", async () => {
		for (let i = 0; i < 30; i++) await (await client.start(`p${i}`, ["echo", "hi"])).closed();
		for (let i = 0; i < 30; i++) {
			const isOf = ({ result, params }: Record<string, unknown>) =>
				((result ?? params) as { processId?: string }).processId === `p${i}`;
			const kinds = client.messages.filter(isOf).map(({ method }) => method ?? "answer");
			expect(kinds).toEqual(["answer", "process/output", "process/exited", "process/closed"]);
		}
	});

	it.each([
		[["nope-x"], {}, "No such file or directory (os error 2)"],
		[["/nope/x"], { tty: true }, "No such file or directory (os error 2)"],
		[["/etc/passwd"], {}, "Permission denied (os error 13)"],
		[["true"], { cwd: "file:///no/such/directory" }, "No such file or directory (os error 2)"],
		[["true"], { cwd: "file:///etc/passwd", tty: true }, "Not a directory (os error 20)"],
	])("invariant 10: %j with %j fails in the start call, and leaves no residue", async (argv, options, message) => {
		await expect(client.start("p", argv, options)).rejects.toMatchObject({ code: -32603, message });
		await expect(client.read("p")).rejects.toMatchObject({ code: -32600, message: "unknown process id p" });
		await (await client.start("p", ["true"])).closed();
		expect(client.messages.filter(({ method }) => method === "process/exited")).toHaveLength(1);
	});

	it.each([
		[{ argv: [] }, "argv must not be empty"],
		[{ cwd: "/tmp" }, /relative URL without a base/],
		[{ cwd: "file:///C:/x" }, /^cwd URI `file:\/\/\/C:\/x` is not valid on this exec-server host: /],
		[{ sandbox: { permissions: { type: "disabled" } } }, /missing field `windowsSandboxLevel`/],
		[{ networkProxy: {} }, /not supported/],
		[{ env: { A: 1 } }, /./],
		[{ tty: "yes" }, /./],
		[{ metadata: "x" }, /./],
		[{ metadata: { threadId: 5 } }, /expected a string/],
		[{ metadata: { threadId: "no uuid" } }, /UUID/],
		[{ metadata: { toolCallId: 5 } }, /expected a string/],
		[{ managedNetwork: { loopbackPorts: ["x"] } }, /expected u16/],
		[{ managedNetwork: { loopbackPorts: [70_000] } }, /u16/],
		[{ managedNetwork: { loopbackPorts: null } }, /expected a sequence/],
		[{ managedNetwork: "x" }, /./],
		[{ processId: undefined }, /missing field `processId`/],
	])("process/start refuses %j", async (change, message) => {
		const params = { ...startParams("p", ["true"]), ...change };
		await expect(client.request("process/start", params)).rejects.toMatchObject({
			code: -32602,
			message: typeof message === "string" ? message : expect.stringMatching(message),
		});
	});

	it("process/start fails for arguments that no program can have", async () => {
		await expect(client.start("p", ["a\0b"])).rejects.toMatchObject({ code: -32603 });
		await expect(client.start("p", [""])).rejects.toMatchObject({ code: -32603 });
		await (await client.start("p", ["true"])).closed();
	});

	it("process/start accepts members of newer clients, and an empty name", async () => {
		const log = await client.start("", ["true"], {
			metadata: { threadId: "01a1e16f-21f2-7331-838b-bc92e76a8e5a", toolCallId: "call_1", more: 1 },
			enforceManagedNetwork: true,
			managedNetwork: { loopbackPorts: [1], allowLocalBinding: true },
			sandbox: null,
			arg0: null,
			envPolicy: null,
		});
		await log.closed();
	});

	it.each([{}, { loopbackPorts: [] }, { allowLocalBinding: false }])(
		"process/start accepts a managed network of %j",
		async (network) => {
			const log = await client.start("p", ["true"], { managedNetwork: network, metadata: {} });
			expect((await log.closed()).exitCode).toBe(0);
		},
	);

	it("a process gets exactly the environment that was sent", async () => {
		const log = await client.start("p", ["/usr/bin/env"], { env: { A: "1", B: "x y" } });
		expect((await log.closed()).text().trim().split("\n").sort()).toEqual(["A=1", "B=x y"]);
	});

	it("a process on a terminal also gets SHELL, unless that was sent", async () => {
		const shellOf = async (id: string, env: Record<string, string>) => {
			const log = await client.start(id, ["/usr/bin/env"], { env, tty: true });
			return (await log.closed()).text().trim();
		};
		expect(await shellOf("p", {})).toBe(`SHELL=${userInfo().shell}`);
		expect(await shellOf("q", { SHELL: "/bin/own" })).toBe("SHELL=/bin/own");
	});

	it("a policy adds the server's environment under the sent one", async () => {
		const envPolicy = {
			inherit: "all",
			ignoreDefaultExcludes: true,
			exclude: ["HOME"],
			set: { S: "1" },
			includeOnly: [],
		};
		const log = await client.start("p", ["env"], { envPolicy, env: { TERM: "dumb" } });
		const env = Object.fromEntries(
			(await log.closed())
				.text()
				.split("\n")
				.map((line) => line.split("=", 2)),
		);
		expect(env).toMatchObject({ PATH: process.env.PATH, S: "1", TERM: "dumb" });
		expect(env).not.toHaveProperty("HOME");
		expect(env).not.toHaveProperty("HAWSER_SESSION");
	});

	it.each([false, true])("arg0 sets argv[0] alone (tty %s)", async (tty) => {
		const argv = ["/bin/sh", "-c", 'tr "\\0" " " </proc/$$/cmdline'];
		const log = await client.start("p", argv, { arg0: "custom-arg0", tty });
		expect((await log.closed()).text()).toContain("custom-arg0 -c");
	});

	it("a name is taken until 30 s after closed, and its process is not touched", async () => {
		const log = await client.start("p", ["cat"], { pipeStdin: true });
		await expect(client.start("p", ["true"])).rejects.toMatchObject({
			code: -32600,
			message: "process p already exists",
		});
		await client.write("p", "on\n", "1");
		await log.output("on");
		await client.terminate("p");
		await log.closed();
		await expect(client.start("p", ["true"])).rejects.toMatchObject({ message: "process p already exists" });
	});
});

describe("a process on a terminal", () => {
	it("E6: a terminal program reads and echoes a line written to it", async () => {
		const script = 'stty size; read line; printf "from-stdin:%s\\n" "$line"';
		const log = await client.start("p", sh(script), { tty: true });
		await log.output("24 80\r\n");
		expect(await client.write("p", "hello\n", "1")).toBe("accepted");
		await log.closed();
		expect(log.text("pty")).toBe("24 80\r\nhello\r\nfrom-stdin:hello\r\n");
		expect(log.exitCode).toBe(0);
	});

	it("a terminal handles ^C and ^D", async () => {
		for (const [key, exitCode] of [
			["\u0004", 0],
			["\u0003", 130],
		] as const) {
			const log = await client.start(`cat-${exitCode}`, ["cat"], { tty: true });
			await client.write(`cat-${exitCode}`, "x\n", "1");
			await log.output("x\r\nx\r\n");
			await client.write(`cat-${exitCode}`, key, "2");
			expect((await log.closed()).exitCode).toBe(exitCode);
		}
	});
});

describe("the end of a process", () => {
	it("E5, invariant 6: late output of a child comes after exited and before closed", async () => {
		const fifo = join(await temporaryDirectory(), "fifo");
		const log = await client.start("p", sh(`mkfifo ${fifo}; (read x <${fifo}; echo late) & exit 3`));
		const exit = await client.read("p", { waitMs: 20_000 });
		expect(exit).toMatchObject({ chunks: [], exited: true, exitCode: 3, closed: false, nextSeq: 2 });
		// This reader knows of the exit, so it waits for the next event.
		const poll = client.read("p", { afterSeq: exit.nextSeq - 1, waitMs: 20_000 });
		await writeFile(fifo, "now\n");
		const late = { seq: 2, stream: "stdout", chunk: base64("late\n") };
		expect(await poll).toMatchObject({ chunks: [late], exited: true, exitCode: 3 });
		await log.closed();
		expect(await client.read("p")).toMatchObject({ chunks: [late], nextSeq: 4, exitCode: 3, closed: true });
		expect(log.events.map(({ kind }) => kind)).toEqual(["exited", "output", "closed"]);
	});

	it("a killed process reports 128 plus the signal, on pipes and on a terminal", async () => {
		for (const tty of [false, true]) {
			const log = await client.start(`p${tty}`, sh("kill -TERM $$"), { tty });
			expect((await log.closed()).exitCode).toBe(143);
		}
	});
});

function base64(text: string): string {
	return Buffer.from(text).toString("base64");
}

describe("a start as large as the kernel accepts", () => {
	const long = "x".repeat(128 * 1024 - 1);

	it("a start of the kernel's maximum works, and above it the kernel's error is returned", async () => {
		const most = Array.from({ length: 14 }, () => long);
		const log = await client.start("p", ["sh", "-c", "echo $#", "sh", ...most]);
		expect((await log.closed()).text()).toBe("14\n");
		const refused = client.start("q", ["true", `${long}x`]);
		await expect(refused).rejects.toMatchObject({ code: -32603, message: "Argument list too long (os error 7)" });
	});
});
