/** ttyd, the most similar program, when TTYD=path is set. It runs one program per connection. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Variant } from "./case.ts";
import type { Target } from "./ws-client.ts";

const path: string | undefined = process.env.TTYD || undefined;

export const hasTtyd: boolean = path !== undefined;

/** Items that are measured only together with ttyd. */
export function withTtyd<T>(items: readonly T[]): readonly T[] {
	return hasTtyd ? items : [];
}

export type Ttyd = { readonly pid: number; readonly target: Target };

/** Serves a program with ttyd, calls `use`, and ends ttyd in any case. */
export async function ttyd<T>(argv: readonly string[], use: (server: Ttyd) => Promise<T>): Promise<T> {
	if (path === undefined) throw new Error("set TTYD to the path of ttyd");
	const port = await freePort();
	// Writable, and reachable only from this machine. Its programs are ended by SIGKILL.
	const flags = ["--port", String(port), "--interface", "lo", "--writable", "--signal", "9"];
	const child = spawn(path, [...flags, ...argv], { stdio: "ignore" });
	// Rejects if the program does not exist.
	await once(child, "spawn");
	try {
		await answering(child, port);
		return await use({ pid: child.pid ?? Number.NaN, target: { protocol: "ttyd", port, path: "/ws", token: "none" } });
	} finally {
		if (child.exitCode === null && child.signalCode === null) {
			child.kill("SIGTERM");
			await once(child, "exit");
		}
	}
}

/** A variant that is measured only together with ttyd. */
export function ttydVariant(name: string, measure: Variant["measure"]): readonly Variant[] {
	return withTtyd([{ name, measure }]);
}

/** Resolves when it accepts connections. Its log differs between versions. */
async function answering(child: ChildProcess, port: number): Promise<void> {
	for (;;) {
		if (child.exitCode !== null || child.signalCode !== null) throw new Error("ttyd ended before it listened");
		const socket = connect(port, "127.0.0.1");
		const isThere = await new Promise<boolean>((resolve) => {
			socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
		});
		socket.destroy();
		if (isThere) return;
		await sleep(20);
	}
}

async function freePort(): Promise<number> {
	const server = createServer().listen(0, "127.0.0.1");
	await once(server, "listening");
	const address = server.address();
	server.close();
	await once(server, "close");
	return typeof address === "object" && address !== null ? address.port : 0;
}
