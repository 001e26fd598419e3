/**
 * The published OpenSandbox SDK's files and metrics against this server, unchanged, directly and through its own proxy.
 */

import { readFile, stat } from "node:fs/promises";
import { ConnectionConfig, DefaultAdapterFactory, SandboxApiException } from "@alibaba-group/opensandbox";
import { describe, expect, onTestFinished, test } from "vitest";
import { temporaryDirectory } from "../../../support/temporary.ts";
import { startExecd } from "./support/execd-server.ts";

const TOKEN = "secret-token";

describe.each(["directly", "through the proxy"])("the published SDK %s", (way) => {
	async function sdk() {
		const root = await temporaryDirectory();
		const server = await startExecd({ accessToken: TOKEN, cwd: root });
		const connectionConfig = new ConnectionConfig({
			headers: { "X-EXECD-ACCESS-TOKEN": TOKEN },
		}).withTransportIfMissing();
		onTestFinished(() => connectionConfig.closeTransport());
		const execdBaseUrl = way === "directly" ? server.url : `${server.url}/proxy/${new URL(server.url).port}`;
		return { root, ...new DefaultAdapterFactory().createExecdStack({ connectionConfig, execdBaseUrl }) };
	}

	test("scenario 3: a file written from any source is stored byte for byte", async () => {
		const { root, files } = await sdk();
		const bytes = new Uint8Array([0, 255, 13, 10, 45, 45]);
		const pieces = async function* () {
			for (let index = 0; index < 100; index++) yield new Uint8Array(10_000).fill(index);
		};
		await files.writeFiles([
			{ path: `${root}/text`, data: "text ✓" },
			{ path: `${root}/bytes`, data: bytes, mode: 640 },
			{ path: `${root}/blob`, data: new Blob(["blob"]) },
			{ path: `${root}/stream`, data: pieces() },
			{ path: `${root}/empty`, data: "" },
			{ path: `${root}/a"b`, data: pieces() },
		]);
		expect(await readFile(`${root}/text`, "utf8")).toBe("text ✓");
		expect(new Uint8Array(await readFile(`${root}/bytes`))).toEqual(bytes);
		expect(await readFile(`${root}/blob`, "utf8")).toBe("blob");
		for (const name of ["stream", 'a"b']) expect((await stat(`${root}/${name}`)).size).toBe(1_000_000);
		expect((await stat(`${root}/empty`)).size).toBe(0);
		const infos = await files.getFileInfo([`${root}/bytes`, `${root}/text`]);
		expect(infos[`${root}/bytes`]).toMatchObject({ mode: 640, size: 6 });
		expect(infos[`${root}/text`]?.modifiedAt).toBeInstanceOf(Date);
	});

	test("reading works: text, bytes, ranges, lines, a stream", async () => {
		const { root, files } = await sdk();
		const path = `${root}/file`;
		await files.writeFiles([{ path, data: "one\ntwo\nthree\n" }]);
		expect(await files.readFile(path)).toBe("one\ntwo\nthree\n");
		expect(await files.readFile(path, { range: "bytes=4-6" })).toBe("two");
		expect(await files.readFile(path, { offset: 2, limit: 1 })).toBe("two");
		expect(Buffer.from(await files.readBytes(path)).toString()).toBe("one\ntwo\nthree\n");
		let text = "";
		for await (const chunk of files.readBytesStream(path)) text += Buffer.from(chunk).toString();
		expect(text).toBe("one\ntwo\nthree\n");
		await expect(files.readFile(`${root}/missing`)).rejects.toMatchObject({ statusCode: 404 });
	});

	test("directories, search, permissions, move, replace and remove work", async () => {
		const { root, files } = await sdk();
		await files.createDirectories([
			{ path: `${root}/a/b`, mode: 755 },
			{ path: `${root}/c`, mode: 644 },
		]);
		await files.writeFiles([{ path: `${root}/a/b/x.py`, data: "print(1)", mode: 644 }]);
		const found = await files.search({ path: root, pattern: "*.py" });
		expect(found.map(({ path }) => path)).toEqual([`${root}/a/b/x.py`]);
		expect((await files.listDirectory({ path: root, depth: 2 })).map(({ path }) => path)).toEqual([
			`${root}/a`,
			`${root}/a/b`,
			`${root}/c`,
		]);
		await files.setPermissions([{ path: `${root}/a/b/x.py`, mode: 600 }]);
		expect((await files.getFileInfo([`${root}/a/b/x.py`]))[`${root}/a/b/x.py`]).toMatchObject({ mode: 600 });
		await files.moveFiles([{ src: `${root}/a/b/x.py`, dest: `${root}/d/y.py` }]);
		await files.replaceContents([{ path: `${root}/d/y.py`, oldContent: "1", newContent: "2" }]);
		expect(await files.readFile(`${root}/d/y.py`)).toBe("print(2)");
		await files.deleteFiles([`${root}/d/y.py`]);
		await files.deleteDirectories([`${root}/a`, `${root}/c`, `${root}/d`]);
		expect(await files.search({ path: root })).toEqual([]);
		const refused = files.getFileInfo([`${root}/missing`]);
		await expect(refused).rejects.toBeInstanceOf(SandboxApiException);
		await expect(refused).rejects.toMatchObject({ statusCode: 404, error: { code: "FILE_NOT_FOUND" } });
	});

	test("metrics work", async () => {
		const { metrics } = await sdk();
		const sample = await metrics.getMetrics();
		expect(sample.cpuCount).toBeGreaterThanOrEqual(1);
		expect(sample.memoryTotalMiB).toBeGreaterThan(0);
		expect(Math.abs(Date.now() - sample.timestamp)).toBeLessThan(10_000);
	});
});
