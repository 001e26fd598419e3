import { expect, it } from "vitest";
import { addressOf, noFilter, parseRoute, type Route } from "../../../web/state/route.ts";

function parsed(address: string): Route {
	const [path = "", query] = address.split("?", 2);
	return parseRoute(path, new URLSearchParams(query));
}

it.each([
	["", { view: "list", filter: noFilter }],
	["?show=needs-you", { view: "list", filter: { ...noFilter, isNeeding: true } }],
	[
		"?q=a+b&workspace=red&label=x&label=k%3Dv",
		{ view: "list", filter: { q: "a b", workspace: "red", labels: ["x", "k=v"], isNeeding: false } },
	],
	["grid", { view: "grid", filter: noFilter }],
	["s/k3v9", { view: "session", id: "k3v9", at: undefined }],
	["s/k3v9?at=120", { view: "session", id: "k3v9", at: "120" }],
	["s/k3v9/play?at=2026-01-01T00%3A00%3A00Z", { view: "playback", id: "k3v9", at: "2026-01-01T00:00:00Z" }],
	["w/a%2Fb", { view: "workspace", workspace: "a/b" }],
	["secret/4f0c2a9be1d7", { view: "secret", id: "4f0c2a9be1d7" }],
	["settings", { view: "settings" }],
] satisfies [string, Route][])("%s parses to a route, and back", (address, route) => {
	expect(parsed(address)).toEqual(route);
	expect(addressOf(route)).toBe(address);
});

it("a trailing slash is ignored", () => {
	expect(parsed("s/k3v9/")).toEqual(parsed("s/k3v9"));
	expect(parsed("grid/")).toEqual(parsed("grid"));
});

it.each(["nowhere", "s", "s/", "s/a/b", "s/a/play/x", "w", "w/a/b", "settings/x", "%"])(
	"%s is an unknown page",
	(address) => {
		expect(parsed(address)).toEqual({ view: "unknown" });
	},
);
