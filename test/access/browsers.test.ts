import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { type Credentials, grantorOf } from "../../src/core/policy/access.ts";
import { bearer, nothing, openAccess, reopen, shownBy } from "./open-access.ts";

const DAY = 86_400_000;
const red = { workspace: "red", session: "s1" };

describe("a sign-in link", () => {
	it("a sign-in link becomes a cookie once", async () => {
		const { access, file } = await openAccess();
		const { code, expiresAt } = access.createSignInCode(access.admin);
		expect(expiresAt).toBe(1_000_000 + 300_000);
		const signedIn = await access.signIn(code);
		expect(signedIn?.cookie).toMatch(
			/^hawser_session_[0-9a-f]{8}=[A-Za-z0-9_-]{43}; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Strict$/,
		);
		expect(await access.signIn(code)).toBeUndefined();
		const shown = shownBy(signedIn);
		expect(access.authorize({ ...nothing, ...shown })).toMatchObject({ id: "admin" });
		const stored = await readFile(file, "utf8");
		for (const secret of [shown.cookies.split("=")[1], shown.pageKey]) {
			expect(secret).toMatch(/^[A-Za-z0-9_-]{43}$/);
			expect(stored).not.toContain(secret);
		}
	});

	it("a sign-in link expires after five minutes, and with its token", async () => {
		const { access, clock } = await openAccess();
		const late = access.createSignInCode(access.admin);
		clock.advance(300_000);
		expect(await access.signIn(late.code)).toBeUndefined();
		const { secret, token } = await access.createToken(access.admin, { scopes: ["workspace:red:read"] });
		const orphan = access.createSignInCode(grantorOf(access.authorize(bearer(secret))));
		await access.revokeToken(access.admin, token.id);
		expect(await access.signIn(orphan.code)).toBeUndefined();
		for (const code of ["", "x", "a".repeat(43)]) expect(await access.signIn(code)).toBeUndefined();
	});

	it("a sign-in link over TLS makes a cookie that only this host over TLS can set", async () => {
		const { access } = await openAccess({ isSecure: true });
		const shown = await access.signIn(access.createSignInCode(access.admin).code);
		expect(shown?.cookie).toMatch(
			/^__Host-hawser_session_[0-9a-f]{8}=\S+; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Strict; Secure$/,
		);
		const plain = shownBy(shown).cookies.replace("__Host-", "");
		expect(() => access.authorize({ ...nothing, ...shownBy(shown), cookies: plain })).toThrow("a token is required");
	});
});

