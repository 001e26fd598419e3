/** Metrics of keepers, journals, the audit and webhooks. */

import type { AuditStatus } from "../core/policy/audit.ts";
import type { DurableSessions } from "../keeper/client/durable-sessions.ts";
import type { Metric } from "../services/metrics/metric.ts";
import type { WebhookFigures } from "../services/webhooks/webhooks.ts";

export async function keeperMetrics(keepers: DurableSessions): Promise<Metric[]> {
	const { started, lost, spares, journalBytes } = await keepers.figures();
	return [
		{
			name: "hawser_keepers_started_total",
			help: "Keepers started by this server, including spares.",
			type: "counter",
			values: [{ value: started }],
		},
		{
			name: "hawser_keepers_lost_total",
			help: "Keepers that died with their session.",
			type: "counter",
			values: [{ value: lost }],
		},
		{
			name: "hawser_keepers_spare",
			help: "Spare keepers ready for a session.",
			type: "gauge",
			values: [{ value: spares }],
		},
		{
			name: "hawser_journal_bytes",
			help: "Bytes of all journals on disk.",
			type: "gauge",
			values: [{ value: journalBytes }],
		},
	];
}

export function auditMetrics({ isHealthy, written, lost }: AuditStatus): Metric[] {
	return [
		{
			name: "hawser_audit_entries_total",
			help: "Audit entries written by this server.",
			type: "counter",
			values: [{ value: written }],
		},
		{
			name: "hawser_audit_lost_total",
			help: "Audit entries lost because the disk refused them.",
			type: "counter",
			values: [{ value: lost }],
		},
		{
			name: "hawser_audit_healthy",
			help: "Whether audit entries are being written.",
			type: "gauge",
			values: [{ value: isHealthy ? 1 : 0 }],
		},
	];
}

export function webhookMetrics({ delivered, refused, givenUp, waiting }: WebhookFigures): Metric[] {
	return [
		{
			name: "hawser_webhook_notices_total",
			help: "Webhook notices delivered or given up.",
			type: "counter",
			values: [
				{ labels: { result: "delivered" }, value: delivered },
				{ labels: { result: "failed" }, value: givenUp },
			],
		},
		{
			name: "hawser_webhook_attempts_failed_total",
			help: "Failed attempts to deliver a webhook notice.",
			type: "counter",
			values: [{ value: refused }],
		},
		{
			name: "hawser_webhook_waiting",
			help: "Webhook notices waiting for delivery.",
			type: "gauge",
			values: [{ value: waiting }],
		},
	];
}
