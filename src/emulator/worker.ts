/** The emulator thread with all models. It handles one request at a time and may be terminated at any time. */

import { parentPort } from "node:worker_threads";
import { snapshotOfNewestOutput } from "./newest-output.ts";
import type { EmulatorRequest, EmulatorResponse } from "./requests.ts";
import { XtermModel } from "./xterm-model.ts";

const models = new Map<number, XtermModel>();

parentPort?.on("message", (request: EmulatorRequest) => {
	const { id } = request;
	if (request.do === "newest")
		return respond({ id, value: (snapshotOfNewestOutput(request) ?? null) as EmulatorResponse["value"] });
	if (request.do === "open") open(request);
	const model = models.get(request.model);
	respond(model ? { id, value: perform(model, request) } : { id, value: null, isMissing: true });
});

function respond(response: EmulatorResponse): void {
	parentPort?.postMessage(response, response.value instanceof Uint8Array ? [response.value.buffer] : []);
}

function open({ model: id, size, scrollback, snapshot }: Extract<EmulatorRequest, { do: "open" }>): void {
	models.get(id)?.dispose();
	const model = new XtermModel(size, scrollback);
	models.set(id, model);
	if (snapshot) model.feed(snapshot);
}

function perform(model: XtermModel, request: Exclude<EmulatorRequest, { do: "newest" }>): EmulatorResponse["value"] {
	switch (request.do) {
		case "open":
			return null;
		case "feed":
			model.feed(request.bytes);
			return null;
		case "resize":
			model.resize(request.size);
			return null;
		case "view":
			return model.view();
		case "cells":
			return model.cells();
		case "scrollback":
			return model.scrollback();
		case "snapshot":
			return model.snapshot({ scrollback: request.scrollback }) as Uint8Array<ArrayBuffer>;
		case "close":
			models.delete(request.model);
			model.dispose();
			return null;
	}
}
