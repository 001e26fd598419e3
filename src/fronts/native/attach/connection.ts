/**
 * One client on a WebSocket `hawser.v1`, from `hello` to close.
 *
 *   client                       server
 *     ├── hello {since, role} ──►│  its position in the output, its role
 *     │◄──────── welcome ────────┤
 *     │◄── output, events ───────┤  a cursor, paced by `consumed`
 *     ├── consumed ─────────────►│
 *     ├── input, actions ──────────►│  one queue, in order
 *     │◄── receipts, errors ─────┤
 *
 * A reconnecting client needs nothing from here: its positions are in the session and in its `hello`.
 */

import { createHash, randomUUID } from "node:crypto";
import { decodeClientFrame, encodeServerFrame, FrameError } from "../../../api/frames.ts";
import { closeCodes } from "../../../api/socket.ts";
import type { ClientMessage, Hello } from "../../../api/types.ts";
import { withDeadline } from "../../../core/async/deadline.ts";
import { SessionError } from "../../../core/errors.ts";
import { INPUT_WINDOW_BYTES } from "../../../core/input/input-queue.ts";
import { missingRightError, type Principal } from "../../../core/policy/access.ts";
import type { Approvals } from "../../../core/policy/approvals.ts";
import type { AuditedCaller } from "../../../core/policy/audited-caller.ts";
import { parseSignal } from "../../../core/process/signals.ts";
import type { ScreenReader } from "../../../core/session/screen-reader.ts";
import type { Session } from "../../../core/session/session.ts";
import type { Sessions } from "../../../core/session/session-registry.ts";
import { reportOf } from "../../../core/terminal/program-status.ts";
import type { Snapshot } from "../../../core/terminal/screen-view.ts";
import { NO_SIGNALS } from "../../../core/terminal/terminal-signals.ts";
import type { ServerContext } from "../../../http/front.ts";
import type { SessionAttachments } from "../../../services/attachments/attachments.ts";
import type { QueryAnswerer } from "../../../services/attachments/query-answerers.ts";
import type { ClientSize } from "../../../services/attachments/sizes.ts";
import type { Sender } from "../../../services/input/send.ts";
import type { TrafficCounters } from "../../../services/metrics/traffic.ts";
import { allowedFlow } from "../../../services/reading/flow.ts";
import type { Size } from "../../../words/state.ts";
import type { SocketLimits } from "../limits.ts";
import { sessionMessage } from "../sessions/routes.ts";
import { reportActivity, reportApprovals } from "./activity.ts";
import { SocketControl } from "./control.ts";
import { SocketInput } from "./input.ts";
import { MessageError, parseClientMessage } from "./messages.ts";
import { SocketOutput } from "./output.ts";
import { SocketSends } from "./sends.ts";
import type { AttachWire } from "./wire.ts";

type ConnectionOptions = {
	readonly session: Session;
	readonly sessions: Sessions;
	/** Rendered screens; without it, clients start with output. */
	readonly screens: ScreenReader | undefined;
	readonly principal: Principal;
	readonly witness: AuditedCaller;
	/** Held actions; undefined if there are none here. */
	readonly approvals: Approvals | undefined;
	readonly wire: AttachWire;
	/** All clients attached to the session. */
	readonly attached: SessionAttachments;
	readonly limits: SocketLimits;
	readonly traffic: TrafficCounters;
	readonly hosting: Pick<ServerContext, "readers" | "answers">;
	readonly sends: Sender;
	/** Called before each action on the session. */
	readonly acts: (how: { readonly isTyped: boolean }) => void;
	/** Reports internal errors. */
	readonly report: (problem: unknown) => void;
};

type Parts = {
	readonly output: SocketOutput;
	readonly input: SocketInput;
	readonly control: SocketControl;
	readonly sends: SocketSends;
};
type Received = { readonly data: Buffer; readonly isBinary: boolean };

export class Connection {
	readonly #options: ConnectionOptions;
	#isGreeted = false;
	#parts: Parts | undefined;
	/** Set for a writer that has sent its size. */
	#sizer: ClientSize | undefined;
	/** Messages received between `hello` and `welcome`. */
	#early: Received[] = [];
	#earlyBytes = 0;

