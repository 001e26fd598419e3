/** Metrics of keepers, journals, the audit and webhooks. */

import type { AuditStatus } from "../core/policy/audit.ts";
import type { DurableSessions } from "../keeper/client/durable-sessions.ts";
import { counter, gauge, type Metric } from "../services/metrics/metric.ts";
import type { WebhookFigures } from "../services/webhooks/webhooks.ts";

export async function keeperMetrics(keepers: DurableSessions): Promise<Metric[]> {
	const { started, lost, spares, journalBytes } = await keepers.figures();
	return [
		counter("hawser_keepers_started_total", "Keepers started by this server, including spares.", started),
		counter("hawser_keepers_lost_total", "Keepers that died with their session.", lost),
		gauge("hawser_keepers_spare", "Spare keepers ready for a session.", spares),
		gauge("hawser_journal_bytes", "Bytes of all journals on disk.", journalBytes),
	];
}

export function auditMetrics({ isHealthy, written, lost }: AuditStatus): Metric[] {
	return [
		counter("hawser_audit_entries_total", "Audit entries written by this server.", written),
		counter("hawser_audit_lost_total", "Audit entries lost because the disk refused them.", lost),
		gauge("hawser_audit_healthy", "Whether audit entries are being written.", isHealthy ? 1 : 0),
	];
}

export function webhookMetrics({ delivered, refused, givenUp, waiting }: WebhookFigures): Metric[] {
	return [
		counter("hawser_webhook_notices_total", "Webhook notices delivered or given up.", [
			{ labels: { result: "delivered" }, value: delivered },
			{ labels: { result: "failed" }, value: givenUp },
		]),
		counter("hawser_webhook_attempts_failed_total", "Failed attempts to deliver a webhook notice.", refused),
		gauge("hawser_webhook_waiting", "Webhook notices waiting for delivery.", waiting),
	];
}
