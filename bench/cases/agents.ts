/**
 * Dialogs of real coding agents with a scripted model: whether each is known, how soon, and whether its answer is taken;
 * and the processor time that idle agents cost.
 *
 * A second terminal, fed by the session's output, says when a dialog is on the screen.
 */

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import type { AgentMessage } from "../../src/api/types.ts";
import { type Client, connect, type Session } from "../../src/client/index.ts";
import { XtermModel } from "../../src/emulator/xterm-model.ts";
import { type AgentName, prepareAgent } from "../../test/support/real-agents.ts";
import { OPTIONS, QUESTION, ScriptedModel } from "../../test/support/scripted-model.ts";
import type { Case, Round, Sample, Variant } from "../case.ts";
import { cpuSeconds } from "../processes.ts";
import { type Served, serving } from "../served.ts";
import { percentile } from "../statistics.ts";
import type { Workshop } from "../workshop.ts";

/** This file runs from dist-bench/bench/cases. */
const START_SCREEN = fileURLToPath(
	new URL("../../../test/fixtures/agents/codex-0.166.0/120x40/start.raw.gz", import.meta.url),
);
const DIALOGS = { full: 20, quick: 4 };
const SIZES = [
	{ cols: 80, rows: 24 },
	{ cols: 120, rows: 40 },
	{ cols: 200, rows: 50 },
];
/** A dialog that is not known by then is missed. Agents take long to start beside other work. */
const DIALOG_MS = 10_000;
const START_MS = 120_000;
const TURN_MS = 60_000;
const DRAWN_MS = 60_000;
/** A dialog may be drawn and closed while reports of it are on their way. */
const GRACE_MS = 1_000;
const LOOK_MS = 10;
const IDLE_AGENTS = { full: 50, quick: 10 };
const IDLE_MS = { full: 20_000, quick: 5_000 };
const SETTLING_MS = 3_000;

type Kind = "permission" | "question";

/** A measured agent: how its dialogs end, which tells that they are drawn whole. */
type Measured = {
	readonly name: AgentName;
	readonly program?: string | undefined;
	readonly drawn: Readonly<Record<Kind, RegExp>>;
	readonly allow: RegExp;
	readonly deny: RegExp;
	/** Its tool for files wants absolute paths. */
	readonly isAbsolute: boolean;
};

const agents: readonly Measured[] = [
	{
		name: "codex",
		drawn: { permission: /^ *Press enter to confirm or esc to cancel/m, question: /enter to submit/ },
		allow: /^Yes, proceed/,
		deny: /^No/,
		isAbsolute: false,
	},
	{
		name: "gemini",
		drawn: { permission: /\d\. No, suggest changes/, question: /Enter to select/ },
		allow: /^Allow once/,
		deny: /^No/,
		isAbsolute: true,
	},
	{
		name: "opencode",
		drawn: { permission: /Allow once +Allow always +Reject/, question: /esc dismiss/ },
		allow: /^Allow once/,
		deny: /^Reject/,
		isAbsolute: true,
	},
	{
		name: "claude-code",
		program: process.env.CLAUDE,
		drawn: { permission: /^ *Esc to cancel/m, question: /Enter to select/ },
		allow: /^Yes$/,
		deny: /^No/,
		isAbsolute: true,
	},
	{
		name: "copilot",
		program: process.env.COPILOT,
		drawn: { permission: /enter to select/, question: /enter (?:to )?accept/ },
		allow: /^Yes$/,
		deny: /^No/,
		isAbsolute: true,
	},
];

const isInstalled = ({ name, program }: Measured) => program !== undefined || !/^(?:claude-code|copilot)$/.test(name);

