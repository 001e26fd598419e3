/** The server itself over HTTP: health, readiness, metrics and the description of the API. */

import { operations } from "../../api/schema/api.ts";
import type { Info } from "../../api/types.ts";
import { SessionError } from "../../core/errors.ts";
import type { AuditTrail } from "../../core/policy/audit.ts";
import type { SandboxSupport } from "../../core/process/sandbox-policy.ts";
import { openApi } from "../../http/openapi.ts";
import { createMetrics } from "../../services/metrics/server-metrics.ts";
import type { TrafficCounters } from "../../services/metrics/traffic.ts";
import type { NativeOptions } from "./options.ts";
import type { Serve } from "./serve.ts";

export function addSystem(serve: Serve, options: NativeOptions, closing: AbortSignal, traffic: TrafficCounters): void {
	const { sessions, version } = options;
	serve("getHealth", async () => ({ status: "ok" as const, version }), { exposeHeadRoute: true });
	serve("getReadiness", async () => {
		if (closing.aborted) throw new SessionError("node_unavailable", "the server is shutting down");
		return { status: "ready" as const };
	});
	serve("getInfo", async () => ({
		version,
		platform: process.platform,
		sandbox: sandboxMessage(options.sandbox),
		audit: auditMessage(options.audit),
	}));

	const metrics = createMetrics({ sessions, traffic, version, others: options.metrics }, closing);
	serve("getMetrics", async ({ reply }) =>
		reply.type("text/plain; version=0.0.4; charset=utf-8").send(await metrics()),
	);
	serve("getOpenApi", async ({ reply }) => reply.send(openApi(operations, version)));
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
