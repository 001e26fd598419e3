// @module-tag apart

import { existsSync, readdirSync, symlinkSync } from "node:fs";
import { chmod, lchown, mkdir, readFile, rename, symlink, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Sandbox } from "../../src/sandbox/sandbox.ts";
import { eventually } from "../support/run-program.ts";
import { attempt, confined, directoryOf, probe, sandbox, type User, users } from "./support.ts";

/** Creates files of the user. */
async function owned(user: User, path: string, content?: string): Promise<void> {
	if (content === undefined) await mkdir(path);
	else await writeFile(path, content);
	await lchown(path, user.uid, user.gid);
}

const readOnly = { type: "readOnly" } as const;

describe.each(users)("as $name, a program with a read-only policy", (user) => {
	test("a read-only program reads every file", async () => {
		const { text, code } = await confined("cat /etc/passwd", { sandbox: readOnly, user });
		expect(text).toBe(await readFile("/etc/passwd", "latin1"));
		expect(code).toBe(0);
	});

	test("a read-only program writes nowhere", async () => {
		const work = await directoryOf(user);
		await owned(user, join(work, "old"), "old");
		const options = { sandbox: readOnly, user, cwd: work };
		const places = [
			`${work}/new`,
			`${work}/old`,
			"/etc/new",
			"/var/tmp/new",
			"/tmp/new",
			"/new",
			"/dev/new",
			"/sys/new",
		];
		for (const place of places) expect(await attempt(["write", place], options), place).toMatch(/^(EROFS|EACCES)$/);
		expect(await attempt(["mkdir", `${work}/folder`], options)).toBe("EROFS");
		expect(await attempt(["rename", `${work}/old`, `${work}/new`], options)).toBe("EROFS");
		expect(await attempt(["setuid", `${work}/old`], options)).toBe("EROFS");
	});

	test("a read-only program changes no settings of the machine", async () => {
		const settings = ["/proc/sys/kernel/core_pattern", "/proc/sys/vm/drop_caches", "/proc/sysrq-trigger"];
		for (const path of settings)
			expect(await attempt(["write", path], { sandbox: readOnly, user }), path).toMatch(/^(EROFS|EACCES|ENOENT)$/);
	});

	test("a read-only program has its own shared memory", async () => {
		const name = `/dev/shm/hawser-${process.pid}`;
		expect(await attempt(["write", name], { sandbox: readOnly, user })).toBe("ok");
		expect(existsSync(name)).toBe(false);
	});

	test("a read-only program can't mount or unmount", async () => {
		const options = { sandbox: readOnly, user };
		expect(await attempt(["bind", "/tmp", "/mnt"], options)).toBe("EPERM");
		expect(await attempt(["unmount", "/proc/sys"], options)).toBe("EPERM");
		expect(await attempt(["remount", "/"], options)).toBe("EPERM");
		expect(await attempt(["chroot"], options)).toBe("EPERM");
	});
});

