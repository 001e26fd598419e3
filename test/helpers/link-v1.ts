/** The keeper and the server's half as they were with version 1 of the link (test/fixtures/link-v1), ready to run. */

import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Act, ActOptions } from "../../src/core/act.ts";
import type { Clock } from "../../src/core/clock.ts";
import type { Item, Start } from "../../src/core/event.ts";
import type { FollowOptions, SessionStart } from "../../src/core/session.ts";
import type { State } from "../../src/core/state.ts";
import type { KeepersOptions } from "../../src/keepers/keepers.ts";

const fixture = fileURLToPath(new URL("../fixtures/link-v1", import.meta.url));
const headers = fileURLToPath(new URL("../../node_modules/node-api-headers/include", import.meta.url));

/** What tests use of a session as version 1 had it. */
export interface SessionV1 {
	readonly id: string;
	readonly state: State;
	info(): Promise<{ readonly pid: number | null; readonly status: string }>;
	follow(start: Start, options?: FollowOptions): AsyncIterable<Item>;
	act(act: Act, options?: ActOptions): Promise<{ readonly next: number; readonly written: number }>;
	receipt(stream: string, after: number): Promise<{ readonly next: number; readonly written: number }>;
	kill(options?: { readonly signal?: string }): Promise<void>;
}

export interface KeepersV1 {
	open(): Promise<SessionV1[]>;
	start(start: SessionStart): Promise<SessionV1>;
	forget(session: SessionV1, how: { readonly isKilled: boolean }): Promise<void>;
	close(): Promise<void>;
}

export type LinkV1 = {
	/** The keeper's program. */
	readonly keeper: string;
	/** The server's half. */
	readonly server: { readonly Keepers: new (options: KeepersOptions) => KeepersV1; readonly systemClock: Clock };
	readonly directory: string;
};

/** Compiles its addon and puts all of it into a directory of its own; the caller removes that. */
export async function buildLinkV1(): Promise<LinkV1> {
	const directory = mkdtempSync(join(tmpdir(), "hawser-link-v1-"));
	cpSync(fixture, directory, { recursive: true });
	const native = join(directory, "native");
	const target = join(native, "build", `${process.platform}-${process.arch}`);
	mkdirSync(target, { recursive: true });
	const sources = readdirSync(native).filter((name) => name.endsWith(".c"));
	const flags = ["-std=gnu11", "-shared", "-fPIC", "-O1", "-I", headers, "-o", join(target, "hawser.node")];
	execFileSync(process.env.CC || "cc", [...flags, ...sources.map((name) => join(native, name)), "-lpthread"]);
	const server = (await import(join(directory, "server.js"))) as LinkV1["server"];
	return { keeper: join(directory, "keeper.js"), server, directory };
}
