/** Nothing that a program leaves behind outlives its session. */

import { type ChildProcess, spawn as spawnChild } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { spawn } from "../../../src/backends/spawn.ts";
import { systemClock } from "../../../src/backends/system-clock.ts";
import { isEnded } from "../../../src/core/log/session-state.ts";
import { inProcess } from "../../../src/core/session/in-process-sessions.ts";
import type { Session } from "../../../src/core/session/session.ts";

import { createHiders, type Hiders } from "../../support/hiders.ts";
import { KeeperSite } from "../../support/keeper-site.ts";
import { startOf } from "../../support/starts.ts";

/** Enough for a loaded machine: fifteen shells and their children have to start. */
const patience = { timeout: 15_000, interval: 20 };

async function allHidden(hiders: Hiders): Promise<void> {
	await vi.waitFor(() => expect(hiders.left()).toEqual([...hiders.ways].sort()), patience);
}

async function noneLeft(hiders: Hiders): Promise<void> {
	await vi.waitFor(() => expect(hiders.left()).toEqual([]), patience);
}

const command = ({ script }: Hiders) => ["bash", "-c", script];

describe.each(["pty", "pipe"] as const)("of a program on a %s", (mode) => {
	describe.each(["a keeper", "this process"] as const)("in %s", (place) => {
		async function start(hiders: Hiders, timeoutMs = 0): Promise<{ session: Session; site?: KeeperSite }> {
			const durable = place === "a keeper";
			const what = startOf(command(hiders), { mode, timeoutMs, timeoutGraceMs: 100, durable });
			if (place === "this process") {
				const onFailure = (error: unknown) => expect.fail(String(error));
				const session = await inProcess({ spawn, clock: systemClock, onFailure }).start(what);
				onTestFinished(async () => void (await session.kill()));
				return { session };
			}
			const site = await KeeperSite.create();
			const { keepers } = await site.open();
			return { session: await keepers.start(what), site };
		}

		test("no process is left after a kill", async () => {
			const hiders = createHiders();
			const { session } = await start(hiders);
			await allHidden(hiders);
			await session.kill({ graceMs: 200 });
			expect(hiders.left()).toEqual([]);
		});

		test("no process is left after the timeout", async () => {
			const hiders = createHiders();
			const { session } = await start(hiders, 1_000);
			await vi.waitFor(() => expect(isEnded(session.state)).toBe(true), patience);
			await noneLeft(hiders);
		});

		if (place === "a keeper")
			test("no process is left after the keeper was killed, and a server that marks the session lost has waited for that", async () => {
				const hiders = createHiders();
				const { session, site } = await start(hiders);
				await allHidden(hiders);
				const record = await site?.record(session.id);
				process.kill(record?.keeper.pid ?? 0, "SIGKILL");
				await vi.waitFor(() => expect(session.state.status).toBe("lost"), patience);
				expect(hiders.left()).toEqual([]);
			});
	});

	test("no process is left after the server that ran the program was killed", async () => {
		const hiders = createHiders();
		const server = startInServer(hiders, mode);
		onTestFinished(() => void server.kill("SIGKILL"));
		await allHidden(hiders);
		server.kill("SIGKILL");
		await once(server, "exit");
		await noneLeft(hiders);
	});
});

test("a program that kills its minder is lost, and processes with its marker are ended", async () => {
	const home = inProcess({ spawn, clock: systemClock, onFailure: (error) => expect.fail(String(error)) });
	const script = "read go; setsid sleep 1000 & setsid sleep 1000 & kill -9 $PPID; sleep 1000";
	const session = await home.start(startOf(["bash", "-c", script], { mode: "pipe" }));
	await session.act({ kind: "write", bytes: Buffer.from("go\n") });
	await vi.waitFor(() => expect(session.state.status).toBe("lost"), patience);
	await session.kill();
	expect(carriers(session.id)).toEqual([]);
	const next = await home.start(startOf(["true"], { mode: "pipe" }));
	await vi.waitFor(() => expect(next.state.exit).toEqual({ code: 0, signal: null }), patience);
});

function carriers(id: string): string[] {
	return readdirSync("/proc").filter((pid) => {
		try {
			return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/environ`, "latin1").includes(`HAWSER_SESSION=${id}\0`);
		} catch {
			return false;
		}
	});
}

/** A minimal server of one session: a process that starts a program and is killed. */
function startInServer(hiders: Hiders, mode: "pty" | "pipe"): ChildProcess {
	const { command: what } = startOf(command(hiders), { mode });
	const script = `
		import { spawn } from ${JSON.stringify(new URL("../../../dist/backends/spawn.js", import.meta.url))};
		await spawn(JSON.parse(process.argv[1]), () => {});`;
	return spawnChild(process.execPath, ["--input-type=module", "--eval", script, JSON.stringify(what)], {
		stdio: "inherit",
	});
}
