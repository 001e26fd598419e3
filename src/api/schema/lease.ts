/** Control of a session over HTTP. */

import { limits } from "../messages.ts";
import * as s from "./fields.ts";
import type { OperationTable } from "./operation.ts";

const takeLease = s.request("TakeLease", "Asks for control of a session for a limited time.", {
	exclusive: s.optional(s.doc("Other clients can't write meanwhile. True if left out.", s.boolean)),
	force: s.optional(s.doc("Take it from a client that has exclusive control.", s.boolean)),
	ttlMs: s.optional(s.doc("A minute if left out.", s.integer(limits.minLeaseMs, limits.maxLeaseMs))),
	fence: s.optional(s.doc("Extend the caller's own lease with this fence.", s.offset)),
});

export const sessionLease: s.Schema = s.message("SessionLease", "The client that controls a session.", {
	fence: s.doc("Increases with each change of control. A write that names an old one is refused.", s.count),
	holder: s.nullable(s.text),
	exclusive: s.boolean,
});

const takeover = s.message("TakeoverMessage", "Actions of a client that had exclusive control.", {
	holder: s.text,
	from: s.doc("The output of that time.", s.offset),
	to: s.offset,
	commands: s.doc("Number of commands that the shell began.", s.count),
});

/** Fields of answers to a caller that writes. */
export const control: Readonly<Record<"takeovers" | "fence", s.Schema>> = {
	takeovers: s.doc("Clients that had exclusive control since the caller's last call, oldest first.", s.list(takeover)),
	fence: s.doc("The current fence. A write that names it is refused once control has changed.", s.count),
};

export const leaseOperations: OperationTable = {
	takeLease: {
		summary: "Take control of a session for a time",
		route: "POST /v1/sessions/:id/lease",
		right: "operate",
		body: s.optional(takeLease),
		answer: sessionLease,
	},
	releaseLease: {
		summary: "Give back control of a session",
		route: "DELETE /v1/sessions/:id/lease",
		right: "operate",
		query: { fence: s.optional(s.doc("Only if this is still the current fence.", s.offset)) },
		answer: sessionLease,
	},
};
