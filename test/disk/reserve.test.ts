import { mkdir, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ReservedSpace } from "../../src/disk/reserved-space.ts";
import { fill, takeInodes, withSmallDisk } from "../support/small-disk.ts";

it("the reserve serves a small file after one that was too large for it", async () => {
	await withSmallDisk(2 * 1024 ** 2, async (directory) => {
		const reserve = new ReservedSpace(join(directory, "reserve"));
		await reserve.fill();
		await fill(directory);
		const large = reserve.write(join(directory, "large"), "x".repeat(1024 ** 2));
		await expect(large).rejects.toMatchObject({ code: "ENOSPC" });
		// Uses up the space that was released.
		await fill(directory);
		const small = join(directory, "small");
		await reserve.write(small, "y".repeat(100_000));
		expect(await readFile(small, "utf8")).toHaveLength(100_000);
	});
});

it("the reserve has a file for a new one when there is no inode, and refills later", async () => {
	await withSmallDisk(
		2 * 1024 ** 2,
		async (directory) => {
			const reserve = new ReservedSpace(join(directory, "reserve"));
			await reserve.fill();
			const whole = await readdir(directory);
			const files = await takeInodes(directory);
			for (const name of ["a", "b"]) {
				await reserve.write(join(directory, name), name);
				expect(await readFile(join(directory, name), "utf8")).toBe(name);
			}
			// The directory needs an inode too.
			await reserve.use(() => mkdir(join(directory, "c")));
			expect((await readdir(directory)).length).toBe(whole.length + 1);
			await rm(files, { recursive: true });
			await reserve.write(join(directory, "a"), "again");
			expect((await readdir(directory)).sort()).toEqual([...whole, "a", "b", "c"].sort());
		},
		{ inodes: 100 },
	);
});

it("the reserve releases bytes without enough inodes, and inodes without enough bytes", async () => {
	await withSmallDisk(2 * 1024 ** 2, async (directory) => {
		await fill(directory);
		const reserve = new ReservedSpace(join(directory, "reserve"));
		await reserve.fill();
		const names = (await readdir(directory)).filter((name) => name.startsWith("reserve."));
		expect(names.length).toBeGreaterThan(8);
	});
	await withSmallDisk(
		2 * 1024 ** 2,
		async (directory) => {
			const reserve = new ReservedSpace(join(directory, "reserve"));
			await reserve.fill();
			expect((await readFile(join(directory, "reserve"))).byteLength).toBe(256 * 1024);
		},
		{ inodes: 8 },
	);
});

it("work that fails for another reason runs once, and rejects", async () => {
	await withSmallDisk(2 * 1024 ** 2, async (directory) => {
		const reserve = new ReservedSpace(join(directory, "reserve"));
		await reserve.fill();
		let tries = 0;
		const work = async () => {
			tries++;
			throw Object.assign(new Error("no"), { code: "EACCES" });
		};
		await expect(reserve.use(work)).rejects.toMatchObject({ code: "EACCES" });
		expect(tries).toBe(1);
	});
});
