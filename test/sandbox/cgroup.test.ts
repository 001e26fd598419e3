// @module-tag apart

/** Limits by control groups: accepted groups, and their effects as far as this machine allows. */

import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { realpath } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Command } from "../../src/core/process/process.ts";
import type { SandboxLimits } from "../../src/core/process/sandbox-policy.ts";
import { ControlGroups } from "../../src/sandbox/control-groups.ts";
import { KeeperSite } from "../support/keeper-site.ts";
import { eventually, itemsUntil, outputUntil, write } from "../support/reading.ts";
import { startOf } from "../support/starts.ts";
import { temporaryDirectory } from "../support/temporary.ts";
import { confined, probe, startConfined, type User, users } from "./support.ts";

const own = users[0] as User;

/** A directory with the files of a control group, in a folder that stands for the mount point. */
async function layOut(files: Readonly<Record<string, string>>): Promise<{ group: string; mount: string }> {
	const mount = await realpath(await temporaryDirectory());
	const group = join(mount, "hawser");
	mkdirSync(group);
	for (const [name, text] of Object.entries(files)) writeFileSync(join(group, name), text);
	return { group, mount };
}

const delegated = { "cgroup.controllers": "cpu io memory pids\n", "cgroup.subtree_control": "" };

describe("the operator's control group", () => {
	test("the operator's group passes its controllers to the groups below it, unless it already does", async () => {
		const control = async (passed: string) => {
			const { group, mount } = await layOut({ ...delegated, "cgroup.subtree_control": passed });
			await ControlGroups.open(group, mount);
			return readFileSync(join(group, "cgroup.subtree_control"), "latin1");
		};
		expect(await control("")).toBe("+memory +pids");
		expect(await control("cpu memory\n")).toBe("+pids");
		expect(await control("cpu memory pids\n")).toBe("cpu memory pids\n");
	});

	test.each([
		["is no control group", {}, /hawser is not a control group of version 2$/],
		["has no controllers", { "cgroup.controllers": "\n" }, /hawser has no controller for memory and pids; /],
		["lacks one", { "cgroup.controllers": "cpu pids\n" }, /hawser has no controller for memory; /],
	])("a group is refused when it %s", async (_, files, reason) => {
		const { group, mount } = await layOut(files);
		await expect(ControlGroups.open(group, mount)).rejects.toThrow(reason);
		expect(readdirSync(group)).toEqual(Object.keys(files));
	});

	test("a missing group is refused, and one in a directory that a sandbox may write", async () => {
		const { group } = await layOut(delegated);
		await expect(ControlGroups.open(`${group}/none`)).rejects.toThrow(`no such directory: ${group}/none`);
		await expect(ControlGroups.open(group)).rejects.toThrow(
			"is not below /sys/fs/cgroup, which no sandbox can write to",
		);
	});

	test("the operator's group gets a group per session with limits, whose processes get no limits of their own", async () => {
		const { group, mount } = await layOut({ ...delegated, "memory.swap.max": "max\n" });
		const within = await probe({ cgroups: await ControlGroups.open(group, mount) });
		expect(within.describe()).toMatchObject({ isEnforced: true, limits: "cgroup" });
		const apply = async (limits: SandboxLimits) => {
			const { cgroup, argv } = await within.apply({ ...anything, sandbox: { type: "readOnly", limits } });
			return { cgroup, byItself: ["cpu", "as", "nproc", "fsize"].filter((name) => argv.includes(name)) };
		};
		expect(await apply({ cpuSeconds: 1, fileBytes: 2, memoryBytes: 4096, processes: 8 })).toEqual({
			cgroup: {
				path: join(group, "hawser-s1"),
				settings: { "memory.max": "4096", "memory.swap.max": "0", "memory.oom.group": "1", "pids.max": "9" },
			},
			byItself: ["cpu", "fsize"],
		});
		expect(await apply({ cpuSeconds: 1 })).toEqual({ cgroup: undefined, byItself: ["cpu"] });
	});
});

const anything: Command = {
	argv: ["true"],
	env: { PATH: "/usr/bin:/bin" },
	cwd: "/",
	mode: "pipe",
	size: { cols: 80, rows: 24 },
	stdin: "closed",
	drainMs: 0,
	sessionId: "s1",
};

type Mount = { readonly point: string; readonly type: string; readonly options: readonly string[] };

/** The mount points of control groups of both versions. */
function mounts(): Mount[] {
	const lines = readFileSync("/proc/self/mountinfo", "latin1").trim().split("\n");
	const all = lines.map((line) => {
		const [place = "", filesystem = ""] = line.split(" - ");
		const [type = "", , options = ""] = filesystem.split(" ");
		return { point: place.split(" ")[4] ?? "", type, options: options.split(",") };
	});
	return all.filter(({ type }) => type.startsWith("cgroup"));
}

/** A new group in this directory, removed after the test; undefined if not permitted. */
function makeGroup(directory: string): string | undefined {
	const group = join(directory, `hawser-test-${randomUUID()}`);
	try {
		mkdirSync(group);
	} catch {
		return undefined;
	}
	onTestFinished(() => rmdirSync(group));
	return group;
}

