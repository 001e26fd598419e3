#!/usr/bin/env node
/**
 * The keeper: a small process that owns one durable session, so that the session outlives the server. A server starts
 * it as a spare, and it waits for a session. It has no HTTP and no access rules, only a private socket.
 *
 *   keeper/main.js SOCKET EPOCH
 */

import { fstatSync, ftruncateSync, writeSync } from "node:fs";
import { createServer } from "node:net";
import { systemClock } from "../backends/system-clock.ts";
import { processStartTime } from "./link/session-record.ts";
import { startFailure } from "./link/start-failure.ts";
import { Host } from "./process/host.ts";
import { type Authority, ServerLink } from "./process/server-link.ts";

/** How long a keeper waits for its first greeting. */
const GREETING_MS = 30_000;
/** Interval for checking that the server that started it is still there. No other server greets it first. */
const CHECK_MS = 500;
/**
 * The log is shared by all keepers of a state directory, and starts again at this size.
 * @limit the log of keepers (`keepers.log`) | it starts again
 */
const LOG_BYTES = 4 * 1024 * 1024;

const [socket, epoch] = process.argv.slice(2);
/** If the parent dies before this line, the keeper waits until the greeting is overdue. */
const parent = process.ppid;
if (socket === undefined || epoch === undefined) {
	process.stderr.write("usage: keeper SOCKET EPOCH (started by the server, not by hand)\n");
	process.exit(2);
}

// Ignore SIGHUP and Ctrl-C from the server's terminal: keepers outlive the server.
for (const signal of ["SIGHUP", "SIGINT"] as const) process.on(signal, () => {});
process.umask(0o077);

const report = (problem: unknown) => {
	const text = problem instanceof Error ? (problem.stack ?? problem.message) : String(problem);
	try {
		if (fstatSync(2).size > LOG_BYTES) ftruncateSync(2);
		writeSync(2, `${new Date().toISOString()} keeper ${process.pid}: ${text}\n`);
	} catch {
		// The log may be on the full disk itself; reporting that would never end.
	}
};
process.on("uncaughtException", report);
process.on("unhandledRejection", report);

const authority: Authority = { generation: 0, epoch };
const host = new Host({
	clock: systemClock,
	self: { pid: process.pid, startTime: (await processStartTime(process.pid)) ?? "", epoch, socket },
	report,
	onDone: () => {
		server.close();
		// close() removes the socket. Exit on the next tick so that pending writes are flushed.
		setImmediate(() => process.exit(0));
	},
});
// The machine shuts down, or a service manager ends everything and would kill us soon.
process.on("SIGTERM", () => void host.shutDown().catch(report));

const server = createServer((connection) => {
	new ServerLink(connection, { host, authority, report });
});
server.on("error", (error: NodeJS.ErrnoException) => {
	report(error);
	process.exit(startFailure(error));
});
server.listen(socket);

const startedAt = systemClock.monotonic();
const check = setInterval(() => {
	const isGreeted = authority.generation !== 0;
	const isAbandoned = process.ppid !== parent || systemClock.monotonic() - startedAt > GREETING_MS;
	if (isGreeted || isAbandoned) clearInterval(check);
	// close() removes the socket.
	if (!isGreeted && isAbandoned) server.close(() => process.exit(0));
}, CHECK_MS).unref();
