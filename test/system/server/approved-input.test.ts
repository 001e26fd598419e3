/** The shell receives exactly the approved input over the wire, in sessions of keepers, or the input is refused. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { type Client, connect, type Session } from "../../../src/client/index.ts";
import { CrashingServer } from "../../support/crashing-server.ts";
import { eventually } from "../../support/reading.ts";
import { TestSocket } from "../../support/socket-client.ts";
import { pendingApproval } from "../support/held.ts";

let server: CrashingServer;
let person: Client;
let stateDir = "";

beforeAll(async () => {
	stateDir = await mkdtemp(join(tmpdir(), "hawser-approved-input-"));
	server = new CrashingServer(stateDir);
	await server.start();
	person = connect({ url: server.url, token: await server.token() });
});

afterAll(async () => {
	await server.killAll();
	await rm(stateDir, { recursive: true, force: true, maxRetries: 5 });
});

/** A session of a keeper that prints its program's input, and an agent whose gate matches some input. */
async function open(match: string, script = "printf ready; exec cat") {
	const session = await person.sessions.create({ argv: ["sh", "-c", `stty raw -echo; ${script}`] });
	onTestFinished(() => session.remove({ force: true }));
	await shown(session, /ready/);
	const gate = { match: [match] };
	const { token } = await person.tokens.create({ scopes: ["workspace:default:manage"], name: "agent", gate });
	const post = async (name: string, position: number, body: string | object) => {
		const response = await fetch(`${server.url}/v1/sessions/${session.id}/${name}`, {
			method: "POST",
			headers: {
				authorization: `Bearer ${token}`,
				"idempotency-key": `s:${position}`,
				"content-type": typeof body === "string" ? "application/octet-stream" : "application/json",
			},
			body: typeof body === "string" ? body : JSON.stringify(body),
		});
		return { status: response.status, body: (await response.json()) as { readonly next?: number } };
	};
	return { session, token, post };
}

const textOf = async (session: Session) => new TextDecoder().decode((await session.output()).bytes);

async function shown(session: Session, pattern: RegExp): Promise<string> {
	return eventually(String(pattern), async () => {
		const text = await textOf(session);
		return pattern.test(text) && text;
	});
}

const size = { cols: 100, rows: 30 };
const notApproved = {
	status: 403,
	body: {
		error: {
			code: "not_approved",
			message: expect.stringMatching(/other input was sent on its stream since it was judged/),
			hint: expect.stringMatching(/on a stream that nothing else uses/),
		},
	},
};

it("resizes with the same idempotency key do not truncate held input over HTTP", async () => {
	const { session, post } = await open("#touch");
	const typing = post("input", 0, "#touch x\r");
	const { id, preview } = await pendingApproval(person, session.id);
	expect(preview).toBe("#touch x\n");
	expect(await post("resize", 0, size)).toMatchObject({ status: 200, body: { next: 1 } });
	await person.approvals.decide(id, { decision: "grant", evenIfChanged: true });
	expect(await typing).toMatchObject(notApproved);
	await session.write("<end>");
	expect(await shown(session, /<end>$/)).toBe("ready<end>");
});

it("resizes of the same stream do not truncate held input over a WebSocket", async () => {
	const { session, token, post } = await open("#touch");
	const socket = await TestSocket.open(server.url, session.id, { stream: "s" }, { token });
	onTestFinished(() => socket.socket.terminate());
	socket.type(0, "#touch x\r");
	const { id } = await pendingApproval(person, session.id);
	await post("resize", 0, size);
	await person.approvals.decide(id, { decision: "grant", evenIfChanged: true });
	expect(await socket.message("error")).toMatchObject({ code: "not_approved", position: 0 });
	await session.write("<end>");
	expect(await shown(session, /<end>$/)).toBe("ready<end>");
});

it("resizes that race with free input never truncate it to a forbidden command", async () => {
	const { session, post } = await open("^touch");
	let next = 0;
	for (let turn = 0; turn < 20; turn++) {
		const answers = await Promise.all([post("input", next, "#touch x\r"), post("resize", next, size)]);
		next = Math.max(...answers.map(({ body }) => body.next ?? 0));
	}
	await session.write("<end>");
	expect(await shown(session, /<end>$/)).not.toMatch(/(^|[^#])touch/);
});

it("keys after the second half of an escape sequence are judged on the alternate screen", async () => {
	const { session, post } = await open("touch", "printf 'ready\\033[?1049h'; exec cat");
	expect(await post("input", 0, "q\x1b")).toMatchObject({ status: 200 });
	const rest = "[200~touch x\x1b[201~\x0f";
	const typing = post("input", 2, rest);
	const { id, reason } = await pendingApproval(person, session.id);
	expect(reason).toBe("match");
	await person.approvals.decide(id, { decision: "deny" });
	expect(await typing).toMatchObject({ status: 403, body: { error: { code: "not_approved" } } });
	expect(await textOf(session)).not.toContain("touch");
});
