#!/usr/bin/env node
/** Renders the PNG icons of the web UI from its SVG. Run by hand after a change; the results are committed. */

import { readFileSync } from "node:fs";
import { chromium } from "playwright-core";

const folder = "web/public/icons";
const drawing = readFileSync(`${folder}/icon.svg`, "utf8");
/** A maskable icon may be cut to any shape, so its background has no corners and the mark stays in the middle. */
const maskable = drawing.replace('rx="112" ', "").replace("translate(76 72) scale(18)", "translate(118 115) scale(14)");

const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
try {
	const pictures = { "icon-192": [drawing, 192], "icon-512": [drawing, 512], "maskable-512": [maskable, 512] };
	for (const [name, [svg, size]] of Object.entries(pictures)) {
		const page = await browser.newPage({ viewport: { width: size, height: size } });
		const address = `data:image/svg+xml;base64,${Buffer.from(svg).toString("base64")}`;
		await page.setContent(`<style>*{margin:0}</style><img width="${size}" height="${size}" src="${address}">`);
		await page.screenshot({ path: `${folder}/${name}.png`, omitBackground: true });
		await page.close();
	}
} finally {
	await browser.close();
}
