/** How Debian's Chromium is started, by tests and by measurements. */

import type { LaunchOptions } from "playwright-core";

/** It talks to nobody but the pages that it is given; and the sandbox would need rights that a container does not have. */
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
