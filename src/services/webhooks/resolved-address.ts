/** Resolves a webhook's host once per attempt, checks the addresses, and connects to exactly those. */

import { lookup as lookupName } from "node:dns/promises";
import { BlockList, isIP } from "node:net";
import { networkInterfaces } from "node:os";

export type Address = { readonly address: string; readonly family: number };

/** Resolves a name like `dns.lookup`. */
export type Lookup = (host: string) => Promise<readonly Address[]>;

type Target = {
	readonly addresses: readonly Address[];
	/** Whether one of the addresses is outside the public internet. */
	readonly isPrivate: boolean;
};

/** Link-local addresses, and those from which clouds serve credentials and metadata of a machine. */
const LINK_LOCAL = blockList([
	"169.254.0.0/16",
	"fe80::/10",
	// AWS, Google, Azure, Alibaba and Oracle, besides 169.254.169.254.
	"fd00:ec2::/32",
	"fd20:ce::254/128",
	"168.63.129.16/32",
	"100.100.100.200/32",
	"192.0.0.192/32",
]);

const PRIVATE = blockList([
	"0.0.0.0/8",
	"10.0.0.0/8",
	"100.64.0.0/10",
	"127.0.0.0/8",
	"172.16.0.0/12",
	"192.0.0.0/24",
	"192.168.0.0/16",
	"198.18.0.0/15",
	"224.0.0.0/3",
	"::/127",
	"fc00::/7",
	"fec0::/10",
	"ff00::/8",
]);

export const usualLookup: Lookup = (host) => lookupName(host, { all: true, verbatim: true });

/** Rejects if the name has no address. */
export async function resolveTarget(url: string, lookup: Lookup): Promise<Target> {
	const host = new URL(url).hostname.replace(/^\[(.*)\]$/, "$1");
	const family = isIP(host);
	const addresses = family === 0 ? await lookup(host) : [{ address: host, family }];
	return { addresses, isPrivate: addresses.some(isPrivate) };
}

/** Whether webhooks are not sent to this address by default, in any notation. */
export function isLinkLocal({ address, family }: Address): boolean {
	return isIn(LINK_LOCAL, address, family);
}

function isPrivate({ address, family }: Address): boolean {
	const own = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
	return (
		isIn(PRIVATE, address, family) || isLinkLocal({ address, family }) || own.some((one) => one.address === address)
	);
}

function isIn(list: BlockList, address: string, family: number): boolean {
	// The scope names a network interface and is not part of the address.
	return list.check(address.replace(/%.*$/, ""), family === 6 ? "ipv6" : "ipv4");
}

/** An IPv4 network also covers the IPv6 addresses that embed it: mapped, translated, compatible, NAT64 and 6to4. */
function blockList(networks: readonly string[]): BlockList {
	const list = new BlockList();
	for (const network of networks) {
		const [address = "", prefix] = network.split("/");
		const bits = Number(prefix);
		if (isIP(address) === 6) list.addSubnet(address, bits, "ipv6");
		else {
			list.addSubnet(address, bits, "ipv4");
			for (const before of ["::ffff:", "::ffff:0:", "::", "64:ff9b::", "64:ff9b:1::"])
				list.addSubnet(`${before}${address}`, 96 + bits, "ipv6");
			const [a = 0, b = 0, c = 0, d = 0] = address.split(".").map(Number);
			const hex = (high: number, low: number) => (high * 256 + low).toString(16);
			list.addSubnet(`2002:${hex(a, b)}:${hex(c, d)}::`, 16 + bits, "ipv6");
		}
	}
	return list;
}
