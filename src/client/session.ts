/** One session on a server. */

/// <reference lib="esnext.disposable" preserve="true" />

import { limits } from "../api/messages.ts";
import type {
	ActivityMessage,
	AgentState,
	AskSecret,
	AttachedMessage,
	CommandList,
	DetachSession,
	InputReceipt,
	KillSession,
	Operations,
	ProgramState,
	PromptedAgent,
	QueuedPrompt,
	RecordingFormat,
	RunAnswer,
	RunCommand,
	ScreenMessage,
	ScrollbackMessage,
	SearchMatch,
	SearchResult,
	SecretRequestMessage,
	SendAnswer,
	SendInput,
	SessionLease,
	SessionMessage,
	SizePolicy,
	TakeLease,
} from "../api/types.ts";
import { Attachment, type AttachOptions, type RequestOptions } from "./attach/attachment.ts";
import { newStreamId } from "./attach/outbox.ts";
import { HawserError } from "./errors.ts";
import { askOverHttp, type ResumableOptions, ResumableRequest } from "./http/resumable-request.ts";
import type { CallOptions, OperationName, Transport } from "./http/transport.ts";
import { checkSignal, checkSize } from "./http/validation.ts";
import { writeHeaders } from "./http/write-headers.ts";
import { bytesOf } from "./input/bytes.ts";
import { type SendRequest, toSendInput } from "./input/send-request.ts";
import {
	type AnswerOptions,
	type SecretOptions,
	type SessionActOptions,
	SessionInput,
	type WriteOptions,
} from "./input/session-input.ts";
import {
	type Output,
	type OutputOptions,
	type OutputText,
	type TextOptions,
	toOutput,
	toOutputText,
} from "./output/output.ts";
import { type WaitCondition, type WaitOptions, type WaitResult, waitFor } from "./output/wait.ts";
import { waitForAgent } from "./output/wait-agent.ts";
import { guestLinks, type LinksClient } from "./resources/guest-links.ts";
import {
	type AtOptions,
	type ScreenChangesOptions,
	type ScreenOptions,
	type ScreenText,
	type ScreenTextOptions,
	type ScrollbackOptions,
	screenChanges,
	waitForScreen,
} from "./screen/screen-changes.ts";

export type SearchOptions = {
	readonly ignoreCase?: boolean;
	/** First byte to search. Default: 0. */
	readonly since?: number;
	readonly signal?: AbortSignal;
};

export type RecordingOptions = {
	/** Default: `asciicast-v2`, which all players support. */
	readonly format?: RecordingFormat;
	/** Players shorten longer pauses to this. */
	readonly idleLimitMs?: number;
	/** An offset, or a time. */
	readonly from?: number | Date;
	readonly to?: number | Date;
	readonly signal?: AbortSignal;
};

export type ActivityOptions = {
	/** Time range. Default: the session's whole lifetime. */
	readonly from?: Date | number;
	readonly to?: Date | number;
	/** Number of intervals. Default: 100, maximum 2000. */
	readonly buckets?: number;
	readonly signal?: AbortSignal;
};

type InspectOptions = RequestOptions & {
	/** Respond once the coding agent is in one of these states, or the program has ended. */
	readonly agent?: readonly AgentState[];
	/** How long to wait for that, in milliseconds; the server caps it at a minute. */
	readonly wait?: number;
	/** Whether to include the signals of the agent and the rules that were tried. */
	readonly explain?: boolean;
};

type CommandsOptions = RequestOptions & {
	/** Only commands with a larger number. */
	readonly after?: number;
	/** Number of commands, newest first. Default: 100. */
	readonly limit?: number;
};

/** Without `timeoutMs` it waits without limit. */
export type ExecOptions = ResumableOptions & {
	/** Bytes of output in the result's text, from the end. Default: 64 KiB, maximum 4 MiB. */
	readonly limit?: number;
	/** Called with all output of the command, in order, as it arrives. The result's text stays the same. */
	readonly onOutput?: (part: ExecOutput) => void | Promise<void>;
};

