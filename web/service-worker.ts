/** The service worker. It caches nothing and answers no requests; it only opens the session of a notification. */

/** The parts of the worker API used here. The types of pages and workers can't be used together. */
type WorkerClient = { readonly url: string; focus(): Promise<unknown>; navigate(url: string): Promise<unknown> };
type WorkerScope = {
	readonly registration: { readonly scope: string };
	readonly clients: {
		matchAll(options: { type: "window" }): Promise<WorkerClient[]>;
		openWindow(url: string): Promise<unknown>;
		claim(): Promise<void>;
	};
	skipWaiting(): Promise<void>;
	addEventListener(
		type: "install" | "activate",
		act: (event: { waitUntil(done: Promise<unknown>): void }) => void,
	): void;
	addEventListener(
		type: "notificationclick",
		act: (event: {
			readonly notification: { readonly tag: string; close(): void };
			waitUntil(done: Promise<unknown>): void;
		}) => void,
	): void;
};

const worker = globalThis as unknown as WorkerScope;

// A new version can take over at once.
worker.addEventListener("install", (event) => event.waitUntil(worker.skipWaiting()));
worker.addEventListener("activate", (event) => event.waitUntil(worker.clients.claim()));

worker.addEventListener("notificationclick", (event) => {
	event.notification.close();
	event.waitUntil(open(new URL(`s/${encodeURIComponent(event.notification.tag)}`, worker.registration.scope).href));
});

/** Opens an address in an existing page of this app, or in a new one. */
async function open(url: string): Promise<void> {
	const [page] = await worker.clients.matchAll({ type: "window" });
	if (!page) {
		await worker.clients.openWindow(url);
		return;
	}
	await page.focus();
	if (page.url !== url) await page.navigate(url);
}

export {};
