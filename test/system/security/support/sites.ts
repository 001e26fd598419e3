/** Every listener in its own process, started as an operator would. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Address } from "./address.ts";
import { enterAppServer, enterExecServer, type Insider, Operator, type Who } from "./insiders.ts";

export type Place =
	| "serve"
	| "serve over TLS"
	| "the socket of serve"
	| "execd"
	| "execd without a token"
	| "exec-server"
	| "app-server";

export type Site = {
	/** The address that the attackers use. */
	readonly address: Address;
	readonly pid: number;
	enter(who: Who): Promise<Insider>;
	/** Kills the server. Its keepers continue and are left to the caller. */
	kill(): Promise<void>;
};

const EXECD_TOKEN = "secret";
const loopback = ["--host", "127.0.0.1", "--port", "0"];

/** `root` is the repository with the built product. */
export async function openSite(place: Place, stateDir: string, root: URL): Promise<Site> {
	const file = (path: string) => fileURLToPath(new URL(path, root));
	const withState = [...loopback, "--state-dir", stateDir];
	const commands: Readonly<Record<Place, readonly string[]>> = {
		serve: ["serve", ...withState],
		"serve over TLS": [
			...["serve", ...withState],
			...["--tls-cert", file("test/fixtures/tls-cert.pem"), "--tls-key", file("test/fixtures/tls-key.pem")],
		],
		"the socket of serve": ["serve", ...withState],
		execd: ["execd", ...withState, "--access-token", EXECD_TOKEN],
		"execd without a token": ["execd", ...withState],
		"exec-server": ["exec-server", "--listen", "ws://127.0.0.1:0"],
		"app-server": ["app-server", "--listen", "ws://127.0.0.1:0", "--sandbox", "danger-full-access"],
	};
	const { url, pid, kill } = await run(file("dist/cli/main.js"), commands[place]);
	const port: Address = { port: Number(new URL(url).port), isTls: url.startsWith("https") };
	if (place === "exec-server") return { address: port, pid, kill, enter: () => enterExecServer(url) };
	if (place === "app-server") return { address: port, pid, kill, enter: () => enterAppServer(url) };
	const { socket } = JSON.parse(await readFile(join(stateDir, "server.json"), "utf8")) as { socket: string };
	const token = (await readFile(join(stateDir, "admin-token"), "utf8")).trim();
	const local: Address = { path: socket };
	if (place === "execd" || place === "execd without a token") {
		const openSandbox = { address: port, prefix: "", token: place === "execd" ? EXECD_TOKEN : undefined };
		// A client with the token, if one is set, may do everything there.
		const operator = new Operator({ ways: [local], token, openSandbox });
		return { address: port, pid, kill, enter: () => operator.enter("operator") };
	}
	const openSandbox = { address: port, prefix: "/opensandbox", token };
	const operator = new Operator({ ways: [port, local], token, openSandbox });
	const address = place === "the socket of serve" ? local : port;
	return { address, pid, kill, enter: (who) => operator.enter(who) };
}

/** Resolves once it prints its address. */
async function run(
	program: string,
	command: readonly string[],
): Promise<{ readonly url: string; readonly pid: number; kill(): Promise<void> }> {
	// Without its limit of starts per second, which is for strangers.
	const env = { ...process.env, HAWSER_CREATE_RATE: "0" };
	const child = spawn(process.execPath, [program, ...command], { stdio: ["ignore", "pipe", "pipe"], env });
	const ended = once(child, "exit");
	const said: string[] = [];
	const url = await new Promise<string>((resolve, reject) => {
		for (const input of [child.stdout, child.stderr]) {
			createInterface({ input }).on("line", (line) => {
				said.push(line);
				const [found] = /\b(https?|ws):\/\/\S+/.exec(line) ?? [];
				if (found !== undefined) resolve(found);
			});
		}
		void ended.then(() => reject(new Error(`it ended before it listened: ${said.join("; ")}`)));
	});
	return {
		url,
		pid: child.pid ?? Number.NaN,
		async kill() {
			child.kill("SIGKILL");
			await ended;
		},
	};
}
