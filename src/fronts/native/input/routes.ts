/** Input over HTTP: bytes, keys, resizes, signals and end of input go through one ordered queue. */

import type { FastifyInstance } from "fastify";
import { limits } from "../../../api/messages.ts";
import type { InputReceipt } from "../../../api/types.ts";
import type { Action } from "../../../core/input/action.ts";
import { parseSignal } from "../../../core/process/signals.ts";
import { encodeKeys } from "../../../services/input/keys.ts";
import type { Sender } from "../../../services/input/send.ts";
import type { TrafficCounters } from "../../../services/metrics/traffic.ts";
import type { Call, Serve } from "../serve.ts";
import { toReceipt, writeInput } from "./write.ts";
import { writeOptions } from "./write-options.ts";

export function acceptBytes(app: FastifyInstance): void {
	app.addContentTypeParser("application/octet-stream", { parseAs: "buffer" }, (_request, body, done) =>
		done(null, body),
	);
}

export function addInput(serve: Serve, sends: Sender, traffic: TrafficCounters): void {
	serve("writeInput", async ({ session, request, body: bytes, query: { wait, ifWaiting }, signal }) => {
		const options = await writeOptions(session, request);
		const write = { bytes, ...options, untilWritten: wait === "written", ifWaiting };
		const receipt = await writeInput(session, write, signal);
		traffic.bytesIn += bytes.byteLength;
		return receipt;
	});

	serve("pressKeys", async ({ session, request, body, query: { ifWaiting }, signal }) => {
		const bytes = encodeKeys(body.keys);
		const receipt = await writeInput(session, { bytes, ...(await writeOptions(session, request)), ifWaiting }, signal);
		traffic.bytesIn += bytes.byteLength;
		return receipt;
	});

	serve("resizeTerminal", (call) => act(call, { kind: "resize", size: call.body }));
	serve("signalProgram", (call) => {
		const { signal, urgent = false } = call.body;
		return act(call, { kind: "signal", signal: parseSignal(signal), ...(urgent ? { urgent } : {}) });
	});
	serve("endInput", (call) => act(call, { kind: "eof" }));

	serve("sendInput", async (call) => {
		const { session, request, caller, body: input, signal } = call;
		const { origin: key, fence } = await writeOptions(session, request);
		call.startReading();
		call.holdBytes().all(input.limit ?? limits.textBytes);
		return sends.make(session, { input, caller, key, fence, signal });
	});
}

async function act(
	{ session, request }: Pick<Call<"endInput">, "session" | "request">,
	action: Action,
): Promise<InputReceipt> {
	return toReceipt(await session.act(action, await writeOptions(session, request)));
}
