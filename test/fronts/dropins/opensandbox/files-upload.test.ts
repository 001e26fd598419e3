/** `POST /files/upload`: contract of files, section 3.5. */

import { createHash } from "node:crypto";
import { once } from "node:events";
import {
	chmod,
	chown,
	link,
	lstat,
	mkdir,
	open,
	readdir,
	readFile,
	readlink,
	stat,
	symlink,
	writeFile,
} from "node:fs/promises";
import { Agent, request as httpRequest, type IncomingMessage } from "node:http";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { eventually } from "../../../support/reading.ts";
import { temporaryDirectory } from "../../../support/temporary.ts";
import { startExecd } from "./support/execd-server.ts";
import { Files, metadataPart } from "./support/files-client.ts";

const MiB = 1024 * 1024;

test("scenario 4: metadata and files are paired in any order", async () => {
	const files = await Files.start();
	const names = ["a", "b", "c"];
	const metadata = (name: string) => metadataPart(files.at(name));
	const orders = [
		names.flatMap((name) => [metadata(name), ["file", `${name}1`] as const]),
		[...names.map(metadata), ...names.map((name) => ["file", `${name}2`] as const)],
		[...names.map((name) => ["file", `${name}3`] as const), ...names.map(metadata)],
	];
	for (const [index, order] of orders.entries()) {
		expect((await files.upload(order)).status).toBe(200);
		for (const name of names) expect(await readFile(files.at(name), "utf8")).toBe(`${name}${index + 1}`);
	}
	expect(await files.names()).toEqual(names);
});

test("scenario 3, F-05: a new file without a mode gets 0777 minus the umask, also with late metadata", async () => {
	const files = await Files.start();
	await files.put(files.at("new"), "x");
	await files.upload([["file", "x"], metadataPart(files.at("late"))]);
	await files.put(files.at("given"), "", { mode: 640 });
	const wanted = 0o777 & ~process.umask();
	expect((await stat(files.at("new"))).mode & 0o777).toBe(wanted);
	expect((await stat(files.at("late"))).mode & 0o777).toBe(wanted);
	expect((await stat(files.at("given"))).mode & 0o777).toBe(0o640);
	expect((await files.info(files.at("given"))).mode).toBe(640);
});

describe("scenario 5, F-03: an incomplete upload changes nothing and leaves nothing behind", () => {
	test("refusals have their codes", async () => {
		const files = await Files.start();
		const one = metadataPart(files.at("x"));
		const cases: [parts: Parameters<Files["upload"]>[0], status: number, code: string][] = [
			[[one, one, ["file", "x"]], 400, "INVALID_FILE"],
			[[one], 400, "INVALID_FILE_CONTENT"],
			[[["file", "x"]], 400, "INVALID_FILE_METADATA"],
			[
				[
					["metadata", "{"],
					["file", "x"],
				],
				400,
				"INVALID_FILE_METADATA",
			],
			[
				[
					["metadata", '{"path":"/x"} more'],
					["file", "x"],
				],
				400,
				"INVALID_FILE_METADATA",
			],
			[
				[
					["metadata", "{}"],
					["file", "x"],
				],
				400,
				"INVALID_FILE_METADATA",
			],
			[[metadataPart(files.at("x"), { mode: "644" }), ["file", "x"]], 400, "INVALID_FILE_METADATA"],
			[[metadataPart(files.at("x"), { mode: 798 }), ["file", "x"]], 500, "RUNTIME_ERROR"],
			[[metadataPart(files.at("x"), { owner: "missing-user" }), ["file", "x"]], 500, "RUNTIME_ERROR"],
			[[metadataPart("$HAWSER_UNDEFINED/x"), ["file", "x"]], 500, "RUNTIME_ERROR"],
		];
		for (const [parts, status, code] of cases)
			expect(await files.upload(parts)).toMatchObject({ status, code, body: { message: expect.any(String) } });
		const plain = await files.post("/files/upload", { no: "form" });
		expect(plain).toMatchObject({ status: 400, code: "INVALID_FILE" });
		expect(await files.names()).toEqual([]);
		expect(files.server.problems).toEqual([]);
	});

	test("scenario 7: a truncated body, and one whose client leaves, change nothing", async () => {
		const files = await Files.start();
		await writeFile(files.at("old"), "old");
		const body = multipart([metadataPart(files.at("old")), ["file", "new".repeat(100)]]);
		const cut = body.bytes.subarray(0, body.bytes.length - 10);
		const response = await files.server.request("/files/upload", { method: "POST", headers: body.headers, body: cut });
		expect(response.status).toBe(400);
		const request = httpRequest(`${files.server.url}/files/upload`, { method: "POST", headers: body.headers });
		request.on("error", () => {});
		request.write(cut);
		await eventually("the file on its way", async () => (await files.names()).length === 2);
		request.destroy();
		await eventually("the file to be removed", async () => (await files.names()).length === 1);
		expect(await readFile(files.at("old"), "utf8")).toBe("old");
	});

	test("the next server removes the leftovers of a crash and nothing else", async () => {
		const spoolDirectory = join(await temporaryDirectory(), "uploads");
		const files = await Files.start({ spoolDirectory });
		const body = multipart([metadataPart(files.at("x")), ["file", "content"]]);
		const request = httpRequest(`${files.server.url}/files/upload`, { method: "POST", headers: body.headers });
		request.on("error", () => {});
		request.write(body.bytes.subarray(0, body.bytes.length - 10));
		const [left = ""] = await eventually("the file on its way", async () => {
			const names = await files.names();
			return names.length === 1 && names;
		});
		// As if it had died just now: both still exist.
		const [note = ""] = await readdir(spoolDirectory);
		const copies = await Promise.all([readFile(join(spoolDirectory, note)), readFile(files.at(left))]);
		request.destroy();
		// The note is removed after the file, so a file the test puts in its place would be removed, too.
		await eventually("both files to be removed", async () => {
			return (await files.names()).length === 0 && (await readdir(spoolDirectory)).length === 0;
		});
		await writeFile(join(spoolDirectory, note), copies[0]);
		await writeFile(files.at(left), copies[1]);
		await writeFile(files.at("other"), "");
		await writeFile(join(spoolDirectory, "stranger"), files.at("other"));
		const next = new Files(await startExecd({ spoolDirectory }), files.root);
		expect((await next.put(files.at("y"), "y")).status).toBe(200);
		expect(await files.names()).toEqual(["other", "y"]);
		expect(await readdir(spoolDirectory)).toEqual([]);
	});
});

