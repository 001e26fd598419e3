/** A `LocalAccess` on its own directory, with a known clock and known randomness. */

import { createHash } from "node:crypto";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { type AccessOptions, LocalAccess } from "../../src/access/local-access.ts";
import type { Credentials, SignedIn } from "../../src/core/policy/access.ts";
import { writeAtomically } from "../../src/disk/write-atomically.ts";
import { FakeClock } from "../support/fake-clock.ts";
import { temporaryDirectory } from "../support/temporary.ts";

export const ADMIN_TOKEN = "the-admin-token";

/** The workspace of the sessions in these tests. */
const workspaces: Readonly<Record<string, string>> = { s1: "red", s2: "blue" };

export type Opened = {
	access: LocalAccess;
	clock: FakeClock;
	file: string;
	problems: unknown[];
	options: AccessOptions;
};

export async function openAccess(changes: Partial<AccessOptions> = {}): Promise<Opened> {
	const clock = new FakeClock();
	const problems: unknown[] = [];
	const options: AccessOptions = {
		adminToken: ADMIN_TOKEN,
		file: join(await temporaryDirectory(), "tokens.json"),
		write: writeAtomically,
		clock,
		randomBytes: predictable(),
		isSecure: false,
		workspaceOf: (session) => workspaces[session],
		creationRate: { perSecond: 20, burst: 100 },
		report: (problem) => problems.push(problem),
		...changes,
	};
	return { access: await reopen(options), clock, file: options.file, problems, options };
}

/** Another one on the same file. It finishes writing before its directory is removed. */
export async function reopen(options: AccessOptions): Promise<LocalAccess> {
	const access = await LocalAccess.open(options);
	onTestFinished(() => access.close());
	return access;
}

/** Bytes that look random and are the same in every run. */
export function predictable(seed = 0): (count: number) => Uint8Array {
	let next = seed;
	return (count) => createHash("sha256").update(String(next++)).digest().subarray(0, count);
}

export const nothing: Credentials = {
	credential: undefined,
	ticket: undefined,
	cookies: undefined,
	pageKey: undefined,
	origin: undefined,
	isSafe: true,
	connection: {},
};

export const bearer = (credential: string): Credentials => ({ ...nothing, credential });

/** The headers that a browser sends from then on. */
export function shownBy(
	signedIn: SignedIn | undefined,
): Pick<Credentials, "cookies" | "pageKey"> & { cookies: string } {
	return { cookies: signedIn?.cookie.split(";", 1)[0] ?? "", pageKey: signedIn?.pageKey };
}