/** A chunk of a command's output. */
export type ExecOutput = {
	/** Offset in the session's output. */
	readonly offset: number;
	/** The bytes as the command wrote them. */
	readonly bytes: Uint8Array;
	/** The bytes decoded as UTF-8. */
	readonly text: string;
	/** Bytes before this chunk that the session's log no longer has. */
	readonly omitted: number;
};

/** Aborting stops waiting, not the kill. */
export type KillOptions = RequestOptions & {
	/** First signal to send, such as `TERM`. */
	readonly killSignal?: string;
	readonly graceMs?: number;
};

/** A session with the info that the server returned. */
export type LoadedSession = Session & { readonly snapshot: SessionMessage };

/** Polling interval for `onOutput`. */
const OUTPUT_MS = 250;
/** Options of an operation of this session; the session ID is added to the parameters. */
type SessionCall<Name extends OperationName> = Omit<CallOptions<Name>, "params"> & {
	readonly params?: Readonly<Record<string, string>>;
};

export class Session {
	readonly id: string;
	/** Guest links. */
	readonly links: LinksClient;
	readonly #transport: Transport;
	readonly #input: SessionInput;
	#snapshot: SessionMessage | undefined;
	readonly #runs: ResumableRequest<RunCommand, RunAnswer>;
	readonly #sends: ResumableRequest<SendInput, SendAnswer>;

