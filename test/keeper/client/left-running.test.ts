/** Processes that a program leaves behind: only an explicit kill ends them. */

import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { spawn } from "../../../src/backends/spawn.ts";
import { systemClock } from "../../../src/backends/system-clock.ts";
import { inProcess } from "../../../src/core/session/in-process-sessions.ts";
import type { Session } from "../../../src/core/session/session.ts";
import { type LocalSessionsOptions, SessionRegistry } from "../../../src/core/session/session-registry.ts";
import type { WorkspaceRules } from "../../../src/core/session/workspaces.ts";
import { isAlive, killIfThere } from "../../support/alive.ts";
import { KeeperSite } from "../../support/keeper-site.ts";
import { eventually, itemsUntil, textOf } from "../../support/reading.ts";
import { startOf } from "../../support/starts.ts";

const QUIET = "</dev/null >/dev/null 2>&1";
const LIMIT_BYTES = 4096;

const FIFO = "export P=$(mktemp -u); mkfifo $P";
const READ = "read left <$P; rm $P; echo left $left";

/** Each prints the id of the process it leaves, once a hang-up can't reach it. */
const ways = {
	nohup: `trap '' HUP; nohup sleep 1000 ${QUIET} & echo left $!`,
	setsid: `${FIFO}; setsid sh -c 'echo $$ >$P; exec sleep 1000' ${QUIET} & ${READ}`,
	daemon: `${FIFO}; (setsid sh -c 'sh -c "echo \\$\\$ >$P; exec sleep 1000" & exit' ${QUIET} &); ${READ}`,
};

type Node = { readonly sessions: SessionRegistry; readonly close: () => Promise<void> };
type Cause = {
	readonly options: Partial<LocalSessionsOptions>;
	readonly maxDiskBytes?: number;
	/** Requests that the session is forgotten, or starts another session that needs its slot. */
	readonly forget: (node: Node, session: Session) => Promise<void>;
	/** The refusal of `forget` while the session stays. */
	readonly refusal?: string;
};

const startAnother = async ({ sessions }: Node, { spec }: Session) => {
	const another = await sessions.create(startOf(["/bin/true"], { durable: spec.durable, retention: RETENTION }));
	await another.gone;
	await sessions.forget(another.id);
};
const RETENTION = { memoryBytes: 1024, journalBytes: LIMIT_BYTES };
const WORKSPACE: WorkspaceRules = {
	get: (id) => ({
		id,
		name: null,
		roots: [],
		limits: { journalBytes: LIMIT_BYTES },
		sandbox: null,
		createdAt: 0,
	}),
	countStart: () => 0,
	resolveDirectory: async (_, directory) => directory,
};

const causes: Readonly<Record<string, Cause>> = {
	"the number of ended sessions": { options: { maxEnded: 0 }, forget: startAnother },
	"the disk's limit": {
		options: {},
		maxDiskBytes: 0,
		forget: startAnother,
		refusal: "kill processes that ended ones left behind",
	},
	"the workspace's limit": {
		options: { workspaces: WORKSPACE },
		forget: startAnother,
		refusal: "kill processes that ended ones left behind",
	},
	"a front": { options: {}, forget: ({ sessions }, { id }) => sessions.forget(id) },
};

async function openNode(site: KeeperSite, { options, maxDiskBytes = 2 ** 40 }: Partial<Cause>): Promise<Node> {
	const { keepers, adopted } = await site.open({ maxDiskBytes });
	const transient = inProcess({ spawn, clock: systemClock });
	const sessions = new SessionRegistry({
		homes: { durable: keepers, transient },
		maxRunning: 9,
		maxEnded: 9,
		...options,
	});
	for (const session of adopted) sessions.adopt(session);
	return { sessions, close: () => keepers.close() };
}

/** A session that ended and left a process behind. */
async function startLeaving(site: KeeperSite, { sessions }: Node, way: keyof typeof ways, isDurable: boolean) {
	const start = startOf(["/bin/sh", "-c", ways[way]], { durable: isDurable, retention: RETENTION });
	const session = await sessions.create(start);
	const [, pid] = /left (\d+)/.exec(textOf(await itemsUntil(session, { offset: 0 }))) ?? [];
	const left = Number(pid);
	if (isDurable) await site.journaled(session);
	onTestFinished(() => killIfThere(left));
	expect(isAlive(left)).toBe(true);
	return { session, left };
}

