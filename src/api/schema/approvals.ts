/** Actions that wait for approval. */

import { PRINTABLE } from "../../words/printable.ts";
import { limits } from "../messages.ts";
import {
	boolean,
	doc,
	list,
	literals,
	message,
	milliseconds,
	nullable,
	number,
	object,
	offset,
	optional,
	request,
	type Schema,
	string,
	text,
} from "./fields.ts";
import type { OperationTable } from "./operation.ts";

export const approvalKind: Schema = literals("start", "store", "run", "input", "signal", "stop", "delete");

export const sessionName: Schema = message("SessionName", "A session, by name.", {
	id: text,
	name: nullable(text),
	workspace: text,
});

export const approval: Schema = message(
	"ApprovalMessage",
	"An action of a token with a gate, held until another caller decides.",
	{
		id: text,
		session: doc(
			"The session that it affects. For `start`, the future session; for `store`, `task:ID`, `pty:ID` or `session:ID`.",
			sessionName,
		),
		by: doc("The caller that wants it.", object({ id: text, name: text })),
		kind: approvalKind,
		reason: doc(
			"Why it is held: it matches, its keys can't be read as text, or such actions are always held.",
			literals("match", "unreadable", "always"),
		),
		preview: doc("The action as printable text; the middle of a long one is left out.", text),
		sha256: doc("Hash of the exact bytes, in hex.", text),
		offset: doc("The end of the output at the time of the request; null without a session.", nullable(offset)),
		fence: doc("The fence of the lease at the time of the request; null without a session.", nullable(number)),
		askedAt: milliseconds,
		expiresAt: milliseconds,
		state: literals("asked", "granted", "denied", "expired", "withdrawn"),
		endedAt: optional(doc("Unless it is `asked`.", milliseconds)),
		decidedBy: optional(doc("The name of the caller that decided.", text)),
		note: optional(doc("The note of that caller, or why the action expired.", text)),
	},
);

const decideApproval = request(
	"DecideApproval",
	"A decision.",
	{
		decision: literals("grant", "deny"),
		note: optional(
			doc(
				"For the caller that wants the action.",
				string({ maxLength: limits.noteLength, pattern: PRINTABLE, expected: "printable" }),
			),
		),
		evenIfChanged: optional(doc("Grant it even if there was output since the request.", boolean)),
	},
	{ examples: [{ decision: "deny", note: "not on this machine" }] },
);

export const approvalOperations: OperationTable = {
	listApprovals: {
		summary: "List actions that wait for approval",
		route: "GET /v1/approvals",
		right: "read",
		answer: message("ApprovalList", "Actions that wait for approval, oldest first.", { approvals: list(approval) }),
	},
	getApproval: {
		summary: "Describe an action that is held or was decided",
		route: "GET /v1/approvals/:id",
		right: "read",
		answer: approval,
	},
	decideApproval: {
		summary: "Grant or deny an action that is held",
		route: "POST /v1/approvals/:id",
		right: "read",
		body: decideApproval,
		answer: approval,
	},
};
