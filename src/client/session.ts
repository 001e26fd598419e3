/** One session on a server, as a program sees it. */

/// <reference lib="esnext.disposable" preserve="true" />

import type {
	CommandList,
	CommandsQuery,
	InputReceipt,
	RunAnswer,
	RunCommand,
	SendAnswer,
	SendInput,
	SessionLease,
	TakeLease,
} from "../protocol/acts.ts";
import type { AskSecret, SecretRequestMessage } from "../protocol/asking.ts";
import type { ProgramState } from "../protocol/feed.ts";
import {
	type AttachedList,
	type AttachedMessage,
	type Detached,
	type DetachSession,
	idempotencyKeyHeader,
	type KillSession,
	limits,
	type SessionMessage,
	type SizePolicy,
} from "../protocol/messages.ts";
import type { ActivityMessage, RecordingFormat, SearchMatch, SearchResult } from "../protocol/past.ts";
import type { ScreenMessage, ScrollbackMessage } from "../protocol/screens.ts";
import { sessionPath } from "./address.ts";
import { type ActOptions, Attachment, type AttachOptions } from "./attachment.ts";
import { checkSignal, checkSize } from "./checks.ts";
import { HawserError } from "./error.ts";
import { askOverHttp, LastingCall, type LastingOptions } from "./lasting-call.ts";
import { type LinksClient, linksAt } from "./links.ts";
import { newStreamId } from "./outbox.ts";
import {
	type Output,
	type OutputOptions,
	type OutputText,
	type TextOptions,
	toOutput,
	toOutputText,
} from "./output.ts";
import {
	type EarlierOptions,
	type ScreenChangesOptions,
	type ScreenOptions,
	type ScreenTextOptions,
	type ScrollbackOptions,
	screenChanges,
	type WholeScreen,
	waitForScreen,
} from "./screen.ts";
import { type SendRequest, toSendInput } from "./send-request.ts";
import {
	type AnswerOptions,
	fenceOf,
	type SecretOptions,
	type SessionActOptions,
	SessionInput,
	type WriteOptions,
} from "./session-input.ts";
import type { Transport } from "./transport.ts";
import { type WaitCondition, type WaitOptions, type WaitResult, waitFor } from "./wait.ts";

export type SearchOptions = {
	readonly ignoreCase?: boolean;
	/** The first byte that is searched; 0 by default. */
	readonly since?: number;
	readonly signal?: AbortSignal;
};

export type RecordingOptions = {
	/** `asciicast-v2` by default, which all players know. */
	readonly format?: RecordingFormat;
	/** Players shorten longer pauses to this. */
	readonly idleLimitMs?: number;
	/** An offset, or a moment. */
	readonly from?: number | Date;
	readonly to?: number | Date;
	readonly signal?: AbortSignal;
};

export type ActivityOptions = {
	/** From when, and up to when; its whole life by default. */
	readonly from?: Date | number;
	readonly to?: Date | number;
	/** In how many parts; 100 by default, 2000 at most. */
	readonly buckets?: number;
	readonly signal?: AbortSignal;
};

/** Without `timeoutMs` it waits for as long as it takes. */
export type ExecOptions = LastingOptions & {
	/** How much of the output the answer has as text, in bytes: its end; 64 KiB by default, 4 MiB at most. */
	readonly limit?: number;
	/** Told what the command writes as it comes, to the last part; the answer's own text is that last part then. */
	readonly onOutput?: (part: ExecOutput) => void | Promise<void>;
};

/** What a command wrote from an offset on, and how many bytes from there on are left out before the text. */
export type ExecOutput = { readonly offset: number; readonly text: string; readonly omitted: number };

/** Aborting it ends the waiting, not the killing. */
export type KillOptions = ActOptions & {
	/** What is sent first, such as `TERM`. */
	readonly killSignal?: string;
	readonly graceMs?: number;
};

/** A session of which the server has told. */
export type KnownSession = Session & { readonly snapshot: SessionMessage };

