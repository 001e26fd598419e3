/** A metric in the text format of Prometheus. */

export type Metric = {
	readonly name: string;
	readonly help: string;
	readonly type: "counter" | "gauge";
	readonly values: readonly LabeledValue[];
};

type LabeledValue = { readonly labels?: Readonly<Record<string, string>>; readonly value: number };

export function counter(name: string, help: string, value: number | readonly LabeledValue[]): Metric {
	return { name, help, type: "counter", values: typeof value === "number" ? [{ value }] : value };
}

export function gauge(name: string, help: string, value: number | readonly LabeledValue[]): Metric {
	return { ...counter(name, help, value), type: "gauge" };
}

export function encodeMetric({ name, help, type, values }: Metric): string {
	const lines = values.map(({ labels = {}, value }) => {
		const pairs = Object.entries(labels).map(([key, text]) => `${key}="${escaped(text)}"`);
		return `${name}${pairs.length === 0 ? "" : `{${pairs.join(",")}}`} ${Number.isFinite(value) ? value : 0}\n`;
	});
	return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join("")}`;
}

function escaped(text: string): string {
	return text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
