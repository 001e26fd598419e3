// @module-tag apart

import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Sandbox } from "../../src/sandbox/sandbox.ts";
import { eventually } from "../support/run-program.ts";
import { temporaryDirectory } from "../support/temporary.ts";
import { attempt, confined, directoryOf, probe, startConfined, type User, users } from "./support.ts";

const policy = { type: "workspaceWrite", excludeSlashTmp: true } as const;
const waiting = ["/bin/sh", "-c", "echo ready; read line"];

describe.each(users)("as $name, placeholders of protected files", (user) => {
	test("placeholders are gone after the program was killed", async () => {
		const work = await directoryOf(user);
		const run = await startConfined(waiting, { sandbox: policy, user, cwd: work });
		await run.untilText("ready");
		expect(readdirSync(work).sort()).toEqual([".agents", ".aws", ".codex", ".git"]);
		await run.process.kill({ signal: "SIGKILL", graceMs: 0 });
		await eventually(() => readdirSync(work).length === 0);
	});

	test.each(["true", "exit 3", "sleep 60 & setsid sleep 60 & true", "kill -KILL $$"])(
		"placeholders are gone when the program's end is reported: %s",
		async (script) => {
			const work = await directoryOf(user);
			for (let round = 0; round < 10; round++) {
				const run = await startConfined(["/bin/sh", "-c", script], { sandbox: policy, user, cwd: work });
				await run.until(() => run.exit !== undefined);
				expect(readdirSync(work)).toEqual([]);
				await run.closed();
			}
		},
	);

	test("placeholders are gone when a killed program's end is reported", async () => {
		const work = await directoryOf(user);
		for (let round = 0; round < 10; round++) {
			const run = await startConfined(waiting, { sandbox: policy, user, cwd: work });
			await run.untilText("ready");
			// The parent of the sandbox, while processes in it still run.
			process.kill(run.process.pid, "SIGKILL");
			await run.until(() => run.exit !== undefined);
			expect(readdirSync(work)).toEqual([]);
			await run.closed();
		}
	});

	test("a file that the user put in place of a placeholder is kept", async () => {
		const work = await directoryOf(user);
		const run = await startConfined(waiting, { sandbox: policy, user, cwd: work });
		await run.untilText("ready");
		rmdirSync(join(work, ".git"));
		mkdirSync(join(work, ".git"));
		await run.process.kill({ signal: "SIGKILL", graceMs: 0 });
		await eventually(() => readdirSync(work).length === 1);
		expect(readdirSync(work)).toEqual([".git"]);
	});

	test("placeholders stay until the last program that needs them has ended", async () => {
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

	test("placeholders are never missing while programs start and end", async () => {
		const work = await directoryOf(user);
		const options = { sandbox: policy, user, cwd: work };
		const tries = Array.from({ length: 24 }, async () => attempt(["write", ".git/hook"], options));
		expect(new Set(await Promise.all(tries))).toEqual(new Set(["EROFS"]));
		await eventually(() => readdirSync(work).length === 0);
	});
});

test("files that others create meanwhile are kept", async () => {
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

test("the next program removes what a killed minder left", async () => {
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
	// Children held the pipes; if they had survived, closed would not have come.
	expect(run.facts.at(-1)).toEqual({ kind: "closed" });
});

test("processor time, memory and files of a program are limited", async () => {
	const limits = { cpuSeconds: 1, memoryBytes: 1024 ** 3, fileBytes: 1024 ** 2 };
	const work = await directoryOf(users[0] as User);
	const options = { sandbox: { ...policy, limits }, cwd: work };
	expect((await confined("ulimit -t; ulimit -v; ulimit -f", options)).text).toBe("1\n1048576\n2048\n");
	expect((await confined("while :; do :; done", options)).code).toBe(128 + 9);
	expect((await confined("head -c 2000000 /dev/zero > large", options)).code).not.toBe(0);
});

test("the number of processes of a program is limited, except for root", async () => {
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

describe("a server without root", () => {
	const user = users.at(-1) as User;

	/** The output of a shell line in a sandbox made by such a server, or the error. */
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

	test("a server without root makes the same sandboxes", async () => {
		const work = await directoryOf(user);
		const line = "id -u; touch new && echo wrote; mkdir .git/hooks || echo kept; touch /etc/new || echo kept";
		expect(await confinedByUser(line, work)).toBe(`${user.uid}\nwrote\nkept\nkept\n`);
		await eventually(() => readdirSync(work).join() === "new");
	});

	test("a server without root refuses a directory that only its program could make writable", async () => {
		const work = await directoryOf(user);
		chmodSync(work, 0o555);
		// Root needs no permission, so the program just runs.
		const wanted = user.uid === 0 ? /kept/ : /^cannot start "[^"]+" in a sandbox: .*EACCES/;
		expect(await confinedByUser("chmod 755 . ; mkdir .git/hooks || echo kept", work)).toMatch(wanted);
		expect(existsSync(join(work, ".git"))).toBe(false);
	});
});

test("a sandbox whose protected files could be created is refused", async () => {
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

describe("a server without sandboxes", () => {
	test("without bubblewrap a policy is refused, except one without restrictions", async () => {
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

	test("with a failing bubblewrap a policy is refused with its error text", async () => {
		const folder = await temporaryDirectory();
		await writeFile(join(folder, "bwrap"), "#!/bin/sh\necho no namespaces here >&2\nexit 1\n", { mode: 0o755 });
		const within = await probe({ path: folder });
		await expect(confined("true", { sandbox: { type: "readOnly" }, within })).rejects.toMatchObject({
			code: "unsupported",
			message: expect.stringContaining("no namespaces here"),
		});
	});
});