describe("a program in a group that limits its processes", () => {
	/**
	 * A place where groups can be created. Version 1 has the same files, which is enough to test the minder. Otherwise a
	 * plain folder, where the failure to start is tested.
	 */
	async function placeForGroups(): Promise<{ place: string; isReal: boolean }> {
		for (const { point, type, options } of mounts()) {
			if (type === "cgroup" && !options.includes("pids")) continue;
			const group = makeGroup(point);
			// In version 2, groups get only the controllers that their parent passes on.
			if (group !== undefined && type === "cgroup") return { place: group, isReal: true };
			if (group === undefined || !existsSync(join(group, "pids.max"))) continue;
			writeFileSync(join(group, "cgroup.subtree_control"), "+pids");
			return { place: group, isReal: true };
		}
		return { place: await temporaryDirectory(), isReal: false };
	}

	/** A sandbox that uses groups in this place. */
	async function withinGroups(place: string) {
		const { group, mount } = await layOut(delegated);
		const sandbox = await probe({ cgroups: await ControlGroups.open(group, mount) });
		const apply = async (command: Command): Promise<Command> => {
			const { cgroup, ...applied } = await sandbox.apply(command);
			return { ...applied, cgroup: { path: join(place, "limited"), settings: cgroup?.settings ?? {} } };
		};
		return { apply };
	}

	const everything = [{ path: "/", access: "write" }] as const;
	const sandbox = { type: "paths", paths: everything, limits: { processes: 8 } } as const;

	test.each(users)(
		"as $name, a program stays within its group's process limit and leaves no group behind",
		async (user) => {
			const { place, isReal } = await placeForGroups();
			const within = await withinGroups(place);
			const group = join(place, "limited");
			const script = `
			(echo max > ${group}/pids.max) 2>/dev/null || echo kept
			(echo 0 > ${place}/cgroup.procs) 2>/dev/null || echo kept
			for i in 1 2 3 4 5 6 7 8 9 10; do sleep 100 & echo $i; done`;
			const ended = confined(script, { sandbox, user, within });
			// Process 1 of the sandbox and the shell count too.
			if (isReal) expect((await ended).text).toMatch(/^kept\nkept\n1\n2\n3\n4\n5\n6\n.*fork/i);
			else await expect(ended).rejects.toMatchObject({ code: "spawn_failed" });
			await eventually("the end of the group", async () => !existsSync(group));
		},
	);

	test("the group applies in a keeper too, also while no server runs", async () => {
		const { place, isReal } = await placeForGroups();
		const site = await KeeperSite.create();
		const first = await site.open();
		const start = startOf(["/bin/sh", "-c", "echo ready; read -r line; sleep 100 & sleep 100 & sleep 100 & echo all"]);
		const limits = { type: "readOnly", limits: { processes: 4 } } as const;
		const command = await (await withinGroups(place)).apply({ ...start.command, sandbox: limits });
		const starting = first.keepers.start({ ...start, command });
		if (!isReal) return expect(starting).rejects.toMatchObject({ code: "spawn_failed" });
		await outputUntil(await starting, /ready/);
		await first.keepers.close();
		expect(readFileSync(join(place, "limited", "cgroup.procs"), "latin1")).not.toBe("");
		const { adopted } = await site.open();
		const [session] = adopted;
		if (!session) throw new Error("no session was found again");
		await write(session, "\n");
		expect(await outputUntil(session, /fork|all/i)).toMatch(/fork/i);
		await itemsUntil(session, { offset: 0 });
		await eventually("the end of the group", async () => !existsSync(join(place, "limited")));
	});
});

test("a program whose group can't have its limits is not started, and no group is left", async () => {
	const directory = await temporaryDirectory();
	const cgroup = { path: join(directory, "limited"), settings: { "pids.max": "8" } };
	const within = { apply: async ({ sandbox: _, ...command }: Command): Promise<Command> => ({ ...command, cgroup }) };
	await expect(startConfined(["true"], { sandbox: { type: "readOnly" }, user: own, within })).rejects.toMatchObject({
		code: "spawn_failed",
		message: expect.stringContaining(`its control group ${cgroup.path} can't be created or entered`),
	});
	await eventually("the end of the group", async () => readdirSync(directory).length === 0);
});

test("a program above its group's memory limit is killed, where groups have memory", async () => {
	const unified = mounts().find(({ type }) => type === "cgroup2")?.point ?? "/nowhere";
	const group = makeGroup(unified) ?? join(unified, "none");
	const opening = ControlGroups.open(group);
	const hasMemory = existsSync(join(group, "memory.max")) && existsSync(join(group, "pids.max"));
	if (!hasMemory) return expect(opening).rejects.toThrow(/^no such directory|has no controller for/);
	const within = await probe({ cgroups: await opening });
	const sandbox = { type: "readOnly", limits: { memoryBytes: 32 * 1024 ** 2 } } as const;
	const run = await (await startConfined(["tail", "-c", "200M", "/dev/zero"], { sandbox, within })).closed();
	expect(run.exit).toEqual({ code: null, signal: "SIGKILL", reason: "oom" });
	await eventually("the end of its group", async () => !existsSync(join(group, `hawser-${run.sessionId}`)));
});
