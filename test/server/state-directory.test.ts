import { chmod, chown, lchown, mkdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { openStateDirectory, type StateDirectory } from "../../src/server/state-directory.ts";
import { temporaryDirectory } from "../support/temporary.ts";

/** A user other than ours and root. */
const STRANGER = 65_534;

async function open(
	path: string,
	sockets = join(path, "run"),
	makeCode: () => string = () => "abc123",
): Promise<StateDirectory> {
	const state = await openStateDirectory(path, sockets, makeCode);
	onTestFinished(() => state.release().catch(() => {}));
	return state;
}

describe("the state directory", () => {
	test("a new state directory is private to its owner", async () => {
		const path = join(await temporaryDirectory(), "deep", "state");
		const state = await open(path);
		expect((await stat(path)).mode & 0o777).toBe(0o700);
		expect((await stat(state.sockets)).mode & 0o777).toBe(0o700);
		await state.adminToken(() => "secret");
		expect((await stat(join(path, "admin-token"))).mode & 0o777).toBe(0o600);
	});

	test("an open state directory is closed to other users", async () => {
		const path = join(await temporaryDirectory(), "state");
		await mkdir(path, { mode: 0o755 });
		await open(path);
		expect((await stat(path)).mode & 0o777).toBe(0o700);
	});

	test("each server on a state directory gets a higher number than the previous one", async () => {
		const path = await temporaryDirectory();
		await writeFile(join(path, "generation"), "41\n");
		for (const generation of [42, 43, 44]) {
			const state = await open(path);
			expect(state.generation).toBe(generation);
			await state.release();
		}
	});

	test.each([undefined, "", "\n", "0", "-5", "1e3", "12 34", "\0\0\0\0", "9".repeat(30)])(
		"the next number is higher than any before, even if the last is lost: %j",
		async (damage) => {
			const path = await temporaryDirectory();
			const first = await open(path);
			await first.release();
			const file = join(path, "generation");
			if (damage === undefined) await rm(file);
			else await writeFile(file, damage);
			const second = await open(path);
			expect(second.generation).toBeGreaterThan(first.generation);
			expect(Number.isSafeInteger(second.generation)).toBe(true);
			await second.release();
			const third = await open(path);
			expect(third.generation).toBe(second.generation + 1);
		},
	);

	test("a state directory has a code of six letters and digits, created once", async () => {
		const path = await temporaryDirectory();
		const codes = ["first1", "second", "third3"];
		const make = () => codes.shift() ?? "";
		for (let i = 0; i < 3; i++) {
			const state = await open(path, join(path, "run"), make);
			expect(state.node).toBe("first1");
			await state.release();
		}
		await writeFile(join(path, "node"), "no code\n");
		expect((await open(path, join(path, "run"), make)).node).toBe("second");
	});

	test("the admin token is created once", async () => {
		const path = await temporaryDirectory();
		const state = await open(path);
		expect(await state.adminToken(() => "first")).toBe("first");
		expect(await state.adminToken(() => "second")).toBe("first");
	});

	test("the server's address is published while the server runs", async () => {
		const path = await temporaryDirectory();
		const state = await open(path);
		await state.announce("http://127.0.0.1:1");
		expect(JSON.parse(await readFile(join(path, "server.json"), "utf8"))).toEqual({
			url: "http://127.0.0.1:1",
			pid: process.pid,
			socket: join(path, "run", "server-abc123.sock"),
		});
		await state.release();
		await expect(stat(join(path, "server.json"))).rejects.toMatchObject({ code: "ENOENT" });
	});
});

describe("the state directory is refused with one sentence and a hint", () => {
	test("a state directory in use by another server is refused", async () => {
		const path = await temporaryDirectory();
		const state = await open(path);
		await state.announce("http://127.0.0.1:7707");
		await expect(open(path)).rejects.toMatchObject({
			code: "session_exists",
			message: `another server (http://127.0.0.1:7707) is running on the state directory ${path}`,
			hint: expect.stringContaining("--state-dir"),
		});
		await state.release();
		await open(path);
	});

	test("a path too long for sockets is refused before anything is created", async () => {
		const path = join(await temporaryDirectory(), "x".repeat(90));
		await expect(open(path)).rejects.toMatchObject({
			code: "invalid_argument",
			message: expect.stringContaining("too long for sockets"),
			hint: expect.stringContaining("--runtime-dir"),
		});
		await expect(stat(path)).rejects.toMatchObject({ code: "ENOENT" });
		const short = await temporaryDirectory();
		await open(path, short);
	});

	test("a state directory that can't be created is refused", async () => {
		const file = join(await temporaryDirectory(), "file");
		await writeFile(file, "");
		await expect(open(join(file, "state"))).rejects.toMatchObject({
			code: "permission_denied",
			message: expect.stringContaining("ENOTDIR"),
		});
		await expect(open("/proc/hawser-state")).rejects.toMatchObject({ code: "permission_denied" });
	});

	test("a state directory of another user is refused", async () => {
		const path = await temporaryDirectory();
		await chown(path, STRANGER, STRANGER);
		await expect(open(path)).rejects.toMatchObject({
			code: "permission_denied",
			message: expect.stringContaining("another user"),
		});
	});

	test("a state or runtime directory that is another user's link is refused, even if it leads to our own directory", async () => {
		const own = await temporaryDirectory();
		const shared = await temporaryDirectory();
		await chmod(shared, 0o1777);
		const link = join(shared, "state");
		await symlink(own, link);
		await lchown(link, STRANGER, STRANGER);
		const refused = { code: "permission_denied", message: expect.stringContaining("belongs to another user") };
		await expect(open(link)).rejects.toMatchObject(refused);
		await expect(open(join(link, "deeper"))).rejects.toMatchObject(refused);
		await expect(open(await temporaryDirectory(), link)).rejects.toMatchObject(refused);
	});

	test("a state directory below a directory that others may write is refused", async () => {
		const shared = await temporaryDirectory();
		await chmod(shared, 0o777);
		await expect(open(join(shared, "a", "state"))).rejects.toMatchObject({
			code: "permission_denied",
			message: expect.stringContaining(`other users may write in ${shared}`),
			hint: expect.stringContaining("only you can change"),
		});
		await expect(stat(join(shared, "a"))).rejects.toMatchObject({ code: "ENOENT" });
		const strangers = join(await temporaryDirectory(), "theirs");
		await mkdir(strangers, { mode: 0o755 });
		await chown(strangers, STRANGER, STRANGER);
		await expect(open(join(strangers, "state"))).rejects.toMatchObject({ code: "permission_denied" });
		// In a directory with the sticky bit, other users can't replace our entries.
		await chmod(shared, 0o1777);
		await open(join(shared, "a", "state"));
	});
});
