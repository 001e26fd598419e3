/** Secrets requested by agents and given by people: one server, real programs, several tokens. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Client, connect, HawserError, type Session } from "../../../src/client/index.ts";
import { loadConfig } from "../../../src/server/config.ts";
import { type Server, startServer } from "../../../src/server/server.ts";
import type { SecretRight } from "../../../src/words/rights.ts";
import { eventually } from "../../support/reading.ts";
import { collectSecretEvents, type SecretNews } from "../support/heard-secrets.ts";

let server: Server;
let stateDir: string;
let operator: Client;
const over = new AbortController();
/** The feed's events about secrets, as they arrive. */
let heard: readonly SecretNews[] = [];

beforeAll(async () => {
	stateDir = await mkdtemp(join(tmpdir(), "hawser-secrets-"));
	server = await startServer(loadConfig({ port: "0", spares: "0", stateDir }, {}), { report: () => {} });
	operator = connect({ url: server.url, token: server.adminToken });
	heard = await collectSecretEvents(operator, over.signal);
});
afterAll(async () => {
	over.abort();
	await server.close();
	await rm(stateDir, { recursive: true });
});

const as = (token: string) => connect({ url: server.url, token });

async function tokenWith(secrets: SecretRight, maker = operator): Promise<Client> {
	const { token } = await maker.tokens.create({ scopes: ["workspace:default:manage"], secrets });
	return as(token);
}

const codeOf = (promise: Promise<unknown>) =>
	promise.then(
		() => "done",
		(error: unknown) => (error instanceof HawserError ? error.code : String(error)),
	);

/** A program that asks for one secret after the other and prints the length of each. */
const asking = () =>
	askingBy(`for n in 1 2 3; do read -r -s -p "secret $n? " it; echo "got \${#it}"; done; cat`, "secret 1?");

async function askingBy(command: string, question: string): Promise<Session> {
	const session = await operator.sessions.create({ argv: ["bash", "--posix", "-c", command], durable: false });
	await asks(session, question);
	return operator.sessions.at(session.id);
}

async function asks(session: Session, question: string): Promise<void> {
	await eventually(`${question} is asked`, async () => {
		const { state, kind, lastLine } = await session.inspect();
		return state === "waiting" && kind === "secret" && lastLine.endsWith(question);
	});
}

const became = (id: string) => heard.filter((news) => news.id === id).map(({ status }) => status);

describe("a token with the secret right request", () => {
	it("a token requests a secret, a person enters it, and readers learn of it without its value", async () => {
		const agent = await tokenWith("request");
		const session = await asking();
		const own = agent.sessions.at(session.id);
		const refused = own.secret("hunter-two").catch((error: unknown) => error);
		expect(await refused).toMatchObject({
			code: "permission_denied",
			hint: "POST /v1/sessions/:id/secret-requests asks a user",
		});
		const request = await own.requestSecret({ name: "sudo", reason: "to install packages" });
		expect(request).toMatchObject({
			session: { id: session.id, workspace: "default" },
			name: "sudo",
			reason: "to install packages",
			prompt: "secret 1?",
			program: "bash",
			askedBy: expect.stringMatching(/^token:/),
		});
		expect(request.expiresAt - request.createdAt).toBe(300_000);
		expect(await operator.secretRequests.list()).toContainEqual(request);
		// A repeat returns the same request, and neither the token nor its children may answer it.
		expect(await own.requestSecret()).toEqual(request);
		const child = await tokenWith("request", agent);
		expect(await codeOf(agent.secretRequests.give(request.id, "own"))).toBe("permission_denied");
		expect(await codeOf(child.secretRequests.give(request.id, "own"))).toBe("permission_denied");
		expect(await codeOf(child.secretRequests.refuse(request.id))).toBe("permission_denied");
		const another = await tokenWith("request");
		expect(await codeOf(another.secretRequests.give(request.id, "another's"))).toBe("permission_denied");
		await operator.secretRequests.give(request.id, "hunter-two");
		await asks(session, "secret 2?");
		expect((await session.text()).text).toBe("secret 1? got 10\nsecret 2?\n");
		expect(await operator.secretRequests.list()).not.toContainEqual(request);
		await eventually("the feed", () => became(request.id).length === 2);
		expect(became(request.id)).toEqual(["asked", "given"]);
		expect(JSON.stringify(heard)).not.toContain("hunter");
		const { entries } = await operator.audit({ session: session.id });
		const audited = entries.filter(({ action }) => action === "secret-request" || action === "secret");
		expect(audited.map(({ action, status, request }) => ({ action, status, request }))).toEqual([
			{ action: "secret-request", status: "asked", request: request.id },
			{ action: "secret", status: undefined, request: undefined },
			{ action: "secret-request", status: "given", request: request.id },
		]);
		expect(JSON.stringify(entries)).not.toContain("hunter");
	});

	it("a token can't create one with more secret rights, and a token without any can't make requests", async () => {
		const agent = await tokenWith("request");
		expect(await codeOf(tokenWith("type", agent))).toBe("permission_denied");
		const { secrets } = await agent.tokens.create({ scopes: ["workspace:default:read"] });
		expect(secrets).toBe("request");
		const none = await tokenWith("none", agent);
		const session = await asking();
		expect(await codeOf(none.sessions.at(session.id).requestSecret())).toBe("permission_denied");
		expect(await codeOf(none.sessions.at(session.id).secret("x"))).toBe("permission_denied");
	});

	it("a token requests secrets only where it may type, and only while a secret is read", async () => {
		const scopes = ["workspace:default:read", "workspace:other:manage"];
		const { token } = await operator.tokens.create({ scopes, secrets: "type" });
		const session = await asking();
		expect(await codeOf(as(token).sessions.at(session.id).requestSecret())).toBe("permission_denied");
		const stranger = await operator.tokens.create({ scopes: ["workspace:other:manage"], secrets: "type" });
		const request = await session.requestSecret();
		expect(await as(stranger.token).secretRequests.list()).toEqual([]);
		expect(await codeOf(as(stranger.token).secretRequests.give(request.id, "x"))).toBe("not_found");
		expect(await codeOf(as(token).secretRequests.give(request.id, "x"))).toBe("permission_denied");
		const cat = await operator.sessions.create({ argv: ["cat"], durable: false });
		expect(await codeOf(operator.sessions.at(cat.id).requestSecret())).toBe("not_waiting");
	});
});

