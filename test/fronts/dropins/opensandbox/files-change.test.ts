/** Directories, permissions, replacing, moving and removing: contract of files, sections 3.6 to 3.11. */

import { chmod, chown, lstat, mkdir, readFile, readlink, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { processorMs } from "../../../support/cpu-time.ts";
import { temporaryDirectory } from "../../../support/temporary.ts";
import { Files, query } from "./support/files-client.ts";

const isRoot = process.getuid?.() === 0;
const modeOf = async (path: string) => (await stat(path)).mode & 0o7777;

async function exists(path: string): Promise<boolean> {
	return lstat(path).then(
		() => true,
		() => false,
	);
}

test.each([0o022, 0o077])(
	"scenario 1: new directories have exactly the requested mode, their parents the umask's (%o)",
	async (umask) => {
		const before = process.umask(umask);
		onTestFinished(() => void process.umask(before));
		const files = await Files.start();
		const body = { [files.at("a/x")]: { mode: 755 }, [files.at("b/y")]: { mode: 644 } };
		expect((await files.post("/directories", body)).status).toBe(200);
		expect([(await files.info(files.at("a/x"))).mode, (await files.info(files.at("b/y"))).mode]).toEqual([755, 644]);
		expect(await modeOf(files.at("a"))).toBe(0o777 & ~umask);
	},
);

test("scenario 2: an existing directory stays unchanged, and a file in its place is an error", async () => {
	const files = await Files.start();
	await mkdir(files.at("there"));
	await chmod(files.at("there"), 0o1777);
	await writeFile(files.at("file"), "");
	await symlink("nowhere", files.at("dangling"));
	await symlink("there", files.at("link"));
	expect(
		(await files.post("/directories", { [files.at("there")]: { mode: 700 }, [files.at("link")]: {} })).status,
	).toBe(200);
	expect(await modeOf(files.at("there"))).toBe(0o1777);
	for (const name of ["file", "file/below", "dangling"])
		expect([name, await files.post("/directories", { [files.at(name)]: {} })]).toMatchObject([
			name,
			{ status: 500, code: "RUNTIME_ERROR" },
		]);
	for (const body of ["", "null"]) {
		const response = await files.server.request("/directories", { method: "POST", body });
		expect([body, response.status]).toEqual([body, body === "" ? 400 : 200]);
	}
	for (const body of [[], { [files.at("x")]: "755" }, { [files.at("x")]: { mode: "755" } }])
		expect(await files.post("/directories", body)).toMatchObject({ status: 400, code: "INVALID_REQUEST_BODY" });
	expect((await files.post("/directories", { [files.at("x")]: null })).status).toBe(200);
});

test("an owner applies to every directory created on the way, and to no other", async () => {
	const files = await Files.start();
	const own = process.getuid?.() ?? 0;
	const uid = isRoot ? 65_534 : own;
	const answer = await files.post("/directories", { [files.at("a/b")]: { owner: String(uid), mode: 700 } });
	expect(answer.status).toBe(200);
	expect([(await stat(files.at("a"))).uid, (await stat(files.at("a/b"))).uid]).toEqual([uid, uid]);
	expect((await stat(files.root)).uid).toBe(own);
});

describe("scenario 15: replace", () => {
	test("replace counts its replacements byte by byte, and leaves a file without a match unchanged", async () => {
		const files = await Files.start();
		const path = files.at("file");
		const invalid = Buffer.concat([Buffer.from("one "), Buffer.of(0xff, 0xfe), Buffer.from(" one")]);
		await writeFile(path, invalid);
		const replace = async (old: string, by?: string) =>
			(await files.post("/files/replace?verbose=true", { [path]: { old, ...(by === undefined ? {} : { new: by }) } }))
				.body;
		expect(await replace("one", "three")).toEqual({ [path]: { replacedCount: 2 } });
		expect(
			(await readFile(path)).equals(
				Buffer.concat([Buffer.from("three "), Buffer.of(0xff, 0xfe), Buffer.from(" three")]),
			),
		).toBe(true);
		await utimes(path, 1e9, 1e9);
		const { ino } = await stat(path);
		expect(await replace("missing", "x")).toEqual({ [path]: { replacedCount: 0 } });
		expect(await stat(path)).toMatchObject({ mtimeMs: 1e12, ino });
		await writeFile(path, "aaaa");
		expect(await replace("aa", "b")).toEqual({ [path]: { replacedCount: 2 } });
		expect(await replace("b")).toEqual({ [path]: { replacedCount: 2 } });
		expect(await readFile(path, "utf8")).toBe("");
		expect(await files.names()).toEqual(["file"]);
	});

	test.each([-2, -1, 0, 1, 2])("replace finds matches across read boundaries (%d)", async (shift) => {
		const files = await Files.start();
		const path = files.at("file");
		for (const border of [64 * 1024, 256 * 1024]) {
			const content = `${"x".repeat(border + shift - 3)}needle${"x".repeat(100)}needle`;
			await writeFile(path, content, { mode: 0o600 });
			await files.post("/files/replace", { [path]: { old: "needle", new: "pin" } });
			expect((await readFile(path, "utf8")) === content.replaceAll("needle", "pin")).toBe(true);
		}
	});

	test("replace is fast with a match at every byte, and with a long pattern", async () => {
		const files = await Files.start();
		const path = files.at("file");
		const MiB = 1024 * 1024;
		await writeFile(path, Buffer.alloc(8 * MiB, "a"));
		const replaceAll = async () => {
			await files.post("/files/replace", { [path]: { old: "a", new: "bc" } });
			expect((await readFile(path)).equals(Buffer.alloc(16 * MiB, "bc"))).toBe(true);
			const long = "bc".repeat(2 * MiB);
			const { body } = await files.post("/files/replace?verbose=true", { [path]: { old: long, new: "d" } });
			expect([body, await readFile(path, "utf8")]).toEqual([{ [path]: { replacedCount: 4 } }, "dddd"]);
		};
		expect(await processorMs(replaceAll)).toBeLessThan(20_000);
	}, 60_000);

	test("replace refuses invalid requests in this order, and returns counts only on request", async () => {
		const files = await Files.start();
		await writeFile(files.at("file"), "a");
		await mkdir(files.at("directory"));
		await symlink("file", files.at("link"));
		const replace = (name: string, old: string, verbose = "") =>
			files.post(`/files/replace${verbose}`, { [files.at(name)]: { old, new: "b" } });
		expect(await replace("missing", "")).toMatchObject({ status: 404, code: "FILE_NOT_FOUND" });
		expect(await replace("file", "")).toMatchObject({
			status: 400,
			body: { message: "old content must not be empty" },
		});
		expect(await replace("directory", "a")).toMatchObject({ status: 500, code: "RUNTIME_ERROR" });
		for (const verbose of ["", "?verbose=false", "?verbose=1"])
			expect(await replace("link", "z", verbose)).toMatchObject({ status: 200, body: undefined });
		await chmod(files.at("file"), 0o751);
		await replace("link", "a");
		expect([
			await readlink(files.at("link")),
			await readFile(files.at("file"), "utf8"),
			await modeOf(files.at("file")),
		]).toEqual(["file", "b", 0o751]);
	});

	test("F-01: replace accepts a body of several MiB, and a large file needs little memory", async () => {
		const files = await Files.start();
		const large = "y".repeat(3 * 1024 * 1024);
		await writeFile(files.at("small"), large);
		expect((await files.post("/files/replace", { [files.at("small")]: { old: large, new: "z" } })).status).toBe(200);
		expect(await readFile(files.at("small"), "utf8")).toBe("z");
		await writeFile(files.at("large"), Buffer.alloc(300 * 1024 * 1024, "abc "));
		const before = process.memoryUsage.rss();
		let most = 0;
		const timer = setInterval(() => {
			most = Math.max(most, process.memoryUsage.rss() - before);
		}, 5);
		const old = `${"abc ".repeat(10_000)}`;
		const { body } = await files.post("/files/replace?verbose=true", { [files.at("large")]: { old, new: "" } });
		clearInterval(timer);
		expect(body).toEqual({ [files.at("large")]: { replacedCount: Math.floor((300 * 1024 * 1024) / old.length) } });
		expect(most).toBeLessThan(150 * 1024 * 1024);
	}, 60_000);
});

test("scenario 23, F-17: permissions change only the given members, and info's answer can be sent back", async () => {
	const files = await Files.start();
	const path = files.at("file");
	await writeFile(path, "");
	await symlink("file", files.at("link"));
	const set = (permission: object, name = path) => files.post("/files/permissions", { [name]: permission });
	expect((await set({ mode: 751 })).status).toBe(200);
	expect(await modeOf(path)).toBe(0o751);
	expect((await set({ mode: 4755 }, files.at("link"))).status).toBe(200);
	expect(await modeOf(path)).toBe(0o755);
	for (const mode of [798, -1]) expect(await set({ mode })).toMatchObject({ status: 500, code: "RUNTIME_ERROR" });
	expect((await set({ mode: 0, owner: null, group: null })).status).toBe(200);
	expect(await set({ mode: 600, owner: "missing-user" })).toMatchObject({ status: 500, code: "RUNTIME_ERROR" });
	expect(await modeOf(path)).toBe(0o755);
	expect(await set({ mode: 600 }, files.at("missing"))).toMatchObject({ status: 500, code: "RUNTIME_ERROR" });
	if (isRoot) {
		await chown(path, 12_345, 54_321);
		const { owner, group, mode } = await files.info(path);
		expect([owner, group, mode]).toEqual(["12345", "54321", 755]);
		await chown(path, 0, 0);
		expect((await set({ owner, group, mode })).status).toBe(200);
		expect(await stat(path)).toMatchObject({ uid: 12_345, gid: 54_321 });
		await set({ owner: "root" });
		expect(await stat(path)).toMatchObject({ uid: 0, gid: 54_321, mode: 0o100755 });
	}
});

describe("scenario 20: mv", () => {
	const mv = (files: Files, ...pairs: [string, string][]) =>
		files.post(
			"/files/mv",
			pairs.map(([src, dest]) => ({ src: files.at(src), dest: dest.startsWith("/") ? dest : files.at(dest) })),
		);

	test("mv moves files, directories and links, creates missing parents, and overwrites nothing", async () => {
		const files = await Files.start();
		await writeFile(files.at("a"), "a");
		await mkdir(files.at("d"));
		await writeFile(files.at("d/in"), "");
		await symlink("nowhere", files.at("dangling"));
		expect((await mv(files, ["a", "new/deep/a"], ["d", "e"], ["dangling", "moved"])).status).toBe(200);
		expect(await files.names()).toEqual(["e", "e/in", "moved", "new", "new/deep", "new/deep/a"]);
		await writeFile(files.at("b"), "b");
		for (const dest of ["b", "e", "moved", "new/deep/a"])
			expect([dest, await mv(files, ["b", dest])]).toMatchObject([dest, { status: 500, code: "RUNTIME_ERROR" }]);
		expect(await mv(files, ["missing", "x/y"])).toMatchObject({ status: 404, code: "FILE_NOT_FOUND" });
		expect((await mv(files, ["e", "e/inside/it"])).status).toBe(500);
		expect(await exists(files.at("e/inside"))).toBe(false);
		expect((await mv(files, ["b", "b2"], ["missing", "m"], ["b2", "b3"])).status).toBe(404);
		expect(await files.names()).toEqual(["b2", "e", "e/in", "moved", "new", "new/deep", "new/deep/a"]);
		expect(await files.post("/files/mv", { not: "a list" })).toMatchObject({
			status: 400,
			code: "INVALID_REQUEST_BODY",
		});
	});

	test("mv across file systems keeps modes, times and links", async () => {
		const files = await Files.start();
		await mkdir(files.at("tree/empty"), { recursive: true });
		await writeFile(files.at("tree/file"), "content");
		await chmod(files.at("tree/file"), 0o4751);
		await utimes(files.at("tree/file"), 1e9, 1e9);
		await symlink("file", files.at("tree/link"));
		await utimes(files.at("tree"), 1e9, 1e9);
		const dest = `/dev/shm/hawser-mv-${process.pid}`;
		onTestFinished(async () => void (await files.ask("DELETE", `/directories?path=${dest}`)));
		expect((await mv(files, ["tree", dest])).status).toBe(200);
		expect(await exists(files.at("tree"))).toBe(false);
		expect(await stat(`${dest}/file`)).toMatchObject({ mode: 0o104751, mtimeMs: 1e12 });
		expect([await readlink(`${dest}/link`), (await stat(dest)).mtimeMs]).toEqual(["file", 1e12]);
		expect((await stat(`${dest}/empty`)).isDirectory()).toBe(true);
	});
});

test("scenario 21: delete removes links of any kind and never their targets; a missing file is no error", async () => {
	const files = await Files.start();
	await mkdir(files.at("directory"));
	for (const name of ["file", "target", "last"]) await writeFile(files.at(name), "");
	await symlink("target", files.at("to-file"));
	await symlink("directory", files.at("to-directory"));
	await symlink("nowhere", files.at("dangling"));
	const remove = (...names: string[]) =>
		files.ask("DELETE", `/files${query({ path: names.map((name) => files.at(name)) })}`);
	expect((await remove("missing", "file", "to-file", "to-directory", "dangling")).status).toBe(200);
	expect(await files.names()).toEqual(["directory", "last", "target"]);
	expect(await remove("target", "directory", "last")).toMatchObject({
		status: 500,
		code: "RUNTIME_ERROR",
		body: { message: /path is a directory/ },
	});
	expect(await files.names()).toEqual(["directory", "last"]);
	expect((await files.ask("DELETE", "/files")).status).toBe(200);
	// Tens of thousands in one URL.
	const many = Array.from({ length: 40_000 }, (_, index) => `path=/x/${index}`).join("&");
	expect((await files.ask("DELETE", `/files?${many}`)).status).toBe(200);
});

test("scenario 22, F-08, F-09: removing a tree removes the links in it, and nothing outside", async () => {
	const files = await Files.start();
	const outside = await temporaryDirectory();
	await writeFile(`${outside}/kept`, "");
	await mkdir(files.at("tree/a/b"), { recursive: true });
	await writeFile(files.at("tree/a/b/file"), "");
	await symlink(outside, files.at("tree/a/outside"));
	await symlink(outside, files.at("link"));
	await writeFile(files.at("file"), "");
	const remove = (path: string) => files.ask("DELETE", `/directories${query({ path })}`);
	for (const path of [files.at("tree"), `${files.at("link")}/`, files.at("file"), files.at("missing"), ""])
		expect([path, (await remove(path)).status]).toEqual([path, 200]);
	expect(await files.names()).toEqual([]);
	expect(await exists(`${outside}/kept`)).toBe(true);
	expect((await remove(`${files.root}/.`)).status).toBe(500);
	for (const path of ["/", "//"]) expect((await remove(path)).status).toBe(400);
	await mkdir(files.at("busy"));
	let isOver = false;
	const writing = (async () => {
		for (let index = 0; !isOver; index++) await writeFile(files.at("busy", String(index)), "").catch(() => {});
	})();
	const answer = await remove(files.at("busy"));
	isOver = true;
	await writing;
	expect([200, 500]).toContain(answer.status);
});

describe("scenario 24: paths", () => {
	test("~ and variables expand to the daemon's values on every route", async () => {
		const home = await temporaryDirectory();
		const files = await Files.start({ environment: () => ({ HOME: home, HERE: home, EMPTY: "" }) });
		await files.put("~/file", "content");
		for (const path of ["~/file", "$HERE/file", `\${HERE}/file`, `${home}/$EMPTY/file`]) {
			expect(Object.values((await files.get(`/files/info${query({ path })}`)).body as object)).toMatchObject([
				{ path: `${home}/file` },
			]);
			expect(await (await files.server.request(`/files/download${query({ path })}`)).text()).toBe("content");
			expect((await files.get(`/files/search${query({ path })}`)).body).toHaveLength(1);
			expect((await files.post("/files/permissions", { [path]: { mode: 644 } })).status).toBe(200);
			expect((await files.post("/files/replace", { [path]: { old: "zzz" } })).status).toBe(200);
		}
		expect((await files.post("/directories", { "~/d": {} })).status).toBe(200);
		expect((await files.get(`/directories/list?path=~`)).body).toHaveLength(2);
		expect((await files.post("/files/mv", [{ src: "~/file", dest: "~/d/file" }])).status).toBe(200);
		expect((await files.ask("DELETE", "/files?path=~/d/file")).status).toBe(200);
		expect((await files.ask("DELETE", "/directories?path=~/d")).status).toBe(200);
		expect((await files.get("/directories/list?path=~")).body).toEqual([]);
	});

	test("an undefined variable, and ~ without a home, are errors on every route", async () => {
		const files = await Files.start({ environment: () => ({}) });
		for (const path of ["$NOT_THERE/x", "~"]) {
			const asked: [string, string, unknown?][] = [
				["GET", `/files/info${query({ path })}`],
				["GET", `/files/search${query({ path })}`],
				["GET", `/directories/list${query({ path })}`],
				["GET", `/files/download${query({ path })}`],
				["POST", "/files/replace", { [path]: { old: "a" } }],
				["POST", "/files/permissions", { [path]: { mode: 644 } }],
				["POST", "/files/mv", [{ src: path, dest: path }]],
				["DELETE", `/files${query({ path })}`],
				["POST", "/directories", { [path]: {} }],
				["DELETE", `/directories${query({ path })}`],
			];
			for (const [method, route, body] of asked)
				expect([route, await files.ask(method, route, body)]).toMatchObject([
					route,
					{ status: 500, code: "RUNTIME_ERROR" },
				]);
			expect(await files.put(path, "x")).toMatchObject({ status: 500 });
		}
		expect(files.server.problems).toEqual([]);
	});

	test("relative and empty paths mean the daemon's directory", async () => {
		const files = await Files.start();
		await files.put("relative", "x");
		expect(await files.names()).toEqual(["relative"]);
		expect((await files.post("/directories", { "": {} })).status).toBe(200);
		expect((await files.get("/files/info?path=")).body).toMatchObject({ "": { path: files.root } });
		expect((await files.ask("DELETE", "/files?path=")).status).toBe(500);
	});
});

test("F-16: operations run in the requested order, and the one that fails is named", async () => {
	const files = await Files.start();
	await writeFile(files.at("b"), "");
	const answer = await files.post("/files/permissions", {
		[files.at("b")]: { mode: 600 },
		[files.at("missing")]: { mode: 600 },
		[files.at("a")]: { mode: 600 },
	});
	expect(answer).toMatchObject({ status: 500, body: { message: expect.stringContaining(files.at("missing")) } });
	expect(await modeOf(files.at("b"))).toBe(0o600);
});
