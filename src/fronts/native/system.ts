/** What whoever watches over the server asks: whether it lives, whether it is ready, its numbers, its description. */

import type { AuditTrail } from "../../core/audit.ts";
import { SessionError } from "../../core/errors.ts";
import type { SandboxSupport } from "../../core/sandbox.ts";
import type { Info } from "../../protocol/messages.ts";
import type { Hosting } from "../front.ts";
import type { Traffic } from "./metrics.ts";
import { createMetrics } from "./metrics.ts";
import { describedRoutes, openApi } from "./openapi.ts";
import type { NativeApp, NativeOptions } from "./options.ts";
import { health, info, ready } from "./system-messages.ts";

export function addSystem(app: NativeApp, options: NativeOptions, hosting: Hosting, traffic: Traffic): void {
	const { sessions, version } = options;
	app.get(
		"/healthz",
		{
			config: { policy: "public", operation: "getHealth", summary: "Whether the server lives" },
			exposeHeadRoute: true,
			schema: { response: { 200: health } },
		},
		async () => ({ status: "ok" as const, version }),
	);

	app.get(
		"/readyz",
		{
			config: { policy: "public", operation: "getReadiness", summary: "Whether it takes requests" },
			schema: { response: { 200: ready } },
		},
		async () => {
			if (hosting.closing.aborted) throw new SessionError("node_unavailable", "the server is shutting down");
			return { status: "ready" as const };
		},
	);

	app.get(
		"/v1/info",
		{
			config: { policy: "read", operation: "getInfo", summary: "What the server is and can do here" },
			schema: { response: { 200: info } },
		},
		async (): Promise<Info> => ({
			version,
			platform: process.platform,
			sandbox: sandboxMessage(options.sandbox),
			audit: auditMessage(options.audit),
		}),
	);

	const metrics = createMetrics({ sessions, traffic, version, others: options.metrics }, hosting.closing);
	app.get(
		"/metrics",
		{
			config: {
				policy: "metrics",
				operation: "getMetrics",
				summary: "Numbers for Prometheus",
				answers: { 200: "text/plain" },
			},
		},
		async (_request, reply) => reply.type("text/plain; version=0.0.4; charset=utf-8").send(await metrics()),
	);

	app.get(
		"/openapi.json",
		{
			config: {
				policy: "public",
				operation: "getOpenApi",
				summary: "This description",
				answers: { 200: "application/json" },
			},
		},
		async () => openApi(describedRoutes(app), version),
	);
}

function sandboxMessage(support: SandboxSupport | undefined): Info["sandbox"] {
	if (support === undefined) return { enforced: false, reason: "this server was started without one" };
	if (!support.isEnforced) return { enforced: false, reason: support.reason };
	return { enforced: true, by: support.by, limits: support.limits };
}

function auditMessage(audit: AuditTrail | undefined): Info["audit"] {
	if (!audit) return { kept: false };
	const { isHealthy: healthy, lost } = audit.status;
	return { kept: true, healthy, lost };
}
