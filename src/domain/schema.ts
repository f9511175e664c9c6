/** Pieces of schemas that several files need. */
import { Type, type TLiteral, type TSchema, type TUnion } from '@sinclair/typebox';

/** One of the given texts; checked by the compiler of TypeBox as well as by JSON Schema validators. */
export const oneOf = <const T extends string>(values: readonly T[]): TUnion<TLiteral<T>[]> =>
  Type.Union(values.map((value) => Type.Literal(value)));

/** The same for schemas that are shown to people: one `enum` instead of many constants. */
export const enumOf = <const T extends string>(values: readonly T[], description?: string) =>
  Type.Unsafe<T>({ type: 'string', enum: [...values], ...(description === undefined ? {} : { description }) });

export const nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);
