/** The service worker, which caches nothing and answers no request: it only opens what a notification is about. */

/** As much of a worker as we use; the types of pages and of workers can't be had together. */
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

// A new version has nothing to hand over.
worker.addEventListener("install", (event) => event.waitUntil(worker.skipWaiting()));
worker.addEventListener("activate", (event) => event.waitUntil(worker.clients.claim()));

worker.addEventListener("notificationclick", (event) => {
	event.notification.close();
	event.waitUntil(open(new URL(`s/${encodeURIComponent(event.notification.tag)}`, worker.registration.scope).href));
});

/** In a page of ours that is there, or in a new one. */
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