describe("a request for a secret", () => {
	it("a request can't be answered by its requester or by tokens that it created", async () => {
		const person = await tokenWith("type");
		const child = await tokenWith("type", person);
		const session = await asking();
		const request = await person.sessions.at(session.id).requestSecret();
		expect(await codeOf(person.secretRequests.give(request.id, "own"))).toBe("permission_denied");
		expect(await codeOf(child.secretRequests.give(request.id, "own"))).toBe("permission_denied");
		// The reverse is what tokens are created for.
		const fromChild = await child.sessions.at(session.id).requestSecret();
		await person.secretRequests.give(fromChild.id, "others");
		await asks(session, "secret 2?");
		await eventually("both are answered", () => became(request.id).includes("given"));
	});

	it("a request expires when the program asks another question, and the secret is typed into no other one", async () => {
		const agent = await tokenWith("request");
		const session = await asking();
		const request = await agent.sessions.at(session.id).requestSecret();
		await session.write("typed at the terminal\r");
		await asks(session, "secret 2?");
		await eventually("it has expired", () => became(request.id).includes("expired"));
		expect(await codeOf(operator.secretRequests.give(request.id, "late"))).toBe("not_found");
		expect((await session.text()).text).toBe("secret 1? got 21\nsecret 2?\n");
		const second = await agent.sessions.at(session.id).requestSecret();
		await session.kill();
		await eventually("it has expired with its program", () => became(second.id).includes("expired"));
	});

	it("a request is answered neither by a repeat of an older secret nor by one that contains keys", async () => {
		const agent = await tokenWith("request");
		const session = await asking();
		const type = async () => {
			const headers = {
				authorization: `Bearer ${server.adminToken}`,
				"content-type": "application/octet-stream",
				"idempotency-key": "person:0",
			};
			const url = `${server.url}/v1/sessions/${session.id}/secret`;
			return (await fetch(url, { method: "POST", headers, body: "first" })).status;
		};
		expect(await type()).toBe(200);
		await asks(session, "secret 2?");
		const request = await agent.sessions.at(session.id).requestSecret();
		expect(await type()).toBe(200);
		for (const key of ["\x03", "\x04", "\x15", "\x1c", "\x7f"]) {
			expect(await codeOf(session.secret(`top-secret${key}TAIL`))).toBe("invalid_argument");
		}
		await operator.secretRequests.give(request.id, "second");
		await asks(session, "secret 3?");
		await eventually("it was given", () => became(request.id).length === 2);
		expect((await session.text()).text).toBe("secret 1? got 5\nsecret 2? got 6\nsecret 3?\n");
		expect(heard.filter(({ id }) => id === request.id)).toHaveLength(2);
		expect(heard.findLast(({ id }) => id === request.id)).toMatchObject({ status: "given" });
	});

	it("any secret typed into the question answers a request, and writers or its requester may refuse it", async () => {
		const agent = await tokenWith("request");
		const session = await asking();
		const own = agent.sessions.at(session.id);
		const first = await own.requestSecret();
		await session.secret("directly", { ifWaiting: first.offset });
		await eventually("it was given", () => became(first.id).includes("given"));
		await asks(session, "secret 2?");
		const second = await own.requestSecret();
		await operator.secretRequests.refuse(second.id);
		const third = await own.requestSecret();
		await agent.secretRequests.refuse(third.id);
		await eventually("both were refused", () => [second, third].every(({ id }) => became(id).includes("refused")));
		expect((await session.text()).text).toBe("secret 1? got 8\nsecret 2?\n");
	});

	it("a secret is not given to another program that silently reads in place of the requesting one", async () => {
		const agent = await tokenWith("request");
		const readsOn = `read -r it; echo "got \${#it}"; cat`;
		const session = await askingBy(`stty -echo; printf "secret? "; head -1; ${readsOn}`, "secret?");
		const own = agent.sessions.at(session.id);
		const request = await own.requestSecret();
		const asked = await session.inspect();
		expect(asked.program).toBe("head");
		// A shell prints nothing about a child that ends like this.
		process.kill(asked.pid ?? 0, "SIGPIPE");
		await eventually("the shell reads", async () => {
			const { program, kind } = await session.inspect();
			return program === "bash" && kind === "secret";
		});
		const { offset: ifWaiting, episode } = asked;
		expect(await codeOf(session.secret("for-head", { ifWaiting, episode }))).toBe("not_waiting");
		// It may have expired by itself.
		expect(await codeOf(operator.secretRequests.give(request.id, "for-head"))).toMatch(/^not_(waiting|found)$/);
		expect((await own.requestSecret()).id).not.toBe(request.id);
		expect((await session.text()).text).toBe("secret?\n");
	});

	it("a secret is not given to a new program of the same process", async () => {
		const agent = await tokenWith("request");
		const becomes = `exec sh -c 'read -r it; echo "got \${#it}"; cat'`;
		const session = await askingBy(`trap : USR1; stty -echo; printf "secret? "; read -r it; ${becomes}`, "secret?");
		const request = await agent.sessions.at(session.id).requestSecret();
		const asked = await session.inspect();
		process.kill(asked.pid ?? 0, "SIGUSR1");
		await eventually("it is another program", async () => {
			const { pid, program, kind } = await session.inspect();
			return pid === asked.pid && program !== asked.program && kind === "secret";
		});
		const { offset: ifWaiting, episode } = asked;
		expect(await codeOf(session.secret("for-bash", { ifWaiting, episode }))).toBe("not_waiting");
		expect(await codeOf(operator.secretRequests.give(request.id, "for-bash"))).toMatch(/^not_(waiting|found)$/);
		expect((await session.text()).text).toBe("secret?\n");
	});

	it("a request expires soon after the program continues silently", async () => {
		const agent = await tokenWith("request");
		const session = await askingBy(`stty -echo; printf "secret? "; head -1; sleep 1000`, "secret?");
		const request = await agent.sessions.at(session.id).requestSecret();
		process.kill((await session.inspect()).pid ?? 0, "SIGPIPE");
		await eventually("it has expired", () => became(request.id).includes("expired"));
	});

	it("a secret is given once, and a second one answers no silent question that follows", async () => {
		const agent = await tokenWith("request");
		const command = `printf "secret? "; read -rs a; read -rs b; echo "\${#a} \${#b}"; cat`;
		const session = await askingBy(command, "secret?");
		const { offset: ifWaiting, episode } = await session.inspect();
		const { id } = await agent.sessions.at(session.id).requestSecret();
		const others = await Promise.all([tokenWith("type"), tokenWith("type")]);
		const codes = await Promise.all(others.map((other) => codeOf(other.secretRequests.give(id, "given"))));
		expect(codes.sort()).toEqual(["done", "not_found"]);
		await asks(session, "secret?");
		await eventually("the feed", () => became(id).length === 2);
		expect(became(id)).toEqual(["asked", "given"]);
		// The output ends where it did before.
		expect(await codeOf(session.secret("again", { ifWaiting }))).toBe("not_waiting");
		expect(await codeOf(session.secret("again", { ifWaiting, episode }))).toBe("not_waiting");
		const next = await session.inspect();
		await session.secret("second", { ifWaiting: next.offset, episode: next.episode });
		await eventually("both were read", async () => (await session.text()).text === "secret? 5 6\n");
	});

	it("a caller has at most sixteen open requests", async () => {
		const agent = await tokenWith("request");
		const command = `read -s -p "secret? " it`;
		const sessions = await Promise.all(
			Array.from({ length: 17 }, () => operator.sessions.create({ argv: ["bash", "-c", command], durable: false })),
		);
		await Promise.all(sessions.map(({ id }) => asks(operator.sessions.at(id), "secret?")));
		const codes: string[] = [];
		for (const { id } of sessions) codes.push(await codeOf(agent.sessions.at(id).requestSecret()));
		expect(codes).toEqual([...Array(16).fill("done"), "limit_exceeded"]);
	});
});
