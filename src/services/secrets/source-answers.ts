/**
 * Answers secret requests from the operator's sources: the first source that matches the prompt, the program and the
 * workspace. The secret is typed as if a user had entered it. If no source matches or it fails, a user has to answer.
 */

import type { Clock } from "../../core/async/clock.ts";
import { SessionError } from "../../core/errors.ts";
import type { Receipt } from "../../core/input/action.ts";
import type { Inspection } from "../../core/inspect/inspection.ts";
import type { Audit } from "../../core/policy/audit.ts";
import { AuditedCaller } from "../../core/policy/audited-caller.ts";
import type { GateMatcher } from "../../core/policy/gate.ts";
import { askerFault } from "./asking-program.ts";
import type { Actor, SecretRequest, SecretSources, SourceOutcome } from "./requests.ts";
import type { SecretSource } from "./source-file.ts";
import { readValue } from "./source-value.ts";

/**
 * A program that asks again this soon has rejected the answer, and repeated wrong answers may lock an account.
 * @limit how often a source answers the same prompt, or by the same rule, in a session | once in % | a person is asked
 */
const AGAIN_MS = 60_000;

type SourceAnswersOptions = {
	readonly sources: readonly SecretSource[];
	/** Matches prompts in a process that can be killed: a program may print a prompt that takes very long to match. */
	readonly judge: GateMatcher;
	readonly clock: Clock;
	readonly audit: Audit;
	readonly report: (problem: unknown) => void;
};

type How = Parameters<SecretSources["answer"]>[2];

/** `at` is a time of the monotonic clock. */
type Try = { readonly session: string; readonly prompt: string; readonly source: string; readonly at: number };

export class SourceAnswers implements SecretSources {
	readonly #options: SourceAnswersOptions;
	readonly #closing = new AbortController();
	#tries: Try[] = [];

	constructor(options: SourceAnswersOptions) {
		this.#options = options;
	}

	/** Cancels answers that are in progress. */
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
				// Report that another program shows this prompt, but the next source may be for that program.
				nearest ??= { name, fault: stranger };
			} catch (error) {
				return this.#report(request, { name, fault: this.#faultOf(error) });
			}
		}
		return nearest && this.#report(request, nearest);
	}

	async #isPrompt({ prompt }: SecretSource, { prompt: asked, askedBy }: SecretRequest): Promise<boolean> {
		const judgement = await this.#options.judge(askedBy.account, [prompt], asked);
		if (judgement !== "unreadable") return judgement === "match";
		throw new SessionError("limit_exceeded", "the source's expression takes too long for this prompt");
	}

	async #give(source: SecretSource, request: SecretRequest, { type, signal }: How): Promise<Receipt> {
		this.#noteTry(source, request);
		const value = await readValue(source.from, AbortSignal.any([signal, this.#closing.signal]));
		try {
			// Getting the value may have taken a while. Another program may ask by now.
			const stranger = await askerFault(source.program, await request.session.inspect());
			if (stranger !== undefined) throw new SessionError("not_waiting", stranger);
			return await type(value, this.#doer(source));
		} finally {
			// Clear the whole buffer, including a newline that was cut off.
			new Uint8Array(value.buffer).fill(0);
		}
	}

	/** Runs before the first await, so that only one of two simultaneous requests is answered. */
	#noteTry({ name }: SecretSource, { session, prompt }: SecretRequest): void {
		const now = this.#options.clock.monotonic();
		this.#tries = this.#tries.filter(({ at }) => now - at < AGAIN_MS);
		const isAgain = (one: Try) => one.session === session.id && (one.prompt === prompt || one.source === name);
		if (this.#tries.some(isAgain)) {
			throw new SessionError("limit_exceeded", "a source answered here less than a minute ago, and may be wrong");
		}
		this.#tries.push({ session: session.id, prompt, source: name, at: now });
	}

	#doer({ name }: SecretSource): Actor {
		const id = `source:${name}`;
		const bearer = { id, account: id, name: id, gate: null, revoked: this.#closing.signal, may: () => false };
		const from = { from: "server", front: "secret-sources" };
		return { principal: bearer, witness: new AuditedCaller(this.#options.audit, from, bearer, () => null) };
	}

	#report({ id, session }: SecretRequest, outcome: SourceOutcome): SourceOutcome {
		const { name, fault } = outcome;
		this.#options.report(`${JSON.stringify(name)} did not answer request ${id} of session ${session.id}: ${fault}`);
		return outcome;
	}

	#faultOf(error: unknown): string {
		const failure = SessionError.from(error);
		if (failure.code === "internal") this.#options.report(error);
		return failure.message;
	}
}

function isFor({ workspaces, tokens }: SecretSource, { session, askedBy }: SecretRequest): boolean {
	return workspaces.includes(session.spec.workspace) && (tokens === null || tokens.includes(askedBy.id));
}
