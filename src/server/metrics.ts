/** What `/metrics` says of keepers and journals, which fronts know nothing about. */

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
