/** The cost of scanning a terminal's output. */

import type { Case, Variant } from "../case.ts";
import { COLOURED_LINE, LINKED_LINE } from "../lines.ts";
import type { Payload, Workshop } from "../workshop.ts";

const TURN_MEGABYTES = { full: 60, quick: 20 };
const TURNS = { full: { turns: 5, warmUpTurns: 3 }, quick: { turns: 3, warmUpTurns: 2 } };
const TEXT = "text";
const COLOURS = "colours";
const MAX_SHARE = 3;
export function scanCase(isQuick: boolean): Case {
	const size = isQuick ? "quick" : "full";
	const variant = (name: string, payload: (workshop: Workshop) => Payload): Variant => ({
		name,
		measure: (workshop) => {
			const { path: file, ttyBytes: bytes } = payload(workshop);
			return workshop.child("scan", { file, bytes, ...TURNS[size] });
		},
	});
	return {
		name: "scan",
		title: "The scan of a terminal's output",
		note: `\`cat\` by turns of ${TURN_MEGABYTES[size]} MB to a session in process; each piece is scanned once more as it comes, and that is timed; CPU of the process without it`,
		rounds: { full: 3, quick: 1 },
		metrics: [
			{ key: "flood", title: "CPU s/GB of the flood", digits: 2 },
			{ key: "scan", title: "of the scan", digits: 3 },
			{ key: "share", title: "share %", digits: 1 },
		],
		bars: [TEXT, COLOURS].map((name) => ({
			title: `scan of ${name}, % of a flood's CPU`,
			value: (round) => round(name, "share"),
			digits: 1,
			atMost: MAX_SHARE,
		})),
		variants: [
			variant(TEXT, (workshop) => workshop.payload("scan", TURN_MEGABYTES[size])),
			variant(COLOURS, (workshop) => workshop.repeated(COLOURED_LINE, TURN_MEGABYTES[size])),
			variant("links", (workshop) => workshop.repeated(LINKED_LINE, TURN_MEGABYTES[size])),
		],
	};
}
