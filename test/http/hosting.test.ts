import { afterEach, describe, expect, it } from "vitest";
import { adminOnly } from "../../src/access/fixed-access.ts";
import { SessionError } from "../../src/core/errors.ts";
import { answerErrors } from "../../src/http/errors.ts";
import type { Front, RoutePolicy } from "../../src/http/front.ts";
import { type Listener, listen } from "../../src/http/listen.ts";

let listener: Listener | undefined;
afterEach(() => listener?.close());

/** A minimal front with one route. */
function front(route: Partial<Front>): Front {
	return { name: "small", credential: (request) => request.headers.authorization, register() {}, ...route };
}

const problems: unknown[] = [];
const start = async (small: Front) => {
	listener = await listen({
		host: "127.0.0.1",
		port: 0,
		fronts: [small],
		authorize: adminOnly("secret"),
		report: (problem) => problems.push(problem),
	});
	return listener.url;
};

describe("a front", () => {
	it("a route without a policy keeps the server from starting", async () => {
		const careless = front({ register: (app) => void app.get("/open", async () => "hello") });
		await expect(start(careless)).rejects.toThrow("small declares no policy for GET /open");
	});

	it("a route with an unknown policy keeps the server from starting", async () => {
		const config = { policy: "everybody" as RoutePolicy };
		const creative = front({ register: (app) => void app.get("/open", { config }, async () => "hello") });
		await expect(start(creative)).rejects.toThrow("small declares no policy for GET /open");
	});

	it("a public route gets no caller and needs none", async () => {
		const url = await start(
			front({
				register: (app) =>
					void app.get("/open", { config: { policy: "public" } }, async ({ principal }) => ({ principal })),
			}),
		);
		for (const headers of [{}, { authorization: "secret" }, { authorization: "wrong" }]) {
			expect(await (await fetch(`${url}/open`, { headers })).json()).toEqual({ principal: null });
		}
	});

	it("a front reads the credential and gets the caller", async () => {
		const url = await start(
			front({
				credential: (request) => (request.query as { key?: string }).key,
				register: (app) => void app.get("/me", { config: { policy: "admin" } }, async (request) => request.principal),
			}),
		);
		expect((await fetch(`${url}/me`)).status).toBe(401);
		expect(await (await fetch(`${url}/me?key=secret`)).json()).toMatchObject({
			id: "admin",
			name: "admin",
			isAdmin: true,
		});
	});

	it("internal errors are logged, not sent", async () => {
		const bug = new Error("the password is hunter2");
		const url = await start(
			front({
				register(app, hosting) {
					answerErrors(app, hosting);
					app.get("/bug", { config: { policy: "public" } }, async () => Promise.reject(bug));
					app.get("/refusal", { config: { policy: "public" } }, async () => {
						throw new SessionError("not_writable", "it is Ada's", { hint: "ask Ada", cause: bug });
					});
				},
			}),
		);
		const answer = await fetch(`${url}/bug`);
		expect(answer.status).toBe(500);
		expect(await answer.text()).toBe('{"error":{"code":"internal","message":"internal error; see the server\'s log"}}');
		expect(problems).toEqual([bug]);
		const refusal = await fetch(`${url}/refusal`);
		expect(refusal.status).toBe(409);
		expect(await refusal.json()).toEqual({ error: { code: "not_writable", message: "it is Ada's", hint: "ask Ada" } });
		expect(problems).toHaveLength(1);
	});
});
