/** Actions that wait for approval. */

import { PRINTABLE } from "../../words/printable.ts";
import { limits } from "../messages.ts";
import * as s from "./fields.ts";
import type { OperationTable } from "./operation.ts";

export const approvalKind: s.Schema = s.literals(
	"start",
	"store",
	"run",
	"input",
	"signal",
	"stop",
	"delete",
	"permission",
);

export const sessionName: s.Schema = s.message("SessionName", "A session, by name.", {
	id: s.text,
	name: s.nullable(s.text),
	workspace: s.text,
});

export const approval: s.Schema = s.message(
	"ApprovalMessage",
	"An action of a token with a gate, or a permission dialog of a coding agent, held until another caller decides.",
	{
		id: s.text,
		session: s.doc(
			"The session that it affects. For `start`, the future session; for `store`, `task:ID`, `pty:ID` or `session:ID`.",
			sessionName,
		),
		by: s.doc(
			"The caller that wants it; for `permission`, `agent:` and the name of the agent.",
			s.object({ id: s.text, name: s.text }),
		),
		kind: approvalKind,
		reason: s.doc(
			"Why it is held: it matches, its keys or its command can't be read as text, or such actions are always held.",
			s.literals("match", "unreadable", "always"),
		),
		preview: s.doc("The action as printable text; the middle of a long one is left out.", s.text),
		sha256: s.doc("Hash of the exact bytes, in hex; for `permission`, of the text of the dialog.", s.text),
		offset: s.doc("The end of the output at the time of the request; null without a session.", s.nullable(s.offset)),
		fence: s.doc("The fence of the lease at the time of the request; null without a session.", s.nullable(s.number)),
		askedAt: s.milliseconds,
		expiresAt: s.milliseconds,
		state: s.literals("asked", "granted", "denied", "expired", "withdrawn"),
		endedAt: s.optional(s.doc("Unless it is `asked`.", s.milliseconds)),
		decidedBy: s.optional(s.doc("The name of the caller that decided.", s.text)),
		note: s.optional(s.doc("The note of that caller, or why the action expired.", s.text)),
	},
);

const decideApproval = s.request(
	"DecideApproval",
	"A decision.",
	{
		decision: s.literals("grant", "deny"),
		note: s.optional(
			s.doc(
				"For the caller that wants the action.",
				s.string({ maxLength: limits.noteLength, pattern: PRINTABLE, expected: "printable" }),
			),
		),
		evenIfChanged: s.optional(s.doc("Grant it even if there was output since the request.", s.boolean)),
	},
	{ examples: [{ decision: "deny", note: "not on this machine" }] },
);

export const approvalOperations: OperationTable = {
	listApprovals: {
		summary: "List actions that wait for approval",
		route: "GET /v1/approvals",
		right: "read",
		answer: s.message("ApprovalList", "Actions that wait for approval, oldest first.", { approvals: s.list(approval) }),
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
