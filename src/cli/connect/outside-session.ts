/**
 * Refuses approvals from inside a session: a program there can read the operator's token, so an agent could approve its
 * own actions. The server refuses too, where it can see the calling process.
 */

import { createInterface } from "node:readline/promises";
import { sessionsAroundUs } from "../../server/own-session.ts";
import { UsageError } from "../print/errors.ts";
import { printNotice } from "../print/output.ts";
import { enclosingSessions } from "./caller-environment.ts";

/**
 * Throws inside a session, whatever the environment says, because all processes of a session descend from its minder. A
 * local server knows its own sessions and decides by itself.
 */
export function checkOutside({ isLocal }: { readonly isLocal: boolean }): void {
	const [session] = isLocal ? [] : sessionsAroundUs();
	if (session !== undefined) throw inside(session);
}

/**
 * If the environment names a session, a person must confirm at a terminal outside of it. The variable may be inherited,
 * for example through ssh, but a script or an agent must not pass for a person.
 */
export async function confirmOutside(env: NodeJS.ProcessEnv, shown: readonly string[]): Promise<void> {
	const [session] = enclosingSessions(env);
	if (session === undefined) return;
	if (sessionsAroundUs().includes(session) || !process.stdin.isTTY || !process.stderr.isTTY) throw inside(session);
	printNotice(`the environment says that this is session ${session}; about to approve:`);
	for (const line of shown) printNotice(`    ${line}`);
	if (!(await saysYes("Approve it? [y/N] "))) throw new UsageError("not approved");
}

function inside(session: string): UsageError {
	return new UsageError(
		`this command runs in session ${session}, which cannot approve actions; ` +
			"approve at a terminal or in a browser outside of any session",
	);
}

async function saysYes(question: string): Promise<boolean> {
	const lines = createInterface({ input: process.stdin, output: process.stderr, terminal: true });
	lines.on("SIGINT", () => process.exit(130));
	try {
		return /^y(es)?$/i.test((await lines.question(question)).trim());
	} finally {
		lines.close();
	}
}
