/** `GET /files/download`: contract of files, section 3.4. */

import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdir, open, readFile, symlink, truncate, utimes, writeFile } from "node:fs/promises";
import { Agent, request as httpRequest, type IncomingMessage } from "node:http";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { eventually } from "../../../support/reading.ts";
import { Files, query } from "./support/files-client.ts";

const MiB = 1024 * 1024;

const download = (path: string, more: Record<string, string> = {}) => `/files/download${query({ path, ...more })}`;

/** Over one connection, so that an answer of the wrong length would corrupt the next one. */
function reusing(files: Files) {
	const agent = new Agent({ keepAlive: true, maxSockets: 1 });
	onTestFinished(() => agent.destroy());
	let connections = 0;
	return {
		get connections() {
			return connections;
		},
		async get(path: string, headers: Record<string, string> = {}) {
			const request = httpRequest(`${files.server.url}${path}`, { agent, headers });
			request.on("socket", (socket) => void (socket.bytesRead === 0 && connections++));
			request.end();
			const [response] = (await once(request, "response")) as [IncomingMessage];
			const chunks: Buffer[] = [];
			for await (const chunk of response) chunks.push(chunk as Buffer);
			return { status: response.statusCode, headers: response.headers, body: Buffer.concat(chunks).toString("latin1") };
		},
	};
}

test("a whole file has exactly these headers and the requested name", async () => {
	const files = await Files.start();
	await writeFile(files.at("target"), "content");
	await symlink("target", files.at("link"));
	await utimes(files.at("target"), 1e9, 1e9);
	const response = await files.server.request(download(files.at("link")));
	expect([response.status, await response.text()]).toEqual([200, "content"]);
	const { headers } = response;
	expect(headers.get("content-type")).toBe("application/octet-stream");
	expect(headers.get("content-length")).toBe("7");
	expect(headers.get("content-disposition")).toBe('attachment; filename="link"');
	expect(headers.get("accept-ranges")).toBe("bytes");
	expect(headers.get("last-modified")).toBe("Sun, 09 Sep 2001 01:46:40 GMT");
	for (const name of ["etag", "content-encoding"]) expect(headers.get(name)).toBeNull();
	const again = { headers: { "if-modified-since": "Sun, 09 Sep 2001 01:46:40 GMT" } };
	expect((await files.server.request(download(files.at("link")), again)).status).toBe(304);
	expect(await files.get(download(files.at("missing")))).toMatchObject({ status: 404, code: "FILE_NOT_FOUND" });
	expect(await files.get("/files/download")).toMatchObject({ status: 400, code: "MISSING_QUERY" });
	expect(await files.get(download(files.at("target/below")))).toMatchObject({ status: 500, code: "RUNTIME_ERROR" });
});

describe("scenario 11, F-11, F-13: ranges", () => {
	const rows: [size: number, range: string, status: number, contentRange: string | undefined, body: string | null][] = [
		[36, "bytes=0-9", 206, "bytes 0-9/36", "0123456789"],
		[36, "bytes=30-", 206, "bytes 30-35/36", "uvwxyz"],
		[36, "bytes=30-1000", 206, "bytes 30-35/36", "uvwxyz"],
		[36, "bytes=-5", 206, "bytes 31-35/36", "vwxyz"],
		[36, "bytes=-1000", 206, "bytes 0-35/36", "0123456789abcdefghijklmnopqrstuvwxyz"],
		[36, "bytes=90-99, 2-3, 4-5", 206, "bytes 2-3/36", "23"],
		[36, "bytes=36-", 416, "bytes */36", null],
		[36, "bytes=100-200", 416, "bytes */36", null],
		[36, "bytes=-0", 416, "bytes */36", null],
		[36, "bytes=", 200, undefined, "0123456789abcdefghijklmnopqrstuvwxyz"],
		[36, "bytes=9-3", 416, "bytes */36", null],
		[36, "bytes=x-y", 416, "bytes */36", null],
		[36, "items=0-3", 416, "bytes */36", null],
		[36, "bytes=0-3,zz", 416, "bytes */36", null],
		[1, "bytes=0-0", 206, "bytes 0-0/1", "0"],
		[1, "bytes=-1", 206, "bytes 0-0/1", "0"],
		[1, "bytes=1-", 416, "bytes */1", null],
		[0, "bytes=0-9", 200, undefined, ""],
		[0, "bytes=-5", 200, undefined, ""],
		[0, "bytes=5-", 200, undefined, ""],
	];
	test("every row of the range table holds, on one connection", async () => {
		const files = await Files.start();
		const client = reusing(files);
		for (const [size, range, status, contentRange, body] of rows) {
			await writeFile(files.at("file"), "0123456789abcdefghijklmnopqrstuvwxyz".slice(0, size));
			const answer = await client.get(download(files.at("file")), { range });
			expect([range, answer.status, answer.headers["content-range"]]).toEqual([range, status, contentRange]);
			expect(Number(answer.headers["content-length"])).toBe(answer.body.length);
			if (body !== null) expect(answer.body).toBe(body);
			else
				expect(JSON.parse(answer.body)).toEqual({ code: "UNKNOWN", message: expect.stringMatching(/^invalid range/) });
			if (status === 206) expect(answer.headers["last-modified"] ?? answer.headers["accept-ranges"]).toBeUndefined();
		}
		expect(client.connections).toBe(1);
	});
});

