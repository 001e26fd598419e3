import { mkdir, readdir, rmdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { JsonFile } from "../../src/server/json-file.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";

it("has nothing until something was written, then what was written last, however many write at once", async () => {
	const path = join(await temporaryDirectory(), "file.json");
	const file = new JsonFile(path);
	expect(await file.read()).toBeUndefined();
	await Promise.all(Array.from({ length: 20 }, (_, n) => file.write({ n })));
	expect(await file.read()).toEqual({ n: 19 });
	expect(await new JsonFile(path).read()).toEqual({ n: 19 });
});

it("goes on after a write that failed, whose caller hears of it", async () => {
	const directory = await temporaryDirectory();
	const path = join(directory, "file.json");
	const file = new JsonFile(path);
	await mkdir(`${path}.new`);
	await expect(file.write(1)).rejects.toThrow("EISDIR");
	await rmdir(`${path}.new`);
	await file.write(2);
	expect([await file.read(), await readdir(directory)]).toEqual([2, ["file.json"]]);
});