describe.each(users)("as $name, a program with a workspace policy", (user) => {
	const policy = { type: "workspaceWrite" } as const;

	test("a workspace program writes below its directory and to temporary files only", async () => {
		const [work, other] = [await directoryOf(user), await directoryOf(user)];
		const options = { sandbox: policy, user, cwd: work };
		expect(await attempt(["write", join(work, "new")], options)).toBe("ok");
		expect(existsSync(join(work, "new"))).toBe(true);
		const temporary = `/tmp/hawser-sandbox-${process.pid}-${user.uid}`;
		expect(await attempt(["mkdir", temporary], options)).toBe("ok");
		expect(await attempt(["rmdir", temporary], options)).toBe("ok");
		for (const place of [join(other, "new"), "/etc/new", "/var/tmp/new"])
			expect(await attempt(["write", place], options), place).toBe("EROFS");
	});

	test("a workspace program with given roots writes to them, and not to its directory", async () => {
		const [work, root] = [await directoryOf(user), await directoryOf(user)];
		const options = { sandbox: { ...policy, writableRoots: [root] }, user, cwd: work };
		expect(await attempt(["write", join(root, "new")], options)).toBe("ok");
		expect(await attempt(["write", join(work, "new")], options)).toBe("EROFS");
	});

	test("a workspace program writes to its TMPDIR, unless that is excluded", async () => {
		const [work, temporary] = [await directoryOf(user), await directoryOf(user)];
		const env = { PATH: "/usr/bin:/bin", TMPDIR: temporary };
		const options = { sandbox: policy, user, cwd: work, env };
		expect(await attempt(["write", join(temporary, "new")], options)).toBe("ok");
		const excluded = { ...policy, excludeTmpdirEnvVar: true, excludeSlashTmp: true };
		expect(await attempt(["write", join(temporary, "more")], { ...options, sandbox: excluded })).toBe("EROFS");
		expect(await attempt(["write", "/tmp/hawser-new"], { ...options, sandbox: excluded })).toBe("EROFS");
	});

	test.each(["", "relative", "/is/not/there", "/etc/passwd"])(
		"a TMPDIR of %j does not prevent the start",
		async (named) => {
			const env = { PATH: "/usr/bin:/bin", TMPDIR: named };
			const { code } = await confined("true", { sandbox: policy, user, cwd: await directoryOf(user), env });
			expect(code).toBe(0);
		},
	);

	test("a TMPDIR of / does not make the whole disk writable", async () => {
		const run = attempt(["write", "/etc/new"], { sandbox: policy, user, cwd: "/tmp", env: { TMPDIR: "/" } });
		await expect(run).rejects.toMatchObject({ code: "invalid_argument" });
	});

	describe("links to paths that the next policy makes writable", () => {
		const excluded = { ...policy, excludeSlashTmp: true } as const;
		const makers: Readonly<Record<string, (work: string, victim: string) => string>> = {
			"a link": (work, victim) => `ln -s ${victim} ${work}/later`,
			"a relative link": (work, victim) => `ln -s ../${basename(victim)} ${work}/later`,
			"two links": (work, victim) => `ln -s ${victim} ${work}/first; ln -s first ${work}/later`,
			"a link to /": (work) => `ln -s / ${work}/later`,
		};

		test.each(Object.entries(makers))("%s widens no sandbox", async (_name, made) => {
			const [work, victim] = [await directoryOf(user), await directoryOf(user)];
			const roots = { ...excluded, writableRoots: [work, join(work, "later")], skipsMissing: true };
			const first = await confined(made(work, victim), { sandbox: roots, user });
			expect(first).toEqual({ text: "", code: 0 });
			const link = `it crosses the link ${join(work, "later")}, which a program in the sandbox can change`;
			const refused = (path: string, why = link) => ({
				code: "invalid_argument",
				message: `a sandbox can't have ${JSON.stringify(path)}: ${why}`,
			});
			const isRoot = _name === "a link to /";
			await expect(confined(`touch ${victim}/new`, { sandbox: roots, user })).rejects.toMatchObject(
				refused(join(work, "later"), isRoot ? 'it leads to "/"' : link),
			);
			// The same through TMPDIR, the working directory, and a path below the link.
			const env = { PATH: "/usr/bin:/bin", TMPDIR: join(work, "later") };
			const byTmpdir = confined(`touch ${victim}/new`, { sandbox: excluded, user, cwd: work, env });
			await expect(byTmpdir).rejects.toMatchObject({ code: "invalid_argument" });
			const below = join(work, "later", "sub");
			await mkdir(join(victim, "sub"), { recursive: true });
			if (!isRoot) {
				const deep = { ...excluded, writableRoots: [work, below] };
				await expect(confined("true", { sandbox: deep, user })).rejects.toMatchObject(refused(below));
			}
			expect(readdirSync(victim)).toEqual(["sub"]);
		});

		test.each(["read", "none"] as const)("a link does not redirect a path of access %s", async (access) => {
			const [work, victim] = [await directoryOf(user), await directoryOf(user)];
			await symlink(victim, join(work, "secret"));
			const paths = [
				{ path: work, access: "write" },
				{ path: join(work, "secret"), access },
			] as const;
			await expect(confined("true", { sandbox: { type: "paths", paths }, user })).rejects.toMatchObject({
				code: "invalid_argument",
				message: `cannot enforce sandbox read-only path ${work}/secret: it crosses writable symlink ${work}/secret`,
			});
		});

		test("a link in a directory that the program can't change may be used", async () => {
			const [outer, work] = [await directoryOf(user), await directoryOf(user)];
			await symlink(work, join(outer, "link"));
			const roots = { ...excluded, writableRoots: [join(outer, "link")] };
			expect(await attempt(["write", join(work, "new")], { sandbox: roots, user })).toBe("ok");
		});
	});

	test("a workspace program can't change files that control tools", async () => {
		const work = await directoryOf(user);
		for (const name of [".git", ".codex", ".agents"]) await owned(user, join(work, name));
		await owned(user, join(work, ".git/config"), "ours");
		await owned(user, join(work, "other"));
		const options = { sandbox: policy, user, cwd: work };
		for (const name of [".git", ".codex", ".agents"]) {
			expect(await attempt(["write", `${name}/hook`], options), name).toBe("EROFS");
			expect(await attempt(["rename", name, "moved"], options), name).toBe("EBUSY");
			expect(await attempt(["rename", "other", name], options), name).toBe("EBUSY");
			expect(await attempt(["rmdir", name], options), name).toBe("EBUSY");
		}
		expect(await attempt(["write", ".git/config"], options)).toBe("EROFS");
		expect(await attempt(["link", ".git/config", "config"], options)).toBe("EXDEV");
		expect(await attempt(["symlink-write", ".git/config", "config"], options)).toBe("EROFS");
		expect(await attempt(["bind", "other", ".git"], options)).toBe("EPERM");
		expect(await attempt(["unmount", ".git"], options)).toBe("EPERM");
		expect(await attempt(["remount", ".git"], options)).toBe("EPERM");
		expect(await readFile(join(work, ".git/config"), "utf8")).toBe("ours");
	});

	test("a workspace program can't create files that control tools, and no placeholder is left", async () => {
		const work = await directoryOf(user);
		const options = { sandbox: policy, user, cwd: work };
		for (const name of [".git", ".codex", ".agents"]) {
			expect(await attempt(["mkdir", name], options), name).toBe("EEXIST");
			expect(await attempt(["write", `${name}/hook`], options), name).toBe("EROFS");
			expect(await attempt(["rmdir", name], options), name).toBe("EBUSY");
		}
		await eventually(() => !existsSync(join(work, ".git")));
		await eventually(() => ![".codex", ".agents", ".aws"].some((name) => existsSync(join(work, name))));
	});

	test("a workspace program can't move the parents of its roots", async () => {
		const outer = await directoryOf(user, "/tmp");
		await owned(user, join(outer, "between"));
		await owned(user, join(outer, "between/work"));
		await owned(user, join(outer, "between/work/.git"));
		const root = join(outer, "between/work");
		const options = { sandbox: { ...policy, writableRoots: [root, outer] }, user, cwd: root };
		expect(await attempt(["rename", join(outer, "between"), join(outer, "moved")], options)).toBe("EBUSY");
		expect(await attempt(["rename", root, join(outer, "between/moved")], options)).toBe("EBUSY");
		expect(await attempt(["rename", outer, "/tmp/hawser-moved"], options)).toBe("EBUSY");
	});

	test("a workspace program writes to a nested repository that is not at the top of a root", async () => {
		const work = await directoryOf(user);
		await owned(user, join(work, "nested"));
		const options = { sandbox: policy, user, cwd: work };
		expect(await attempt(["mkdir", "nested/.git"], options)).toBe("ok");
	});

	test("a workspace program can't write to the repository of its worktree", async () => {
		const work = await directoryOf(user);
		await owned(user, join(work, "repository"));
		await owned(user, join(work, "repository/config"), "ours");
		await owned(user, join(work, "tree"));
		await owned(user, join(work, "tree/.git"), "gitdir: ../repository\n");
		const roots = [work, join(work, "tree")];
		const options = { sandbox: { ...policy, writableRoots: roots }, user, cwd: work };
		expect(await attempt(["write", "tree/.git"], options)).toBe("EROFS");
		expect(await attempt(["write", "repository/config"], options)).toBe("EROFS");
	});

	test("another user's link in a shared directory does not prevent the start", async () => {
		const work = await directoryOf(user);
		const shared = await directoryOf(user);
		await chmod(shared, 0o1777);
		await symlink("/nonexistent", join(shared, ".git"));
		await lchown(join(shared, ".git"), 4242, 4242);
		const sandbox = { ...policy, writableRoots: [work, shared] };
		expect(await attempt(["write", join(work, "file")], { sandbox, user, cwd: work })).toBe("ok");
	});

	test("a start is refused if a link stands where a protected file must be", async () => {
		const work = await directoryOf(user);
		await owned(user, join(work, "elsewhere"));
		await symlink("elsewhere", join(work, ".git"));
		const run = confined("true", { sandbox: policy, user, cwd: work });
		await expect(run).rejects.toMatchObject({ message: expect.stringContaining("crosses writable symlink") });
	});

	test("links lead to their targets, which are writable only if the policy says so", async () => {
		const [work, other] = [await directoryOf(user), await directoryOf(user)];
		const options = { sandbox: policy, user, cwd: work };
		expect(await attempt(["symlink-write", "/etc/hawser-new", "out"], options)).toBe("EROFS");
		expect(await attempt(["symlink-write", join(other, "new"), "away"], options)).toBe("EROFS");
		expect(await attempt(["link", "/etc/passwd", "passwd"], options)).toBe("EXDEV");
		const way = join(other, "way");
		symlinkSync(work, way);
		expect(await attempt(["write", join(work, "new")], { ...options, cwd: way })).toBe("ok");
	});

	test("a workspace program leaves nothing behind that would run as its user", async () => {
		const options = { sandbox: policy, user, cwd: await directoryOf(user) };
		expect(await attempt(["setuid", "program"], options)).toBe("EPERM");
		expect(await attempt(["setuid-open", "other"], options)).toBe("EPERM");
		expect(await attempt(["mknod", "disk"], options)).toBe("EPERM");
	});
});

