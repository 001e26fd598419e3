/** Completeness of the output of short programs. */

import type { Case } from "../case.ts";
import type { DrainInput } from "../programs/drain.ts";
import type { Workshop } from "../workshop.ts";

export function drainCase(isQuick: boolean): Case {
	const measure = (workshop: Workshop, input: Pick<DrainInput, "home" | "programs">) => {
		const small = workshop.payload("small", 0.02).path;
		const large = workshop.payload("large", 1).path;
		return workshop.child<Record<string, number>>("drain", { ...input, small, large });
	};
	return {
		name: "drain",
		title: "Short programs, read to their end",
		note: "on a terminal, 4 at a time: of ten, six print `hi`, three 20 kB and one 1 MB; every byte is compared",
		rounds: { full: 1, quick: 1 },
		metrics: [
			{ key: "programs", title: "programs", digits: 0 },
			{ key: "megabytes", title: "MB", digits: 1 },
			{ key: "seconds", title: "seconds", digits: 1 },
			{ key: "lossy", title: "incomplete", digits: 0 },
			{ key: "lostBytes", title: "bytes lost", digits: 0 },
		],
		bars: ["in process", "keeper"].map((home) => ({
			title: `${home}, incomplete`,
			value: (round) => round(home, "lossy"),
			digits: 0,
			atMost: 0,
			isStrict: true,
		})),
		variants: [
			{
				name: "in process",
				measure: (workshop) => measure(workshop, { home: "process", programs: isQuick ? 200 : 1000 }),
			},
			{ name: "keeper", measure: (workshop) => measure(workshop, { home: "keeper", programs: isQuick ? 20 : 100 }) },
		],
	};
}
