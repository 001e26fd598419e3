/** A program's query is answered once, also while the link between the server and a running keeper is broken. */

import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { RepliesMessage } from "../../../src/api/types.ts";
import type { Session } from "../../../src/core/session/session.ts";
import { KeeperLink } from "../../../src/keeper/client/keeper-link.ts";
import { type QueryAnswerer, QueryAnswerers } from "../../../src/services/attachments/query-answerers.ts";
import type { Plan } from "../../support/fault-proxy.ts";
import { KeeperSite, only } from "../../support/keeper-site.ts";
import { eventually } from "../../support/reading.ts";
import { shell } from "../../support/starts.ts";

const QUESTION = "\u001b[c";
/** As long as the session's answer, so that the program reads the same number of bytes. */
const TERMINAL_ANSWER = "\u001b[?1;0;0c";

/** An attached terminal that follows the output and answers the queries in its own ranges. */
class TestTerminal implements QueryAnswerer {
	readonly fence = undefined;
	sent = 0;
	text = "";
	#position = 0;
	readonly #session: Session;
	readonly #turns: RepliesMessage[] = [];

	constructor(session: Session) {
		this.#session = session;
	}

	report(replies: RepliesMessage): void {
		expect(replies.from).toBeGreaterThanOrEqual(this.sent);
		this.#turns.push(replies);
	}

	async run(): Promise<void> {
		for await (const item of this.#session.follow({ offset: 0 })) {
			if (item.kind !== "output") continue;
			expect(item.offset).toBe(this.sent);
			const before = this.text.length;
			this.text += Buffer.from(item.bytes).toString("latin1");
			this.sent += item.bytes.byteLength;
			for (let at = before - QUESTION.length; at < this.text.length; at++) {
				const end = at + QUESTION.length;
				if (at >= 0 && end > before && this.text.startsWith(QUESTION, at)) await this.#asked(end);
			}
		}
	}

	async #asked(end: number): Promise<void> {
		if (!this.#turns.findLast(({ from }) => from < end)?.mine) return;
		const bytes = Buffer.from(TERMINAL_ANSWER);
		const origin = { stream: "terminal", position: this.#position };
		this.#position += bytes.byteLength;
		await this.#session.act({ kind: "write", bytes }, { origin });
	}
}

/**
 * On each request: sends a query, again after 5 s without an answer, and prints the answer with E for ESC. At the end it
 * prints all other input. An answer that arrives later than that would be one too many.
 */
function asker(directory: string, rounds: number): string {
	const ask = "printf '<\\033[c'; got=$(dd bs=1 count=9 2>/dev/null | tr '\\033' E)";
	// A reader that opens the pipe before the previous writer has closed it reads nothing, and must retry.
	const round = `until read -r go <go; do :; done; got=; while [ -z "$got" ]; do ${ask}; done; printf '%s>' "$got"; : >answered$i`;
	const every = `i=0; while [ $i -lt ${rounds} ]; do ${round}; i=$((i+1)); done`;
	return `cd '${directory}'; mkfifo go; stty raw -echo min 0 time 50; ${every}; stty time 3; printf '('; cat; printf ')'`;
}

async function start(rounds: number, { isFollowed = true } = {}) {
	const site = await KeeperSite.create();
	const first = await site.open();
	const { id } = await first.keepers.start(shell(asker(site.directory, rounds), { answersQueries: true }));
	await first.keepers.close();
	const link: { plan: () => Plan | undefined } = { plan: () => undefined };
	const proxy = await site.proxy(id, () => link.plan());
	const session = only((await site.open()).adopted);
	const terminal = new TestTerminal(session);
	await new QueryAnswerers(session).join(terminal);
	const following = isFollowed ? terminal.run() : Promise.resolve();
	// The test's own wait reports a failure.
	following.catch(() => {});
	const pipe = join(site.directory, "go");
	await eventually("the program", () => existsSync(pipe));
	const go = () => writeFile(pipe, "\n");
	/** The keeper has noticed the end of earlier links by the time it refuses a stranger. */
	const noticed = async () => {
		const { socket } = (await site.record(id)).keeper;
		const stranger = KeeperLink.connect({ socket: `${socket}.real`, epoch: "another" }, 1, 10_000);
		await expect(stranger).rejects.toMatchObject({ code: "session_not_found" });
	};
	const answered = (round: number) =>
		eventually(`the answer in round ${round}`, () => existsSync(join(site.directory, `answered${round}`)));
	return { session, noticed, terminal, proxy, link, following, go, answered };
}

const BY_TERMINAL = `<${QUESTION}${TERMINAL_ANSWER.replace("\u001b", "E")}>`;
const BY_SESSION = `<${QUESTION}E[?62;22c>`;

/** On a busy machine an answer may be too late and is then not given. */
function askedOnce(text: string): string {
	return text.replaceAll(/(?:<\u001b\[c)+/g, `<${QUESTION}`);
}

const down: Plan = { fault: "cut", direction: "up", afterBytes: 0 };

/** A link that transmits the keeper's greeting and nothing after it: the keeper handles the first request, but its answer is lost. */
function deafAfterWelcome(): Plan {
	let parts = 0;
	return {
		fault: "cut",
		direction: "down",
		get afterBytes() {
			return parts++ === 0 ? Number.POSITIVE_INFINITY : 0;
		},
	};
}

test.each([
	["is broken", []],
	["is broken, and again when it has just come back,", [deafAfterWelcome()]],
])(
	"queries while the link %s are answered by the session alone, and by the terminal again afterwards",
	async (_, plans) => {
		const { terminal, proxy, link, following, go, noticed, answered } = await start(3);
		await go();
		await answered(0);
		link.plan = () => down;
		proxy.cutAll();
		await noticed();
		await go();
		await answered(1);
		link.plan = () => plans.shift();
		await eventually("the output of meanwhile", () => terminal.text.includes(BY_SESSION));
		expect(plans).toEqual([]);
		await go();
		await following;
		expect(askedOnce(terminal.text)).toBe(`${BY_TERMINAL}${BY_SESSION}${BY_TERMINAL}()`);
	},
	60_000,
);

test("a link that breaks during the change of the answerer is replaced, also without a query", async () => {
	const { session, proxy, link, go } = await start(1, { isFollowed: false });
	const plans = [deafAfterWelcome()];
	link.plan = () => plans.shift();
	proxy.cutAll();
	await eventually("the second break", () => plans.length === 0);
	await go();
	await eventually("news of the end", () => session.state.status === "closed");
});

test("a query is answered once, whenever the link breaks", async () => {
	const rounds = 12;
	const { terminal, proxy, following, go, answered } = await start(rounds);
	for (let round = 0; round < rounds; round++) {
		if (round % 3 === 0) proxy.cutAll();
		await go();
		if (round % 3 === 1) proxy.cutAll();
		await answered(round);
	}
	await following;
	const answers = askedOnce(terminal.text).split(/(?<=>)/);
	expect(answers.pop()).toBe("()");
	expect(answers).toHaveLength(rounds);
	for (const answer of answers) expect([BY_TERMINAL, BY_SESSION]).toContain(answer);
}, 60_000);
