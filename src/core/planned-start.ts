/** A program that is to be started, as a gate judges it and as whoever approves it sees it. */

import type { SessionSpec, SessionStart } from "./session.ts";

/** What its caller has chosen besides the arguments. */
type Chosen = {
	readonly cwd?: string | undefined;
	/** Null takes one away. */
	readonly variables: Readonly<Record<string, string | null>>;
};

/** A start as a caller has asked for it: what they chose is for whoever is to approve it, and no further. */
export type RequestedStart = SessionStart & { readonly chosen?: Chosen };

export type PlannedStart = {
	readonly spec: SessionSpec;
	/** What it is told to run besides its arguments. */
	readonly script: string;
	readonly chosen: Chosen | undefined;
};

/** These say what is run, or from where, and are no place for secrets: they are shown with their values. */
const COMMANDING =
	/^(?:(?:BASH_)?ENV|PATH|CDPATH|IFS|SHELL|SHELLOPTS|BASHOPTS|PROMPT_COMMAND|PS[0-4]|LD_\w+|DYLD_\w+|(?:GIT_)?(?:EDITOR|PAGER|ASKPASS)|VISUAL|GIT_SSH(?:_COMMAND)?|PYTHON\w+|NODE_(?:OPTIONS|PATH)|PERL5\w+|RUBY(?:OPT|LIB)|LESSOPEN|HOME)$/;

/**
 * All that its caller has chosen is judged, and counts as what was approved. Of variables only the names are shown but
 * for those that say what is run, because the values of others may be secrets, which people who may only watch see, too.
 */
export function textsOf({ spec, script, chosen }: PlannedStart): {
	readonly judged: string;
	readonly shown: string;
	readonly whole: Uint8Array;
} {
	const { cwd, variables = {} } = chosen ?? {};
	const run = [spec.argv.join(" "), ...(script === "" ? [] : [script])];
	const set = Object.entries(variables).map(([name, value]) => (value === null ? `-${name}` : `${name}=${value}`));
	const named = Object.entries(variables).map(([name, value]) => {
		if (value === null) return `-${name}`;
		return COMMANDING.test(name) ? `${name}=${value}` : `${name}=…`;
	});
	const place = cwd === undefined ? [] : [`in ${cwd}`];
	const shown = [...run, ...place, ...(named.length === 0 ? [] : [`with ${named.join(" ")}`])];
	return {
		judged: [...run, ...set].join("\n"),
		shown: shown.join("\n"),
		whole: new TextEncoder().encode([...run, ...place, ...set].join("\n")),
	};
}
