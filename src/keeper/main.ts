#!/usr/bin/env node
/**
 * The keeper: a small process of its own that owns one durable session, so that the session outlives
 * the server. Started as a spare by a server, it waits for a session; it has no HTTP and no access
 * rules, only a private socket.
 *
 *   keeper/main.js SOCKET EPOCH
 */

import { fstatSync, ftruncateSync, writeSync } from "node:fs";
import { createServer } from "node:net";
import { systemClock } from "../backends/clock.ts";
import { processStartTime } from "../link/record.ts";
import { Host } from "./host.ts";
import { type Authority, ServerLink } from "./server-link.ts";

/** How long a keeper that no server has ever greeted waits for one. */
const GREETING_MS = 30_000;
/** How often it looks meanwhile whether the server that started it is still there; nobody else ever greets it. */
const LOOK_MS = 500;
/** All keepers of a state directory share one log; it begins anew when it is this long. */
const LOG_BYTES = 4 * 1024 * 1024;

const [socket, epoch] = process.argv.slice(2);
/** Whoever dies before this is read is waited for in vain, until the greeting is overdue. */
const parent = process.ppid;
if (socket === undefined || epoch === undefined) {
	process.stderr.write("usage: keeper SOCKET EPOCH (started by the server, not by hand)\n");
	process.exit(2);
}

// A terminal that hangs up or is interrupted means the server, never what has to outlive it.
for (const signal of ["SIGHUP", "SIGINT"] as const) process.on(signal, () => {});
process.umask(0o077);

const report = (problem: unknown) => {
	const text = problem instanceof Error ? (problem.stack ?? problem.message) : String(problem);
	try {
		if (fstatSync(2).size > LOG_BYTES) ftruncateSync(2);
		writeSync(2, `${new Date().toISOString()} keeper ${process.pid}: ${text}\n`);
	} catch {
		// The log may be on the very disk that is full; reporting that would never end.
	}
};
process.on("uncaughtException", report);
process.on("unhandledRejection", report);

const authority: Authority = { generation: 0, epoch };
const host = new Host({
	clock: systemClock,
	self: { pid: process.pid, startTime: (await processStartTime(process.pid)) ?? "", epoch, socket, hasLock: true },
	report,
	onDone: () => {
		server.close();
		// Closing the server removes its socket; what was sent has a moment to leave.
		setImmediate(() => process.exit(0));
	},
});
// The machine shuts down, or a service manager ends all that it started and would kill us soon.
process.on("SIGTERM", () => void host.shutDown().catch(report));

const server = createServer((connection) => {
	new ServerLink(connection, { host, authority, report });
});
server.on("error", (error) => {
	report(error);
	process.exit(1);
});
server.listen(socket);

const startedAt = systemClock.monotonic();
const look = setInterval(() => {
	const isGreeted = authority.generation !== 0;
	const isInVain = process.ppid !== parent || systemClock.monotonic() - startedAt > GREETING_MS;
	if (isGreeted || isInVain) clearInterval(look);
	// Closing the server removes its socket.
	if (!isGreeted && isInVain) server.close(() => process.exit(0));
}, LOOK_MS).unref();
