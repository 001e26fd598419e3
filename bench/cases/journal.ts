/** The cost of a journal: the same output with and without one, in turns in one process. */

import type { Case, Variant } from "../case.ts";
import type { JournalInput } from "../programs/journal.ts";

/** Some seconds per turn: for a moment after a pause, everything costs more. */
const TURN_MEGABYTES = { full: 300, quick: 20 };
/** Nearly a gigabyte each before measuring: V8 still compiles code after thousands of calls. */
const TURNS = { full: { turns: 5, warmUpTurns: 3 }, quick: { turns: 3, warmUpTurns: 2 } };

export function journalCase(isQuick: boolean): Case {
	const size = isQuick ? "quick" : "full";
	const variant = (name: string, home: JournalInput["home"]): Variant => ({
		name,
		measure: (workshop) => {
			const { path, ttyBytes } = workshop.payload("turn", TURN_MEGABYTES[size]);
			return workshop.child("journal", { home, file: path, bytes: ttyBytes, ...TURNS[size] });
		},
	});
	return {
		name: "journal",
		title: "A terminal's output with a journal and without",
		note: "`cat` of 79-column text, by turns of 300 MB to two sessions of one process, so that a slow minute of the machine meets both; 64 MiB of journal, durable within a second, which is waited for and counted; lossless cursor; CPU of the server, and of the keeper where there is one",
		rounds: { full: 3, quick: 1 },
		metrics: [
			{ key: "plain", title: "CPU s/GB without", digits: 2 },
			{ key: "journaled", title: "with", digits: 2 },
			{ key: "extra", title: "extra %", digits: 1 },
			{ key: "rate", title: "MB/s with, to without", digits: 2 },
		],
		bars: [
			{
				title: "journal's extra CPU in process, %",
				value: (round) => round("in process", "extra"),
				digits: 1,
				atMost: 15,
			},
		],
		variants: [variant("in process", "process"), variant("keeper", "keeper")],
	};
}