test("the connection continues after an upload refused in the middle", async () => {
	const files = await Files.start();
	const agent = new Agent({ keepAlive: true, maxSockets: 1 });
	onTestFinished(() => agent.destroy());
	const large = Buffer.alloc(3 * MiB);
	const refused = [
		{ body: multipart([metadataPart(files.root), ["file", large]]), status: 500 },
		{
			body: multipart([
				["metadata", "{"],
				["file", large],
			]),
			status: 400,
		},
	];
	for (const { body, status } of refused) {
		const upload = httpRequest(`${files.server.url}/files/upload`, { method: "POST", headers: body.headers, agent });
		upload.end(body.bytes);
		const [answer] = (await once(upload, "response")) as [IncomingMessage];
		const { localPort } = answer.socket;
		expect(answer.resume().statusCode).toBe(status);
		const ping = httpRequest(`${files.server.url}/ping`, { agent });
		ping.end();
		const [pong] = (await once(ping, "response")) as [IncomingMessage];
		expect([pong.resume().statusCode, pong.socket.localPort]).toEqual([200, localPort]);
	}
});

test("scenario 6: if one of several files can't be written, none is", async () => {
	const files = await Files.start();
	await mkdir(files.at("directory"));
	const pair = (name: string) => [metadataPart(files.at(name)), ["file", name] as const];
	const answer = await files.upload([...pair("first"), ...pair("directory"), ...pair("third")]);
	expect(answer).toMatchObject({ status: 500, code: "RUNTIME_ERROR" });
	expect(await files.names()).toEqual(["directory"]);
});

test("scenario 9, F-06: an existing file keeps its links, hard links, mode and owner", async () => {
	const files = await Files.start();
	await writeFile(files.at("target"), "old", { mode: 0o640 });
	await chmod(files.at("target"), 0o640);
	if (process.getuid?.() === 0) await chown(files.at("target"), 65_534, 65_534);
	const { uid, gid } = await stat(files.at("target"));
	await symlink("target", files.at("link"));
	expect((await files.put(files.at("link"), "new")).status).toBe(200);
	expect([await readlink(files.at("link")), await readFile(files.at("target"), "utf8")]).toEqual(["target", "new"]);
	expect(await stat(files.at("target"))).toMatchObject({ uid, gid, mode: 0o100640 });
	await link(files.at("target"), files.at("hard"));
	const { ino } = await stat(files.at("hard"));
	await files.put(files.at("target"), "newer");
	expect(await readFile(files.at("hard"), "utf8")).toBe("newer");
	expect(await stat(files.at("target"))).toMatchObject({ ino, nlink: 2 });
	await symlink("made", files.at("dangling"));
	await files.put(files.at("dangling"), "through");
	expect((await lstat(files.at("dangling"))).isSymbolicLink()).toBe(true);
	expect(await readFile(files.at("made"), "utf8")).toBe("through");
	expect((await files.names()).length).toBe(5);
});

