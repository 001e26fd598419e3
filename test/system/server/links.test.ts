import { describe, expect, it } from "vitest";
import { connect } from "../../../src/client/index.ts";
import { type Started, start } from "../../support/server.ts";

/** A browser of this server: stores the cookie and sends it with the page's key and origin. */
function browser({ url }: Started) {
	let cookie = "";
	let pageKey: string | undefined;
	const fetchAsBrowser: typeof fetch = async (input, init = {}) => {
		const headers = new Headers(init.headers);
		headers.set("origin", url);
		if (cookie !== "") headers.set("cookie", cookie);
		const response = await fetch(input, { ...init, headers });
		cookie = response.headers.get("set-cookie")?.split(";")[0] ?? cookie;
		return response;
	};
	const client = () => connect({ url, pageKey, fetch: fetchAsBrowser });
	return {
		client,
		async signIn(request: { token?: string; code?: string }) {
			const signedIn = await client().signIn(request);
			pageKey = signedIn.pageKey;
			return signedIn.name;
		},
	};
}

const keyOf = (url: string) => new URL(url).hash.slice(1);

describe("browser sign-in", () => {
	it("a pasted token signs a browser in with the token's rights, until it signs out", async () => {
		const server = await start();
		const token = await server.token("workspace:red:manage");
		const page = browser(server);
		expect(await page.signIn({ token })).toMatch(/^token:/);
		const { id } = await page.client().sessions.create({ argv: ["cat"], workspace: "red", durable: false });
		expect((await page.client().sessions.list()).map((session) => session.id)).toEqual([id]);
		await expect(page.client().sessions.create({ argv: ["cat"], durable: false })).rejects.toMatchObject({
			code: "permission_denied",
		});
		await page.client().signOut();
		await expect(page.client().me()).rejects.toMatchObject({ code: "unauthenticated" });
	});

	it("a link's code signs a browser in once", async () => {
		const server = await start();
		const code = new URL(server.signInUrl ?? "").searchParams.get("code") ?? "";
		const page = browser(server);
		expect(await page.signIn({ code })).toBe("admin");
		expect(await page.client().me()).toMatchObject({ admin: true });
		await expect(browser(server).signIn({ code })).rejects.toMatchObject({ code: "token_ended", status: 401 });
	});

	it("an invalid token does not sign in, and the answer tells whether it was valid before", async () => {
		const server = await start();
		const { body } = await server.post("/v1/tokens", { scopes: ["workspace:red:read"] });
		const token = String(body.token);
		const other = `${token.slice(0, -1)}${token.endsWith("A") ? "B" : "A"}`;
		await connect({ url: server.url, token: server.adminToken }).tokens.revoke(String(body.id));
		const page = browser(server);
		await expect(page.signIn({ token })).rejects.toMatchObject({ code: "token_ended", status: 401 });
		for (const wrong of [other, "hwt_", "nonsense", "x".repeat(8192)]) {
			await expect(page.signIn({ token: wrong })).rejects.toMatchObject({ code: "unauthenticated", status: 401 });
		}
		for (const nothing of [{}, { token, code: "x" }]) {
			await expect(page.signIn(nothing)).rejects.toMatchObject({ code: "invalid_argument" });
		}
	});

	it("wrong tokens at sign-in count against the same rate limit as bearer tokens", async () => {
		const server = await start();
		const page = browser(server);
		const codes: string[] = [];
		for (let tries = 0; tries < 12; tries++) {
			codes.push(await page.signIn({ token: `wrong${tries}` }).catch(({ code }: { code: string }) => code));
		}
		expect(new Set(codes)).toEqual(new Set(["unauthenticated", "limit_exceeded"]));
		expect(codes.at(-1)).toBe("limit_exceeded");
		expect(await page.signIn({ token: server.adminToken })).toBe("admin");
	});

	it("a page of another origin can't sign a browser in", async () => {
		const server = await start();
		const response = await fetch(`${server.url}/v1/signin`, {
			method: "POST",
			headers: { origin: "https://evil.test", "content-type": "application/json" },
			body: JSON.stringify({ token: server.adminToken }),
		});
		expect([response.status, response.headers.get("set-cookie")]).toEqual([403, null]);
	});
});

