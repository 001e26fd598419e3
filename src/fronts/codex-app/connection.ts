/**
 * One connection of a client, from its handshake to its end, whatever carries it.
 *
 *   client                              server
 *     ├── initialize ──────────────────►│
 *     │◄────────── who we are ──────────┤  from here on everything else may be asked
 *     ├── command/exec {processId} ────►│
 *     │◄── command/exec/outputDelta … ──┤
 *     ├── command/exec/write … ────────►│
 *     │◄───── exit code, output ────────┤  the answer to command/exec, after its last delta
 *
 * Whatever it started ends with it. What is no request asks for nothing, and is passed over, but for too much of what
 * can't be read.
 */

import { SessionError } from "../../core/errors.ts";
import type { Sessions } from "../../core/sessions.ts";
import { decodeMessage, failure, type Message, result } from "../json-rpc/envelope.ts";
import { RpcError, rpcCodes } from "../json-rpc/error.ts";
import type { Receiver, Wire } from "../json-rpc/wire.ts";
import { overloaded, refused } from "./errors.ts";
import { type Client, clientOf, greeting, type Host, introduction } from "./handshake.ts";
import type { AppLimits } from "./limits.ts";
import type { Methods, Operation } from "./methods.ts";
import { type CommandMethodsParts, createCommandMethods } from "./processes/command-methods.ts";
import { createProcessMethods } from "./processes/process-methods.ts";
import { Processes } from "./processes/processes.ts";
import { Turns } from "./turns.ts";

export type ConnectionOptions = Pick<
	CommandMethodsParts,
	"launch" | "sandbox" | "policy" | "environment" | "cwd" | "isExecutor"
> & {
	readonly wire: Wire;
	readonly sessions: Sessions;
	readonly host: Host;
	readonly limits: AppLimits;
	/** Hears of our own faults. */
	readonly report: (problem: unknown) => void;
};

type Request = Extract<Message, { kind: "request" }>;

/** Of a method's name that nobody knows, no more is repeated. */
const SHOWN_LENGTH = 200;

/** These are heard however much waits: they make it less. */
const endings: ReadonlySet<string> = new Set(["command/exec/terminate", "process/kill"]);

export class Connection implements Receiver {
	/** Resolves when the connection is over and nothing is left of what it started. */
	readonly ended: Promise<void>;
	readonly #options: ConnectionOptions;
	readonly #wire: Wire;
	readonly #methods: Methods;
	readonly #processes: Processes;
	readonly #turns = new Turns();
	#client: Client | undefined;
	/** Requests that wait for their turn, and answers that wait to be sent. */
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

	/** One message, as it came. Nothing is awaited before a request has its place among the others. */
	receive(bytes: Uint8Array): void {
		// Much more may have come in the same piece as what ended the connection.
		if (this.#wire.ended.aborted) return;
		const message = decodeMessage(bytes);
		if (message.kind === "malformed" && ++this.#malformed > this.#options.limits.malformedMessages) this.#wire.close();
		if (message.kind !== "request") return;
		if (!this.#isOverloaded() || endings.has(message.method)) void this.#answer(message, bytes.byteLength);
		// Who reads no answers need not be told either.
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
		while (this.#isBehind() && !this.#wire.ended.aborted) await this.#wire.taken.next(this.#wire.ended);
		this.#wire.keep(-text.length);
		this.#waiting--;
		this.#wire.send(text);
		operation?.answered?.();
	}

	/** Unknown method, parameters, handshake, experimental API: whatever is wrong first in this order is the answer. */
	#prepare({ method: name, params }: Request): Operation {
		const operation = decoded(() => {
			if (name === "initialize") return this.#initialize(given(params));
			const method = this.#methods.get(name);
			if (method) return method(given(params));
			const known = ["initialize", ...this.#methods.keys()].map((each) => `\`${each}\``).join(", ");
			throw refused(`unknown variant \`${name.slice(0, SHOWN_LENGTH)}\`, expected one of ${known}`);
		});
		if (name === "initialize") return operation;
		if (!this.#client) throw refused("Not initialized");
		if (operation.experimental !== undefined && !this.#client.isExperimental)
			throw refused(`${operation.experimental} requires experimentalApi capability`);
		return operation;
	}

	#initialize(params: unknown): Operation {
		const introduced = introduction(params);
		return {
			// Done before the next message is looked at, which need not wait for the answer.
			run: async () => {
				if (this.#client) throw refused("Already initialized");
				this.#client = clientOf(introduced);
				return greeting(introduced, this.#options.host);
			},
		};
	}

	/** Until its turn is over a request counts among those that wait. */
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
			if (this.#wire.ended.aborted) throw refused("the connection is over");
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

	/** Whether the client reads less than it is answered. */
	#isBehind(): boolean {
		return this.#wire.bufferedBytes > this.#options.limits.bufferedAnswerBytes;
	}

	#toRpcError(thrown: unknown): RpcError {
		if (thrown instanceof RpcError) return thrown;
		const { code, message, cause } = SessionError.from(thrown);
		// What ended with its connection is nobody's fault.
		if (code === "internal" && !this.#wire.ended.aborted) this.#options.report(cause);
		return new RpcError(rpcCodes.internal, message);
	}
}

/** All of these methods have parameters. */
function given(params: unknown): unknown {
	if (params === undefined || params === null) throw refused("missing field `params`");
	return params;
}

/** Decodes; whatever it refuses is a request that can't be read. */
function decoded<T>(decode: () => T): T {
	try {
		return decode();
	} catch (thrown) {
		throw thrown instanceof RpcError ? refused(`Invalid request: ${thrown.message}`) : thrown;
	}
}
