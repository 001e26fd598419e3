/** What `/metrics` says of keepers, journals, the audit and webhooks, which fronts know nothing about. */

import type { AuditStatus } from "../core/audit.ts";
import type { WebhookFigures } from "../core/webhooks.ts";
import type { Metric } from "../fronts/metric.ts";
import type { Keepers } from "../keepers/keepers.ts";

export async function keeperMetrics(keepers: Keepers): Promise<Metric[]> {
	const { started, lost, spares, journalBytes } = await keepers.figures();
	return [
		{
			name: "hawser_keepers_started_total",
			help: "Keepers that this server has started, spares included.",
			type: "counter",
			values: [{ value: started }],
		},
		{
			name: "hawser_keepers_lost_total",
			help: "Keepers that died with their session, as this server found.",
			type: "counter",
			values: [{ value: lost }],
		},
		{
			name: "hawser_keepers_spare",
			help: "Keepers that wait for a session.",
			type: "gauge",
			values: [{ value: spares }],
		},
		{
			name: "hawser_journal_bytes",
			help: "What the journals of all sessions take on disk.",
			type: "gauge",
			values: [{ value: journalBytes }],
		},
	];
}

export function auditMetrics({ isHealthy, written, lost }: AuditStatus): Metric[] {
	return [
		{
			name: "hawser_audit_entries_total",
			help: "Entries of the audit that this server has written.",
			type: "counter",
			values: [{ value: written }],
		},
		{
			name: "hawser_audit_lost_total",
			help: "Entries of the audit that were lost because the disk took nothing.",
			type: "counter",
			values: [{ value: lost }],
		},
		{
			name: "hawser_audit_healthy",
			help: "Whether the audit is being written.",
			type: "gauge",
			values: [{ value: isHealthy ? 1 : 0 }],
		},
	];
}

export function webhookMetrics({ delivered, refused, givenUp, waiting }: WebhookFigures): Metric[] {
	return [
		{
			name: "hawser_webhook_notices_total",
			help: "Notices that receivers of webhooks took, or that were given up.",
			type: "counter",
			values: [
				{ labels: { result: "delivered" }, value: delivered },
				{ labels: { result: "failed" }, value: givenUp },
			],
		},
		{
			name: "hawser_webhook_attempts_failed_total",
			help: "Attempts to tell a webhook something that failed.",
			type: "counter",
			values: [{ value: refused }],
		},
		{
			name: "hawser_webhook_waiting",
			help: "Notices that wait to be taken by receivers of webhooks.",
			type: "gauge",
			values: [{ value: waiting }],
		},
	];
}