	constructor(transport: Transport, id: string) {
		this.#transport = transport;
		this.id = id;
		this.links = guestLinks(transport, id);
		this.#input = new SessionInput(transport, id);
		const { times } = transport;
		this.#runs = new ResumableRequest({
			times,
			ask: askOverHttp(transport, "runCommand", id),
			isTimeout: ({ status, why }) => status === "running" || why === "starting",
		});
		this.#sends = new ResumableRequest({
			times,
			ask: askOverHttp(transport, "sendInput", id),
			isTimeout: ({ cause }) => cause === "timeout",
		});
	}

	static known(transport: Transport, snapshot: SessionMessage): LoadedSession {
		const session = new Session(transport, snapshot.id);
		session.#snapshot = snapshot;
		return session as LoadedSession;
	}

	/** The last info that the server returned to `create`, `get`, `info` or `kill`. `info()` requests it again. */
	get snapshot(): SessionMessage | undefined {
		return this.#snapshot;
	}

	/** Attaches over a WebSocket: events to read, input to send, across lost connections and server restarts. */
	attach(options: AttachOptions = {}): Attachment {
		return new Attachment(this.#transport, this.id, options);
	}

	/** Resolves when the condition is met, the session ends, or the timeout expires; the result says which. */
	async wait(condition: WaitCondition, options: WaitOptions = {}): Promise<WaitResult> {
		if ("screen" in condition || "stable" in condition) return waitForScreen(this, condition, options);
		if ("agent" in condition) return waitForAgent(this, condition, options);
		const { since = this.#input.typedAt, includeEcho = false } = options;
		const typed = options.since === undefined && !includeEcho ? this.#input.typedLines : [];
		return waitFor((attach) => this.attach(attach), condition, { ...options, since, typed });
	}

	/** With `overview`, also the last line, activity and what the program waits for. */
	async info({ overview, signal }: RequestOptions & { readonly overview?: boolean } = {}): Promise<SessionMessage> {
		return this.#learn(this.#call("getSession", { query: { overview }, signal }));
	}

	/** Output from `since` on. Without `wait` it returns at once, even if there is none. */
	async output(since = 0, { wait, limit, signal }: OutputOptions = {}): Promise<Output> {
		const response = await this.#open("readOutput", { query: { since, wait, limit }, signal });
		const bytes = await this.#transport.body(response, signal);
		return toOutput(response.headers, bytes);
	}

	/**
	 * Output from `since` on as compact text for a model: no escape sequences, no overwritten or repeated lines, and at
	 * most `max` bytes, with a note about what was left out.
	 */
	async text(since = 0, { wait, limit, max, redact, signal }: TextOptions = {}): Promise<OutputText> {
		const query = { as: "text", since, wait, limit, max, redact } as const;
		const response = await this.#open("readOutput", { query, signal });
		const bytes = await this.#transport.body(response, signal);
		return toOutputText(response.headers, bytes);
	}

	/** The program's current state, and what it waits for. */
	inspect({ agent, wait, explain, signal }: InspectOptions = {}): Promise<ProgramState> {
		return this.#call("inspectSession", { query: { agent, wait, explain }, signal });
	}

	/**
	 * Lines that match, in all retained output so far, oldest first. A string is literal; of a regular expression's flags
	 * only `i` applies. Escape sequences are ignored.
	 */
	async *search(wanted: string | RegExp, options: SearchOptions = {}): AsyncGenerator<SearchMatch, void, void> {
		const { since = 0, signal } = options;
		const isExpression = typeof wanted !== "string";
		const ignoreCase = options.ignoreCase ?? (isExpression && wanted.ignoreCase);
		for (let after: number | null = since; after !== null; ) {
			const q = isExpression ? wanted.source : wanted;
			const query = { q, regex: isExpression, ignoreCase, after };
			const page: SearchResult = await this.#call("searchOutput", { query, signal });
			yield* page.matches;
			after = page.next;
		}
	}

	/** The screen: text rows, cursor and title. */
	screen({ since, at, wait, text, stable, region, signal, ...how }: ScreenOptions = {}): Promise<ScreenMessage> {
		const isExpression = text instanceof RegExp;
		const ignoreCase = how.ignoreCase ?? (isExpression && text.ignoreCase);
		const query = {
			since,
			at: placeOf(at),
			wait,
			text: isExpression ? text.source : text,
			regex: isExpression,
			ignoreCase,
			stable,
			region: region?.join("-"),
		};
		return this.#call("readScreen", { query, signal });
	}

	/** The screen as text, optionally with colors. */
	async screenText({ at, colors = false, signal }: ScreenTextOptions = {}): Promise<string> {
		const query = { format: colors ? "ansi" : "text", at: placeOf(at) } as const;
		return (await this.#open("readScreen", { query, signal })).text();
	}

	/** The screen as a self-contained picture. */
	async screenPicture(format: "svg" | "html", { at, signal }: AtOptions = {}): Promise<string> {
		return (await this.#open("readScreen", { query: { format, at: placeOf(at) }, signal })).text();
	}

	/** The full screen now, and again after every change, until the session ends. */
	screenChanges(options: ScreenChangesOptions = {}): AsyncGenerator<ScreenText, void, void> {
		return screenChanges(this, options);
	}

	/** Rows above the screen. */
	scrollback({ at, skip, limit, signal }: ScrollbackOptions = {}): Promise<ScrollbackMessage> {
		return this.#call("readScrollback", { query: { at: placeOf(at), skip, limit }, signal });
	}

	/** The output so far with its timing, as an asciicast, streamed with backpressure. */
	async *recording(options: RecordingOptions = {}): AsyncGenerator<Uint8Array, void, void> {
		const { format, idleLimitMs, from, to, signal } = options;
		const query = { format, idleLimitMs, from: placeOf(from), to: placeOf(to) };
		const response = await this.#open("recordSession", { query, signal });
		yield* this.#transport.chunks(response, signal);
	}

	/** How much output was written per interval, oldest first, as far as it is retained. */
	activity({ from, to, buckets, signal }: ActivityOptions = {}): Promise<ActivityMessage> {
		const query = { from: from?.valueOf(), to: to?.valueOf(), buckets };
		return this.#call("readActivity", { query, signal });
	}

	/**
	 * Writes in the order of the calls. A write with a stream and a position may be repeated after a lost connection, and
	 * takes effect once.
	 */
	write(input: Uint8Array | string, options: WriteOptions = {}): Promise<InputReceipt> {
		if ((options.stream === undefined) !== (options.position === undefined)) {
			throw new TypeError("stream and position must be given together");
		}
		return this.#input.write(bytesOf(input), options);
	}

	/** Sends keys by name (`Enter`, `C-c`, `Up`) and text (`text:ls -l`), in the order of the calls. */
	keys(keys: readonly string[], options: AnswerOptions = {}): Promise<InputReceipt> {
		const { ifWaiting, ...rest } = options;
		return this.#input.act("pressKeys", { ...rest, body: { keys }, query: { ifWaiting } });
	}

	/**
	 * Sends a secret line, such as a password, and Enter. Rejects with `not_waiting` unless the program reads a line
	 * without echo. `ifWaiting` and `episode` are the prompt's `offset` and `episode` from `inspect`.
	 */
	secret(
		secret: Uint8Array | string,
		{ ifWaiting, episode, fence, signal }: SecretOptions = {},
	): Promise<InputReceipt> {
		const headers = writeHeaders({ origin: { stream: newStreamId(), position: 0 }, fence });
		const query = { ifWaiting, episode };
		return this.#call("typeSecret", { query, headers, body: bytesOf(secret), signal });
	}

	/** Requests that a user types the secret that the program reads now. Rejects with `not_waiting` if it reads none. */
	requestSecret(body: AskSecret = {}, options: RequestOptions = {}): Promise<SecretRequestMessage> {
		return this.#call("requestSecret", { body, ...options });
	}

	resize(
		size: { readonly cols: number; readonly rows: number },
		options: SessionActOptions = {},
	): Promise<InputReceipt> {
		checkSize(size);
		return this.#input.act("resizeTerminal", { body: { cols: size.cols, rows: size.rows }, ...options });
	}

	/** Sent to the foreground process group, like a key press; `urgent` overtakes input that the program has not read. */
	signal(
		name: string,
		{ urgent, ...options }: SessionActOptions & { readonly urgent?: boolean } = {},
	): Promise<InputReceipt> {
		const signal = checkSignal(name);
		if (urgent) return this.#input.actAtOnce("signalProgram", { body: { signal, urgent }, ...options });
		return this.#input.act("signalProgram", { body: { signal }, ...options });
	}

	/** End of input: closes a pipe, sends Ctrl-D to a terminal. */
	eof(options: SessionActOptions = {}): Promise<InputReceipt> {
		return this.#input.act("endInput", options);
	}

	/**
	 * Runs a command in the session's bash, zsh or fish, and returns its output and exit code; or resumes waiting for a
	 * command by number. It runs once, whatever happens to connections and the server.
	 */
	async exec(command: string | number, { limit, onOutput, ...given }: ExecOptions = {}): Promise<RunAnswer> {
		const request: RunCommand = {
			...(typeof command === "string" ? { command } : { resume: command }),
			...(limit === undefined ? {} : { limit }),
		};
		const options = { timeoutMs: Number.POSITIVE_INFINITY, ...given };
		if (!onOutput) return this.#runs.make(request, options);
		let partFrom = 0;
		const next = async ({ part }: RunAnswer) => {
			if (!part) return { ...request, partFrom };
			const { from: offset, omitted } = part;
			const bytes = Uint8Array.from(atob(part.bytes), (character) => character.charCodeAt(0));
			partFrom = part.to;
			if (bytes.byteLength > 0 || omitted > 0) {
				await onOutput({ offset, bytes, text: new TextDecoder().decode(bytes), omitted });
			}
			return { ...request, partFrom };
		};
		const hasMore = ({ part }: RunAnswer) => part?.more === true;
		const answer = await this.#runs.make({ ...request, partFrom }, options, { everyMs: OUTPUT_MS, hasMore, next });
		await next(answer);
		return { ...answer, part: null };
	}

	/**
	 * Sends text and keys, waits for the first of several conditions, and returns the output since before the first byte.
	 * Sent once, whatever happens to connections and the server.
	 */
	send(request: SendRequest, options: ResumableOptions = {}): Promise<SendAnswer> {
		return this.#sends.make(toSendInput(request), { timeoutMs: limits.runMs, ...options });
	}

	/** Answers the dialog of the session's agent. Resolves once the dialog is gone; see `agent` of `inspect`. */
	async answer(
		answer: { readonly episode: number } & ({ readonly choice: string } | { readonly text: string }),
		{ fence, signal }: SessionActOptions = {},
	): Promise<void> {
		await this.#call("answerAgent", { body: answer, headers: writeHeaders({ fence }), signal });
	}

	/**
	 * Types a prompt into the session's agent and submits it. With `whenIdle` it is queued while the agent works or a dialog
	 * is open; otherwise a dialog is the error `blocked`, with the dialog as its `agent`.
	 */
	prompt(
		text: string,
		{ whenIdle, fence, signal }: SessionActOptions & { readonly whenIdle?: boolean } = {},
	): Promise<PromptedAgent> {
		const body = { text, ...(whenIdle === undefined ? {} : { whenIdle }) };
		return this.#call("promptAgent", { body, headers: writeHeaders({ fence }), signal });
	}

	/** Prompts that wait until the agent is idle, oldest first. */
	async prompts(options: RequestOptions = {}): Promise<readonly QueuedPrompt[]> {
		return (await this.#call("listPrompts", options)).prompts;
	}

	/** Removes a prompt from the queue; `not_found` once it was submitted. */
	async cancelPrompt(id: string, options: RequestOptions = {}): Promise<void> {
		await this.#open("cancelPrompt", { params: { prompt: id }, ...options });
	}

	/** The most recent commands of the shell, oldest first. */
	commands({ after, limit, signal }: CommandsOptions = {}): Promise<CommandList> {
		return this.#call("listCommands", { query: { after, limit }, signal });
	}

	/** Kills the process tree and keeps the session's record. */
	async kill({ killSignal, graceMs, signal }: KillOptions = {}): Promise<SessionMessage> {
		const body: KillSession = {
			...(killSignal === undefined ? {} : { signal: killSignal }),
			...(graceMs === undefined ? {} : { graceMs }),
		};
		return this.#learn(this.#call("killSession", { body, signal }));
	}

	/**
	 * Takes control for a limited time. Later writes pass the `fence` of the result. An attachment keeps control while
	 * attached: `attachment.take()`.
	 */
	takeLease(body: TakeLease = {}, options: RequestOptions = {}): Promise<SessionLease> {
		return this.#call("takeLease", { body, ...options });
	}

	releaseLease({ fence, signal }: SessionActOptions = {}): Promise<SessionLease> {
		return this.#call("releaseLease", { query: { fence }, signal });
	}

	/** Renames the session; null removes the name. */
	rename(name: string | null, options: RequestOptions = {}): Promise<SessionMessage> {
		return this.#call("updateSession", { body: { name }, ...options });
	}

	/** Clients attached by WebSocket, in the order of attaching. */
	async attached(options: RequestOptions = {}): Promise<readonly AttachedMessage[]> {
		return (await this.#call("listAttached", options)).attached;
	}

	/** Sets which client decides the terminal's size while several are attached. */
	setSizePolicy(sizePolicy: SizePolicy, options: RequestOptions = {}): Promise<SessionMessage> {
		return this.#call("updateSession", { body: { sizePolicy }, ...options });
	}

	/**
	 * Detaches all clients, of any caller; the program keeps running. With `keepWriter`, all except the last writer.
	 * Resolves to the number of detached clients.
	 */
	async detachAll({ signal, ...body }: RequestOptions & DetachSession = {}): Promise<number> {
		return (await this.#call("detachAll", { body, signal })).detached;
	}

	/** Deletes the session; kills it first if it is running. `force` works even if the keeper does not respond. */
	async remove({ signal, force }: RequestOptions & { readonly force?: boolean } = {}): Promise<void> {
		await this.#open("deleteSession", { query: { force }, signal });
	}

	/** For `await using`: deletes the session at the end of the block. */
	async [Symbol.asyncDispose](): Promise<void> {
		await this.remove().catch((error: unknown) => {
			if (!(error instanceof HawserError) || error.code !== "session_not_found") throw error;
		});
	}

	async #learn(answer: Promise<SessionMessage>): Promise<SessionMessage> {
		this.#snapshot = await answer;
		return this.#snapshot;
	}

	#call<Name extends OperationName>(name: Name, options: SessionCall<Name>): Promise<Operations[Name]["answer"]> {
		return this.#transport.call(name, this.#withId(options));
	}

	#open<Name extends OperationName>(name: Name, options: SessionCall<Name>): Promise<Response> {
		return this.#transport.open(name, this.#withId(options));
	}

	#withId<Name extends OperationName>(options: SessionCall<Name>): CallOptions<Name> {
		return { ...options, params: { ...options.params, id: this.id } } as unknown as CallOptions<Name>;
	}
}

function placeOf(place: number | Date | undefined): string | undefined {
	return place instanceof Date ? place.toISOString() : place?.toString();
}
