/** Commands in running shells: the time for one, and wrong reports among many. */

import { shells } from "../../test/shell/support/decorations.ts";
import { editors } from "../../test/shell/support/long-texts.ts";
import { plainShells } from "../../test/shell/support/plain-shells.ts";
import type { Case } from "../case.ts";

const COMMANDS = { full: 1_000, quick: 50 };
/** Files of 24 KB, which harnesses that type often lose. */
const HEREDOCS = { full: 100, quick: 5 };
/** Commands in each of the shells without hooks. */
const TYPED = { full: 250, quick: 10 };
/** Files of 1 MB, which take seconds to type. */
const FILES = { full: 3, quick: 1 };

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
			title: `wrong commands and files in ${shell}`,
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

export function plainShellCase(isQuick: boolean): Case {
	const commands = TYPED[isQuick ? "quick" : "full"];
	return {
		name: "plain-shell",
		title: "Commands in a shell without hooks",
		note: `${commands} commands of up to 30 ms, typed into a shell in a keeper, and over when the kernel shows that it reads at its prompt`,
		rounds: { full: 1, quick: 1 },
		metrics: [
			{ key: "early", title: "over too early", digits: 0 },
			{ key: "undecided", title: "not seen to end", digits: 0 },
		],
		bars: plainShells.map((shell) => ({
			title: `wrong commands in ${shell}`,
			value: (round) => round(shell, "early") + round(shell, "undecided"),
			digits: 0,
			atMost: 0,
			isStrict: true,
		})),
		variants: plainShells.map((shell) => ({
			name: shell,
			measure: (workshop) => workshop.child("plain-shell", { shell, commands }),
		})),
	};
}

export function longInputCase(isQuick: boolean): Case {
	const files = FILES[isQuick ? "quick" : "full"];
	return {
		name: "long-input",
		title: "A megabyte that is typed",
		note: `${files} files of 1 MB, typed into a program that edits lines and writes them to disk`,
		rounds: { full: 1, quick: 1 },
		metrics: [
			{ key: "lost", title: "files that differ", digits: 0 },
			{ key: "seconds", title: "s for each", digits: 1 },
		],
		bars: editors.map((editor) => ({
			title: `files that differ in ${editor}`,
			value: (round) => round(editor, "lost"),
			digits: 0,
			atMost: 0,
			isStrict: true,
		})),
		variants: editors.map((editor) => ({
			name: editor,
			measure: (workshop) => workshop.child("long-input", { editor, files }),
		})),
	};
}
