/** Compiled schemas. */

import type { TSchema } from "typebox";
import { Compile, type Validator } from "typebox/compile";

const validators = new WeakMap<TSchema, Validator>();

/** Compiles a schema when it checks its first value. A server has hundreds of schemas and uses few of them. */
export function validatorOf(schema: TSchema): () => Validator {
	return () => {
		const validator = validators.get(schema) ?? Compile(schema);
		validators.set(schema, validator);
		return validator;
	};
}
