/** The API's description (OpenAPI 3.1), made of the routes there are and of the schemas that validate them. */

import type { Server } from "node:http";
import type { FastifyInstance, RouteOptions } from "fastify";
import Type, { IsOptional, type TSchema } from "typebox";
import { sessionCookies } from "../../core/access.ts";
import { codes } from "../../core/errors.ts";
import { fenceHeader, idempotencyKeyHeader, outputHeaders } from "../../protocol/messages.ts";
import { pageKeyHeader } from "../../protocol/page-key.ts";
import type { Policy } from "../front.ts";

declare module "fastify" {
	interface FastifyContextConfig {
		/** What generated clients call it, such as `createSession`. */
		operation?: string;
		/** What the operation does, in a few words, for the API's description. */
		summary?: string;
		/** The request's own headers, and those of its answer. */
		headers?: readonly string[];
		answerHeaders?: readonly string[];
		/** The content types of answers that are no JSON, by status; an empty one has no content. */
		answers?: Readonly<Record<number, string>>;
		/** What an event stream has as `data:`, by its `event:`. */
		events?: Readonly<Record<string, TSchema>>;
	}
}

type Schema = {
	params?: ObjectSchema;
	querystring?: ObjectSchema;
	body?: TSchema;
	response?: Record<string, object>;
};
type ObjectSchema = { properties?: Record<string, object>; required?: string[] };

const routesOf = new WeakMap<Server, RouteOptions[]>();

/** Remembers every route that is added to `app` from now on; all fronts of one server share one description. */
export function describeRoutes(app: FastifyInstance): void {
	app.addHook("onRoute", (route) => {
		if (route.method !== "HEAD") describedRoutes(app).push(route);
	});
}

/** The routes of the server that `app` belongs to. */
export function describedRoutes(app: FastifyInstance): RouteOptions[] {
	const routes = routesOf.get(app.server) ?? [];
	routesOf.set(app.server, routes);
	return routes;
}

const error = Type.Object(
	{
		error: Type.Object({
			code: Type.Union(codes.map((code) => Type.Literal(code))),
			message: Type.String(),
			hint: Type.Optional(Type.String()),
		}),
	},
	{
		title: "Error",
		examples: [{ error: { code: "session_not_found", message: 'there is no session "k3v9x0q2m4abt7w1dz"' } }],
	},
);

/** What each header says, both ways. */
const headerWords: Readonly<Record<string, string>> = {
	[idempotencyKeyHeader]: "by what a repeat is recognised: any word for a new session, STREAM:POSITION for input",
	[fenceHeader]: "the fence of the lease under which this is written",
	"last-event-id": "the id of the last event that was seen: what follows it is sent",
	location: "where it is",
	[outputHeaders.offset]: "the offset of the first byte of the body",
	[outputHeaders.next]: "where to go on: the next `since`",
	[outputHeaders.end]: "how many bytes there have been",
	[outputHeaders.state]: "the session's state",
	[outputHeaders.exit]: "the exit as JSON, once there is one",
	[outputHeaders.gap]: "from=N, to=M, reason=R: bytes that were asked for and are gone",
};

const securitySchemes = {
	bearer: { type: "http", scheme: "bearer" },
	cookie: {
		type: "apiKey",
		in: "cookie",
		name: `${sessionCookies.plain}_SERVER`,
		description: `SERVER is eight digits of each server; with TLS ${sessionCookies.secure}_SERVER`,
	},
	pageKey: { type: "apiKey", in: "header", name: pageKeyHeader, description: "goes with the cookie" },
} as const;

/** What is under each tag; one that is not here is called like its path, which says enough. */
const tagWords: Readonly<Record<string, string>> = {
	sessions: "Programs, and what is done with them",
	events: "What happens to all sessions",
	audit: "Who did what",
	webhooks: "Addresses that are told what happens",
	workspaces: "What separates those who share a server, and their tasks",
	access: "Tokens, tickets and sign-in",
	server: "The server itself",
};

/** What is under one of these paths and is not called like its tag. */
const tagOf: Readonly<Record<string, string>> = {
	tokens: "access",
	tickets: "access",
	proof: "access",
	"signin-links": "access",
	signin: "access",
	signout: "access",
	info: "server",
	healthz: "server",
	readyz: "server",
	metrics: "server",
	"openapi.json": "server",
};

export function openApi(routes: readonly RouteOptions[], version: string): object {
	const paths: Record<string, Record<string, object>> = {};
	const schemas = new Components();
	for (const route of routes) {
		const path = route.url.replace(/:(\w+)/g, "{$1}");
		const operations = paths[path] ?? {};
		for (const method of [route.method].flat()) {
			operations[String(method).toLowerCase()] = operation(route, path, schemas);
		}
		paths[path] = operations;
	}
	return {
		openapi: "3.1.0",
		info: { title: "Hawser", version, license: { name: "Apache-2.0", identifier: "Apache-2.0" } },
		tags: [...new Set(Object.keys(paths).map(tagFor))].map((name) => ({
			name,
			...(tagWords[name] === undefined ? {} : { description: tagWords[name] }),
		})),
		paths,
		components: { schemas: schemas.all, securitySchemes },
	};
}