describe.each(users)("as $name, a program with a path policy", (user) => {
	test("the longest matching path decides", async () => {
		const work = await directoryOf(user);
		await owned(user, join(work, "kept"));
		await owned(user, join(work, "kept/open"));
		await owned(user, join(work, "secret"));
		await owned(user, join(work, "secret/key"), "ours");
		await owned(user, join(work, "key"), "ours");
		const paths = [
			{ path: work, access: "write" },
			{ path: join(work, "kept"), access: "read" },
			{ path: join(work, "kept/open"), access: "write" },
			{ path: join(work, "secret"), access: "none" },
			{ path: join(work, "key"), access: "none" },
			{ path: join(work, "later"), access: "none" },
		] as const;
		const options = { sandbox: { type: "paths", paths }, user, cwd: work } as const;
		expect(await attempt(["write", "new"], options)).toBe("ok");
		expect(await attempt(["write", "kept/new"], options)).toBe("EROFS");
		expect(await attempt(["write", "kept/open/new"], options)).toBe("ok");
		expect(await attempt(["read", "secret/key"], options)).toBe("EACCES");
		expect(await attempt(["read", "key"], options)).toBe("EACCES");
		expect(await attempt(["rename", "secret", "moved"], options)).toBe("EBUSY");
		expect(await attempt(["write", "later/new"], options)).toBe("EROFS");
		await eventually(() => !existsSync(join(work, "later")));
	});

	test("the server's own files are hidden", async () => {
		const state = await directoryOf(user, "/tmp");
		await owned(user, join(state, "admin-token"), "secret");
		const within = await probe({ hidden: [state, "/tmp/hawser-is-not-there"] });
		for (const type of ["readOnly", "workspaceWrite"] as const) {
			const options = { sandbox: { type, networkAccess: true }, user, within, cwd: "/tmp" };
			expect(await attempt(["read", join(state, "admin-token")], options)).toMatch(/^(EACCES|ENOENT)$/);
			expect(await attempt(["write", join(state, "new")], options)).toMatch(/^(EACCES|EROFS)$/);
			expect(await attempt(["rename", state, "/tmp/hawser-moved"], options)).toMatch(/^(EBUSY|EROFS)$/);
		}
		const inside = { type: "workspaceWrite", writableRoots: [state] } as const;
		const run = confined("true", { sandbox: inside, user, within });
		await expect(run).rejects.toMatchObject({ code: "invalid_argument" });
	});
});

