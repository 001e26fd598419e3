/** Many durable sessions that flood at once: all make progress and end at similar times. */

import { writeFile } from "node:fs/promises";
import type { Case, Sample } from "../case.ts";
import { Served } from "../served.ts";
import type { Workshop } from "../workshop.ts";

const SESSIONS = { full: 32, quick: 8 };
const BYTES = { full: 32_000_000, quick: 8_000_000 };
/** Smallest allowed ratio of the fastest time to the slowest. */
const LEAST_FAIRNESS = 0.4;

export function floodsCase(isQuick: boolean): Case {
	const count = isQuick ? SESSIONS.quick : SESSIONS.full;
	const bytes = isQuick ? BYTES.quick : BYTES.full;
	return {
		name: "floods",
		title: `${count} kept sessions that flood at once, each with a reader`,
		note: `${bytes / 1e6} MB each on a terminal, begun together, read as server-sent events are: from the first byte to the last, nothing skipped`,
		rounds: { full: 1, quick: 1 },
		metrics: [
			{ key: "rate", title: "all together MB/s", digits: 1 },
			{ key: "first", title: "the first ended after s", digits: 1 },
			{ key: "last", title: "the last after s", digits: 1 },
			{ key: "missing", title: "bytes missing", digits: 0 },
		],
		bars: [
			{
				title: "the first's time to the last's",
				value: (round) => round("keepers", "first") / round("keepers", "last"),
				digits: 2,
				atLeast: LEAST_FAIRNESS,
			},
			{ title: "bytes missing", value: (round) => round("keepers", "missing"), digits: 0, atMost: 0, isStrict: true },
		],
		variants: [{ name: "keepers", measure: (workshop) => flood(workshop, count, bytes) }],
	};
}

async function flood(workshop: Workshop, count: number, bytes: number): Promise<Sample> {
	const server = await Served.start(workshop);
	try {
		const gate = `${workshop.newSite()}/gate`;
		const script = `until [ -e ${gate} ]; do sleep 0.05; done; exec head -c ${bytes} /dev/zero`;
		const created = [];
		for (let i = 0; i < count; i++) created.push(await server.create("keeper", { argv: ["/bin/sh", "-c", script] }));
		const reading = created.map(({ id }) => server.readAll(id));
		const began = performance.now();
		await writeFile(gate, "");
		const ends = await Promise.all(
			reading.map(async (read) => ({ bytes: await read, seconds: (performance.now() - began) / 1000 })),
		);
		const times = ends.map(({ seconds }) => seconds);
		const total = ends.reduce((sum, end) => sum + end.bytes, 0);
		return {
			rate: total / 1e6 / Math.max(...times),
			first: Math.min(...times),
			last: Math.max(...times),
			missing: count * bytes - total,
		};
	} finally {
		await server.close();
	}
}