function operation(route: RouteOptions, path: string, schemas: Components): object {
	const schema = (route.schema ?? {}) as Schema;
	const { policy, operation: name, summary, takes, headers = [] } = route.config ?? {};
	const body = schema.body
		? { required: !IsOptional(schema.body), content: { "application/json": { schema: schemas.refer(schema.body) } } }
		: takes && { content: contents(takes) };
	return {
		operationId: name ?? nameOf(String([route.method].flat()[0]), path),
		tags: [tagFor(path)],
		...(summary === undefined ? {} : { summary }),
		security: policy === "public" ? [] : [{ bearer: [] }, { cookie: [], pageKey: [] }],
		"x-hawser-policy": policy satisfies Policy | undefined,
		parameters: [
			...parameters("path", schema.params, schemas),
			...parameters("query", schema.querystring, schemas),
			...headers.map((header) => ({ name: properCase(header), in: "header", ...headerOf(header) })),
		],
		...(body ? { requestBody: body } : {}),
		responses: responses(route, schema, schemas),
	};
}

/** For a route that does not say what it is called. `getSessionsIdOutput`: unique because methods and paths are. */
function nameOf(method: string, path: string): string {
	const words = path.split(/[^A-Za-z0-9]+/).filter((word) => word !== "" && word !== "v1");
	return method.toLowerCase() + words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("");
}

function tagFor(path: string): string {
	const [first = ""] = path.split("/").filter((part) => part !== "" && part !== "v1");
	return tagOf[first] ?? first;
}

function parameters(place: "path" | "query", schema: ObjectSchema | undefined, schemas: Components): object[] {
	return Object.entries(schema?.properties ?? {}).map(([name, one]) => ({
		name,
		in: place,
		required: place === "path" || schema?.required?.includes(name) === true,
		...("deprecated" in one ? { deprecated: true } : {}),
		schema: schemas.refer(one),
	}));
}

function responses({ config = {} }: RouteOptions, schema: Schema, schemas: Components): object {
	const { answers = {}, answerHeaders = [], events } = config;
	const headers = Object.fromEntries(answerHeaders.map((name) => [properCase(name), headerOf(name)]));
	const withHeaders = answerHeaders.length > 0 ? { headers } : {};
	const json = (one: object | undefined) => (one ? { "application/json": { schema: schemas.refer(one) } } : {});
	const described = Object.entries(schema.response ?? {}).map(([status, one]) => [
		status,
		{ description: "success", ...withHeaders, content: json(one) },
	]);
	const stream = events && Object.fromEntries(Object.entries(events).map(([name, one]) => [name, schemas.refer(one)]));
	const others = Object.entries(answers).map(([status, type]) => [
		status,
		type === ""
			? { description: "success, and nothing to say" }
			: {
					description: "success",
					...withHeaders,
					content: { ...json(schema.response?.[status]), ...contents(type, stream) },
				},
	]);
	const refused = {
		description: "refused",
		headers: { "Retry-After": { description: "with 429: seconds to wait", schema: { type: "string" } } },
		content: { "application/json": { schema: schemas.refer(error) } },
	};
	return { ...Object.fromEntries([...described, ...others]), default: refused };
}

function headerOf(name: string): object {
	return { description: headerWords[name] ?? name, required: false, schema: { type: "string" } };
}

/** As people write them; HTTP does not care. */
function properCase(header: string): string {
	return header
		.replace(/(^|-)([a-z])/g, (_all, dash: string, letter: string) => dash + letter.toUpperCase())
		.replace(/Id$/, "ID");
}

/** Bodies that are no JSON. What an event stream carries has no place of its own in OpenAPI 3.1. */
function contents(types: string, events?: object): object {
	return Object.fromEntries(
		types.split(", ").map((type) => {
			if (type === "application/octet-stream") return [type, { schema: { type: "string", format: "binary" } }];
			if (type !== "text/event-stream")
				return [type, { schema: type === "application/json" ? {} : { type: "string" } }];
			const schema = { type: "string", description: "server-sent events, whose data is JSON" };
			return [type, { schema, ...(events ? { "x-hawser-events": events } : {}) }];
		}),
	);
}

/** The schemas that have a title, each in one place and referred to by it. */
class Components {
	readonly all: Record<string, object> = {};

	refer(schema: object): object {
		// What is TypeBox's own in it does not survive this, and should not.
		return this.#named(JSON.parse(JSON.stringify(schema)));
	}

	#named(value: unknown): object {
		const schema = this.#below(value) as { title?: unknown };
		if (typeof schema.title !== "string") return schema;
		this.all[schema.title] = schema;
		return { $ref: `#/components/schemas/${schema.title}` };
	}

	/** Examples are values, in which nothing is a schema. */
	#below(value: unknown): unknown {
		if (Array.isArray(value)) return value.map((one) => this.#inside(one));
		if (typeof value !== "object" || value === null) return value;
		return Object.fromEntries(
			Object.entries(value).map(([key, one]) => [key, key === "examples" ? one : this.#inside(one)]),
		);
	}

	#inside(value: unknown): unknown {
		const isTitled = typeof value === "object" && value !== null && "title" in value && typeof value.title === "string";
		return isTitled ? this.#named(value) : this.#below(value);
	}
}
