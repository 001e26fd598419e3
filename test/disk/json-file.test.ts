import { mkdir, readdir, readFile, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { JsonFile } from "../../src/disk/json-file.ts";
import { loadConfig } from "../../src/server/config.ts";
import { startServer } from "../../src/server/server.ts";
import { temporaryDirectory } from "../support/temporary.ts";

it("a JSON file is empty until it is written, and then has the last value, with concurrent writes too", async () => {
	const path = join(await temporaryDirectory(), "file.json");
	const file = new JsonFile(path);
	expect(await file.read()).toBeUndefined();
	await Promise.all(Array.from({ length: 20 }, (_, n) => file.write({ n })));
	expect(await file.read()).toEqual({ n: 19 });
	expect(await new JsonFile(path).read()).toEqual({ n: 19 });
});

it("a JSON file accepts writes after a failed one, which rejects", async () => {
	const directory = await temporaryDirectory();
	const path = join(directory, "file.json");
	const file = new JsonFile(path);
	await mkdir(`${path}.new`);
	await expect(file.write(1)).rejects.toThrow("EISDIR");
	await rmdir(`${path}.new`);
	await file.write(2);
	expect([await file.read(), await readdir(directory)]).toEqual([2, ["file.json"]]);
});

it("an invalid JSON file is reported by name, with a hint", async () => {
	const path = join(await temporaryDirectory(), "file.json");
	await writeFile(path, '{"half":');
	await expect(new JsonFile(path).read()).rejects.toMatchObject({
		code: "unsupported",
		message: `${path} is damaged: it is not JSON`,
		hint: "move it away to start without its content",
	});
});

it("a file of a newer version keeps the server from starting, with one sentence, and is not changed", async () => {
	const stateDir = await temporaryDirectory();
	const path = join(stateDir, "opensandbox.json");
	await writeFile(path, '{"version":2,"ptys":[]}');
	const config = loadConfig({ port: "0", spares: "0", stateDir }, {});
	await expect(startServer(config, { report: () => {} })).rejects.toMatchObject({
		code: "unsupported",
		message: "cannot read opensandbox.json: unknown version 2",
	});
	expect(await readFile(path, "utf8")).toBe('{"version":2,"ptys":[]}');
	await writeFile(path, '{"version":1,"ptys":[]}');
	await (await startServer(config, { report: () => {} })).close();
});
