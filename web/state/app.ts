/** Everything that the pages show and do, put together once. */

import type { Client } from "hawser/client";
import { Auth } from "./auth.ts";
import { Clock } from "./clock.ts";
import { SettingsStore, type Storage } from "./settings.ts";

export type App = {
	readonly client: Client;
	readonly auth: Auth;
	readonly settings: SettingsStore;
	readonly clock: Clock;
};

export function createApp(client: Client, storage: Storage): App {
	return { client, auth: new Auth(client), settings: new SettingsStore(storage), clock: new Clock() };
}
