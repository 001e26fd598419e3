/** Tells one connection what happens in its processes. */

import { notification } from "../../json-rpc/envelope.ts";
import { Notifications } from "../../json-rpc/notifications.ts";
import type { Wire } from "../../json-rpc/wire.ts";
import type { ExecLimits } from "../limits.ts";
import type { ExecProcess, Watcher } from "./process.ts";
import { type ProcessEvent, toBase64 } from "./retained.ts";

export function createWatcher(wire: Wire, { bufferedBytes }: ExecLimits): Watcher {
	const notifications = new Notifications<ExecProcess>(wire, {
		bufferedBytes,
		take: (process) => {
			const event = process.take(watcher);
			return event && toMessage(process.id, event);
		},
	});
	const watcher: Watcher = {
		happened: (process) => notifications.happened(process),
		// The session goes on without this connection, as after any other loss of it.
		giveUp: () => wire.close(),
	};
	return watcher;
}

function toMessage(processId: string, event: ProcessEvent): string {
	const { seq } = event;
	switch (event.kind) {
		case "output":
			return outputMessage(JSON.stringify({ processId, seq, stream: event.stream }), toBase64(event.bytes));
		case "exited":
			return notification("process/exited", {
				processId,
				seq,
				exitCode: event.exitCode,
				sandboxDenied: event.sandboxDenied,
			});
		case "closed":
			return notification("process/closed", { processId, seq });
	}
}

/** Put together by hand: base64 needs no escapes, and to look for them would take longer than all the rest. */
function outputMessage(params: string, chunk: string): string {
	return `{"method":"process/output","params":${params.slice(0, -1)},"chunk":"${chunk}"}}`;
}
