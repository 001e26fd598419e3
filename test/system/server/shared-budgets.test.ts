// @module-tag slow

import { setMaxListeners } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import { eventually } from "../../support/reading.ts";
import { type Started, start } from "../../support/server.ts";

/** A line that takes this expression longer to reject than a search may take. */
const SLOW = { line: `${"a".repeat(40)}!`, expression: encodeURIComponent("^(a+)+$") };

async function openSession(server: Started): Promise<string> {
	const { body } = await server.post("/v1/sessions", {
		argv: ["sh", "-c", `echo '${SLOW.line}'; exec cat`],
		durable: false,
	});
	const id = String(body.id);
	await eventually("its line", async () => {
		const output = await server.request(`/v1/sessions/${id}/output?since=0`);
		return (await output.text()).includes(SLOW.line);
	});
	return id;
}

const status = async (server: Started, path: string, token: string, signal?: AbortSignal) => {
	const headers = { authorization: `Bearer ${token}` };
	const response = await server.request(path, { headers, ...(signal ? { signal } : {}) });
	if (response.headers.get("content-type")?.startsWith("text/event-stream")) return { status: 200, message: "" };
	const body = (await response.json()) as { error?: { message: string } };
	return { status: response.status, message: body.error?.message ?? "" };
};

/** The share of each budget that one account may use, and how many accounts can hold a share at the same time. */
it.each([
	["searches", (id: string) => `/v1/sessions/${id}/search?regex=1&q=${SLOW.expression}`, 2, 3],
	[
		"waits for expressions at a time",
		(id: string) => `/v1/sessions/${id}/screen?regex=1&text=${SLOW.expression}&wait=5000`,
		2,
		3,
	],
	["streams of screens", () => "/v1/screens", 8, 24],
	["earlier screens at a time", (id: string) => `/v1/sessions/${id}/screen?at=1`, 1, 2],
])(
	"two view-only guests that use all of their %s leave the operator its share",
	async (what, pathOf, part, accounts) => {
		const server = await start();
		const id = await openSession(server);
		const over = new AbortController();
		setMaxListeners(0, over.signal);
		onTestFinished(() => over.abort());
		const refusals: string[] = [];
		const guests = await Promise.all([1, 2].map(() => server.token(`session:${id}:view`)));
		// Each exceeds one guest's limit repeatedly.
		for (const token of guests.flatMap((guest) => Array.from({ length: part * 2 + 2 }, () => guest))) {
			void (async () => {
				while (!over.signal.aborted) {
					const answer = await status(server, pathOf(id), token, over.signal);
					if (answer.status === 429) {
						refusals.push(answer.message);
						await sleep(20);
					}
					if (answer.status === 200 && what === "streams of screens") break;
				}
			})().catch(() => {});
		}
		const each = new RegExp(`no more ${what}.*: this token has ${part} \\(limit ${part} per token\\)`);
		await eventually("refusals of guests", () => refusals.filter((message) => each.test(message)).length > 20);
		const asked = Array.from({ length: part }, () => status(server, pathOf(id), server.adminToken));
		// The expression is too slow for every caller, but the server finds that out only by trying.
		for (const { message } of await Promise.all(asked)) expect(message).not.toMatch(/^no more/);
		if (accounts < 3) return;
		const third = await status(server, pathOf(id), await server.token(`session:${id}:view`));
		expect(third.message).not.toMatch(/^no more/);
	},
	60_000,
);