test("scenario 9: a running program can be replaced, and continues", async () => {
	const files = await Files.start();
	await files.put(files.at("program"), new Uint8Array(await readFile("/bin/sleep")), { mode: 755 });
	const started = await files.server.post("/command", { command: `${files.at("program")} 1000`, background: true });
	await started.text();
	await eventually("the program to run", async () => {
		const listed = await files.server.sessions.list();
		return listed.some(({ state }) => state.status === "running");
	});
	expect((await files.put(files.at("program"), "#!/bin/sh\n")).status).toBe(200);
	expect(await readFile(files.at("program"), "utf8")).toBe("#!/bin/sh\n");
});

test("scenario 9: a target on another file system, or without its own directory entry, is written as well", async () => {
	const files = await Files.start();
	const path = `/dev/shm/hawser-test-${process.pid}`;
	// Late metadata: the file waits on the server's own disk.
	await files.upload([["file", "across"], metadataPart(path)]);
	expect(await readFile(path, "utf8")).toBe("across");
	await files.ask("DELETE", `/files?path=${path}`);
	expect((await files.put("/dev/null", "nothing")).status).toBe(200);
	expect((await stat("/dev/null")).isCharacterDevice()).toBe(true);
});

test("missing parents are created, with the file's owner", async () => {
	const files = await Files.start();
	const owner = process.getuid?.() === 0 ? { owner: "65534", group: "65534" } : {};
	expect((await files.put(files.at("a/b/c"), "deep", { mode: 600, ...owner })).status).toBe(200);
	expect((await stat(files.at("a/b"))).mode & 0o777).toBe(0o777 & ~process.umask());
	if (process.getuid?.() === 0)
		for (const name of ["a", "a/b", "a/b/c"]) expect((await stat(files.at(name))).uid).toBe(65_534);
});

test("scenario 8, F-01, F-07: a large file arrives byte for byte with little memory, and so do many files in one request", async () => {
	const files = await Files.start();
	const block = Buffer.alloc(MiB, "0123456789abcdef\r\n--");
	const blocks = 300;
	const before = process.memoryUsage.rss();
	let most = 0;
	const head = multipart([metadataPart(files.at("large")), ["file", ""]]);
	const end = Buffer.from(`\r\n--${head.boundary}--\r\n`);
	const request = httpRequest(`${files.server.url}/files/upload`, { method: "POST", headers: head.headers });
	request.write(head.bytes.subarray(0, head.bytes.length - end.length));
	const hash = createHash("sha256");
	for (let index = 0; index < blocks; index++) {
		hash.update(block);
		if (!request.write(block)) await once(request, "drain");
		most = Math.max(most, process.memoryUsage.rss() - before);
	}
	request.end(end);
	const [response] = (await once(request, "response")) as [{ statusCode: number; resume(): void }];
	response.resume();
	expect(response.statusCode).toBe(200);
	const written = createHash("sha256");
	const file = await open(files.at("large"));
	for await (const chunk of file.createReadStream()) written.update(chunk as Buffer);
	expect(written.digest("hex")).toBe(hash.digest("hex"));
	expect(most).toBeLessThan(150 * MiB);
	const many = Array.from({ length: 600 }, (_, index) => index);
	const parts = many.flatMap((index) => [metadataPart(files.at(`many/${index}`)), ["file", `${index}`] as const]);
	expect((await files.upload(parts)).status).toBe(200);
	expect(await readFile(files.at("many/599"), "utf8")).toBe("599");
}, 60_000);

