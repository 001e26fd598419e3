/**
 * The connection of one client, from its handshake to its end, over any wire.
 *
 *   client                              server
 *     ├── initialize ──────────────────►│
 *     │◄────────── who we are ──────────┤  from here on everything else may be asked
 *     ├── command/exec {processId} ────►│
 *     │◄── command/exec/outputDelta … ──┤
 *     ├── command/exec/write … ────────►│
 *     │◄───── exit code, output ────────┤  the answer to command/exec, after its last delta
 *
 * All programs that a connection started end with it. Messages other than requests are ignored, but a client that sends
 * too many invalid ones is disconnected.
 */

import { SessionError } from "../../../core/errors.ts";
import type { Sessions } from "../../../core/session/session-registry.ts";
import { RpcError, rpcCodes } from "../../json-rpc/errors.ts";
import { decodeMessage, failure, type Message, result } from "../../json-rpc/messages.ts";
import type { Receiver, RpcWire } from "../../json-rpc/wire.ts";
import { invalidRequest, overloaded } from "./errors.ts";
import { type Client, clientOf, greeting, type Host, introduction } from "./handshake.ts";
import type { AppLimits } from "./limits.ts";
import type { Methods, Operation } from "./methods.ts";
import { type CommandMethodsParts, createCommandMethods } from "./processes/command-methods.ts";
import { createProcessMethods } from "./processes/process-methods.ts";
import { Processes } from "./processes/processes.ts";
import { KeyedSerial } from "./turns.ts";

type ConnectionOptions = Pick<
	CommandMethodsParts,
	"launch" | "sandbox" | "policy" | "environment" | "cwd" | "isExecutor"
> & {
	readonly wire: RpcWire;
	readonly sessions: Sessions;
	readonly host: Host;
	readonly limits: AppLimits;
	/** Reports internal errors. */
	readonly report: (problem: unknown) => void;
};

type Request = Extract<Message, { kind: "request" }>;

/** A longer method name is cut in the error text. */
const SHOWN_LENGTH = 200;

/** Requests that end a program are accepted under overload too: they reduce it. */
const endings: ReadonlySet<string> = new Set(["command/exec/terminate", "process/kill"]);

export class Connection implements Receiver {
	/** Resolves when the connection is over and all its programs have ended. */
	readonly ended: Promise<void>;
	readonly #options: ConnectionOptions;
	readonly #wire: RpcWire;
	readonly #methods: Methods;
	readonly #processes: Processes;
	readonly #turns = new KeyedSerial();
	#client: Client | undefined;
	/** Requests waiting for their turn, plus answers waiting to be sent. */
	#waiting = 0;
	#waitingBytes = 0;
	#malformed = 0;

