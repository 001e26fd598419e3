/** `/metrics` and `/metrics/watch`: one sample, or one per second as events. */

import type { OutgoingHttpHeaders, ServerResponse } from "node:http";
import type { FastifyInstance } from "fastify";
import { onAbort } from "../../../../core/async/abort.ts";
import { onAnswerClosed } from "../../../../http/answer.ts";
import { checkRight } from "../../../../http/caller.ts";
import type { ServerContext } from "../../../../http/front.ts";
import { ExecdError } from "../errors.ts";
import { defaultPlacement } from "../options.ts";
import { Sampler } from "./sampler.ts";

const PERIOD_MS = 1_000;

export function addMetrics(app: FastifyInstance, hosting: ServerContext): void {
	const sampler = new Sampler();
	const watchers = new Watchers(async () => {
		try {
			return JSON.stringify(await sampler.sample());
		} catch (error) {
			return JSON.stringify({ error: reasonOf(error) });
		}
	});

	app.get("/metrics", { config: { policy: "read" } }, async (request) => {
		checkRight(request, "read", defaultPlacement);
		return sampler.sample().catch((error: unknown) => {
			throw new ExecdError(500, "RUNTIME_ERROR", `error reading runtime metrics. ${reasonOf(error)}`);
		});
	});

	app.get("/metrics/watch", { config: { policy: "read" } }, async (request, reply) => {
		checkRight(request, "read", defaultPlacement);
		const { raw } = reply.hijack();
		const over = new AbortController();
		onAnswerClosed(reply, () => over.abort());
		for (const reason of [hosting.closing, request.principal?.revoked])
			if (reason) onAbort(reason, over.signal, () => raw.destroy());
		raw.writeHead(200, { ...(reply.getHeaders() as OutgoingHttpHeaders), ...headers });
		raw.flushHeaders();
		watchers.add(raw, over.signal);
		return reply;
	});
}

const headers = {
	"content-type": "text/event-stream",
	"cache-control": "no-cache",
	"x-accel-buffering": "no",
} as const;

/** Sends the same sample to all watchers. Nothing is measured while there are none. */
class Watchers {
	readonly #sample: () => Promise<string>;
	readonly #all = new Set<ServerResponse>();
	#timer: NodeJS.Timeout | undefined;

	constructor(sample: () => Promise<string>) {
		this.#sample = sample;
	}

	add(watcher: ServerResponse, over: AbortSignal): void {
		if (over.aborted) return;
		this.#all.add(watcher);
		this.#timer ??= setInterval(() => void this.#send(), PERIOD_MS);
		over.addEventListener("abort", () => this.#remove(watcher), { once: true });
	}

	#remove(watcher: ServerResponse): void {
		this.#all.delete(watcher);
		if (this.#all.size > 0) return;
		clearInterval(this.#timer);
		this.#timer = undefined;
	}

	async #send(): Promise<void> {
		const event = `${await this.#sample()}\n\n`;
		// A watcher that has not read the last event gets no further one.
		for (const watcher of this.#all) if (!watcher.writableNeedDrain) watcher.write(event);
	}
}

function reasonOf(error: unknown): string {
	return error instanceof Error ? error.message : String(error);
}