	constructor(options: ConnectionOptions) {
		this.#options = options;
		const { wire, limits } = options;
		const timer = setTimeout(() => {
			if (!this.#isGreeted) wire.close(closeCodes.helloTimeout, `no hello within ${limits.helloMs} ms`);
		}, limits.helloMs);
		wire.ended.addEventListener("abort", () => clearTimeout(timer), { once: true });
	}

	receive(data: Buffer, isBinary: boolean): void {
		const { wire, limits } = this.#options;
		if (wire.ended.aborted) return;
		if (data.byteLength > (isBinary ? limits.binaryBytes : limits.textBytes)) {
			wire.close(closeCodes.tooBig, `a message of ${data.byteLength} bytes is too large`);
			return;
		}
		try {
			if (!this.#isGreeted) this.#greet(data, isBinary);
			else if (this.#parts) this.#handle({ data, isBinary }, this.#parts);
			else this.#keep({ data, isBinary });
		} catch (error) {
			if (error instanceof FrameError || error instanceof MessageError) {
				wire.close(closeCodes.protocolError, error.message);
			} else {
				this.#fail(error);
			}
		}
	}

	#greet(data: Buffer, isBinary: boolean): void {
		const hello = isBinary ? undefined : parseClientMessage(data.toString());
		if (hello?.type !== "hello") throw new MessageError("the first message must be hello");
		this.#isGreeted = true;
		this.#open(hello).catch((error: unknown) => this.#fail(error));
	}

	#keep(received: Received): void {
		this.#early.push(received);
		this.#earlyBytes += received.data.byteLength;
		const { limits } = this.#options;
		if (this.#early.length > limits.waitingActs || this.#earlyBytes > limits.waitingBytes) {
			throw new MessageError("too much sent before welcome");
		}
	}

	async #open(hello: Hello): Promise<void> {
		const { session, principal, wire, limits, traffic, acts } = this.#options;
		const stream = hello.stream ?? randomUUID();
		const screen = await this.#screen(hello);
		const [info, receipt] = await Promise.all([session.info(), session.receipt(stream)]);
		if (wire.ended.aborted) return;
		const { oldest, end } = info.offsets;
		// Resolved to a number here, so that `welcome` agrees with the output that follows.
		const from = screen?.offset ?? (hello.since === "end" ? end : Math.min(hello.since, end));
		const start = screen ? { seq: screen.seq, offset: screen.offset } : { offset: from };
		const items = session.follow(start, { ...allowedFlow(principal, session, hello.flow), signal: wire.ended });
		const control = new SocketControl(session, { wire, holder: this.#holder(stream), lease: info.lease });
		const fail = (error: unknown) => this.#fail(error);
		const refusal = this.#refusal(hello);
		const output = new SocketOutput({ wire, limits, traffic, from });
		const input = new SocketInput(session, { wire, limits, traffic, control, stream, receipt, refusal, acts, fail });
		wire.say({
			type: "welcome",
			session: sessionMessage(info),
			output: { from: Math.max(from, oldest), oldest, end: Math.max(from, end) },
			input: { next: receipt.next, written: receipt.written, window: INPUT_WINDOW_BYTES },
			lease: control.message,
			...(screen ? { screen: { cols: screen.cols, rows: screen.rows, bytes: screen.bytes.byteLength } } : {}),
		});
		if (screen) sendScreen(wire, screen, limits.frameBytes);
		const sends = new SocketSends(session, { ...this.#options, input, control, fail });
		this.#parts = { output, input, control, sends };
		if (!refusal) inBackground(input.watch());
		if (hello.stream === undefined) {
			// A stream without a name can't be resumed.
			wire.ended.addEventListener("abort", () => inBackground(session.forgetStream(stream)), { once: true });
		}
		inBackground(control.watch());
		if (hello.activity) this.#reportActivity();
		for (const received of this.#early.splice(0)) this.receive(received.data, received.isBinary);
		if (hello.size && !refusal) this.#takeSize(hello.size, control);
		if (hello.replies && !refusal && session.state.status === "running") await this.#answer(output, control);
		await output.run(items);
		wire.close(closeCodes.done, "the session has ended");
	}

	#reportActivity(): void {
		const { session, wire, approvals, principal, report } = this.#options;
		inBackground(reportActivity(session, wire, report));
		if (approvals) reportApprovals(session, wire, approvals, principal);
	}

	/** Sets the size of this client's terminal, which may become the session's size. */
	#takeSize(size: Size, control: SocketControl): void {
		const {
			session,
			wire,
			attached: { sizes },
		} = this.#options;
		if (this.#sizer) this.#sizer.size = size;
		else {
			const sizer: ClientSize = {
				size,
				resize: (wanted) =>
					session.act({ kind: "resize", size: wanted }, control.fence === undefined ? {} : { fence: control.fence }),
			};
			this.#sizer = sizer;
			wire.ended.addEventListener("abort", () => inBackground(sizes.leave(sizer)), { once: true });
		}
		inBackground(sizes.update(this.#sizer));
	}

	/** Lets this client answer the program's terminal queries until the connection ends. */
	async #answer(output: SocketOutput, control: SocketControl): Promise<void> {
		const {
			wire,
			attached: { answerers },
		} = this.#options;
		const answerer: QueryAnswerer = {
			get sent() {
				return output.sent;
			},
			get fence() {
				return control.message.mine ? control.message.fence : undefined;
			},
			report: (replies) => wire.say({ type: "replies", ...replies }),
		};
		control.onChange = () => inBackground(answerers.review());
		wire.ended.addEventListener("abort", () => inBackground(answerers.leave(answerer)), { once: true });
		await answerers.join(answerer);
	}

	/** The current screen, if requested and available soon. */
	async #screen({ from, scrollback = 0 }: Hello): Promise<Snapshot | undefined> {
		const { session, screens, wire, limits } = this.#options;
		if (from === undefined || !screens) return undefined;
		try {
			return await withDeadline(limits.screenMs, [wire.ended], async (signal) => {
				const screen = await screens.snapshot(session, { signal, scrollback });
				if (screen.bytes.byteLength <= limits.screenBytes) return withRecords(session, screen);
				const alone = await screens.snapshot(session, { signal, scrollback: 0 });
				return alone.bytes.byteLength <= limits.screenBytes ? withRecords(session, alone) : undefined;
			});
		} catch (error) {
			// Without a screen the client gets all output instead.
			if (error instanceof SessionError) return undefined;
			throw error;
		}
	}

	#handle({ data, isBinary }: Received, parts: Parts): void {
		if (!isBinary) {
			this.#obey(parseClientMessage(data.toString()), parts);
			return;
		}
		const frame = decodeClientFrame(data);
		if (frame.kind === "input") {
			parts.input.act({ kind: "write", bytes: frame.bytes }, frame.position);
			if (this.#sizer) inBackground(this.#options.attached.sizes.used(this.#sizer));
		} else if (!parts.output.consumed(frame.offset)) throw new FrameError(`offset ${frame.offset} was not sent yet`);
	}

	#obey(message: ClientMessage, { input, control, sends }: Parts): void {
		switch (message.type) {
			case "hello":
				throw new MessageError("hello is allowed once");
			case "resize":
				input.act({ kind: "resize", size: { cols: message.cols, rows: message.rows } }, message.position);
				break;
			case "size":
				if (input.isAllowed) this.#takeSize({ cols: message.cols, rows: message.rows }, control);
				break;
			case "signal": {
				const urgent = message.urgent ? { urgent: true } : {};
				input.act({ kind: "signal", signal: known(message.signal), ...urgent }, message.position);
				break;
			}
			case "eof":
				input.act({ kind: "eof" }, message.position);
				break;
			case "take":
				input.control(() => control.take(message));
				break;
			case "release":
				input.control(() => control.release());
				break;
			case "send":
				sends.add(message);
				break;
			case "ping": {
				const nonce = message.nonce === undefined ? {} : { nonce: message.nonce };
				this.#options.wire.say({ type: "pong", ...nonce });
			}
		}
	}

	#refusal({ role }: Hello): SessionError | undefined {
		const { principal, session, witness } = this.#options;
		if (role === "viewer") {
			return new SessionError("not_writable", "a viewer cannot write", { hint: "attach as a writer" });
		}
		const place = { workspace: session.spec.workspace, session: session.id };
		if (principal.may("operate", place)) return undefined;
		witness.record({ action: "refused", code: "permission_denied", right: "operate" }, place);
		return missingRightError("operate", place);
	}

	/** The same for all connections of one client. Hashed, because the stream's name is private to the client. */
	#holder(stream: string): string {
		const mark = createHash("sha256").update(stream).digest("hex").slice(0, 8);
		return `${this.#options.principal.name}#${mark}`;
	}

	#fail(thrown: unknown): void {
		const { wire, session, sessions, report } = this.#options;
		const error = SessionError.from(thrown);
		// During a removal the session stays in the list until everything is gone.
		const isRemoved = error.code === "session_not_found" || sessions.get(session.id) === undefined;
		if (error.isForLog && !isRemoved) report(error.cause ?? thrown);
		if (isRemoved) wire.close(closeCodes.sessionRemoved, "the session was removed");
		else if (error.code === "limit_exceeded") wire.close(closeCodes.tooSlow, error.message);
		else if (error.code === "node_unavailable") wire.close(closeCodes.goingAway, error.message);
		else wire.close(closeCodes.internal, "internal error; see the server's log");
	}
}

/** Sent before any output, and outside the output window, because it is small. */
function sendScreen(wire: AttachWire, { offset, bytes }: Snapshot, frameBytes: number): void {
	for (let at = 0; at < bytes.byteLength; at += frameBytes) {
		wire.send(encodeServerFrame({ kind: "screen", offset, bytes: bytes.subarray(at, at + frameBytes) }));
	}
}

/** An unknown signal is a protocol error like any other. */
function known(signal: string): string {
	try {
		return parseSignal(signal);
	} catch (error) {
		throw new MessageError(error instanceof Error ? error.message : String(error));
	}
}

/** Receipts and lease changes end with the session or its keeper, which the output reports. */
function inBackground(watching: Promise<void>): void {
	watching.catch(() => {});
}

/** With reports of the program's status, which a terminal has like its screen. The output before it is not sent. */
async function withRecords(session: Session, screen: Snapshot): Promise<Snapshot> {
	const { records } = await session.signals().catch(() => NO_SIGNALS);
	if (records.length === 0) return screen;
	return { ...screen, bytes: Buffer.concat([screen.bytes, Buffer.from(records.map(reportOf).join(""))]) };
}
