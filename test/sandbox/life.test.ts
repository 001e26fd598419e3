import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Sandbox } from "../../src/sandbox/sandbox.ts";
import { eventually } from "../backends/run.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";
import { attempt, confined, directoryOf, probe, startConfined, type User, users } from "./confined.ts";

const policy = { type: "workspaceWrite", excludeSlashTmp: true } as const;
const waiting = ["/bin/sh", "-c", "echo ready; read line"];

describe.each(users)("as $name, what stands where nothing may be made", (user) => {
	test("is gone after the program was killed", async () => {
		const work = await directoryOf(user);
		const run = await startConfined(waiting, { sandbox: policy, user, cwd: work });
		await run.untilText("ready");
		expect(readdirSync(work).sort()).toEqual([".agents", ".aws", ".codex", ".git"]);
		await run.process.kill({ signal: "SIGKILL", graceMs: 0 });
		await eventually(() => readdirSync(work).length === 0);
	});

	test("stays until the last program that needs it has ended", async () => {
		const work = await directoryOf(user);
		const options = { sandbox: policy, user, cwd: work };
		const [first, second] = [await startConfined(waiting, options), await startConfined(waiting, options)];
		await first.untilText("ready");
		await second.untilText("ready");
		await first.process.kill({ signal: "SIGKILL", graceMs: 0 });
		expect(await attempt(["mkdir", ".git"], options)).toBe("EEXIST");
		expect(existsSync(join(work, ".git"))).toBe(true);
		await second.process.kill({ signal: "SIGKILL", graceMs: 0 });
		await eventually(() => readdirSync(work).length === 0);
	});

	test("is never missing while programs come and go", async () => {
		const work = await directoryOf(user);
		const options = { sandbox: policy, user, cwd: work };
		const tries = Array.from({ length: 24 }, async () => attempt(["write", ".git/hook"], options));
		expect(new Set(await Promise.all(tries))).toEqual(new Set(["EROFS"]));
		await eventually(() => readdirSync(work).length === 0);
	});
});

test("what somebody makes meanwhile stays", async () => {
	const [user] = users as [User];
	const work = await directoryOf(user);
	const run = await startConfined(waiting, { sandbox: policy, cwd: work });
	await run.untilText("ready");
	execFileSync("chmod", ["u+w", join(work, ".git")]);
	await writeFile(join(work, ".git/config"), "ours");
	await run.process.kill({ signal: "SIGKILL", graceMs: 0 });
	await eventually(() => !existsSync(join(work, ".codex")));
	expect(readFileSync(join(work, ".git/config"), "utf8")).toBe("ours");
});

test("what a killed minder left is taken away by the next program", async () => {
	const [user] = users as [User];
	const work = await directoryOf(user);
	await mkdir(join(work, ".git"), { mode: 0o555 });
	execFileSync("chmod", ["1555", join(work, ".git")]);
	await confined("true", { sandbox: policy, cwd: work });
	await eventually(() => !existsSync(join(work, ".git")));
});

test.each(users)("as $name, everything that a program started ends with it, at once", async (user) => {
	const script = "setsid sleep 1000 </dev/null & setsid sh -c 'trap \"\" TERM HUP; sleep 1000' & echo started";
	const run = await startConfined(["sh", "-c", script], { sandbox: { type: "readOnly" }, user, drainMs: 10_000 });
	await run.closed();
	expect(run.exit).toEqual({ code: 0, signal: null });
	// The pipes were held by what it started; without its end they would have been waited for in vain.
	expect(run.facts.at(-1)).toEqual({ kind: "closed" });
});

test("the processor, memory and files that a program may use are limited", async () => {
	const limits = { cpuSeconds: 1, memoryBytes: 1024 ** 3, fileBytes: 1024 ** 2 };
	const work = await directoryOf(users[0] as User);
	const options = { sandbox: { ...policy, limits }, cwd: work };
	expect((await confined("ulimit -t; ulimit -v; ulimit -f", options)).text).toBe("1\n1048576\n2048\n");
	expect((await confined("while :; do :; done", options)).code).toBe(128 + 9);
	expect((await confined("head -c 2000000 /dev/zero > large", options)).code).not.toBe(0);
});

test("how many processes a program may have is limited, but for root", async () => {
	const nobody = users.find(({ uid }) => uid !== 0);
	const limited = { type: "readOnly", limits: { processes: 8 } } as const;
	if (nobody) {
		const { text } = await confined("for i in 1 2 3 4 5 6 7 8 9 10; do sleep 100 & done; echo all", {
			sandbox: limited,
			user: nobody,
		});
		expect(text).toMatch(/fork/i);
	}
	const root = users.find(({ uid }) => uid === 0);
	if (root)
		await expect(confined("true", { sandbox: limited, user: root })).rejects.toMatchObject({ code: "unsupported" });
});