export function agentsCase(isQuick: boolean): Case {
	const dialogs = isQuick ? DIALOGS.quick : DIALOGS.full;
	const idle = { count: isQuick ? IDLE_AGENTS.quick : IDLE_AGENTS.full, ms: isQuick ? IDLE_MS.quick : IDLE_MS.full };
	const sessions: readonly Variant[] = agents.filter(isInstalled).flatMap((agent) =>
		SIZES.map((size) => ({
			name: `${agent.name} ${size.cols}×${size.rows}`,
			measure: (workshop) => serving(workshop, (server) => measureDialogs(workshop, server, { agent, size, dialogs })),
		})),
	);
	const each = (metric: string) => (round: Round) => sessions.map(({ name }) => round(name, metric));
	const missing = agents.filter((agent) => !isInstalled(agent)).map(({ name }) => name);
	const notMeasured = missing.length === 0 ? "" : `; not measured: ${missing.join(", ")} (named by CLAUDE and COPILOT)`;
	return {
		name: "agents",
		title: "Dialogs of coding agents",
		note: `${dialogs} dialogs in one session of each real agent, with a scripted model: permissions for commands (allowed, denied) and edits, questions. From the dialog's last row in the output to the event that has its choices; wrong: another state or kind, other choices, or a dialog that is not there. ${idle.count} idle agents (a recorded screen) and as many idle programs of another name, with a follower: the server's processor time${notMeasured}`,
		rounds: { full: 1, quick: 1 },
		metrics: [
			{ key: "detected", title: "detected %", digits: 1 },
			{ key: "wrong", title: "wrong", digits: 0 },
			{ key: "p50", title: "p50 ms", digits: 0 },
			{ key: "p95", title: "p95 ms", digits: 0 },
			{ key: "accepted", title: "accepted %", digits: 1 },
			{ key: "cpu", title: "CPU ms/s", digits: 1 },
		],
		bars: [
			{ title: "detected, %", value: (round) => Math.min(...each("detected")(round)), digits: 1, atLeast: 99 },
			{
				title: "wrong",
				value: (round) => each("wrong")(round).reduce((sum, one) => sum + one, 0),
				digits: 0,
				atMost: 0,
				isStrict: true,
			},
			{ title: "known after, p95 ms", value: (round) => Math.max(...each("p95")(round)), digits: 0, atMost: 300 },
			{ title: "answers accepted, %", value: (round) => Math.min(...each("accepted")(round)), digits: 1, atLeast: 99 },
			{
				title: `detection for ${idle.count} idle agents, CPU ms/s`,
				value: (round) => round("idle agents", "cpu") - round("idle programs", "cpu"),
				digits: 1,
				atMost: 10,
			},
		],
		variants: [
			...sessions,
			...["idle agents", "idle programs"].map((name) => ({
				name,
				measure: (workshop: Workshop) =>
					serving(workshop, (server) =>
						measureIdle(workshop, server, { ...idle, program: name === "idle agents" ? "codex" : "other" }),
					),
			})),
		],
	};
}

function clientOf({ target }: Served): Client {
	return connect({ url: `http://127.0.0.1:${target.port}`, token: target.token });
}

type Asked = { readonly kind: Kind; readonly prompt: string; readonly choice: RegExp };

/** Commands that are allowed and denied, edits and questions, by turns. */
function dialogOf(index: number, { allow, deny, isAbsolute }: Measured, project: string): Asked {
	switch (index % 4) {
		case 0:
			return { kind: "permission", prompt: `shell allowed-${index}`, choice: allow };
		case 1:
			return { kind: "question", prompt: "question", choice: new RegExp(`^${OPTIONS[1]}`) };
		case 2: {
			const file = `edited-${index}`;
			return { kind: "permission", prompt: `edit ${isAbsolute ? join(project, file) : file}`, choice: allow };
		}
		default:
			return { kind: "permission", prompt: `shell denied-${index}`, choice: deny };
	}
}

type Measurement = { readonly agent: Measured; readonly size: (typeof SIZES)[number]; readonly dialogs: number };

