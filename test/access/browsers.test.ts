import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { LocalAccess } from "../../src/access/local-access.ts";
import { bearer, cookieOf, nothing, openAccess } from "./open-access.ts";

const DAY = 86_400_000;
const red = { workspace: "red", session: "s1" };

describe("a sign-in link", () => {
	it("becomes a cookie once", async () => {
		const { access, file } = await openAccess();
		const { code, expiresAt } = access.createSignInCode(access.admin);
		expect(expiresAt).toBe(1_000_000 + 300_000);
		const cookie = await access.signIn(code);
		expect(cookie).toMatch(/^hawser_session=[A-Za-z0-9_-]{43}; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Strict$/);
		expect(await access.signIn(code)).toBeUndefined();
		expect(access.authorize({ ...nothing, cookies: cookieOf(cookie) }, "admin")).toMatchObject({ id: "admin" });
		expect(await readFile(file, "utf8")).not.toContain(cookieOf(cookie).split("=")[1]);
	});

	it("is over after five minutes, and with the token that made it", async () => {
		const { access, clock } = await openAccess();
		const late = access.createSignInCode(access.admin);
		clock.advance(300_000);
		expect(await access.signIn(late.code)).toBeUndefined();
		const { secret, token } = await access.createToken(access.admin, { scopes: ["workspace:red:read"] });
		const orphan = access.createSignInCode(access.authorize(bearer(secret), "read"));
		await access.revokeToken(access.admin, token.id);
		expect(await access.signIn(orphan.code)).toBeUndefined();
		for (const code of ["", "x", "a".repeat(43)]) expect(await access.signIn(code)).toBeUndefined();
	});

	it("over TLS makes a cookie that only our host over TLS can have set", async () => {
		const { access } = await openAccess({ isSecure: true });
		const cookie = await access.signIn(access.createSignInCode(access.admin).code);
		expect(cookie).toMatch(/^__Host-hawser_session=\S+; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Strict; Secure$/);
		const plain = cookieOf(cookie).replace("__Host-", "");
		expect(() => access.authorize({ ...nothing, cookies: plain }, "read")).toThrow("a token is required");
	});
});

describe("a cookie", () => {
	const signedIn = async (scopes = ["workspace:red:operate"]) => {
		const opened = await openAccess();
		const { access } = opened;
		const { secret, token } = await access.createToken(access.admin, { scopes });
		const cookie = await access.signIn(access.createSignInCode(access.authorize(bearer(secret), "read")).code);
		return { ...opened, token, cookies: cookieOf(cookie) };
	};

	it("is worth what its token is, also after a restart", async () => {
		const { access, options, cookies, token } = await signedIn();
		await access.close();
		for (const one of [access, await LocalAccess.open(options)]) {
			const principal = one.authorize({ ...nothing, cookies }, "read");
			expect(principal).toMatchObject({ id: token.id, isAdmin: false });
			expect([principal.may("operate", red), principal.may("manage", red)]).toEqual([true, false]);
		}
	});

	it("counts as a use of its token", async () => {
		const { access, clock, cookies } = await signedIn();
		clock.advance(1_000);
		access.authorize({ ...nothing, cookies }, "read");
		expect(access.listTokens(access.admin)[0]?.lastUsedAt).toBe(1_001_000);
	});

	it("is enough to read, but needs an origin for everything else", async () => {
		const { access, cookies } = await signedIn();
		access.authorize({ ...nothing, cookies }, "read");
		expect(() => access.authorize({ ...nothing, cookies, isSafe: false }, "read")).toThrow("without an Origin");
		access.authorize({ ...nothing, cookies, isSafe: false, origin: "http://localhost:7707" }, "read");
	});

	it("does not stand in for a wrong token or ticket", async () => {
		const { access, cookies } = await signedIn();
		expect(() => access.authorize({ ...nothing, cookies, credential: "wrong" }, "read")).toThrow("token is not valid");
		expect(() => access.authorize({ ...nothing, cookies, ticket: "wrong" }, "read")).toThrow("ticket is not valid");
	});

	it("that is there twice is not believed", async () => {
		const { access, cookies } = await signedIn();
		const twice = `hawser_session=planted; ${cookies}`;
		expect(() => access.authorize({ ...nothing, cookies: twice }, "read")).toThrow("a token is required");
		access.authorize({ ...nothing, cookies: `a=b; ${cookies}; xhawser_session=planted` }, "read");
	});

	it("ends after thirty days, when signed out, and with its token; and what it has open with it", async () => {
		const ways: ((opened: Awaited<ReturnType<typeof signedIn>>) => unknown)[] = [
			({ clock }) => clock.advance(30 * DAY + 60_000),
			({ access, cookies }) => access.signOut(cookies),
			({ access, token }) => access.revokeToken(access.admin, token.id),
		];
		for (const end of ways) {
			const opened = await signedIn();
			const { access, cookies, options } = opened;
			const principal = access.authorize({ ...nothing, cookies }, "read");
			await end(opened);
			expect(principal.revoked.aborted).toBe(true);
			expect(() => access.authorize({ ...nothing, cookies }, "read")).toThrow("not signed in any more");
			await access.close();
			const reopened = await LocalAccess.open(options);
			expect(() => reopened.authorize({ ...nothing, cookies }, "read")).toThrow("not signed in any more");
		}
	});

	it("is over with its token at once, and so are tickets and links", async () => {
		const { access, clock } = await openAccess();
		const { secret } = await access.createToken(access.admin, { scopes: ["admin"], expiresInMs: 90_000 });
		const owner = access.authorize(bearer(secret), "admin");
		const cookies = cookieOf(await access.signIn(access.createSignInCode(owner).code));
		clock.advance(89_999);
		access.authorize({ ...nothing, cookies }, "admin");
		const { ticket } = access.createTicket(owner, { session: "s1", right: "read", origin: undefined });
		const { code } = access.createSignInCode(owner);
		clock.advance(1);
		expect(() => access.authorize({ ...nothing, cookies }, "admin")).toThrow("not signed in any more");
		expect(() => access.authorize({ ...nothing, ticket }, "read")).toThrow("not valid any more");
		expect(await access.signIn(code)).toBeUndefined();
	});

	it("signed out leaves the token and its other browsers alone", async () => {
		const { access, cookies } = await signedIn();
		const owner = access.authorize({ ...nothing, cookies }, "read");
		const other = cookieOf(await access.signIn(access.createSignInCode(owner).code));
		expect(await access.signOut(cookies)).toMatch(/^hawser_session=; Max-Age=0; /);
		expect(access.authorize({ ...nothing, cookies: other }, "read").revoked.aborted).toBe(false);
	});

	it("of the operator ends when the admin token is changed", async () => {
		const { access, options } = await openAccess();
		const cookies = cookieOf(await access.signIn(access.createSignInCode(access.admin).code));
		const reopened = await LocalAccess.open({ ...options, adminToken: "another" });
		expect(() => reopened.authorize({ ...nothing, cookies }, "read")).toThrow("not signed in any more");
	});

	it("there are twenty of one token: the oldest goes for one more", async () => {
		const { access } = await openAccess({ write: async () => {} });
		const all: string[] = [];
		for (let index = 0; index < 21; index++) {
			all.push(cookieOf(await access.signIn(access.createSignInCode(access.admin).code)));
		}
		const isIn = (cookies: string | undefined) => {
			try {
				return access.authorize({ ...nothing, cookies }, "read").isAdmin;
			} catch {
				return false;
			}
		};
		expect([isIn(all[0]), isIn(all[1]), isIn(all[20])]).toEqual([false, true, true]);
	});
});

