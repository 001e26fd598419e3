/** What it costs to know what a terminal's output says about the terminal. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Case, Variant } from "../case.ts";
import type { Workshop } from "../workshop.ts";

const TURN_MEGABYTES = { full: 60, quick: 20 };
const TURNS = { full: { turns: 5, warmUpTurns: 3 }, quick: { turns: 3, warmUpTurns: 2 } };
const TEXT = "text";
const MAX_SHARE = 3;
/** Four sequences in a line: more than compilers, tests and listings write. */
const COLOURED_LINE =
	"\u001b[1;32m  ok\u001b[0m a test that passes, with its name in full \u001b[2m(\u001b[38;5;244m12 ms)\u001b[0m\n";

export function scanCase(isQuick: boolean): Case {
	const size = isQuick ? "quick" : "full";
	const variant = (name: string, payload: (workshop: Workshop) => Payload): Variant => ({
		name,
		measure: (workshop) => workshop.child("scan", { ...payload(workshop), ...TURNS[size] }),
	});
	return {
		name: "scan",
		title: "The scan of a terminal's output",
		note: `\`cat\` by turns of ${TURN_MEGABYTES[size]} MB to a session in process; after each, its pieces are scanned once more alone; CPU of the process`,
		rounds: { full: 3, quick: 1 },
		metrics: [
			{ key: "flood", title: "CPU s/GB of the flood", digits: 2 },
			{ key: "scan", title: "of the scan", digits: 3 },
			{ key: "share", title: "share %", digits: 1 },
		],
		bars: [
			{
				title: "scan of text, % of a flood's CPU",
				value: (round) => round(TEXT, "share"),
				digits: 1,
				atMost: MAX_SHARE,
			},
		],
		variants: [
			variant(TEXT, (workshop) => {
				const { path, ttyBytes } = workshop.payload("scan", TURN_MEGABYTES[size]);
				return { file: path, bytes: ttyBytes };
			}),
			variant("colours", (workshop) => coloured(workshop, TURN_MEGABYTES[size])),
		],
	};
}

type Payload = { readonly file: string; readonly bytes: number };

function coloured(workshop: Workshop, megabytes: number): Payload {
	const lines = Math.floor((megabytes * 1e6) / COLOURED_LINE.length);
	const file = join(workshop.directory, "coloured.txt");
	writeFileSync(file, COLOURED_LINE.repeat(lines));
	// A terminal makes two bytes of each newline.
	return { file, bytes: lines * (COLOURED_LINE.length + 1) };
}
