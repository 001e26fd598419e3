/** Time of a search through all output of a session, and its effect on other requests. */

import { setTimeout as sleep } from "node:timers/promises";
import { offsetsOf } from "../../src/client/index.ts";
import type { Case, Sample, Variant } from "../case.ts";
import { COLOURED_LINE } from "../lines.ts";
import { type Served, serving } from "../served.ts";
import type { Workshop } from "../workshop.ts";

/** On a terminal: 64 MiB. */
const WRITTEN_MEGABYTES = 66.3;
const RETAIN = { journalBytes: 256 * 1024 * 1024 };
const SECONDS = 2;

type Look = { readonly query: Readonly<Record<string, string>>; readonly isColoured?: true };

/** None of them matches, so that everything is searched. The payload is Base64, or one colored line repeated. */
const looks: Readonly<Record<string, Look>> = {
	text: { query: { q: "not-in-base64" } },
	"text in any case": { query: { q: "not-in-base64", ignoreCase: "1" } },
	expression: { query: { q: "(error|warning): \\S+ at \\d+", regex: "1" } },
	"text in colours": { query: { q: "not-in-colours" }, isColoured: true },
};

export function searchCase(): Case {
	const variant = ([name, look]: [string, Look]): Variant => ({
		name,
		measure: (workshop) => measure(workshop, look),
	});
	return {
		name: "search",
		title: "A search through 64 MiB in a keeper's journal",
		note: "79-column text written to a terminal, 829,000 lines of which none matches; `/healthz` is asked all the while",
		rounds: { full: 3, quick: 1 },
		metrics: [
			{ key: "seconds", title: "seconds", digits: 2 },
			{ key: "rate", title: "MiB/s", digits: 0 },
			{ key: "slowest", title: "slowest other answer ms", digits: 1 },
		],
		bars: Object.keys(looks).map((name) => ({
			title: `${name}, seconds`,
			value: (round) => round(name, "seconds"),
			digits: 2,
			atMost: SECONDS,
		})),
		variants: Object.entries(looks).map(variant),
	};
}

function measure(workshop: Workshop, { query, isColoured }: Look): Promise<Sample> {
	return serving(workshop, async (server) => {
		const { path, ttyBytes } = isColoured
			? workshop.repeated(COLOURED_LINE, WRITTEN_MEGABYTES)
			: workshop.payload("search", WRITTEN_MEGABYTES);
		const argv = ["/bin/sh", "-c", 'cat "$0"; exec sleep 1000', path];
		const { id } = await server.create("keeper", { argv, retain: RETAIN });
		while (offsetsOf(await server.look(id)).end < ttyBytes) await sleep(20);
		const begin = performance.now();
		const searching = searchAll(server, id, query).then(() => (performance.now() - begin) / 1000);
		const slowest = await slowestAnswer(server, searching);
		const seconds = await searching;
		return { seconds, rate: ttyBytes / 2 ** 20 / seconds, slowest };
	});
}

async function searchAll(server: Served, id: string, query: Readonly<Record<string, string>>): Promise<void> {
	for (let after: number | null = 0; after !== null; ) {
		const { matches, next } = await server.search(id, { ...query, after: String(after) });
		if (matches.length > 0) throw new Error("the search found text that does not exist");
		after = next;
	}
}

async function slowestAnswer(server: Served, until: Promise<unknown>): Promise<number> {
	let isOver = false;
	const over = until.finally(() => {
		isOver = true;
	});
	let slowest = 0;
	while (!isOver) {
		const begin = performance.now();
		await server.health();
		slowest = Math.max(slowest, performance.now() - begin);
		await sleep(20);
	}
	await over;
	return slowest;
}
