// Reports the state of opencode to Hawser. Installed by: hawser agent install opencode
//
// Outside of a Hawser session it does nothing. It never waits, never fails, and decides nothing.

import { createConnection } from "node:net";

const path = process.env.HAWSER_AGENT_SOCKET;
const MAX_MS = 2_000;
/** Events that say something about the state. */
const EVENTS = new Set([
	"permission.asked",
	"permission.updated",
	"permission.replied",
	"question.asked",
	"question.replied",
	"question.rejected",
	"session.status",
	"session.idle",
	"session.error",
]);
/** A question of a subagent stops the agent. Its other events are not the agent's. */
const OF_SUBAGENTS = /^(?:permission|question)\./;

/** Reports arrive in their order. While the server does not answer, only so many wait. */
let last = Promise.resolve();
let waiting = 0;
const MAX_WAITING = 32;

function report(event, payload) {
	if (waiting >= MAX_WAITING) return;
	waiting++;
	const line = `${JSON.stringify({ method: "agent.hook", params: { event, payload } })}\n`;
	last = last.then(() => send(line)).finally(() => waiting--);
}

function send(line) {
	return new Promise((resolve) => {
		const connection = createConnection(path);
		const timer = setTimeout(() => connection.destroy(), MAX_MS);
		timer.unref?.();
		connection.on("connect", () => connection.write(line));
		connection.on("data", () => connection.destroy());
		connection.on("error", () => {});
		connection.on("close", () => {
			clearTimeout(timer);
			resolve();
		});
	});
}

export const HawserPlugin = async () => {
	if (!path) return {};
	const subagents = new Set();
	report("sessionStart", {});
	return {
		event: async ({ event }) => {
			try {
				const { type, properties = {} } = event;
				const { info, sessionID } = properties;
				if (info?.id && info.parentID) subagents.add(info.id);
				if (!EVENTS.has(type) || (subagents.has(sessionID) && !OF_SUBAGENTS.test(type))) return;
				report(type, properties);
			} catch {
				// The state is not worth an error in the agent.
			}
		},
	};
};
