/**
 * Answers requests for secrets from the operator's sources: the first that is for such a prompt, of that program, there.
 * What it has is typed as a person's would be. Where none fits, or one fails, a person is asked as ever.
 */

import type { Receipt } from "../core/act.ts";
import type { Audit } from "../core/audit.ts";
import type { Clock } from "../core/clock.ts";
import { SessionError } from "../core/errors.ts";
import type { Judge } from "../core/gate.ts";
import type { Inspection } from "../core/inspection.ts";
import { Witness } from "../core/witness.ts";
import type { Doer, SecretRequest, SecretSources, SourceOutcome } from "../fronts/secret-requests.ts";
import { askerFault } from "./asking-program.ts";
import type { SecretSource } from "./secret-sources.ts";
import { readValue } from "./source-value.ts";

/** A program that asks again so soon has not liked the answer; one that is typed again and again locks an account. */
const AGAIN_MS = 60_000;

export type SourceAnswersOptions = {
	readonly sources: readonly SecretSource[];
	/** Compares prompts: a program may have chosen one that takes years. */
	readonly judge: Judge;
	readonly clock: Clock;
	readonly audit: Audit;
	readonly report: (problem: unknown) => void;
};

type How = Parameters<SecretSources["answer"]>[2];

/** `at` by the monotonic clock. */
type Try = { readonly session: string; readonly prompt: string; readonly source: string; readonly at: number };

export class SourceAnswers implements SecretSources {
	readonly #options: SourceAnswersOptions;
	readonly #closing = new AbortController();
	#tries: Try[] = [];

	constructor(options: SourceAnswersOptions) {
		this.#options = options;
	}

	/** Ends what still runs for an answer. */
	close(): void {
		this.#closing.abort();
	}

	async answer(request: SecretRequest, found: Inspection, how: How): Promise<SourceOutcome | null> {
		let nearest: SourceOutcome | null = null;
		for (const source of this.#options.sources) {
			if (!isFor(source, request)) continue;
			const { name } = source;
			try {
				if (!(await this.#isPrompt(source, request))) continue;
				const stranger = await askerFault(source.program, found);
				if (stranger === undefined) {
					await this.#give(source, request, how);
					return { name, fault: null };
				}
				// The prompt of one of them in the mouth of another is worth a word, but the next may be for that.
				nearest ??= { name, fault: stranger };
			} catch (error) {
				return this.#tell(request, { name, fault: this.#faultOf(error) });
			}
		}
		return nearest && this.#tell(request, nearest);
	}

	async #isPrompt({ prompt }: SecretSource, { prompt: asked, askedBy }: SecretRequest): Promise<boolean> {
		const judgement = await this.#options.judge(askedBy.account, [prompt], asked);
		if (judgement !== "unreadable") return judgement === "match";
		throw new SessionError("limit_exceeded", "its expression takes too long for this prompt");
	}

	async #give(source: SecretSource, request: SecretRequest, { type, signal }: How): Promise<Receipt> {
		this.#noteTry(source, request);
		const value = await readValue(source.from, AbortSignal.any([signal, this.#closing.signal]));
		try {
			// It may have taken a while, and who asks can have become another program without a word.
			const stranger = await askerFault(source.program, await request.session.inspect());
			if (stranger !== undefined) throw new SessionError("not_waiting", stranger);
			return await type(value, this.#doer(source));
		} finally {
			// All of its memory: an end of line that was cut off is no longer within it.
			new Uint8Array(value.buffer).fill(0);
		}
	}

	/** Before anything is awaited, so that of two who ask at once only one is answered. */
	#noteTry({ name }: SecretSource, { session, prompt }: SecretRequest): void {
		const now = this.#options.clock.monotonic();
		this.#tries = this.#tries.filter(({ at }) => now - at < AGAIN_MS);
		const isAgain = (one: Try) => one.session === session.id && (one.prompt === prompt || one.source === name);
		if (this.#tries.some(isAgain)) {
			throw new SessionError("limit_exceeded", "a source was asked here less than a minute ago, and may be wrong");
		}
		this.#tries.push({ session: session.id, prompt, source: name, at: now });
	}

	#doer({ name }: SecretSource): Doer {
		const id = `source:${name}`;
		const bearer = { id, account: id, name: id, gate: null, revoked: this.#closing.signal };
		const from = { from: "server", front: "secret-sources" };
		return { principal: bearer, witness: new Witness(this.#options.audit, from, bearer, () => null) };
	}

	#tell({ id, session }: SecretRequest, outcome: SourceOutcome): SourceOutcome {
		const { name, fault } = outcome;
		this.#options.report(`${JSON.stringify(name)} does not answer request ${id} of session ${session.id}: ${fault}`);
		return outcome;
	}

	#faultOf(error: unknown): string {
		const told = SessionError.from(error);
		if (told.code === "internal") this.#options.report(error);
		return told.message;
	}
}

function isFor({ workspaces, tokens }: SecretSource, { session, askedBy }: SecretRequest): boolean {
	return workspaces.includes(session.spec.workspace) && (tokens === null || tokens.includes(askedBy.id));
}
