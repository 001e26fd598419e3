import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { Reserve } from "../../src/disk/reserve.ts";
import { fill, withSmallDisk } from "../helpers/small-disk.ts";

it("is there for a small file after one that was too large even for it", async () => {
	await withSmallDisk(2 * 1024 ** 2, async (directory) => {
		const reserve = new Reserve(join(directory, "reserve"));
		await reserve.fill();
		await fill(directory);
		const large = reserve.write(join(directory, "large"), "x".repeat(1024 ** 2));
		await expect(large).rejects.toMatchObject({ code: "ENOSPC" });
		// Whatever room that has left free is somebody else's by now.
		await fill(directory);
		const small = join(directory, "small");
		await reserve.write(small, "y".repeat(100_000));
		expect(await readFile(small, "utf8")).toHaveLength(100_000);
	});
});
