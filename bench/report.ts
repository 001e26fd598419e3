/** Formats results as tables: for the terminal, and as Markdown for docs/benchmarks.md. */

import type { Machine } from "./machine.ts";
import type { BarResult, CaseResult } from "./rounds.ts";
import type { Spread } from "./statistics.ts";

export type Results = {
	readonly date: string;
	readonly machine: Machine;
	readonly isQuick: boolean;
	/** Share of processor time that the hypervisor gave to other machines during the run. */
	readonly steal: number;
	readonly cases: readonly CaseResult[];
};

export function toText(result: CaseResult): string {
	const rows = tableOf(result);
	const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
	const lines = rows.map((row) => {
		const cells = row.map((cell, column) =>
			column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0),
		);
		return `  ${cells.join("   ")}`;
	});
	const bars = result.bars.map(
		(bar) => `  ${bar.isReached ? "pass" : "MISS"}  ${bar.title}: ${spread(bar, bar.digits)}, bar ${bar.bound}`,
	);
	return [`${result.name}: ${result.title}`, ...lines, ...bars, `  ${circumstances(result)}`, ""].join("\n");
}

export function toMarkdown(results: Results): string {
	const { machine } = results;
	const intro = [
		`Measured on ${results.date.slice(0, 10)} with \`npm run bench${results.isQuick ? " -- --quick" : ""}\` on ${machine.cores} × ${machine.cpu}, ${machine.memoryGiB} GiB, Linux ${machine.kernel}, Node.js ${machine.node}; ${percent(results.steal)} of the processor time was stolen.`,
		"",
		"Each table is one run: all lines interleaved, the order reversed every other round, median (min–max). Bars are computed within each round, and judged by the median round.",
	];
	return [...intro, ...results.cases.flatMap(caseToMarkdown), ""].join("\n");
}

function caseToMarkdown(result: CaseResult): string[] {
	const [head = [], ...rows] = tableOf(result);
	const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
	const rule = (count: number) => line(Array.from({ length: count }, (_, column) => (column === 0 ? "---" : "---:")));
	const bars = result.bars.map((bar) =>
		line([bar.title, spread(bar, bar.digits), bar.bound, bar.isReached ? "pass" : "**miss**"]),
	);
	return [
		"",
		`### ${result.title}`,
		"",
		`${upperFirst(result.note)}. ${upperFirst(circumstances(result))}.`,
		"",
		line(head),
		rule(head.length),
		...rows.map(line),
		...(bars.length === 0 ? [] : ["", line(["Bar", "measured", "wanted", ""]), rule(4), ...bars]),
	];
}

function tableOf(result: CaseResult): string[][] {
	const metrics = result.metrics.filter(({ key }) => result.variants.some(({ values }) => values[key]));
	const head = ["", ...metrics.map(({ title }) => title)];
	const rows = result.variants.map(({ name, values }) => [
		name,
		...metrics.map(({ key, digits }) => (values[key] ? spread(values[key], digits) : "–")),
	]);
	return [head, ...rows];
}

function circumstances({ rounds, seconds, steal, repeats, loadBefore, date }: CaseResult): string {
	const again = repeats === 0 ? "" : `, ${repeats} repeated for steal`;
	return `${rounds} ${rounds === 1 ? "round" : "rounds"} in ${seconds.toFixed(0)} s at ${date.slice(0, 16)}Z${again}; steal ${percent(steal.median)} (≤ ${percent(steal.max)}), load before ${loadBefore.toFixed(1)}`;
}

function spread({ median, min, max }: Spread | BarResult, digits: number): string {
	const text = (value: number) => value.toFixed(digits);
	return text(min) === text(max) ? text(median) : `${text(median)} (${text(min)}–${text(max)})`;
}

function percent(share: number): string {
	return `${(100 * share).toFixed(1)} %`;
}

function upperFirst(text: string): string {
	return text.charAt(0).toUpperCase() + text.slice(1);
}