describe("scenario 12: lines", () => {
	const lines = async (files: Files, content: string, more: Record<string, string>) => {
		await writeFile(files.at("text"), content);
		const response = await files.server.request(download(files.at("text"), more));
		return [response.status, response.headers.get("content-type"), await response.text()];
	};
	const plain = "text/plain; charset=utf-8";

	test("lines are counted from one, lose their ends, and are joined by a line feed", async () => {
		const files = await Files.start();
		const cases: [content: string, more: Record<string, string>, text: string][] = [
			["a\nb\nc\n", { offset: "2" }, "b\nc"],
			["a\nb\nc\n", { limit: "2" }, "a\nb"],
			["a\nb\nc\n", { offset: "2", limit: "1" }, "b"],
			["a\nb\nc", { offset: "3", limit: "9" }, "c"],
			["a\r\nb\r\r\nc\rd\r", { limit: "9" }, "a\nb\nc\rd"],
			["a\n\n", { limit: "9" }, "a\n"],
			["\n\nx\n\n", { limit: "9" }, "\n\nx\n"],
			["a\nb\n", { offset: "9" }, ""],
			["", { limit: "1" }, ""],
			["a\nb", { offset: "", limit: "1" }, "a"],
		];
		for (const [content, more, text] of cases)
			expect([content, more, ...(await lines(files, content, more))]).toEqual([content, more, 200, plain, text]);
	});

	test("lines can't be combined with ranges or invalid numbers, and a missing file is reported first", async () => {
		const files = await Files.start();
		await writeFile(files.at("text"), "a\n");
		const both = await files.server.request(download(files.at("text"), { offset: "1" }), {
			headers: { range: "bytes=0-" },
		});
		expect([both.status, await both.json()]).toMatchObject([
			400,
			{ message: expect.stringMatching(/mutually exclusive/) },
		]);
		for (const [name, raw] of [
			["offset", "0"],
			["offset", "abc"],
			["limit", "-1"],
		] as const) {
			const answer = await files.get(download(files.at("text"), { [name]: raw }));
			expect(answer).toMatchObject({ status: 400, body: { message: `invalid query parameter '${name}': ${raw}` } });
		}
		expect((await files.get(download(files.at("missing"), { offset: "abc" }))).status).toBe(404);
	});

	test("F-01: an endless line needs little memory", async () => {
		const files = await Files.start();
		const file = await open(files.at("sparse"), "w");
		await file.truncate(1024 * MiB);
		await file.close();
		const before = process.memoryUsage.rss();
		let most = 0;
		const response = await files.server.request(download(files.at("sparse"), { limit: "1" }));
		let bytes = 0;
		for await (const chunk of response.body ?? []) {
			bytes += (chunk as Uint8Array).length;
			most = Math.max(most, process.memoryUsage.rss() - before);
		}
		expect(bytes).toBe(1024 * MiB);
		expect(most).toBeLessThan(150 * MiB);
	}, 60_000);
});