	constructor(options: ConnectionOptions) {
		const { wire, sessions, limits, report } = options;
		this.#options = options;
		this.#wire = wire;
		const isWanted = (notification: string) => this.#client?.optedOut.has(notification) !== true;
		this.#processes = new Processes({ wire, sessions, limits, report, isWanted });
		const parts = { ...options, ...limits, processes: this.#processes };
		const notify = (method: string, params: object) => isWanted(method) && this.#notify(method, params);
		this.#methods = new Map([...createCommandMethods(parts), ...createProcessMethods({ ...parts, notify })]);
		this.ended = new Promise((resolve) => {
			wire.ended.addEventListener("abort", () => resolve(this.#processes.end()), { once: true });
		});
	}

	/** Handles one message. Nothing is awaited before the request is queued, so that requests keep their order. */
	receive(bytes: Uint8Array): void {
		// The bytes that ended the connection may be followed by more messages.
		if (this.#wire.ended.aborted) return;
		const message = decodeMessage(bytes);
		if (message.kind === "malformed" && ++this.#malformed > this.#options.limits.malformedMessages) this.#wire.close();
		if (message.kind !== "request") return;
		if (!this.#isOverloaded() || endings.has(message.method)) void this.#answer(message, bytes.byteLength);
		// A client that reads no answers gets no refusals either.
		else if (!this.#isBehind()) this.#wire.send(failure(message.id, overloaded()));
	}

	async #answer(request: Request, bytes: number): Promise<void> {
		const { id } = request;
		let operation: Operation | undefined;
		let text: string;
		try {
			operation = this.#prepare(request);
			text = result(id, await this.#perform(operation, bytes));
		} catch (thrown) {
			text = failure(id, this.#toRpcError(thrown));
		}
		this.#waiting++;
		this.#wire.keep(text.length);
		while (this.#isBehind() && !this.#wire.ended.aborted) await this.#wire.taken.wait(this.#wire.ended);
		this.#wire.keep(-text.length);
		this.#waiting--;
		this.#wire.send(text);
		operation?.answered?.();
	}

	/** Checks in this order: method, parameters, handshake, experimental API. The first failure is the answer. */
	#prepare({ method: name, params }: Request): Operation {
		const operation = decoded(() => {
			if (name === "initialize") return this.#initialize(given(params));
			const method = this.#methods.get(name);
			if (method) return method(given(params));
			const known = ["initialize", ...this.#methods.keys()].map((each) => `\`${each}\``).join(", ");
			throw invalidRequest(`unknown variant \`${name.slice(0, SHOWN_LENGTH)}\`, expected one of ${known}`);
		});
		if (name === "initialize") return operation;
		if (!this.#client) throw invalidRequest("Not initialized");
		if (operation.experimental !== undefined && !this.#client.isExperimental)
			throw invalidRequest(`${operation.experimental} requires experimentalApi capability`);
		return operation;
	}

	#initialize(params: unknown): Operation {
		const introduced = introduction(params);
		return {
			// Runs before the next message is handled, which need not wait for the answer.
			run: async () => {
				if (this.#client) throw invalidRequest("Already initialized");
				this.#client = clientOf(introduced);
				return greeting(introduced, this.#options.host);
			},
		};
	}

	/** A request counts as waiting until its turn is over. */
	#perform({ key, run }: Operation, bytes: number): Promise<unknown> {
		let isWaiting = true;
		this.#waiting++;
		this.#waitingBytes += bytes;
		this.#wire.keep(bytes);
		const begun = () => {
			if (!isWaiting) return;
			isWaiting = false;
			this.#waiting--;
			this.#waitingBytes -= bytes;
			this.#wire.keep(-bytes);
		};
		const performed = this.#turns.take(key, async (pass) => {
			if (this.#wire.ended.aborted) throw invalidRequest("the connection is over");
			return run(() => {
				begun();
				pass();
			});
		});
		return performed.finally(begun);
	}

	#notify(method: string, params: object): void {
		this.#wire.send(`{"method":"${method}","params":${JSON.stringify(params)},"emittedAtMs":${Date.now()}}`);
	}

	#isOverloaded(): boolean {
		const { waitingRequests, waitingBytes } = this.#options.limits;
		return this.#waiting >= waitingRequests || this.#waitingBytes >= waitingBytes;
	}

	/** Whether too many answer bytes are unread by the client. */
	#isBehind(): boolean {
		return this.#wire.bufferedBytes > this.#options.limits.bufferedAnswerBytes;
	}

	#toRpcError(thrown: unknown): RpcError {
		if (thrown instanceof RpcError) return thrown;
		const { code, message, cause } = SessionError.from(thrown);
		// Failures caused by the end of the connection are not bugs.
		if (code === "internal" && !this.#wire.ended.aborted) this.#options.report(cause);
		return new RpcError(rpcCodes.internal, message);
	}
}

function given(params: unknown): unknown {
	if (params === undefined || params === null) throw invalidRequest("missing field `params`");
	return params;
}

/** Decodes, and reports any failure as an invalid request. */
function decoded<T>(decode: () => T): T {
	try {
		return decode();
	} catch (thrown) {
		throw thrown instanceof RpcError ? invalidRequest(`Invalid request: ${thrown.message}`) : thrown;
	}
}
