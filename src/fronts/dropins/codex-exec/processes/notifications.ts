/** Notifies one connection of the events of its processes. */

import { notification } from "../../../json-rpc/messages.ts";
import { Notifications } from "../../../json-rpc/notifications.ts";
import type { RpcWire } from "../../../json-rpc/wire.ts";
import type { ExecLimits } from "../limits.ts";
import { type ProcessEvent, toBase64 } from "./events.ts";
import type { ExecProcess, ProcessEventSink } from "./process.ts";

export function createEventSink(wire: RpcWire, { bufferedBytes }: ExecLimits): ProcessEventSink {
	const notifications = new Notifications<ExecProcess>(wire, {
		bufferedBytes,
		take: (process) => {
			const event = process.take(sink);
			return event && toMessage(process.id, event);
		},
	});
	const sink: ProcessEventSink = {
		happened: (process) => notifications.happened(process),
		// The session continues, as after any lost connection.
		giveUp: () => wire.close(),
	};
	return sink;
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

/** Built by hand: base64 needs no escaping, and JSON.stringify would scan it all. */
function outputMessage(params: string, chunk: string): string {
	return `{"method":"process/output","params":${params.slice(0, -1)},"chunk":"${chunk}"}}`;
}