describe("a cookie", () => {
	const signedIn = async (scopes = ["workspace:red:operate"]) => {
		const opened = await openAccess();
		const { access } = opened;
		const { secret, token } = await access.createToken(access.admin, { scopes });
		const shown = shownBy(
			await access.signIn(access.createSignInCode(grantorOf(access.authorize(bearer(secret)))).code),
		);
		return { ...opened, token, shown };
	};

	it("a cookie has its token's rights, also after a restart", async () => {
		const { access, options, shown, token } = await signedIn();
		await access.close();
		for (const one of [access, await reopen(options)]) {
			const principal = one.authorize({ ...nothing, ...shown });
			expect(principal).toMatchObject({ id: token.id, isAdmin: false });
			expect([principal.may("operate", red), principal.may("manage", red)]).toEqual([true, false]);
		}
	});

	it("a cookie counts as a use of its token", async () => {
		const { access, clock, shown } = await signedIn();
		clock.advance(1_000);
		access.authorize({ ...nothing, ...shown });
		expect(access.listTokens(access.admin)[0]?.lastUsedAt).toBe(1_001_000);
	});

	it("a cookie with its page key permits reads, and everything else also requires an origin", async () => {
		const { access, shown } = await signedIn();
		access.authorize({ ...nothing, ...shown });
		expect(() => access.authorize({ ...nothing, ...shown, isSafe: false })).toThrow("an Origin header is required");
		access.authorize({ ...nothing, ...shown, isSafe: false, origin: "http://localhost:7707" });
	});

	it("a cookie requires the page key of the same browser, and a page key requires the cookie", async () => {
		const { access, shown } = await signedIn();
		const other = shownBy(await access.signIn(access.createSignInCode(access.admin).code));
		const show = (caller: Partial<Credentials>) => () =>
			access.authorize({ ...nothing, origin: "http://localhost:7707", ...caller });
		expect(show({ cookies: shown.cookies })).toThrow("page key");
		expect(show({ cookies: shown.cookies, pageKey: "" })).toThrow("no longer signed in");
		expect(show({ cookies: shown.cookies, pageKey: other.pageKey })).toThrow("no longer signed in");
		expect(show({ pageKey: shown.pageKey })).toThrow("a token is required");
		show({ ...shown })();
	});

	it("a cookie does not replace a wrong token or ticket", async () => {
		const { access, shown } = await signedIn();
		expect(() => access.authorize({ ...nothing, ...shown, credential: "wrong" })).toThrow("token is not valid");
		expect(() => access.authorize({ ...nothing, ...shown, ticket: "wrong" })).toThrow("the ticket is no longer valid");
	});

	it("a duplicate cookie is rejected", async () => {
		const { access, shown } = await signedIn();
		const [name] = shown.cookies.split("=");
		const twice = `${name}=planted; ${shown.cookies}`;
		expect(() => access.authorize({ ...nothing, ...shown, cookies: twice })).toThrow("a token is required");
		access.authorize({ ...nothing, ...shown, cookies: `a=b; ${shown.cookies}; x${name}=planted` });
	});

	it("a cookie ends after thirty days, on sign-out and with its token, and its connections close", async () => {
		const ways: ((opened: Awaited<ReturnType<typeof signedIn>>) => unknown)[] = [
			({ clock }) => clock.advance(30 * DAY + 60_000),
			({ access, shown }) => access.signOut(shown.cookies),
			({ access, token }) => access.revokeToken(access.admin, token.id),
		];
		for (const end of ways) {
			const opened = await signedIn();
			const { access, shown, options } = opened;
			const principal = access.authorize({ ...nothing, ...shown });
			await end(opened);
			expect(principal.revoked.aborted).toBe(true);
			expect(() => access.authorize({ ...nothing, ...shown })).toThrow("no longer signed in");
			await access.close();
			const reopened = await reopen(options);
			expect(() => reopened.authorize({ ...nothing, ...shown })).toThrow("no longer signed in");
		}
	});

	it("a cookie expires at the same moment as its token, and so do tickets and links", async () => {
		const { access, clock } = await openAccess();
		const { secret } = await access.createToken(access.admin, { scopes: ["admin"], expiresInMs: 90_000 });
		const owner = grantorOf(access.authorize(bearer(secret)));
		const shown = shownBy(await access.signIn(access.createSignInCode(owner).code));
		clock.advance(89_999);
		access.authorize({ ...nothing, ...shown });
		const { ticket } = access.createTicket(owner, { session: "s1", right: "read", origin: undefined });
		const { code } = access.createSignInCode(owner);
		clock.advance(1);
		expect(() => access.authorize({ ...nothing, ...shown })).toThrow("no longer signed in");
		expect(() => access.authorize({ ...nothing, ticket })).toThrow("no longer valid");
		expect(await access.signIn(code)).toBeUndefined();
	});

	it("signing out a cookie leaves the token and its other browsers signed in", async () => {
		const { access, shown } = await signedIn();
		const owner = grantorOf(access.authorize({ ...nothing, ...shown }));
		const other = shownBy(await access.signIn(access.createSignInCode(owner).code));
		expect(await access.signOut(shown.cookies)).toEqual({
			cookie: expect.stringMatching(/^hawser_session_[0-9a-f]{8}=; Max-Age=0; /),
			isDurable: true,
			owner: expect.objectContaining({ id: owner.id }),
		});
		expect(access.authorize({ ...nothing, ...other }).revoked.aborted).toBe(false);
	});

	it("a cookie of the operator ends when the admin token changes", async () => {
		const { access, options } = await openAccess();
		const shown = shownBy(await access.signIn(access.createSignInCode(access.admin).code));
		const reopened = await reopen({ ...options, adminToken: "another" });
		expect(() => reopened.authorize({ ...nothing, ...shown })).toThrow("a token is required");
	});

	it("a token has twenty cookies: one more removes the oldest", async () => {
		const { access } = await openAccess({ write: async () => {} });
		const all: ReturnType<typeof shownBy>[] = [];
		for (let index = 0; index < 21; index++) {
			all.push(shownBy(await access.signIn(access.createSignInCode(access.admin).code)));
		}
		const isIn = (shown: (typeof all)[number] | undefined) => {
			try {
				return access.authorize({ ...nothing, ...shown }).isAdmin;
			} catch {
				return false;
			}
		};
		expect([isIn(all[0]), isIn(all[1]), isIn(all[20])]).toEqual([false, true, true]);
	});
});