describe("a ticket", () => {
	const upgrade = { ...nothing, isSafe: false };

	it("opens one session, up to one right, once", async () => {
		const { access } = await openAccess();
		const { ticket, expiresAt } = access.createTicket(access.admin, {
			session: "s1",
			right: "read",
			origin: undefined,
		});
		expect(expiresAt).toBe(1_030_000);
		const principal = access.authorize({ ...upgrade, ticket }, "read");
		expect(principal.isAdmin).toBe(false);
		expect([principal.may("read", red), principal.may("operate", red)]).toEqual([true, false]);
		expect(principal.may("read", { workspace: "blue", session: "s2" })).toBe(false);
		expect(principal.may("read", { workspace: "red" })).toBe(false);
		expect(() => access.authorize({ ...upgrade, ticket }, "read")).toThrow("the ticket is not valid any more");
	});

	it("is never worth more than who asked for it", async () => {
		const { access } = await openAccess();
		const { secret } = await access.createToken(access.admin, { scopes: ["session:s1:view"] });
		const viewer = access.authorize(bearer(secret), "read");
		const { ticket } = access.createTicket(viewer, { session: "s1", right: "operate", origin: undefined });
		expect(access.authorize({ ...upgrade, ticket }, "read").may("operate", red)).toBe(false);
		const foreign = access.createTicket(viewer, { session: "s2", right: "read", origin: undefined });
		const principal = access.authorize({ ...upgrade, ticket: foreign.ticket }, "read");
		expect(principal.may("read", { workspace: "blue", session: "s2" })).toBe(false);
	});

	it("is over after thirty seconds, and with its token", async () => {
		const { access, clock } = await openAccess();
		const request = { session: "s1", right: "read", origin: undefined } as const;
		const late = access.createTicket(access.admin, request);
		clock.advance(30_000);
		expect(() => access.authorize({ ...upgrade, ticket: late.ticket }, "read")).toThrow("not valid any more");
		const { secret, token } = await access.createToken(access.admin, { scopes: ["admin"] });
		const owner = access.authorize(bearer(secret), "read");
		const [used, unused] = [access.createTicket(owner, request), access.createTicket(owner, request)];
		const open = access.authorize({ ...upgrade, ticket: used.ticket }, "read");
		await access.revokeToken(access.admin, token.id);
		expect(open.revoked.aborted).toBe(true);
		expect(() => access.authorize({ ...upgrade, ticket: unused.ticket }, "read")).toThrow("not valid any more");
	});

	it("asked for by a page is good for pages of the same origin only, and is used up by others", async () => {
		const { access } = await openAccess();
		const make = () =>
			access.createTicket(access.admin, { session: "s1", right: "read", origin: "http://a.example" }).ticket;
		access.authorize({ ...upgrade, ticket: make(), origin: "http://a.example" }, "read");
		for (const origin of ["http://b.example", undefined]) {
			const ticket = make();
			expect(() => access.authorize({ ...upgrade, ticket, origin }, "read")).toThrow("not valid any more");
			expect(() => access.authorize({ ...upgrade, ticket, origin: "http://a.example" }, "read")).toThrow();
		}
	});

	it("there are a hundred of one owner: the oldest goes for one more", async () => {
		const { access } = await openAccess();
		const make = () => access.createTicket(access.admin, { session: "s1", right: "read", origin: undefined }).ticket;
		const all = Array.from({ length: 101 }, make);
		expect(() => access.authorize({ ...upgrade, ticket: all[0] }, "read")).toThrow("not valid any more");
		access.authorize({ ...upgrade, ticket: all[1] }, "read");
		access.authorize({ ...upgrade, ticket: all[100] }, "read");
	});
});
