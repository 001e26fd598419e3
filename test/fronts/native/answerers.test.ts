/** A question of a program is answered once, also while the link between the server and a keeper that lives is broken. */

import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Session } from "../../../src/core/session.ts";
import { type Answerer, Answerers } from "../../../src/fronts/native/socket/answerers.ts";
import { KeeperLink } from "../../../src/keepers/keeper-link.ts";
import type { RepliesMessage } from "../../../src/protocol/socket.ts";
import type { Plan } from "../../helpers/fault-proxy.ts";
import { KeeperSite, only } from "../../helpers/keepers.ts";
import { eventually } from "../../helpers/reading.ts";
import { shell } from "../../helpers/starts.ts";

const QUESTION = "\u001b[c";
/** As long as what the session answers, so that the program reads as many bytes of either. */
const TERMINAL_ANSWER = "\u001b[?1;0;0c";

/** An attached terminal: follows the output, and answers each question in it that it was told to be its own. */
class TestTerminal implements Answerer {
	readonly fence = undefined;
	sent = 0;
	text = "";
	#position = 0;
	readonly #session: Session;
	readonly #turns: RepliesMessage[] = [];

	constructor(session: Session) {
		this.#session = session;
	}

	tell(replies: RepliesMessage): void {
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
 * Whenever it is told to go on: asks, again after 5 s without an answer, and prints the one that it gets with E for
 * escape; at last, whatever came besides. An answer that comes later than that would be one too many.
 */
function asker(directory: string, rounds: number): string {
	const ask = "printf '<\\033[c'; got=$(dd bs=1 count=9 2>/dev/null | tr '\\033' E)";
	// Who opens the pipe while the last writer has not closed it yet reads nothing, and must not go on.
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
	await new Answerers(session).join(terminal);
	const following = isFollowed ? terminal.run() : Promise.resolve();
	// Heard of by whoever waits for it.
	following.catch(() => {});
	const pipe = join(site.directory, "go");
	await eventually("the program", () => existsSync(pipe));
	const go = () => writeFile(pipe, "\n");
	/** The keeper has noticed what became of earlier links by the time it refuses a stranger. */
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

/** On a busy machine an answer may be too late, and is not given. */
function askedOnce(text: string): string {
	return text.replaceAll(/(?:<\u001b\[c)+/g, `<${QUESTION}`);
}

const down: Plan = { fault: "cut", direction: "up", afterBytes: 0 };

/** Of a link over which the keeper is greeted, and heard no further: what it is asked first it does, and nobody knows. */
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
	"what is asked while the link %s is answered by the session alone, and by the terminal again afterwards",
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

test("a link that breaks while the terminal is handed over on it is followed by another, also when nobody asks", async () => {
	const { session, proxy, link, go } = await start(1, { isFollowed: false });
	const plans = [deafAfterWelcome()];
	link.plan = () => plans.shift();
	proxy.cutAll();
	await eventually("the second break", () => plans.length === 0);
	await go();
	await eventually("news of the end", () => session.state.status === "closed");
});

test("a question is answered once, whenever the link breaks", async () => {
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
