import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { result } from "../../support/hawser-command.ts";
import { temporaryDirectory } from "../../support/temporary.ts";

const main = fileURLToPath(new URL("../../../dist/cli/main.js", import.meta.url));

it("strangers can't use up the descriptors that the operator needs on a server with a low limit", async () => {
	const directory = await temporaryDirectory();
	const argv = [process.execPath, main, "serve", "--state-dir", directory, "--port", "0"];
	const server = spawn("/bin/sh", ["-c", 'ulimit -n 256; exec "$@"', "sh", ...argv], {
		stdio: ["ignore", "pipe", "ignore"],
	});
	onTestFinished(async () => {
		server.kill("SIGTERM");
		await once(server, "exit");
	});
	let url = "";
	for await (const line of createInterface(server.stdout)) {
		url = /listening on (\S+)/.exec(line)?.[1] ?? "";
		if (url !== "") break;
	}
	const { hostname, port } = new URL(url);
	for (let index = 0; index < 400; index++) {
		const stranger = connect(Number(port), hostname);
		stranger.on("error", () => {});
		onTestFinished(() => void stranger.destroy());
		await once(stranger, "connect");
	}
	const authorization = `Bearer ${(await readFile(join(directory, "admin-token"), "utf8")).trim()}`;
	const start = await fetch(`${url}/v1/sessions`, {
		method: "POST",
		headers: { authorization, "content-type": "application/json" },
		body: JSON.stringify({ argv: ["true"], durable: false }),
		signal: AbortSignal.timeout(10_000),
	});
	expect(start.status).toBe(201);
}, 30_000);

it.each([32, 48])(
	"a server that may open %i files can't load its parts, and reports that in one sentence",
	async (limit) => {
		const argv = [process.execPath, main, "serve", "--state-dir", await temporaryDirectory(), "--port", "0"];
		const server = spawn("/bin/sh", ["-c", `ulimit -n ${limit}; exec "$@"`, "sh", ...argv], {
			stdio: ["ignore", "pipe", "pipe"],
		});
		const { code, stdout, stderr } = await result(server);
		expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
		expect(stderr).toMatch(/^hawser: .*ulimit -n 65536[;)].*\n$/);
	},
);