const cases = Object.keys(ways).flatMap((way) =>
	Object.entries(causes).flatMap(([cause, { maxDiskBytes }]) => [
		// An exceeded disk limit allows no start, so only a later server has it.
		...(maxDiskBytes === undefined ? [{ way, cause, home: "durable", restarted: false }] : []),
		{ way, cause, home: "durable", restarted: true },
		// Sessions in the server's process end with it, and have no journal to limit.
		...(cause.includes("limit") ? [] : [{ way, cause, home: "in-process", restarted: false }]),
	]),
);

test.each(cases)(
	"an ended $home session outlasts $cause while a process runs that it left behind ($way, server restarted: $restarted)",
	async ({ way, cause: name, home, restarted }) => {
		const cause = causes[name] as Cause;
		const site = await KeeperSite.create();
		let node = await openNode(site, { ...cause, maxDiskBytes: 2 ** 40 });
		const started = await startLeaving(site, node, way as keyof typeof ways, home === "durable");
		const { left } = started;
		const { id } = started.session;
		if (restarted) {
			await node.close();
			node = await openNode(site, cause);
		}
		const session = node.sessions.get(id);
		if (!session) throw new Error("the session was not found");

		const forgetting = cause.forget(node, session);
		if (cause.refusal === undefined) await forgetting;
		else
			await expect(forgetting).rejects.toMatchObject({
				code: "limit_exceeded",
				hint: expect.stringContaining(cause.refusal),
			});
		expect(isAlive(left)).toBe(true);
		expect(node.sessions.get(id)).toBe(session);

		await session.kill({ signal: "SIGKILL", graceMs: 0 });
		expect(isAlive(left)).toBe(false);
		await session.gone;
		await cause.forget(node, session);
		await eventually("the session to be forgotten", () => node.sessions.get(id) === undefined);
		if (home === "durable") expect(await readdir(join(site.directory, "sessions"))).not.toContain(id);
	},
);

test.each(["durable", "in-process"])(
	"deleting an ended %s session ends the processes that it left behind",
	async (home) => {
		const site = await KeeperSite.create();
		const node = await openNode(site, {});
		const { session, left } = await startLeaving(site, node, "setsid", home === "durable");
		await node.sessions.remove(session.id);
		expect(isAlive(left)).toBe(false);
		expect(node.sessions.list()).toEqual([]);
	},
);

test("a durable session without a journal is forgotten once all its processes have ended", async () => {
	const site = await KeeperSite.create();
	const node = await openNode(site, { options: { maxEnded: 0 } });
	const session = await node.sessions.create(
		startOf(["/bin/true"], { retention: { memoryBytes: 1024, journalBytes: 0 } }),
	);
	await eventually("the session to be forgotten", () => node.sessions.get(session.id) === undefined);
	expect(await readdir(join(site.directory, "sessions"))).toEqual([]);
});

test("the number of sessions that left processes running is limited", async () => {
	const site = await KeeperSite.create();
	const { sessions } = await openNode(site, {});
	const leave = async () => {
		const session = await sessions.create(startOf(["/bin/sh", "-c", ways.nohup], { durable: false }));
		await itemsUntil(session, { offset: 0 });
		return session;
	};
	const [first] = await Promise.all(Array.from({ length: 8 }, leave));
	for (let count = 8; count < 32; count += 8) await Promise.all(Array.from({ length: 8 }, leave));
	await expect(leave()).rejects.toMatchObject({
		code: "limit_exceeded",
		message: "too many ended sessions have left processes running (limit 32)",
		hint: "kill or delete some of these sessions",
	});
	await first?.kill({ signal: "SIGKILL", graceMs: 0 });
	await first?.gone;
	await leave();
	await Promise.all(sessions.list().map(({ id }) => sessions.remove(id)));
});
