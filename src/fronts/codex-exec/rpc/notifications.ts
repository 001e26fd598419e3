/** Tells one connection what happens in its processes: each is a place in a log, and they are served in turn. */

import type { ExecLimits } from "../limits.ts";
import type { ExecProcess, Watcher } from "../processes/process.ts";
import { type ProcessEvent, toBase64 } from "../processes/retained.ts";
import { notification } from "./envelope.ts";
import type { Wire } from "./wire.ts";

export class Notifications implements Watcher {
	readonly #wire: Wire;
	readonly #limits: ExecLimits;
	/** Those with something to tell; whoever was served goes to the end. */
	readonly #waiting = new Set<ExecProcess>();
	readonly #pump = () => this.#tell();

	constructor(wire: Wire, limits: ExecLimits) {
		this.#wire = wire;
		this.#limits = limits;
	}

	happened(process: ExecProcess): void {
		this.#waiting.add(process);
		this.#tell();
	}

	/** The session goes on without this connection, as after any other loss of it. */
	giveUp(): void {
		this.#wire.close();
	}

	/** One message of each process after the other, while the kernel takes them. */
	#tell(): void {
		for (const process of this.#waiting) {
			if (this.#wire.bufferedBytes > this.#limits.bufferedBytes || this.#wire.ended.aborted) return;
			this.#waiting.delete(process);
			const event = process.take(this);
			if (!event) continue;
			this.#waiting.add(process);
			this.#wire.send(toMessage(process.id, event), this.#pump);
		}
	}
}

function toMessage(processId: string, event: ProcessEvent): string {
	const { seq } = event;
	switch (event.kind) {
		case "output":
			return outputMessage(JSON.stringify({ processId, seq, stream: event.stream }), toBase64(event.bytes));
		case "exited":
			return notification("process/exited", { processId, seq, exitCode: event.exitCode, sandboxDenied: false });
		case "closed":
			return notification("process/closed", { processId, seq });
	}
}

/** Put together by hand: base64 needs no escapes, and to look for them would take longer than all the rest. */
function outputMessage(params: string, chunk: string): string {
	return `{"method":"process/output","params":${params.slice(0, -1)},"chunk":"${chunk}"}}`;
}
