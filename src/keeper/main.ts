#!/usr/bin/env node
/**
 * The keeper: a small process of its own that owns one durable session, so that the session outlives
 * the server. Started as a spare by a server, it waits for a session; it has no HTTP and no access
 * rules, only a private socket.
 *
 *   keeper/main.js SOCKET EPOCH
 */

import { writeSync } from "node:fs";
import { createServer } from "node:net";
import { systemClock } from "../backends/clock.ts";
import { processStartTime } from "../link/record.ts";
import { Host } from "./host.ts";
import { type Charge, Control } from "./server-link.ts";

/** How long a keeper that no server has ever greeted waits for one. */
const GREETING_MS = 30_000;

const [socket, epoch] = process.argv.slice(2);
if (socket === undefined || epoch === undefined) {
	process.stderr.write("usage: keeper SOCKET EPOCH (started by the server, not by hand)\n");
	process.exit(2);
}

// The terminal or the service manager that stops the server must not stop what has to outlive it.
for (const signal of ["SIGHUP", "SIGINT", "SIGTERM"] as const) process.on(signal, () => {});
process.umask(0o077);

const report = (problem: unknown) => {
	const text = problem instanceof Error ? (problem.stack ?? problem.message) : String(problem);
	try {
		writeSync(2, `${new Date().toISOString()} keeper ${process.pid}: ${text}\n`);
	} catch {
		// The log may be on the very disk that is full; reporting that would never end.
	}
};
process.on("uncaughtException", report);
process.on("unhandledRejection", report);

const charge: Charge = { generation: 0, epoch };
const host = new Host({
	clock: systemClock,
	self: { pid: process.pid, startTime: (await processStartTime(process.pid)) ?? "", epoch, socket },
	report,
	onDone: () => {
		server.close();
		// Closing the server removes its socket; what was sent has a moment to leave.
		setImmediate(() => process.exit(0));
	},
});

const server = createServer((connection) => {
	new Control(connection, { host, charge, report });
});
server.on("error", (error) => {
	report(error);
	process.exit(1);
});
server.listen(socket);
setTimeout(() => {
	if (charge.generation === 0) process.exit(0);
}, GREETING_MS).unref();