describe("a guest link", () => {
	it("a guest link shows one session and nothing else, and is counted, listed and revoked", async () => {
		const server = await start();
		const owner = connect({ url: server.url, token: server.adminToken });
		const [shared, other] = [await server.session("red"), await server.session("red")];
		const before = Date.now();
		const { url, ...link } = await owner.sessions.at(shared).links.create({ name: "for ann" });
		expect(url).toMatch(new RegExp(`^${server.url}/s/${shared}#hwt_[0-9a-f]{12}_[A-Za-z0-9_-]{43}$`));
		expect(link).toMatchObject({ name: "for ann", right: "view", opened: 0, lastUsedAt: null });
		expect(link.expiresAt).toBeGreaterThanOrEqual(before + 3_600_000);

		const guest = browser(server);
		await guest.signIn({ token: keyOf(url) });
		await browser(server).signIn({ token: keyOf(url) });
		expect((await guest.client().me()).guest).toEqual({ session: shared, right: "view" });
		expect((await guest.client().sessions.list()).map(({ id }) => id)).toEqual([shared]);
		await expect(guest.client().sessions.get(other)).rejects.toMatchObject({ code: "session_not_found" });
		await expect(guest.client().sessions.at(shared).write("no")).rejects.toMatchObject({ code: "permission_denied" });
		await expect(guest.client().sessions.at(other).links.create()).rejects.toMatchObject({ code: "session_not_found" });
		expect(await owner.sessions.at(other).links.list()).toEqual([]);
		expect(await owner.sessions.at(shared).links.list()).toEqual([
			{ ...link, opened: 2, lastUsedAt: expect.any(Number) },
		]);

		expect(await owner.sessions.at(shared).links.revoke(link.id)).toEqual({ isDurable: true });
		await expect(guest.client().me()).rejects.toMatchObject({ code: "unauthenticated" });
		await expect(browser(server).signIn({ token: keyOf(url) })).rejects.toMatchObject({ code: "token_ended" });
		await expect(owner.sessions.at(shared).links.revoke(link.id)).rejects.toMatchObject({ code: "not_found" });
	});

	it("a guest link permits input if it says so, and grants no more than its creator's rights", async () => {
		const server = await start();
		const id = await server.session("red");
		const { url } = await connect({ url: server.url, token: server.adminToken })
			.sessions.at(id)
			.links.create({ right: "control" });
		const guest = browser(server);
		await guest.signIn({ token: keyOf(url) });
		await guest.client().sessions.at(id).write("typed\n");
		await expect(guest.client().sessions.at(id).kill()).rejects.toMatchObject({ code: "permission_denied" });
		const viewer = connect({ url: server.url, token: await server.token(`session:${id}:view`) });
		await expect(viewer.sessions.at(id).links.create({ right: "control" })).rejects.toMatchObject({
			code: "permission_denied",
		});
	});

	it("a guest link expires and reports that", async () => {
		const server = await start();
		const id = await server.session();
		const owner = connect({ url: server.url, token: server.adminToken });
		const guest = browser(server);
		/** A link that had not expired when the guest came. If it had, one with a longer life follows. */
		const usedInTime = async (expiresInMs: number): Promise<string> => {
			const { url } = await owner.sessions.at(id).links.create({ expiresInMs });
			const refused = await guest.signIn({ token: keyOf(url) }).then(
				() => undefined,
				({ code }: { code: string }) => code,
			);
			if (refused === undefined) return url;
			expect(refused).toBe("token_ended");
			return usedInTime(2 * expiresInMs);
		};
		const url = await usedInTime(300);
		await expect
			.poll(() =>
				guest
					.client()
					.me()
					.catch(({ code }: { code: string }) => code),
			)
			.toBe("unauthenticated");
		await expect(browser(server).signIn({ token: keyOf(url) })).rejects.toMatchObject({ code: "token_ended" });
		expect(await owner.sessions.at(id).links.list()).toEqual([]);
	});

	it("the audit records a guest link with its session and its end, and without its key", async () => {
		const server = await start();
		const id = await server.session();
		const owner = connect({ url: server.url, token: server.adminToken });
		const { url, ...link } = await owner.sessions.at(id).links.create();
		await browser(server).signIn({ token: keyOf(url) });
		await owner.sessions.at(id).links.revoke(link.id);
		const entries = async () => (await owner.audit({ limit: 100 })).entries;
		await expect.poll(async () => (await entries()).map(({ action }) => action)).toContain("token-revoked");
		const told = (await entries()).filter(({ action }) => ["token-made", "token-revoked", "sign-in"].includes(action));
		expect(told).toHaveLength(3);
		for (const one of [
			{ action: "token-made", token: link.id, session: id, by: { id: "admin" } },
			{ action: "sign-in", by: { id: link.id } },
			{ action: "token-revoked", token: link.id, session: id, by: { id: "admin" } },
		]) {
			expect(told).toContainEqual(expect.objectContaining({ ...one, by: expect.objectContaining(one.by) }));
		}
		expect(JSON.stringify(told)).not.toContain(keyOf(url).slice(17));
	});
});

it("reading a list with last lines is recorded like any other reading of output", async () => {
	const server = await start();
	const id = await server.session();
	const { token, id: reader } = (await server.post("/v1/tokens", { scopes: [`session:${id}:view`] })).body;
	const client = connect({ url: server.url, token: String(token) });
	await client.sessions.list();
	const reads = async () => {
		const { entries } = await connect({ url: server.url, token: server.adminToken }).audit({ action: "read" });
		const own = entries.filter(({ by, session }) => by?.id === reader && session === id);
		return own.reduce((sum, { count = 1 }) => sum + Number(count), 0);
	};
	await client.sessions.list({ overview: true });
	const events = client.events({ overview: true });
	await events.next();
	await server.request(`/v1/sessions/${id}/input`, {
		method: "POST",
		headers: { authorization: `Bearer ${server.adminToken}`, "content-type": "application/octet-stream" },
		body: "x\n",
	});
	await events.next();
	await events.return();
	await expect.poll(reads).toBe(2);
});
