/** Keys, sizes, signals and the end of input over HTTP: the same ordered queue as bytes. */

import type { Act } from "../../core/act.ts";
import { SessionError } from "../../core/errors.ts";
import { parseSignal } from "../../core/signals.ts";
import type { InputReceipt } from "../../protocol/acts.ts";
import { encodeKey } from "../../protocol/keys.ts";
import { fenceHeader, idempotencyKeyHeader } from "../../protocol/messages.ts";
import type { Hosting } from "../front.ts";
import { patienceOf } from "../patience.ts";
import { inputReceipt, keysQuery, resize, sendKeys, sendSignal } from "./act-messages.ts";
import { deliver, fenceOf, parseKey, toMessage } from "./input.ts";
import type { Traffic } from "./metrics.ts";
import type { NativeApp, NativeOptions } from "./options.ts";
import { findSession } from "./request.ts";
import { idParams } from "./session-messages.ts";

const TEXT_PREFIX = "text:";

export function addActs(app: NativeApp, { sessions }: NativeOptions, hosting: Hosting, traffic: Traffic): void {
	const config = { policy: "operate", headers: [idempotencyKeyHeader, fenceHeader] } as const;
	const response = { 200: inputReceipt };

	app.post(
		"/v1/sessions/:id/keys",
		{
			config: { ...config, operation: "pressKeys", summary: "Press keys, or type text" },
			schema: { params: idParams, querystring: keysQuery, body: sendKeys, response },
		},
		async (request, reply): Promise<InputReceipt> => {
			const session = findSession(sessions, request);
			const bytes = encodedKeys(request.body.keys);
			const origin = parseKey(request.headers[idempotencyKeyHeader]);
			const fence = await fenceOf(session, request);
			const patience = patienceOf(reply, hosting);
			try {
				const { ifWaiting } = request.query;
				const delivery = { bytes, origin, fence, isWaiting: false, ifWaiting };
				const receipt = await deliver(session, delivery, patience.signal);
				traffic.bytesIn += bytes.byteLength;
				return receipt;
			} finally {
				patience.end();
			}
		},
	);

	const add = <Body>(
		name: string,
		options: { operation: string; summary: string; schema: object },
		toAct: (body: Body) => Act,
	) =>
		app.post<{ Params: { id: string }; Body: Body }>(
			`/v1/sessions/:id/${name}`,
			{
				config: { ...config, operation: options.operation, summary: options.summary },
				schema: { params: idParams, response, ...options.schema },
			},
			async (request): Promise<InputReceipt> => {
				const session = findSession(sessions, request);
				const origin = parseKey(request.headers[idempotencyKeyHeader]);
				const fence = await fenceOf(session, request);
				const options = { ...(origin ? { origin } : {}), ...(fence === undefined ? {} : { fence }) };
				return toMessage(await session.act(toAct(request.body as Body), options));
			},
		);
	add<{ cols: number; rows: number }>(
		"resize",
		{ operation: "resizeTerminal", summary: "Set the terminal's size", schema: { body: resize } },
		(size) => ({
			kind: "resize",
			size: { cols: size.cols, rows: size.rows },
		}),
	);
	add<{ signal: string; urgent?: boolean }>(
		"signal",
		{ operation: "signalProgram", summary: "Signal the program", schema: { body: sendSignal } },
		({ signal, urgent }) => ({ kind: "signal", signal: parseSignal(signal), ...(urgent ? { urgent } : {}) }),
	);
	add<unknown>("eof", { operation: "endInput", summary: "End the program's input", schema: {} }, () => ({
		kind: "eof",
	}));
}

export function encodedKeys(keys: readonly string[]): Buffer {
	return Buffer.concat(keys.map(encoded));
}

function encoded(key: string, index: number): Uint8Array {
	if (key.startsWith(TEXT_PREFIX)) return Buffer.from(key.slice(TEXT_PREFIX.length));
	const bytes = encodeKey(key);
	if (bytes) return bytes;
	throw new SessionError("invalid_argument", `keys.${index}: unknown key ${JSON.stringify(key.slice(0, 60))}`, {
		hint: `a name such as Enter, Tab, Up, C-c or ctrl+c; text is sent as ${TEXT_PREFIX}…`,
	});
}
