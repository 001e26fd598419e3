import { mkdir, readdir, readFile, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { JsonFile } from "../../src/disk/json-file.ts";
import { loadConfig } from "../../src/server/config.ts";
import { startServer } from "../../src/server/server.ts";
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

it("that is no JSON is named, and what would do is said", async () => {
	const path = join(await temporaryDirectory(), "file.json");
	await writeFile(path, '{"half":');
	await expect(new JsonFile(path).read()).rejects.toMatchObject({
		code: "unsupported",
		message: `${path} is not what this server wrote: it is not JSON`,
		hint: "move it away to start without what it holds",
	});
});

it("of a newer version keeps the server from starting, in one sentence, and stays as it is", async () => {
	const stateDir = await temporaryDirectory();
	const path = join(stateDir, "opensandbox.json");
	await writeFile(path, '{"version":2,"ptys":[]}');
	const config = loadConfig({ port: "0", spares: "0", stateDir }, {});
	await expect(startServer(config, { report: () => {} })).rejects.toMatchObject({
		code: "unsupported",
		message: "the records of PTYs have a form (2) that this version can't read",
	});
	expect(await readFile(path, "utf8")).toBe('{"version":2,"ptys":[]}');
	await writeFile(path, '{"version":1,"ptys":[]}');
	await (await startServer(config, { report: () => {} })).close();
});
