/** The terminal queries that a session answers, and those that it must not. */

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { spawn } from "../../../src/backends/spawn.ts";
import { LocalSession } from "../../../src/core/session/local-session.ts";
import type { Session } from "../../../src/core/session/session.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { eventually, outputUntil, write } from "../../support/reading.ts";
import { type StartOptions, shell, startOf } from "../../support/starts.ts";
import { temporaryDirectory } from "../../support/temporary.ts";
import { EVERY_QUERY } from "../../support/terminal-queries.ts";

/** Sends a query in raw mode, and prints the reply in hexadecimal until `until` or `!` was read. */
function asker(question: string, until: string): string {
	return `stty raw -echo; printf '${question}'; got=; while :; do c=$(dd bs=1 count=1 2>/dev/null | od -An -tx1 | tr -d ' \\n'); got=$got$c; case $c in 21|${until}) break;; esac; done; printf "[$got]"`;
}

/** With a clock that stands still until the query was read, so that nothing depends on timing. */
async function asked(
	script: string,
	{ question = /\u001b\[c/, ...options }: StartOptions & { readonly question?: RegExp } = {},
): Promise<{ readonly session: Session; readonly clock: FakeClock }> {
	const clock = new FakeClock();
	const session = await LocalSession.start(shell(script, { answersQueries: true, ...options }), { spawn, clock });
	await outputUntil(session, question);
	return { session, clock };
}

/** The reply to a query. `last` is its last byte in hexadecimal. */
async function answerTo(question: string, last: string, options: StartOptions = {}): Promise<string> {
	// In raw mode it arrives in one piece.
	const { session, clock } = await asked(`${asker(question, last)}; exec sleep 1000`, { question: /./s, ...options });
	clock.advance(300);
	const output = await outputUntil(session, /\[[0-9a-f]*\]$/);
	await session.kill({ signal: "SIGKILL" });
	return Buffer.from(/\[([0-9a-f]*)\]$/.exec(output)?.[1] ?? "", "hex").toString("latin1");
}

test.each([
	["DA1", "\\033[c", "63", "\u001b[?62;22c"],
	["DA2", "\\033[>c", "63", "\u001b[>0;10;0c"],
	["status", "\\033[5n", "6e", "\u001b[0n"],
	["version", "\\033[>q", "5c", "\u001bP>|hawser\u001b\\"],
	["keyboard", "\\033[?u", "75", "\u001b[?0u"],
	["foreground", "\\033]10;?\\007", "5c", "\u001b]10;rgb:d0d0/d0d0/d0d0\u001b\\"],
	["background", "\\033]11;?\\033\\\\", "5c", "\u001b]11;rgb:0000/0000/0000\u001b\\"],
	["size", "\\033[18t", "74", "\u001b[8;24;80t"],
	["a mode that is on", "\\033[?2004h\\033[?2004$p", "79", "\u001b[?2004;1$y"],
	["a mode that is off", "\\033[?2026$p", "79", "\u001b[?2026;2$y"],
	["a mode that terminals have on", "\\033[?25$p", "79", "\u001b[?25;1$y"],
	["an unknown mode", "\\033[?4711$p", "79", "\u001b[?4711;0$y"],
	["the capability Pst", "\\033P+q507374\\033\\\\", "5c", "\u001bP1+r507374=1b5d373530313b25703125731b5c\u001b\\"],
	["capabilities", "\\033P+q544e\\033\\\\", "5c", "\u001bP0+r\u001b\\"],
	["the cursor", "\\033[6n", "52", "\u001b[24;1R"],
	["program status, ended by BEL", "\\033]7501;?\\007", "07", "\u001b]7501;?\u0007"],
	["program status, ended by ST", "\\033]7501;?\\033\\\\", "5c", "\u001b]7501;?\u001b\\"],
	[
		"program status between others, in order",
		"\\033[>q\\033]7501;?\\007\\033[c",
		"63",
		"\u001bP>|hawser\u001b\\\u001b]7501;?\u0007\u001b[?62;22c",
	],
	[
		"support for notifications",
		"\\033]99;i=opentui-notifications:p=?;\\033\\\\",
		"5c",
		"\u001b]99;i=opentui-notifications:p=?;o=always:p=title,body,?\u001b\\",
	],
	[
		"support for notifications, whose name is no text to type",
		"\\033]99;i=a b:p=?;\\007\\033[c",
		"63",
		"\u001b[?62;22c",
	],
	[
		"several at once, in order",
		"\\033[6n\\033]11;?\\007\\033[c",
		"63",
		"\u001b[24;1R\u001b]11;rgb:0000/0000/0000\u001b\\\u001b[?62;22c",
	],
])("a waiting program gets the reply: %s", async (_name, question, last, answer) => {
	expect(await answerTo(question, last)).toBe(answer);
});

test("the replied colors are those given to the session", async () => {
	const question = "\\033]10;?\\007\\033]11;?\\007\\033[?996n";
	const colors = { foreground: "#102030", background: "#FFfff0" };
	expect(await answerTo(question, "6e", { colors })).toBe(
		"\u001b]10;rgb:1010/2020/3030\u001b\\\u001b]11;rgb:ffff/ffff/f0f0\u001b\\\u001b[?997;2n",
	);
});

test("the cursor position comes from the holder of the screen", async () => {
	const { session, clock } = await asked(`${asker("text\\033[6n", "52")}; exec sleep 1000`, { question: /6n$/ });
	const { offset } = await session.end();
	expect(await session.ask<"reply">({ do: "reply", end: offset, text: "\u001b[3;7R" })).toBe(true);
	clock.advance(10);
	await outputUntil(session, /\[1b5b333b3752\]$/);
	expect(await session.ask<"reply">({ do: "reply", end: offset, text: "\u001b[3;7R" })).toBe(false);
	await session.kill({ signal: "SIGKILL" });
});

test("replies are typed as their own stream, also under another client's control", async () => {
	const { session, clock } = await asked(`${asker("ready\\033[c", "63")}; ${asker("\\033[5n", "6e")}; exec sleep 1000`);
	await session.acquire("ana", { exclusive: true, take: true });
	clock.advance(10);
	await outputUntil(session, /\u001b\[5n/);
	clock.advance(10);
	await outputUntil(session, /\[1b5b306e\]$/);
	expect(await session.receipt("hawser:replies")).toMatchObject({ next: 13, written: 13 });
	await session.kill({ signal: "SIGKILL" });
});

/** The installed shells, and a way to give each a prompt that does not occur in the typed text. */
const SHELLS: readonly (readonly [name: string, argv: readonly string[], prompt: string])[] = [
	["bash", ["bash", "--norc", "--noprofile", "-i"], "PS1='<pro''mpt>'"],
	["zsh", ["zsh", "-f", "-i"], "PS1='<pro''mpt>'"],
	["fish", ["fish", "--no-config", "--private", "-i"], "function fish_prompt; printf '<pro''mpt>'; end"],
	["dash", ["dash", "-i"], "PS1='<pro''mpt>'"],
];

test.each(SHELLS)("cat of a file with every query at the prompt of %s types nothing", async (_name, argv, prompt) => {
	const file = join(await temporaryDirectory(), "queries");
	await writeFile(file, `x${EVERY_QUERY.map(({ sequence }) => sequence).join("")}\u001b[?u`);
	const clock = new FakeClock();
	const session = await LocalSession.start(startOf(argv, { answersQueries: true }), { spawn, clock });
	await write(session, `${prompt}\r`);
	await outputUntil(session, /<prompt>/);
	for (let round = 0; round < 10; round++) {
		const { offset } = await session.end();
		await write(session, `cat '${file}'\r`);
		// The prompt is back, with a terminal that echoes nothing: the queries look as if their replies were awaited.
		await outputUntil(session, /\u001b\[\?u.*<prompt>/s, { offset });
		clock.advance(2_000);
	}
	expect(await session.receipt("hawser:replies")).toMatchObject({ next: 0 });
	await session.kill({ signal: "SIGKILL" });
});

async function typedBy(session: Session): Promise<number> {
	return (await session.receipt("hawser:replies")).next;
}

test("a program that writes on after its query gets no reply", async () => {
	const { session, clock } = await asked("stty raw -echo; printf '\\033[c'; read -r go; printf more; exec sleep 1000");
	await write(session, "\n");
	await outputUntil(session, /more/);
	clock.advance(2_000);
	expect(await typedBy(session)).toBe(0);
	await session.kill({ signal: "SIGKILL" });
});

test("a query gets no reply once its program has restored line mode and echo", async () => {
	const { session, clock } = await asked("stty raw -echo; printf '\\033[c'; read -r go; stty sane; exec sleep 1000");
	await write(session, "\n");
	await eventually("lines", async () => (await session.info()).terminal?.canonical);
	clock.advance(2_000);
	expect(await typedBy(session)).toBe(0);
	await session.kill({ signal: "SIGKILL" });
});

test("a reply that is too late is not sent", async () => {
	const { session, clock } = await asked("stty raw -echo; printf '\\033[c'; exec sleep 1000");
	clock.advance(9);
	expect(await typedBy(session)).toBe(0);
	clock.stall(1_100);
	expect(await typedBy(session)).toBe(0);
	await session.kill({ signal: "SIGKILL" });
});

test("an attached terminal replies instead, from a position on", async () => {
	const { session, clock } = await asked(
		"stty raw -echo; printf '\\033[c'; read -r go; printf '\\033[5n'; exec sleep 1000",
	);
	const { from } = await session.ask<"replies">({ do: "replies", by: "terminal" });
	expect(from).toBe(3);
	clock.advance(10);
	expect(await typedBy(session)).toBe(9);
	await write(session, "\n");
	await outputUntil(session, /5n$/);
	clock.advance(2_000);
	expect(await typedBy(session)).toBe(9);
	await session.kill({ signal: "SIGKILL" });
});

test("the session replies about program status at once while an attached terminal replies to the rest", async () => {
	const { session, clock } = await asked(
		`stty raw -echo; printf ready; read -r go; ${asker("\\033]7501;?\\007\\033[c", "07")}; exec sleep 1000`,
		{ question: /ready/ },
	);
	await session.ask<"replies">({ do: "replies", by: "terminal" });
	await write(session, "\n");
	// The clock stands still.
	await outputUntil(session, /\[1b5d373530313b3f07\]$/);
	clock.advance(2_000);
	expect(await typedBy(session)).toBe(9);
	await session.kill({ signal: "SIGKILL" });
});

test("a session configured not to reply still replies about program status", async () => {
	const { session } = await asked(`${asker("\\033]7501;?\\007", "07")}; exec sleep 1000`, {
		question: /7501/,
		answersQueries: false,
	});
	await outputUntil(session, /\[1b5d373530313b3f07\]$/);
	await session.kill({ signal: "SIGKILL" });
});

test("a program that queries its status in line mode gets the reply in raw mode, before the one to DA1", async () => {
	const go = join(await temporaryDirectory(), "go");
	const { session, clock } = await asked(
		`printf '\\033]7501;?\\007\\033[c'; until [ -e '${go}' ]; do :; done; ${asker("", "63")}; exec sleep 1000`,
		{ question: /\u001b\[c/ },
	);
	for (let round = 0; round < 10; round++) clock.advance(10);
	expect(await typedBy(session)).toBe(0);
	await writeFile(go, "");
	await eventually("raw mode", async () => (await session.info()).terminal?.canonical === false);
	clock.advance(10);
	await outputUntil(session, /\[1b5d373530313b3f071b5b3f36323b323263\]$/);
	await session.kill({ signal: "SIGKILL" });
});

test("a program that stays in line mode gets no reply about its status", async () => {
	const { session, clock } = await asked("printf '\\033]7501;?\\007\\033[c'; exec sleep 1000");
	for (let round = 0; round < 200; round++) clock.advance(10);
	expect(await typedBy(session)).toBe(0);
	await session.kill({ signal: "SIGKILL" });
});

test("a terminal about to attach replies from the first byte on, if it connects", async () => {
	const clock = new FakeClock();
	const asker = () =>
		LocalSession.start(
			shell("stty raw -echo; printf '\\033[c'; read -r go; printf '\\033[5n'; exec sleep 1000", {
				answersQueries: true,
				awaitsTerminal: true,
			}),
			{ spawn, clock },
		);
	const attended = await asker();
	const alone = await asker();
	for (const session of [attended, alone]) await outputUntil(session, /\u001b\[c/);
	clock.advance(500);
	expect(await attended.ask<"replies">({ do: "replies", by: "terminal" })).toEqual({ from: 0 });
	clock.advance(500);
	for (const session of [attended, alone]) {
		await write(session, "\n");
		await outputUntil(session, /5n$/);
	}
	clock.advance(500);
	expect([await typedBy(attended), await typedBy(alone)]).toEqual([0, 4]);
	for (const session of [attended, alone]) await session.kill({ signal: "SIGKILL" });
});

test("a session configured not to reply sends nothing", async () => {
	const clock = new FakeClock();
	const session = await LocalSession.start(shell("stty raw -echo; printf '\\033[c'; exec sleep 1000"), {
		spawn,
		clock,
	});
	await outputUntil(session, /\u001b\[c/);
	clock.advance(2_000);
	expect(await typedBy(session)).toBe(0);
	await session.kill({ signal: "SIGKILL" });
});
