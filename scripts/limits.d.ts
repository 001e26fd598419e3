/** The pages of limits as they should be, by their paths. */
export function limitsPages(): ReadonlyMap<string, string>;

/** A value in words, with the unit that the constant's name ends in. */
export function describe(name: string, value: number | Readonly<Record<string, number | string>>): string;