test.each(["/proc", "/proc/sys", "/sys/kernel", "/dev"])("%s can't be made writable", async (path) => {
	const policy = { type: "workspaceWrite", writableRoots: [path] } as const;
	await expect(confined("true", { sandbox: policy })).rejects.toMatchObject({ code: "invalid_argument" });
});

test("a root must be an absolute path", async () => {
	const policy = { type: "workspaceWrite", writableRoots: ["here"] } as const;
	await expect(confined("true", { sandbox: policy })).rejects.toMatchObject({ code: "invalid_argument" });
});

test("a missing root is refused, unless missing roots are skipped", async () => {
	const policy = { type: "workspaceWrite", writableRoots: ["/var/tmp/no such root"] } as const;
	await expect(confined("true", { sandbox: policy })).rejects.toMatchObject({
		code: "invalid_argument",
		message: 'a sandbox can\'t have "/var/tmp/no such root": there is no such file or directory',
	});
	const skipping = { ...policy, skipsMissing: true };
	expect(await confined("echo ran", { sandbox: skipping })).toMatchObject({ text: "ran\n" });
});

test("a workspace of the whole disk is protected like any other", async () => {
	const policy = { type: "workspaceWrite", writableRoots: ["/"] } as const;
	const options = { sandbox: policy } as const;
	const [user] = users as [User];
	expect(await attempt(["write", join(await directoryOf(user), "new")], options)).toBe("ok");
	const guarded = ["/.git", "/.codex", "/.agents", "/.aws"];
	for (const name of guarded) {
		expect(await attempt(["mkdir", name], options)).toMatch(/^(EEXIST|EROFS|EACCES)$/);
		expect(await attempt(["write", `${name}/config`], options)).toMatch(/^(EROFS|EACCES|ENOENT)$/);
	}
	await eventually(() => !guarded.some((name) => existsSync(name)));
});

