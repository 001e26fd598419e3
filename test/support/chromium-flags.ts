/** Flags for Debian's Chromium, for tests and measurements. */

import type { LaunchOptions } from "playwright-core";

/** Chromium connects only to the given pages, and its sandbox needs rights that a container does not have. */
const FLAGS = [
	"--no-sandbox",
	"--disable-quic",
	"--no-first-run",
	"--disable-background-networking",
	"--disable-component-update",
	"--disable-sync",
];

export function launching(flags: readonly string[]): LaunchOptions {
	return { executablePath: "/usr/bin/chromium", headless: true, args: [...FLAGS, ...flags] };
}
