/** What it costs to know what a terminal's output says about the terminal. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Case, Variant } from "../case.ts";
import type { Workshop } from "../workshop.ts";

const TURN_MEGABYTES = { full: 60, quick: 20 };
const TURNS = { full: { turns: 5, warmUpTurns: 3 }, quick: { turns: 3, warmUpTurns: 2 } };
const TEXT = "text";
const COLOURS = "colours";
const MAX_SHARE = 3;
/** Five sequences in a line: more than compilers, tests and listings write. */
const COLOURED_LINE =
	"\u001b[1;32m  ok\u001b[0m a test that passes, with its name in full \u001b[2m(\u001b[38;5;244m12 ms)\u001b[0m\n";
/** As `ls --hyperlink` writes it. */
const LINKED_LINE = "\u001b]8;;file://host/srv/app/source.ts\u0007source.ts\u001b]8;;\u0007  ".repeat(3).concat("\n");

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
		bars: [TEXT, COLOURS].map((name) => ({
			title: `scan of ${name}, % of a flood's CPU`,
			value: (round) => round(name, "share"),
			digits: 1,
			atMost: MAX_SHARE,
		})),
		variants: [
			variant(TEXT, (workshop) => {
				const { path, ttyBytes } = workshop.payload("scan", TURN_MEGABYTES[size]);
				return { file: path, bytes: ttyBytes };
			}),
			variant(COLOURS, (workshop) => repeated(workshop, COLOURS, COLOURED_LINE, TURN_MEGABYTES[size])),
			variant("links", (workshop) => repeated(workshop, "links", LINKED_LINE, TURN_MEGABYTES[size])),
		],
	};
}

type Payload = { readonly file: string; readonly bytes: number };

function repeated(workshop: Workshop, name: string, line: string, megabytes: number): Payload {
	const lines = Math.floor((megabytes * 1e6) / line.length);
	const file = join(workshop.directory, `${name}.txt`);
	writeFileSync(file, line.repeat(lines));
	// A terminal makes two bytes of each newline.
	return { file, bytes: lines * (line.length + 1) };
}