test("with the whole disk writable, the machine's settings stay read-only", async () => {
	const paths = [{ path: "/", access: "write" }] as const;
	const options = { sandbox: { type: "paths", paths } } as const;
	const [user] = users as [User];
	const work = await directoryOf(user);
	expect(await attempt(["write", join(work, "new")], options)).toBe("ok");
	expect(await attempt(["write", "/proc/sys/kernel/core_pattern"], options)).toMatch(/^(EROFS|EACCES)$/);
	expect(await attempt(["write", "/sys/kernel/uevent_seqnum"], options)).toMatch(/^(EROFS|EACCES)$/);
});

test.each(["/sys/kernel/security", "/dev/shm"])(
	"naming %s among the paths does not make the machine's settings writable",
	async (path) => {
		const paths = [
			{ path: "/", access: "write" },
			{ path, access: "none" },
		] as const;
		const script = "grep ' / /sys ' /proc/self/mountinfo | tail -n 1; [ -e /dev/kmsg ] && echo devices";
		const { text } = await confined(script, { sandbox: { type: "paths", paths } });
		expect(text).toMatch(/^\S+ \S+ \S+ \/ \/sys ro,[^\n]*\n$/);
	},
);

test.each(["link", "directory"])("a root replaced by another %s during the setup is not written to", async (kind) => {
	const [user] = users as [User];
	const [work, other] = [await directoryOf(user), await directoryOf(user)];
	const [root, victim] = [join(work, "root"), join(other, "victim")];
	for (const folder of [root, victim]) {
		await mkdir(folder);
		// So that no placeholder has to be created in it, which would fail earlier.
		for (const name of [".git", ".codex", ".agents", ".aws"]) await mkdir(join(folder, name));
	}
	const within = await sandbox();
	const apply: Sandbox["apply"] = async (command) => {
		const applied = await within.apply(command);
		await rename(root, join(work, "moved"));
		await (kind === "link" ? symlink(victim, root) : rename(victim, root));
		return applied;
	};
	const policy = { type: "workspaceWrite", writableRoots: [root], excludeSlashTmp: true } as const;
	const { text, code } = await confined(`echo gone > ${root}/new`, { sandbox: policy, within: { apply } });
	expect(code).toBe(1);
	if (kind === "directory") expect(text).toBe(`hawser: ${root} was replaced while the sandbox was made\n`);
	expect(existsSync(join(root, "new"))).toBe(false);
});