test("scenario 16, F-04, F-19: a concurrent reader sees one complete content or the other", async () => {
	const files = await Files.start();
	const contents = ["a", "b"].map((letter) => new Uint8Array(Buffer.alloc(MiB, letter)));
	const path = files.at("file");
	await files.put(path, contents[0] as Uint8Array<ArrayBuffer>);
	let isOver = false;
	const reading = (async () => {
		let reads = 0;
		while (!isOver) {
			const bytes = await readFile(path);
			const letter = String.fromCharCode(bytes[0] ?? 0);
			if (bytes.length !== MiB || !bytes.equals(Buffer.alloc(MiB, letter))) throw new Error("a mix");
			reads++;
		}
		return reads;
	})();
	for (let round = 0; round < 10; round++) {
		const answers = await Promise.all(contents.map((content) => files.put(path, content)));
		expect(answers.map(({ status }) => status)).toEqual([200, 200]);
		const letter = (await readFile(path, "latin1"))[0] ?? "";
		const other = letter === "a" ? "b" : "a";
		await files.post("/files/replace", { [path]: { old: letter.repeat(1024), new: other.repeat(1024) } });
	}
	isOver = true;
	expect(await reading).toBeGreaterThan(0);
	expect(await files.names()).toEqual(["file"]);
}, 30_000);

test("parts with a missing, broken or unknown name are ignored", async () => {
	const files = await Files.start();
	const boundary = "b-1";
	const text = [
		`--${boundary}`,
		'Content-Disposition: form-data; name="metadata"',
		"",
		JSON.stringify({ path: files.at("x") }),
		`--${boundary}`,
		'Content-Disposition: form-data; name="comment"',
		"",
		"",
		`--${boundary}`,
		'content-disposition: form-data; name="file"; filename="a"b.txt"',
		"Content-Type: text/plain",
		"",
		`content\r\n--${boundary.slice(0, 2)}`,
		`--${boundary}--`,
		"",
	].join("\r\n");
	const headers = { "content-type": `multipart/form-data; boundary="${boundary}"` };
	const response = await files.server.request("/files/upload", { method: "POST", headers, body: text });
	expect([response.status, response.headers.get("content-length")]).toEqual([200, "0"]);
	expect(await readFile(files.at("x"), "utf8")).toBe(`content\r\n--${boundary.slice(0, 2)}`);
});

test("a body that arrives byte by byte is parsed the same", async () => {
	const files = await Files.start();
	const body = multipart([
		metadataPart(files.at("x")),
		["file", "a\r\n--\r\n--b"],
		metadataPart(files.at("y")),
		["file", ""],
	]);
	const request = httpRequest(`${files.server.url}/files/upload`, { method: "POST", headers: body.headers });
	request.setNoDelay(true);
	for (const byte of body.bytes) await new Promise((resolve) => request.write(Buffer.of(byte), resolve));
	request.end();
	const [response] = (await once(request, "response")) as [{ statusCode: number; resume(): void }];
	response.resume();
	expect(response.statusCode).toBe(200);
	expect(await readFile(files.at("x"), "utf8")).toBe("a\r\n--\r\n--b");
	expect((await stat(files.at("y"))).size).toBe(0);
});

test("F-12: a refusal in the middle of a large body is readable", async () => {
	const files = await Files.start();
	const body = multipart([
		["metadata", "{"],
		["file", Buffer.alloc(50 * MiB)],
	]);
	const response = await files.server.request("/files/upload", {
		method: "POST",
		headers: body.headers,
		body: body.bytes,
	});
	expect([response.status, await response.json()]).toMatchObject([400, { code: "INVALID_FILE_METADATA" }]);
	expect(await files.names()).toEqual([]);
});

test("scenario 25: a wrong token on a large upload is readable as 401", async () => {
	const files = await Files.start({ accessToken: "secret" });
	const body = multipart([metadataPart(files.at("x")), ["file", Buffer.alloc(50 * MiB)]]);
	const response = await fetch(`${files.server.url}/files/upload`, {
		method: "POST",
		headers: { ...body.headers, "x-execd-access-token": "wrong" },
		body: body.bytes,
	});
	expect(response.status).toBe(401);
	expect(await files.names()).toEqual([]);
});

function multipart(parts: readonly (readonly [name: string, content: string | Uint8Array])[]) {
	const boundary = "the-boundary";
	const pieces = parts.flatMap(([name, content]) => [
		Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="${name}"; filename="x"\r\n\r\n`),
		Buffer.from(content as string),
		Buffer.from("\r\n"),
	]);
	const bytes = Buffer.concat([...pieces, Buffer.from(`--${boundary}--\r\n`)]);
	return { boundary, bytes, headers: { "content-type": `multipart/form-data; boundary=${boundary}` } };
}