async function measureDialogs(
	workshop: Workshop,
	server: Served,
	{ agent, size, dialogs }: Measurement,
): Promise<Sample> {
	const model = await ScriptedModel.start();
	const { name, program } = agent;
	const place = { directory: workshop.newSite(), model: model.url };
	const start = await prepareAgent(name, program === undefined ? place : { ...place, program });
	const client = clientOf(server);
	const session = client.sessions.at((await client.sessions.create({ ...start, mode: "pty", ...size })).id);
	const watch = new DialogWatch(client, session, { agent, size });
	const times: number[] = [];
	let wrong = 0;
	let accepted = 0;
	try {
		await session.wait({ agent: ["idle", "done"] }, { timeoutMs: START_MS });
		for (let index = 0; index < dialogs; index++) {
			workshop.say(`agents: ${name} ${size.cols}×${size.rows}, dialog ${index + 1} of ${dialogs}`);
			const asked = dialogOf(index, agent, start.cwd);
			const known = await watch.during(asked.kind, () => session.prompt(asked.prompt));
			if (!known) {
				report(`${name} ${size.cols}×${size.rows}: ${asked.prompt} was not known`, watch.text);
				await session.write("\u001b");
			} else {
				times.push(known.ms);
				if (!isRight(known.agent, asked)) {
					wrong++;
					report(`${name} ${size.cols}×${size.rows}: ${asked.prompt} is ${JSON.stringify(known.agent)}`, watch.text);
				}
				if (await isAccepted(session, known.agent, asked.choice)) accepted++;
			}
			await session.wait({ agent: ["idle", "done", "error"] }, { timeoutMs: TURN_MS });
		}
	} finally {
		await watch.close();
		model.close();
	}
	const answered = times.length === 0 ? { p50: Number.NaN, p95: Number.NaN } : latencies(times);
	return {
		detected: (100 * times.length) / dialogs,
		wrong: wrong + watch.invented,
		...answered,
		accepted: (100 * accepted) / dialogs,
	};
}

function latencies(times: readonly number[]): Sample {
	return { p50: percentile(times, 0.5), p95: percentile(times, 0.95) };
}

function report(problem: string, screen: string): void {
	console.error(`${problem}\n${screen.replace(/(?:\n *)+$/, "")}\n`);
}

function isRight({ kind, question, choices }: AgentMessage, asked: Asked): boolean {
	const isAsked = asked.kind === "permission" ? question !== null : question?.includes(QUESTION) === true;
	return kind === asked.kind && isAsked && choices.some(({ label }) => asked.choice.test(label));
}

async function isAccepted(session: Session, { episode, choices }: AgentMessage, label: RegExp): Promise<boolean> {
	const choice = choices.find((one) => label.test(one.label));
	if (!choice) return false;
	try {
		await session.answer({ episode, choice: choice.id });
		return true;
	} catch (error) {
		console.error(`the answer ${choice.label} was not accepted: ${error}`);
		return false;
	}
}

/** Compares the events of a session's agent with the dialogs on its screen. */
class DialogWatch {
	readonly #agent: Measured;
	readonly #model: XtermModel;
	readonly #over = new AbortController();
	readonly #following: Promise<unknown>;
	#kind: Kind = "permission";
	/** When the awaited dialog was first on the screen, and when it was last there. */
	#shownAt: number | undefined;
	#seenAt = Number.NEGATIVE_INFINITY;
	#known: { readonly agent: AgentMessage; readonly at: number } | undefined;
	#isAwaited = false;
	/** Dialogs in events that were not on the screen. */
	invented = 0;

	constructor(client: Client, session: Session, { agent, size }: Pick<Measurement, "agent" | "size">) {
		this.#agent = agent;
		this.#model = new XtermModel(size);
		const { signal } = this.#over;
		this.#following = Promise.all([this.#readOutput(session, signal), this.#readEvents(client, session, signal)]);
	}

	get text(): string {
		return this.#model.view().lines.join("\n");
	}

