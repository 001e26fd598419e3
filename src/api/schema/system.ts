/** The server itself: health, identity, metrics, audit. */

import { limits } from "../messages.ts";
import * as s from "./fields.ts";
import type { OperationTable } from "./operation.ts";

const me = s.message("Me", "The caller, and the server that it calls.", {
	id: s.doc("The id of the token; `admin` for the operator, `jwt:USER` for a JWT.", s.text),
	name: s.doc("The name that other callers see.", s.text),
	admin: s.doc("The caller may do everything.", s.boolean),
	scopes: s.list(s.text),
	expiresAt: s.doc("When its credential expires.", s.nullable(s.milliseconds)),
	workspaces: s.doc(
		"The workspaces in which it has a right, with the largest right, by id.",
		s.list(s.object({ id: s.text, right: s.literals("read", "operate", "manage") })),
	),
	guest: s.doc(
		"For a guest: the only session that it can access.",
		s.nullable(s.object({ session: s.text, right: s.literals("view", "control") })),
	),
	server: s.object({ name: s.doc("The name of its machine.", s.text), version: s.text }),
	limits: s.message("ServerLimits", "Limits of the server, and what a session gets by default.", {
		sessions: s.doc("Running sessions.", s.count),
		workspaceSessions: s.doc("Running sessions of one workspace.", s.count),
		journalBytes: s.doc("Bytes of all journals.", s.bytes),
		startsPerSecond: s.doc("Starts of one caller, on average; 0 is no limit.", s.count),
		retain: s.doc("Output that a session keeps by default.", s.object({ memoryBytes: s.bytes, journalBytes: s.bytes })),
	}),
});

const info = s.message("Info", "The server and its features on this machine.", {
	version: s.text,
	platform: s.text,
	sandbox: s.union(
		s.message("SandboxEnforced", "Sandboxes are available.", {
			enforced: s.literal(true),
			by: s.text,
			limits: s.literals("cgroup", "rlimits"),
		}),
		s.message("SandboxMissing", "Sandboxes are not available.", { enforced: s.literal(false), reason: s.text }),
	),
	audit: s.union(
		s.message("AuditKept", "The server keeps an audit.", {
			kept: s.literal(true),
			healthy: s.doc("Entries can be written now.", s.boolean),
			lost: s.doc("Number of entries that could not be written.", s.count),
		}),
		s.message("AuditNotKept", "The server keeps no audit.", { kept: s.literal(false) }),
	),
});

const auditMessage = s.message(
	"AuditMessage",
	"An entry of the audit. Each action has members of its own in addition.",
	{
		seq: s.offset,
		time: s.doc("Milliseconds since the epoch.", s.milliseconds),
		action: s.text,
		by: s.optional(
			s.doc(
				"The caller; null for the server.",
				s.nullable(s.object({ id: s.nullable(s.text), name: s.nullable(s.text), from: s.text, front: s.text })),
			),
		),
		session: s.optional(s.text),
		workspace: s.optional(s.text),
		prev: s.doc("The hash of the previous entry.", s.text),
		hash: s.doc("The hash of this entry.", s.text),
	},
	{ additionalProperties: {} },
);

export const systemOperations: OperationTable = {
	getHealth: {
		summary: "Report that the server runs",
		route: "GET /healthz",
		right: "public",
		answer: s.message("Health", "The server runs.", { status: s.literal("ok"), version: s.text }),
	},
	getReadiness: {
		summary: "Report whether the server accepts requests",
		route: "GET /readyz",
		right: "public",
		answer: s.message("Ready", "The server accepts requests.", { status: s.literal("ready") }),
	},
	getInfo: { summary: "Describe the server", route: "GET /v1/info", right: "read", answer: info },
	getMe: { summary: "Describe the caller and its rights", route: "GET /v1/me", right: "read", answer: me },
	listAudit: {
		summary: "Read the audit",
		route: "GET /v1/audit",
		right: "admin",
		query: {
			after: s.optional(s.doc("`next` of the previous page.", s.offset)),
			limit: s.optional(s.doc("Entries per page; 100 by default.", s.integer(1, limits.maxListed))),
			session: s.optional(s.doc("Only entries of this session.", s.text)),
			principal: s.optional(s.doc("Only entries of the caller with this id.", s.text)),
			action: s.optional(s.doc("Only this action.", s.text)),
		},
		answer: s.message("AuditList", "A page of the audit, oldest first.", {
			entries: s.list(auditMessage),
			next: s.doc("`after` of the next page; null if this is the last.", s.nullable(s.offset)),
			head: s.doc("The newest entry.", s.object({ seq: s.offset, hash: s.text })),
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
