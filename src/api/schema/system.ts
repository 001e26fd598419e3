/** The server itself: health, identity, metrics, audit. */

import { limits } from "../messages.ts";
import {
	boolean,
	bytes,
	count,
	doc,
	integer,
	list,
	literal,
	literals,
	message,
	milliseconds,
	nullable,
	object,
	offset,
	optional,
	text,
	union,
} from "./fields.ts";
import type { OperationTable } from "./operation.ts";

const me = message("Me", "The caller, and the server that it calls.", {
	id: doc("The id of the token; `admin` for the operator, `jwt:USER` for a JWT.", text),
	name: doc("The name that other callers see.", text),
	admin: doc("The caller may do everything.", boolean),
	scopes: list(text),
	expiresAt: doc("When its credential expires.", nullable(milliseconds)),
	workspaces: doc(
		"The workspaces in which it has a right, with the largest right, by id.",
		list(object({ id: text, right: literals("read", "operate", "manage") })),
	),
	guest: doc(
		"For a guest: the only session that it can access.",
		nullable(object({ session: text, right: literals("view", "control") })),
	),
	server: object({ name: doc("The name of its machine.", text), version: text }),
	limits: message("ServerLimits", "Limits of the server, and what a session gets by default.", {
		sessions: doc("Running sessions.", count),
		workspaceSessions: doc("Running sessions of one workspace.", count),
		journalBytes: doc("Bytes of all journals.", bytes),
		startsPerSecond: doc("Starts of one caller, on average; 0 is no limit.", count),
		retain: doc("Output that a session keeps by default.", object({ memoryBytes: bytes, journalBytes: bytes })),
	}),
});

const info = message("Info", "The server and its features on this machine.", {
	version: text,
	platform: text,
	sandbox: union(
		message("SandboxEnforced", "Sandboxes are available.", {
			enforced: literal(true),
			by: text,
			limits: literals("cgroup", "rlimits"),
		}),
		message("SandboxMissing", "Sandboxes are not available.", { enforced: literal(false), reason: text }),
	),
	audit: union(
		message("AuditKept", "The server keeps an audit.", {
			kept: literal(true),
			healthy: doc("Entries can be written now.", boolean),
			lost: doc("Number of entries that could not be written.", count),
		}),
		message("AuditNotKept", "The server keeps no audit.", { kept: literal(false) }),
	),
});

const auditMessage = message(
	"AuditMessage",
	"An entry of the audit. Each action has members of its own in addition.",
	{
		seq: offset,
		time: doc("Milliseconds since the epoch.", milliseconds),
		action: text,
		by: optional(
			doc(
				"The caller; null for the server.",
				nullable(object({ id: nullable(text), name: nullable(text), from: text, front: text })),
			),
		),
		session: optional(text),
		workspace: optional(text),
		prev: doc("The hash of the previous entry.", text),
		hash: doc("The hash of this entry.", text),
	},
	{ additionalProperties: {} },
);

export const systemOperations: OperationTable = {
	getHealth: {
		summary: "Report that the server runs",
		route: "GET /healthz",
		right: "public",
		answer: message("Health", "The server runs.", { status: literal("ok"), version: text }),
	},
	getReadiness: {
		summary: "Report whether the server accepts requests",
		route: "GET /readyz",
		right: "public",
		answer: message("Ready", "The server accepts requests.", { status: literal("ready") }),
	},
	getInfo: { summary: "Describe the server", route: "GET /v1/info", right: "read", answer: info },
	getMe: { summary: "Describe the caller and its rights", route: "GET /v1/me", right: "read", answer: me },
	listAudit: {
		summary: "Read the audit",
		route: "GET /v1/audit",
		right: "admin",
		query: {
			after: optional(doc("`next` of the previous page.", offset)),
			limit: optional(doc("Entries per page; 100 by default.", integer(1, limits.maxListed))),
			session: optional(doc("Only entries of this session.", text)),
			principal: optional(doc("Only entries of the caller with this id.", text)),
			action: optional(doc("Only this action.", text)),
		},
		answer: message("AuditList", "A page of the audit, oldest first.", {
			entries: list(auditMessage),
			next: doc("`after` of the next page; null if this is the last.", nullable(offset)),
			head: doc("The newest entry.", object({ seq: offset, hash: text })),
		}),
	},
	getMetrics: {
		summary: "Metrics for Prometheus",
		route: "GET /metrics",
		right: "metrics",
		content: ["text/plain"],
	},
	getOpenApi: {
		summary: "This description",
		route: "GET /openapi.json",
		right: "public",
		content: ["application/json"],
	},
};