/** How often it is asked what a command has written, for who wants to hear of it as it comes. */
const OUTPUT_MS = 250;
export class Session {
	readonly id: string;
	/** For guests. */
	readonly links: LinksClient;
	readonly #transport: Transport;
	readonly #input: SessionInput;
	#snapshot: SessionMessage | undefined;
	readonly #runs: LastingCall<RunCommand, RunAnswer>;
	readonly #sends: LastingCall<SendInput, SendAnswer>;

	constructor(transport: Transport, id: string) {
		this.#transport = transport;
		this.id = id;
		this.links = linksAt(transport, id);
		this.#input = new SessionInput(transport, id);
		const { times } = transport;
		this.#runs = new LastingCall({
			times,
			ask: askOverHttp<RunAnswer>(transport, this.#path("/run")),
			isTimeout: ({ status }) => status === "running",
		});
		this.#sends = new LastingCall({
			times,
			ask: askOverHttp<SendAnswer>(transport, this.#path("/send")),
			isTimeout: ({ cause }) => cause === "timeout",
		});
	}

	static known(transport: Transport, snapshot: SessionMessage): KnownSession {
		const session = new Session(transport, snapshot.id);
		session.#snapshot = snapshot;
		return session as KnownSession;
	}

	/** What the server said of it last, to `create`, `get`, `info` or `kill`; `info()` asks again. */
	get snapshot(): SessionMessage | undefined {
		return this.#snapshot;
	}

	/** Joins it over a WebSocket: events to read, input to send, across lost connections and restarts of the server. */
	attach(options: AttachOptions = {}): Attachment {
		return new Attachment(this.#transport, this.id, options);
	}

	/** Resolves when the condition holds, the session has ended, or the time is over; the result says which. */
	wait(condition: WaitCondition, options: WaitOptions = {}): Promise<WaitResult> {
		if ("screen" in condition || "stable" in condition) return waitForScreen(this, condition, options);
		return waitFor((attach) => this.attach(attach), condition, options);
	}

	/** With `overview`, also how it looks now: its last line, its activity, what it waits for. */
	async info({ overview, signal }: ActOptions & { readonly overview?: boolean } = {}): Promise<SessionMessage> {
		const query = overview ? { overview: "1" } : {};
		return this.#learn(await this.#transport.request({ path: this.#path(), query, signal }));
	}

	/** What there is from `since` on. Without `wait` it answers at once, perhaps with nothing. */
	async output(since = 0, { wait, limit, signal }: OutputOptions = {}): Promise<Output> {
		const response = await this.#transport.request({
			path: this.#path("/output"),
			query: { since, wait, limit },
			signal,
		});
		const bytes = await this.#transport.body(response, signal);
		return toOutput(response.headers, bytes);
	}

	/**
	 * What there is from `since` on as text for reading by the token: without escape sequences, drawn over or repeated
	 * lines, and within `max` bytes, where what is left out says so.
	 */
	async text(since = 0, { wait, limit, max, redact, signal }: TextOptions = {}): Promise<OutputText> {
		const query = { as: "text", since, wait, limit, max, redact: redact ? "1" : undefined };
		const response = await this.#transport.request({ path: this.#path("/output"), query, signal });
		const bytes = await this.#transport.body(response, signal);
		return toOutputText(response.headers, bytes);
	}

	/** What its program does now, and what it waits for. */
	async inspect({ signal }: ActOptions = {}): Promise<ProgramState> {
		const response = await this.#transport.request({ path: this.#path("/state"), signal });
		return (await response.json()) as ProgramState;
	}

	/**
	 * The lines in which something is, of everything that was written by now and is kept, oldest first: text to the
	 * letter, or an expression, of whose flags only `i` counts. Escape sequences are not in the way.
	 */
	async *search(wanted: string | RegExp, options: SearchOptions = {}): AsyncGenerator<SearchMatch, void, void> {
		const { since = 0, signal } = options;
		const isExpression = typeof wanted !== "string";
		const ignoreCase = options.ignoreCase ?? (isExpression && wanted.ignoreCase);
		for (let after: number | null = since; after !== null; ) {
			const response = await this.#transport.request({
				path: this.#path("/search"),
				query: {
					q: isExpression ? wanted.source : wanted,
					regex: isExpression ? "1" : undefined,
					ignoreCase: ignoreCase ? "1" : undefined,
					after,
				},
				signal,
			});
			const page = (await response.json()) as SearchResult;
			yield* page.matches;
			after = page.next;
		}
	}

	/** What its terminal shows: the text of its rows, the cursor, the title. */
	async screen({ since, at, wait, text, stable, region, signal, ...how }: ScreenOptions = {}): Promise<ScreenMessage> {
		const isExpression = text instanceof RegExp;
		const ignoreCase = how.ignoreCase ?? (isExpression && text.ignoreCase);
		const query = {
			since,
			at: placeOf(at),
			wait,
			text: isExpression ? text.source : text,
			regex: isExpression ? "1" : undefined,
			ignoreCase: ignoreCase ? "1" : undefined,
			stable,
			region: region?.join("-"),
		};
		const response = await this.#transport.request({ path: this.#path("/screen"), query, signal });
		return (await response.json()) as ScreenMessage;
	}

	/** The same as text, with colours if they are wanted, as any terminal prints it. */
	async screenText({ at, colors = false, signal }: ScreenTextOptions = {}): Promise<string> {
		const query = { format: colors ? "ansi" : "text", at: placeOf(at) };
		const response = await this.#transport.request({ path: this.#path("/screen"), query, signal });
		return response.text();
	}

	/** The same as a picture that needs nothing but itself. */
	async screenPicture(format: "svg" | "html", { at, signal }: EarlierOptions = {}): Promise<string> {
		const query = { format, at: placeOf(at) };
		const response = await this.#transport.request({ path: this.#path("/screen"), query, signal });
		return response.text();
	}

	/** What it shows now, with all rows, and again whenever that looks otherwise, until the session has ended. */
	screenChanges(options: ScreenChangesOptions = {}): AsyncGenerator<WholeScreen, void, void> {
		return screenChanges(this, options);
	}

	/** The rows above what it shows. */
	async scrollback({ at, skip, limit, signal }: ScrollbackOptions = {}): Promise<ScrollbackMessage> {
		const query = { at: placeOf(at), skip, limit };
		const response = await this.#transport.request({ path: this.#path("/scrollback"), query, signal });
		return (await response.json()) as ScrollbackMessage;
	}

	/** What was shown by now, and when, as a file for players of terminals; piece by piece, as fast as it is taken. */
	async *recording(options: RecordingOptions = {}): AsyncGenerator<Uint8Array, void, void> {
		const { format, idleLimitMs, from, to, signal } = options;
		const query = { format, idleLimitMs, from: placeOf(from), to: placeOf(to) };
		const response = await this.#transport.request({ path: this.#path("/recording"), query, signal });
		yield* this.#transport.chunks(response, signal);
	}

	/** How much it wrote when, over all that is kept of it: in so many parts of a time, oldest first. */
	async activity({ from, to, buckets, signal }: ActivityOptions = {}): Promise<ActivityMessage> {
		const query = { from: from?.valueOf(), to: to?.valueOf(), buckets };
		const response = await this.#transport.request({ path: this.#path("/activity"), query, signal });
		return (await response.json()) as ActivityMessage;
	}

	/**
	 * Writes in the order of the calls. A write that names its stream and position may be repeated after a
	 * lost connection, and is carried out once however often it arrives.
	 */
	write(input: Uint8Array | string, options: WriteOptions = {}): Promise<InputReceipt> {
		const bytes = typeof input === "string" ? new TextEncoder().encode(input) : input;
		if ((options.stream === undefined) !== (options.position === undefined)) {
			throw new TypeError("stream and position go together");
		}
		return this.#input.write(bytes, options);
	}

	/** Presses keys by name (`Enter`, `C-c`, `Up`) and types text (`text:ls -l`), in the order of the calls. */
	keys(keys: readonly string[], options: AnswerOptions = {}): Promise<InputReceipt> {
		const { ifWaiting } = options;
		return this.#input.act("/keys", { keys }, { ...options, query: { ifWaiting } });
	}

	/**
	 * Types a line that nobody may see, such as a password, and Enter: only while the program reads one without showing it,
	 * else it is refused with `not_waiting`. `ifWaiting` is the `offset` of the question, and `episode` its
	 * episode, as `inspect` tells them.
	 */
	async secret(
		secret: Uint8Array | string,
		{ ifWaiting, episode, fence, signal }: SecretOptions = {},
	): Promise<InputReceipt> {
		const bytes = typeof secret === "string" ? new TextEncoder().encode(secret) : secret;
		const path = this.#path("/secret");
		const headers = { [idempotencyKeyHeader]: `${newStreamId()}:0`, ...fenceOf(fence) };
		const query = { ifWaiting, episode };
		const response = await this.#transport.request({ method: "POST", path, query, headers, bytes, signal });
		return (await response.json()) as InputReceipt;
	}

	/** Asks for the secret that the program reads now to be typed by somebody who may; `not_waiting` if it reads none. */
	async requestSecret(request: AskSecret = {}, { signal }: ActOptions = {}): Promise<SecretRequestMessage> {
		const path = this.#path("/secret-requests");
		const response = await this.#transport.request({ method: "POST", path, json: request, signal });
		return (await response.json()) as SecretRequestMessage;
	}

	resize(
		size: { readonly cols: number; readonly rows: number },
		options: SessionActOptions = {},
	): Promise<InputReceipt> {
		checkSize(size);
		return this.#input.act("/resize", { cols: size.cols, rows: size.rows }, options);
	}

	/** As a key press would, to the program in the foreground; `urgent` overtakes input that it has not read. */
	signal(name: string, options: SessionActOptions & { readonly urgent?: boolean } = {}): Promise<InputReceipt> {
		const signal = checkSignal(name);
		if (options.urgent) return this.#input.actAtOnce("/signal", { signal, urgent: true }, options);
		return this.#input.act("/signal", { signal }, options);
	}

	/** The end of the program's input: a pipe is closed, a terminal gets Ctrl-D. */
	eof(options: SessionActOptions = {}): Promise<InputReceipt> {
		return this.#input.act("/eof", undefined, options);
	}

	/**
	 * Runs a command in the bash, zsh or fish that this session is, and tells what it wrote and how it ended; or goes on
	 * waiting for the one with this number. It runs once, whatever happens to connections and to the server.
	 */
	async exec(command: string | number, { limit, onOutput, ...given }: ExecOptions = {}): Promise<RunAnswer> {
		const request: RunCommand = {
			...(typeof command === "string" ? { command } : { resume: command }),
			...(limit === undefined ? {} : { limit }),
		};
		const options = { timeoutMs: Number.POSITIVE_INFINITY, ...given };
		if (!onOutput) return this.#runs.make(request, options);
		let offset: number | undefined;
		const tell = async ({ output, text, omitted }: RunAnswer) => {
			await onOutput({ offset: offset ?? output.from, text, omitted });
			offset = output.to;
			return { ...request, since: output.to };
		};
		const answer = await this.#runs.make(request, options, { everyMs: OUTPUT_MS, next: tell });
		await tell(answer);
		return answer;
	}

	/**
	 * Types text and keys, waits for the first of several causes, and reads what was written since before the first byte
	 * was typed. It is typed once, whatever happens to connections and to the server.
	 */
	send(request: SendRequest, options: LastingOptions = {}): Promise<SendAnswer> {
		return this.#sends.make(toSendInput(request), { timeoutMs: limits.runMs, ...options });
	}

	/** What its shell has run: the newest, oldest first. */
	async commands({ after, limit, signal }: ActOptions & CommandsQuery = {}): Promise<CommandList> {
		const query = { after, limit };
		const response = await this.#transport.request({ path: this.#path("/commands"), query, signal });
		return (await response.json()) as CommandList;
	}

	/** Ends the whole tree of processes and keeps the session's record. */
	async kill({ killSignal, graceMs, signal }: KillOptions = {}): Promise<SessionMessage> {
		const json: KillSession = {
			...(killSignal === undefined ? {} : { signal: killSignal }),
			...(graceMs === undefined ? {} : { graceMs }),
		};
		return this.#learn(await this.#transport.request({ method: "POST", path: this.#path("/kill"), json, signal }));
	}

	/** Gets control for a time; what is written then shows the `fence` of the answer. An attachment holds it for as long as it is attached: `attachment.take()`. */
	async takeLease(request: TakeLease = {}, { signal }: ActOptions = {}): Promise<SessionLease> {
		const path = this.#path("/lease");
		const response = await this.#transport.request({ method: "POST", path, json: request, signal });
		return (await response.json()) as SessionLease;
	}

	async releaseLease({ fence, signal }: SessionActOptions = {}): Promise<SessionLease> {
		const response = await this.#transport.request({
			method: "DELETE",
			path: this.#path("/lease"),
			query: { fence },
			signal,
		});
		return (await response.json()) as SessionLease;
	}

	/** Gives it another name, or none. */
	async rename(name: string | null, { signal }: ActOptions = {}): Promise<SessionMessage> {
		const response = await this.#transport.request({ method: "PATCH", path: this.#path(), json: { name }, signal });
		return (await response.json()) as SessionMessage;
	}

	/** Who is attached to it by WebSocket, those who came first first. */
	async attached({ signal }: ActOptions = {}): Promise<AttachedMessage[]> {
		const response = await this.#transport.request({ path: this.#path("/attachments"), signal });
		return ((await response.json()) as AttachedList).attached;
	}

	/** Changes what decides the size of its terminal while several are attached. */
	async setSizePolicy(sizePolicy: SizePolicy, { signal }: ActOptions = {}): Promise<SessionMessage> {
		const response = await this.#transport.request({
			method: "PATCH",
			path: this.#path(),
			json: { sizePolicy },
			signal,
		});
		return (await response.json()) as SessionMessage;
	}

	/** Ends every attachment to it, by whomever, and leaves the program alone; with `keepWriter` all but the one that wrote last. Resolves to how many it ended. */
	async detachAll({ signal, ...request }: ActOptions & DetachSession = {}): Promise<number> {
		const path = this.#path("/detach");
		const response = await this.#transport.request({ method: "POST", path, json: request, signal });
		return ((await response.json()) as Detached).detached;
	}

	/** Ends the session if it runs, and forgets it; with `force` also if whoever keeps it does not answer. */
	async remove({ signal, force }: ActOptions & { readonly force?: boolean } = {}): Promise<void> {
		const query = force ? { force: "1" } : {};
		await this.#transport.request({ method: "DELETE", path: this.#path(), query, signal });
	}

	/** `await using`: the session is ended and forgotten with the block. */
	async [Symbol.asyncDispose](): Promise<void> {
		await this.remove().catch((error: unknown) => {
			if (!(error instanceof HawserError) || error.code !== "session_not_found") throw error;
		});
	}

	async #learn(response: Response): Promise<SessionMessage> {
		this.#snapshot = (await response.json()) as SessionMessage;
		return this.#snapshot;
	}

	#path(rest = ""): string {
		return `${sessionPath(this.id)}${rest}`;
	}
}

function placeOf(place: number | Date | undefined): string | number | undefined {
	return place instanceof Date ? place.toISOString() : place;
}
