/** Memory of an idle session in the server and in its keeper. */

import type { Case, Round, Sample } from "../case.ts";
import type { MemoryInput } from "../programs/memory.ts";
import type { Workshop } from "../workshop.ts";

const SERVER_KIB = 64;
const KEEPER_MIB = 10;

export function memoryCase(isQuick: boolean): Case {
	const counts = isQuick ? [1, 50] : [1, 50, 200];
	const most = counts.at(-1);
	return {
		name: "memory",
		title: "Memory of an idle shell, in process",
		note: "growth of the server's own PSS, after collecting garbage; the shells themselves are not counted",
		rounds: { full: 3, quick: 1 },
		metrics: [
			{ key: "own", title: "server's PSS per session, KiB", digits: 1 },
			{ key: "live", title: "of it in use, KiB", digits: 1 },
		],
		bars: [
			{ title: `${most} sessions, KiB each`, value: (round) => round(`${most}`, "own"), digits: 1, atMost: SERVER_KIB },
		],
		variants: counts.map((sessions) => ({
			name: String(sessions),
			measure: (workshop) => measure(workshop, { home: "process", journal: false, sessions }),
		})),
	};
}

export function keeperMemoryCase(isQuick: boolean): Case {
	const counts = isQuick ? [1, 20] : [1, 50, 200];
	return {
		name: "keeper-memory",
		title: "Memory of an idle shell, in keepers",
		note: "with journals; mean over all keepers of what each says of itself 3 s after the last start; the shells themselves are not counted. Marginal: what server and keepers have together, less the server alone, for each",
		rounds: { full: 1, quick: 1 },
		metrics: [
			{ key: "pss", title: "keeper's PSS, MiB", digits: 2 },
			{ key: "privateDirty", title: "private dirty, MiB", digits: 2 },
			{ key: "rss", title: "RSS, MiB", digits: 1 },
			{ key: "marginal", title: "marginal, MiB", digits: 2 },
			{ key: "own", title: "server's private dirty per session, KiB", digits: 1 },
		],
		// A keeper releases memory after some idle seconds. With many keepers, most have done that; with few, none.
		bars: counts.slice(1).flatMap((count) =>
			["pss", "marginal"].map((key) => ({
				title: `${count} keepers, ${key === "pss" ? "PSS" : key} MiB each`,
				value: (round: Round) => round(String(count), key),
				digits: 2,
				atMost: KEEPER_MIB,
			})),
		),
		variants: counts.map((sessions) => ({
			name: String(sessions),
			measure: (workshop) => measure(workshop, { home: "keeper", journal: true, sessions }),
		})),
	};
}

async function measure(workshop: Workshop, input: MemoryInput): Promise<Sample> {
	const result = await workshop.child<Sample>("memory", input, { flags: ["--expose-gc"] });
	return Object.fromEntries(
		Object.entries(result).map(([key, bytes]) => [
			key,
			key === "own" || key === "live" ? bytes / 1024 : bytes / 2 ** 20,
		]),
	);
}