describe("a server that is not root's", () => {
	const user = users.at(-1) as User;

	/** What a line of shell says in a sandbox that such a server made, or why it made none. */
	async function confinedByUser(line: string, cwd: string): Promise<string> {
		const copy = await directoryOf(user);
		for (const part of ["dist", "native/build", "native/platform.js"])
			cpSync(new URL(`../../${part}`, import.meta.url), join(copy, part), { recursive: true });
		writeFileSync(join(copy, "package.json"), '{ "type": "module" }');
		execFileSync("chmod", ["-R", "a+rX", copy]);
		const command = {
			argv: ["/bin/sh", "-c", line],
			env: { PATH: "/usr/bin:/bin" },
			cwd,
			mode: "pipe",
			size: { cols: 80, rows: 24 },
			stdin: "closed",
			drainMs: 0,
			sessionId: "s",
			sandbox: policy,
		};
		const script = `
			import { spawn } from ${JSON.stringify(join(copy, "dist/backends/spawn.js"))};
			import { Sandbox } from ${JSON.stringify(join(copy, "dist/sandbox/sandbox.js"))};
			const sandbox = await Sandbox.probe({ path: process.env.PATH });
			const applied = await sandbox.apply(${JSON.stringify(command)});
			const print = (fact) => { if (fact.stream === "stdout") process.stdout.write(fact.bytes); };
			await spawn(applied, print).catch((error) => console.log(error.message));`;
		const options = { uid: user.uid, gid: user.gid, cwd: "/", encoding: "utf8" } as const;
		return execFileSync(process.execPath, ["--input-type=module", "--eval", script], options);
	}

	test("makes the same sandboxes", async () => {
		const work = await directoryOf(user);
		const line = "id -u; touch new && echo wrote; mkdir .git/hooks || echo kept; touch /etc/new || echo kept";
		expect(await confinedByUser(line, work)).toBe(`${user.uid}\nwrote\nkept\nkept\n`);
		await eventually(() => readdirSync(work).join() === "new");
	});

	test("makes none in a directory that only its program could make writable", async () => {
		const work = await directoryOf(user);
		chmodSync(work, 0o555);
		// Root needs no permission, so that for it there is nothing to see here.
		const wanted = user.uid === 0 ? /kept/ : /^cannot start "[^"]+" in a sandbox: .*EACCES/;
		expect(await confinedByUser("chmod 755 . ; mkdir .git/hooks || echo kept", work)).toMatch(wanted);
		expect(existsSync(join(work, ".git"))).toBe(false);
	});
});

test("what must not be made and could be is no sandbox", async () => {
	const work = await directoryOf(users[0] as User);
	const within = await probe();
	const apply: Sandbox["apply"] = async (command) => {
		const { placeholders: _, ...applied } = await within.apply(command);
		return applied;
	};
	const { text, code } = await confined("mkdir .git && echo made", { sandbox: policy, cwd: work, within: { apply } });
	expect(text).toMatch(/^hawser: cannot enforce sandbox read-only path .*\/\.(git|codex|agents|aws)\n$/);
	expect(code).toBe(1);
	expect(readdirSync(work)).toEqual([]);
});

describe("where no sandbox can be made", () => {
	test("without bubblewrap a policy is refused, and one that asks for nothing is not", async () => {
		const within = await probe({ path: await temporaryDirectory() });
		expect(within.describe()).toMatchObject({
			isEnforced: false,
			reason: expect.stringContaining("bubblewrap is not installed"),
		});
		for (const type of ["readOnly", "workspaceWrite"] as const)
			await expect(confined("true", { sandbox: { type }, within })).rejects.toMatchObject({ code: "unsupported" });
		for (const type of ["dangerFullAccess", "externalSandbox"] as const)
			expect((await confined("exit 3", { sandbox: { type }, within })).code).toBe(3);
	});

	test("with a bubblewrap that fails it is refused with what that says", async () => {
		const folder = await temporaryDirectory();
		await writeFile(join(folder, "bwrap"), "#!/bin/sh\necho no namespaces here >&2\nexit 1\n", { mode: 0o755 });
		const within = await probe({ path: folder });
		await expect(confined("true", { sandbox: { type: "readOnly" }, within })).rejects.toMatchObject({
			code: "unsupported",
			message: expect.stringContaining("no namespaces here"),
		});
	});
});