describe("a ticket", () => {
	const upgrade = { ...nothing, isSafe: false };

	it("a ticket opens one session, up to one right, once", async () => {
		const { access } = await openAccess();
		const { ticket, expiresAt } = access.createTicket(access.admin, {
			session: "s1",
			right: "read",
			origin: undefined,
		});
		expect(expiresAt).toBe(1_030_000);
		const principal = access.authorize({ ...upgrade, ticket });
		expect(principal.isAdmin).toBe(false);
		expect([principal.may("read", red), principal.may("operate", red)]).toEqual([true, false]);
		expect(principal.may("read", { workspace: "blue", session: "s2" })).toBe(false);
		expect(principal.may("read", { workspace: "red" })).toBe(false);
		expect(() => access.authorize({ ...upgrade, ticket })).toThrow("the ticket is no longer valid");
	});

	it("a ticket can't create credentials: its type lacks the kind that granting functions accept, and it names its creator", async () => {
		const { access } = await openAccess();
		const { secret, token } = await access.createToken(access.admin, { scopes: ["admin"] });
		const owner = grantorOf(access.authorize(bearer(secret)));
		const { id, ticket } = access.createTicket(owner, { session: "s1", right: "operate", origin: undefined });
		const principal = access.authorize({ ...upgrade, ticket });
		expect(principal).toMatchObject({
			kind: "ticket",
			id: `ticket:${id}`,
			name: `ticket:${id}:token:${token.id}`,
			makers: [token.id],
			scopes: ["session:s1:control"],
		});
		expect(() => grantorOf(principal)).toThrow("a ticket opens one WebSocket and can't grant or revoke anything");
	});

	it("a ticket ends with the browser that requested it, although not with that browser's token", async () => {
		const { access } = await openAccess();
		const shown = shownBy(await access.signIn(access.createSignInCode(access.admin).code));
		const page = grantorOf(access.authorize({ ...nothing, ...shown }));
		const make = () => access.createTicket(page, { session: "s1", right: "read", origin: undefined }).ticket;
		const [used, unused] = [make(), make()];
		const open = access.authorize({ ...upgrade, ticket: used });
		await access.signOut(shown.cookies);
		expect(open.revoked.aborted).toBe(true);
		expect(() => access.authorize({ ...upgrade, ticket: unused })).toThrow("no longer valid");
	});

	it("a ticket never has more rights than its requester", async () => {
		const { access } = await openAccess();
		const { secret } = await access.createToken(access.admin, { scopes: ["session:s1:view"] });
		const viewer = grantorOf(access.authorize(bearer(secret)));
		const { ticket } = access.createTicket(viewer, { session: "s1", right: "operate", origin: undefined });
		expect(access.authorize({ ...upgrade, ticket }).may("operate", red)).toBe(false);
		const foreign = access.createTicket(viewer, { session: "s2", right: "read", origin: undefined });
		const principal = access.authorize({ ...upgrade, ticket: foreign.ticket });
		expect(principal.may("read", { workspace: "blue", session: "s2" })).toBe(false);
	});

	it("a ticket expires after thirty seconds, and with its token", async () => {
		const { access, clock } = await openAccess();
		const request = { session: "s1", right: "read", origin: undefined } as const;
		const late = access.createTicket(access.admin, request);
		clock.advance(30_000);
		expect(() => access.authorize({ ...upgrade, ticket: late.ticket })).toThrow("no longer valid");
		const { secret, token } = await access.createToken(access.admin, { scopes: ["admin"] });
		const owner = grantorOf(access.authorize(bearer(secret)));
		const [used, unused] = [access.createTicket(owner, request), access.createTicket(owner, request)];
		const open = access.authorize({ ...upgrade, ticket: used.ticket });
		await access.revokeToken(access.admin, token.id);
		expect(open.revoked.aborted).toBe(true);
		expect(() => access.authorize({ ...upgrade, ticket: unused.ticket })).toThrow("no longer valid");
	});

	it("a ticket requested by a page works for pages of the same origin only, and others use it up", async () => {
		const { access } = await openAccess();
		const make = () =>
			access.createTicket(access.admin, { session: "s1", right: "read", origin: "http://a.example" }).ticket;
		access.authorize({ ...upgrade, ticket: make(), origin: "http://a.example" });
		for (const origin of ["http://b.example", undefined]) {
			const ticket = make();
			expect(() => access.authorize({ ...upgrade, ticket, origin })).toThrow("no longer valid");
			expect(() => access.authorize({ ...upgrade, ticket, origin: "http://a.example" })).toThrow();
		}
	});

	it("an owner has a hundred tickets: one more removes the oldest", async () => {
		const { access } = await openAccess();
		const make = () => access.createTicket(access.admin, { session: "s1", right: "read", origin: undefined }).ticket;
		const all = Array.from({ length: 101 }, make);
		expect(() => access.authorize({ ...upgrade, ticket: all[0] })).toThrow("no longer valid");
		access.authorize({ ...upgrade, ticket: all[1] });
		access.authorize({ ...upgrade, ticket: all[100] });
	});
});
