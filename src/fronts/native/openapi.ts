/** The API's description (OpenAPI 3.1), made of the routes there are and of the schemas that validate them. */

import type { Server } from "node:http";
import type { FastifyInstance, RouteOptions } from "fastify";
import Type from "typebox";
import { codes } from "../../core/errors.ts";
import type { Policy } from "../front.ts";

declare module "fastify" {
	interface FastifyContextConfig {
		/** What the operation does, in a few words, for the API's description. */
		summary?: string;
		/** The content types of answers that have no schema, by status; an empty one has no content. */
		answers?: Readonly<Record<number, string>>;
	}
}

type Schema = {
	params?: ObjectSchema;
	querystring?: ObjectSchema;
	body?: object;
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

const error = Type.Object({
	error: Type.Object({
		code: Type.Union(codes.map((code) => Type.Literal(code))),
		message: Type.String(),
		hint: Type.Optional(Type.String()),
	}),
});

export function openApi(routes: readonly RouteOptions[], version: string): object {
	const paths: Record<string, Record<string, object>> = {};
	for (const route of routes) {
		const path = route.url.replace(/:(\w+)/g, "{$1}");
		const operations = paths[path] ?? {};
		for (const method of [route.method].flat()) operations[String(method).toLowerCase()] = operation(route, path);
		paths[path] = operations;
	}
	return {
		openapi: "3.1.0",
		info: { title: "Hawser", version, license: { name: "Apache-2.0", identifier: "Apache-2.0" } },
		paths,
		components: {
			schemas: { Error: error },
			securitySchemes: { bearer: { type: "http", scheme: "bearer" } },
		},
	};
}

function operation(route: RouteOptions, path: string): object {
	const schema = (route.schema ?? {}) as Schema;
	const { policy, summary, takes } = route.config ?? {};
	const body = schema.body
		? { required: true, content: { "application/json": { schema: schema.body } } }
		: takes && { content: { [takes]: {} } };
	return {
		operationId: operationId(String([route.method].flat()[0]), path),
		...(summary === undefined ? {} : { summary }),
		security: policy === "public" ? [] : [{ bearer: [] }],
		"x-hawser-policy": policy satisfies Policy | undefined,
		parameters: [...parameters("path", schema.params), ...parameters("query", schema.querystring)],
		...(body ? { requestBody: body } : {}),
		responses: responses(route, schema),
	};
}

/** `getSessionsIdOutput`: unique because methods and paths are. */
function operationId(method: string, path: string): string {
	const words = path.split(/[^A-Za-z0-9]+/).filter((word) => word !== "" && word !== "v1");
	return method.toLowerCase() + words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("");
}

function parameters(place: "path" | "query", schema: ObjectSchema | undefined): object[] {
	return Object.entries(schema?.properties ?? {}).map(([name, one]) => ({
		name,
		in: place,
		required: place === "path" || schema?.required?.includes(name) === true,
		schema: one,
	}));
}

function responses(route: RouteOptions, schema: Schema): object {
	const described = Object.entries(schema.response ?? {}).map(([status, one]) => [
		status,
		{ description: "success", content: { "application/json": { schema: one } } },
	]);
	const others = Object.entries(route.config?.answers ?? {}).map(([status, type]) => [
		status,
		{ description: "success", ...(type === "" ? {} : { content: contents(type) }) },
	]);
	const refused = {
		description: "refused",
		content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } },
	};
	return { ...Object.fromEntries([...described, ...others]), default: refused };
}

function contents(types: string): object {
	return Object.fromEntries(types.split(", ").map((type) => [type, {}]));
}
