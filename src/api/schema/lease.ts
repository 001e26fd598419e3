/** Control of a session over HTTP. */

import { limits } from "../messages.ts";
import {
	boolean,
	count,
	doc,
	integer,
	list,
	message,
	nullable,
	offset,
	optional,
	request,
	type Schema,
	text,
} from "./fields.ts";
import type { OperationTable } from "./operation.ts";

const takeLease = request("TakeLease", "Asks for control of a session for a limited time.", {
	exclusive: optional(doc("Other clients can't write meanwhile. True if left out.", boolean)),
	force: optional(doc("Take it from a client that has exclusive control.", boolean)),
	ttlMs: optional(doc("A minute if left out.", integer(limits.minLeaseMs, limits.maxLeaseMs))),
	fence: optional(doc("Extend the caller's own lease with this fence.", offset)),
});

export const sessionLease: Schema = message("SessionLease", "The client that controls a session.", {
	fence: doc("Increases with each change of control. A write that names an old one is refused.", count),
	holder: nullable(text),
	exclusive: boolean,
});

const takeover = message("TakeoverMessage", "Actions of a client that had exclusive control.", {
	holder: text,
	from: doc("The output of that time.", offset),
	to: offset,
	commands: doc("Number of commands that the shell began.", count),
});

/** Fields of answers to a caller that writes. */
export const control: Readonly<Record<"takeovers" | "fence", Schema>> = {
	takeovers: doc("Clients that had exclusive control since the caller's last call, oldest first.", list(takeover)),
	fence: doc("The current fence. A write that names it is refused once control has changed.", count),
};

export const leaseOperations: OperationTable = {
	takeLease: {
		summary: "Take control of a session for a time",
		route: "POST /v1/sessions/:id/lease",
		right: "operate",
		body: optional(takeLease),
		answer: sessionLease,
	},
	releaseLease: {
		summary: "Give back control of a session",
		route: "DELETE /v1/sessions/:id/lease",
		right: "operate",
		query: { fence: optional(doc("Only if this is still the current fence.", offset)) },
		answer: sessionLease,
	},
};
