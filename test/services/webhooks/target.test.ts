/** Addresses that webhooks are sent to: connections go to exactly the addresses that were checked. */

import { createServer } from "node:http";
import { type AddressInfo, isIP } from "node:net";
import { networkInterfaces } from "node:os";
import { expect, it, onTestFinished } from "vitest";
import { isLinkLocal, type Lookup, resolveTarget } from "../../../src/services/webhooks/resolved-address.ts";
import { post, toSecret } from "../../../src/services/webhooks/signed-request.ts";
import { checkedAddress } from "../../../src/services/webhooks/webhook-url.ts";

const message = { id: "n", timestamp: 1, attempt: 1, body: "{}" };
const refusal = {
	isTaken: false,
	status: null,
	reason: "the receiver's address is link-local or serves metadata of the machine",
};

const linkLocal = [
	"169.254.169.254",
	"169.254.0.1",
	"169.254.255.255",
	"fe80::1",
	"fe80::1%lo",
	"febf::1",
	"fd00:ec2::254",
	"fd20:ce::254",
	"168.63.129.16",
	"100.100.100.200",
	"192.0.0.192",
	"::ffff:169.254.169.254",
	"::ffff:a9fe:a9fe",
	"::169.254.169.254",
	"64:ff9b::169.254.169.254",
	"64:ff9b::a9fe:a9fe",
	"2002:a9fe:a9fe::1",
	"::ffff:168.63.129.16",
	"::ffff:0:169.254.169.254",
	"64:ff9b:1::169.254.169.254",
];
const others = [
	"169.253.255.255",
	"169.255.0.1",
	"fec0::1",
	"fd00:ec3::254",
	"127.0.0.1",
	"::1",
	"10.0.0.1",
	"1.1.1.1",
];
const of = (address: string) => ({ address, family: isIP(address.replace(/%.*/, "")) });

it.each(linkLocal)("the address %s is refused by default", (address) => {
	expect(isLinkLocal(of(address))).toBe(true);
});

it.each(others)("the address %s is not link-local", (address) => {
	expect(isLinkLocal(of(address))).toBe(false);
});

it.each([
	"http://169.254.169.254/latest/meta-data",
	"http://[fe80::1]/",
	"https://[fd00:ec2::254]/",
	"https://[::ffff:169.254.169.254]/",
	"https://2852039166/",
	"https://0xa9fea9fe/",
	"https://0251.0376.0251.0376/",
	"https://169.254.43518/",
])("a webhook for %s is refused when it is made, unless the setting allows it", (url) => {
	expect(() => checkedAddress({ url, allowsHttp: true }, false)).toThrow(
		/is link-local or serves metadata of the machine/,
	);
	expect(checkedAddress({ url, allowsHttp: true }, true)).toBe(new URL(url).href);
});

it.each([
	["http://127.0.0.1/", true],
	["http://[::1]/", true],
	["http://[::ffff:127.0.0.1]/", true],
	["http://0.0.0.0/", true],
	["http://10.1.2.3/", true],
	["http://172.16.0.1/", true],
	["http://192.168.1.1/", true],
	["http://100.64.0.1/", true],
	["http://[fd12::1]/", true],
	["http://[64:ff9b::10.0.0.1]/", true],
	["http://169.254.1.1/", true],
	["http://1.1.1.1/", false],
	["http://[2606:4700::1111]/", false],
])("the address of %s is private: %s", async (url, isPrivate) => {
	const never: Lookup = () => Promise.reject(new Error("an address is not looked up"));
	expect((await resolveTarget(url, never)).isPrivate).toBe(isPrivate);
});

it("an address of this machine is private, and so is a name with one private address among others", async () => {
	const own = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
	for (const { address } of own) {
		const lookup: Lookup = async () => [of("1.1.1.1"), of(address)];
		expect((await resolveTarget("http://name.test/", lookup)).isPrivate).toBe(true);
	}
});

/** A receiver on loopback, the requests that it got, and a way to send to it under a name. */
async function receiver(lookup: Lookup) {
	const received: string[] = [];
	const server = createServer((request, response) => {
		received.push(String(request.headers.host));
		response.writeHead(204).end();
	});
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	onTestFinished(() => void server.close());
	const { port } = server.address() as AddressInfo;
	const targets: boolean[] = [];
	const send = (allowsLinkLocal = false) =>
		post(message, {
			url: `http://name.test:${port}/`,
			secret: toSecret(Buffer.alloc(32)),
			lookup,
			allowsLinkLocal,
			onTarget: (isPrivate) => targets.push(isPrivate),
			timeoutMs: 10_000,
			signal: new AbortController().signal,
		});
	return { received, targets, send, port };
}

it("a name is looked up once for an attempt, and the connection uses the checked address", async () => {
	// The second answer would be the metadata service.
	const answers = [of("127.0.0.1"), of("169.254.169.254")];
	const { send, received, targets, port } = await receiver(async () => [answers.shift() ?? of("169.254.169.254")]);
	expect(await send()).toEqual({ isTaken: true, status: 204, reason: null });
	expect(answers).toHaveLength(1);
	expect(received).toEqual([`name.test:${port}`]);
	expect(targets).toEqual([true]);
	expect(await send()).toEqual(refusal);
	expect(received).toHaveLength(1);
	expect(targets).toHaveLength(1);
});

it.each(linkLocal)(
	"a name that has the address %s besides another is refused, and nothing is sent",
	async (address) => {
		const { send, received, targets } = await receiver(async () => [of("127.0.0.1"), of(address)]);
		expect(await send()).toEqual(refusal);
		expect(received).toEqual([]);
		expect(targets).toEqual([]);
	},
);

it("with the setting that allows it, a name with a link-local address is sent to", async () => {
	const { send, received } = await receiver(async () => [of("127.0.0.1"), of("169.254.169.254")]);
	expect((await send(true)).isTaken).toBe(true);
	expect(received).toHaveLength(1);
});

it("a name without an address, and one whose lookup fails, can't be reached", async () => {
	const empty = await receiver(async () => []);
	expect(await empty.send()).toMatchObject({ isTaken: false, reason: expect.stringMatching(/has no address/) });
	const failing = await receiver(() => Promise.reject(new Error("getaddrinfo ENOTFOUND name.test")));
	expect(await failing.send()).toMatchObject({ isTaken: false, reason: expect.stringMatching(/ENOTFOUND/) });
});