test("scenario 13, F-10: a path that is not a file is refused at once without delaying others; /proc and /sys are readable", async () => {
	const files = await Files.start();
	execFileSync("mkfifo", [files.at("pipe")]);
	await mkdir(files.at("directory"));
	// Opening the pipe would block forever, and there are four threads that open files.
	const asked = Array.from({ length: 10 }, () => files.get(download(files.at("pipe"))));
	expect((await files.server.request("/ping")).status).toBe(200);
	for (const { status } of await Promise.all(asked)) expect(status).toBe(400);
	for (const path of [files.at("directory"), "/dev/zero"])
		expect(await files.get(download(path))).toMatchObject({ status: 400, code: "INVALID_REQUEST_BODY" });
	expect((await files.get(download(files.at("directory"), { limit: "1" }))).status).toBe(400);
	const status = await files.server.request(download("/proc/self/status"));
	expect(await status.text()).toMatch(/^Name:/);
	const sys = "/sys/kernel/mm/transparent_hugepage/enabled";
	const known = await readFile(sys, "utf8").catch(() => undefined);
	if (known !== undefined) expect(await (await files.server.request(download(sys))).text()).toBe(known);
});

test("scenario 14, F-11: a file truncated during the transfer is no success", async () => {
	const files = await Files.start();
	const file = await open(files.at("file"), "w");
	await file.truncate(200 * MiB);
	await file.close();
	const response = await files.server.request(download(files.at("file")));
	await truncate(files.at("file"), 10);
	await expect(response.arrayBuffer()).rejects.toThrow();
	expect((await files.server.request("/ping")).status).toBe(200);
});

test("F-02: a client that does not read uses no memory, and the file is closed when it leaves", async () => {
	const files = await Files.start();
	const file = await open(files.at("file"), "w");
	await file.truncate(1024 * MiB);
	await file.close();
	const before = process.memoryUsage.rss();
	const leaving = new AbortController();
	const requests = await Promise.all(
		[1, 2, 3, 4, 5].map(() => files.server.request(download(files.at("file")), { signal: leaving.signal })),
	);
	expect(requests.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
	expect(process.memoryUsage.rss() - before).toBeLessThan(100 * MiB);
	expect(openFiles(files.at("file"))).toBe(5);
	leaving.abort();
	await eventually("the files to be closed", () => openFiles(files.at("file")) === 0);
});

function openFiles(path: string): number {
	const listed = execFileSync("sh", ["-c", `ls -l /proc/${process.pid}/fd | grep -c -- "${path}" || true`], {
		encoding: "utf8",
	});
	return Number(listed);
}

test("scenario 10, F-18: names of all kinds survive a round trip", async () => {
	const files = await Files.start();
	const names = ['a"b', "报告.txt", "x".repeat(250), "a$1b", "line\nbreak", "sp ace+plus%25", "back\\slash", `\${a-b}`];
	for (const name of names) {
		const path = files.at(name);
		expect([name, (await files.put(path, name)).status]).toEqual([name, 200]);
		expect(await readFile(path, "utf8")).toBe(name);
		expect((await files.info(path)).path).toBe(path);
		const response = await files.server.request(download(path));
		expect(await response.text()).toBe(name);
		expect(response.headers.get("content-disposition")).toMatch(
			/^attachment; filename="([^"\\]|\\.)*"(; filename\*=UTF-8''[\w.~%-]+)?$/,
		);
		expect((await files.ask("DELETE", `/files${query({ path })}`)).status).toBe(200);
	}
	expect(await files.names()).toEqual([]);
	// Not UTF-8 at all.
	const raw = Buffer.concat([Buffer.from(`${files.root}/`), Buffer.of(0xff)]);
	await writeFile(raw, "bytes");
	const encoded = `path=${encodeURIComponent(files.root)}/%ff`;
	const { body } = await files.get(`/files/info?${encoded}`);
	expect(Object.values(body as object)).toMatchObject([{ path: join(files.root, "\ufffd"), size: 5 }]);
	const response = await files.server.request(`/files/download?${encoded}`);
	expect([await response.text(), response.headers.get("content-disposition")]).toEqual([
		"bytes",
		`attachment; filename="%FF"; filename*=UTF-8''%FF`,
	]);
	expect((await files.ask("DELETE", `/files?${encoded}`)).status).toBe(200);
	expect(await files.names()).toEqual([]);
	const non = await files.put(files.at("报 告"), "");
	expect(non.status).toBe(200);
	const disposition = (await files.server.request(download(files.at("报 告")))).headers.get("content-disposition");
	expect(disposition).toBe(`attachment; filename="%E6%8A%A5%20%E5%91%8A"; filename*=UTF-8''%E6%8A%A5%20%E5%91%8A`);
});
