/** Commands in living shells: how long one takes, and that none of many is told wrong. */

import { shells } from "../../test/shell/decorations.ts";
import type { Case } from "../case.ts";

const COMMANDS = { full: 1_000, quick: 50 };
/** Of 24 KB, which is where harnesses that type lose them. */
const HEREDOCS = { full: 100, quick: 5 };

export function shellCase(isQuick: boolean): Case {
	const size = isQuick ? "quick" : "full";
	return {
		name: "shell",
		title: "Commands in a living shell",
		note: `${COMMANDS[size]} random commands and ${HEREDOCS[size]} files of 24 KB in a decorated shell in a keeper; then \`true\`, from asking to the answer`,
		rounds: { full: 1, quick: 1 },
		metrics: [
			{ key: "p50", title: "`true` p50 ms", digits: 2 },
			{ key: "p99", title: "p99 ms", digits: 1 },
			{ key: "wrong", title: "wrong commands", digits: 0 },
			{ key: "lost", title: "wrong files", digits: 0 },
		],
		bars: shells.map((shell) => ({
			title: `commands and files told wrong in ${shell}`,
			value: (round) => round(shell, "wrong") + round(shell, "lost"),
			digits: 0,
			atMost: 0,
			isStrict: true,
		})),
		variants: shells.map((shell) => ({
			name: shell,
			measure: (workshop) => workshop.child("shell", { shell, commands: COMMANDS[size], heredocs: HEREDOCS[size] }),
		})),
	};
}