	/** The dialog that `open` leads to, and the time from its appearance to its event. */
	async during(kind: Kind, open: () => Promise<unknown>) {
		this.#kind = kind;
		this.#shownAt = undefined;
		this.#known = undefined;
		this.#isAwaited = true;
		try {
			await open();
		} catch (error) {
			console.error(`the prompt was not submitted: ${error}`);
			return undefined;
		}
		const end = performance.now() + DRAWN_MS;
		while (this.#shownAt === undefined && performance.now() < end) await sleep(LOOK_MS);
		const shownAt = this.#shownAt;
		if (shownAt === undefined) return undefined;
		while (!this.#known && performance.now() < shownAt + DIALOG_MS) await sleep(LOOK_MS);
		this.#isAwaited = false;
		const known = this.#known as { readonly agent: AgentMessage; readonly at: number } | undefined;
		return known && { agent: known.agent, ms: Math.max(0, known.at - shownAt) };
	}

	async close(): Promise<void> {
		this.#over.abort();
		await this.#following;
		this.#model.dispose();
	}

	async #readOutput(session: Session, signal: AbortSignal): Promise<void> {
		for (let since = 0; !signal.aborted; ) {
			const { bytes, next } = await session
				.output(since, { wait: 5_000, signal })
				.catch(() => ({ bytes: new Uint8Array(), next: since }));
			since = next;
			this.#model.feed(bytes);
			if (!this.#agent.drawn[this.#kind].test(this.text)) continue;
			this.#seenAt = performance.now();
			if (this.#isAwaited) this.#shownAt ??= this.#seenAt;
		}
	}

	async #readEvents(client: Client, session: Session, signal: AbortSignal): Promise<void> {
		for await (const item of client.events({ type: ["agent"], signal })) {
			if (item.kind !== "event" || item.event.session?.id !== session.id) continue;
			const { agent } = item.event;
			if (agent?.state !== "blocked") continue;
			const at = performance.now();
			if (this.#isAwaited && agent.choices.length > 0) this.#known ??= { agent, at };
			else if (!this.#isAwaited && at - this.#seenAt > GRACE_MS) {
				this.invented++;
				report(`an event has a dialog that is not there: ${JSON.stringify(agent)}`, this.text);
			}
		}
	}
}

type Idle = { readonly count: number; readonly ms: number; readonly program: string };

/** Sessions whose program draws the first screen of Codex, under a name of its own, and then waits. */
function measureIdle(workshop: Workshop, server: Served, { count, ms, program }: Idle): Promise<Sample> {
	return whileFollowed(clientOf(server), async (client) => {
		const site = workshop.newSite();
		writeFileSync(join(site, "screen"), gunzipSync(readFileSync(START_SCREEN)));
		const script = join(site, program);
		writeFileSync(script, `#!/bin/sh\ncat ${join(site, "screen")}\nread -r line\n`, { mode: 0o755 });
		for (let made = 0; made < count; made++) await client.sessions.create({ argv: [script], cols: 120, rows: 40 });
		const isKnown = async () => {
			const sessions = await client.sessions.list({ overview: true });
			return sessions.every(({ overview }) => program !== "codex" || overview?.agent?.state === "idle");
		};
		while (!(await isKnown())) await sleep(SETTLING_MS);
		await sleep(SETTLING_MS);
		const before = cpuSeconds(server.pid);
		await sleep(ms);
		return { cpu: ((cpuSeconds(server.pid) - before) * 1_000_000) / ms };
	});
}

/** Follows the events of all sessions meanwhile, as a list in a browser does. */
async function whileFollowed<T>(client: Client, act: (client: Client) => Promise<T>): Promise<T> {
	const over = new AbortController();
	const following = (async () => {
		for await (const _ of client.events({ signal: over.signal }));
	})();
	try {
		return await act(client);
	} finally {
		over.abort();
		await following;
	}
}
