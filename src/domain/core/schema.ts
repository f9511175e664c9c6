/** Pieces of schemas that several files need. */
import { Type, type TLiteral, type TSchema, type TUnion } from '@sinclair/typebox';

/** One of the given texts; checked by the compiler of TypeBox as well as by JSON Schema validators. */
export const oneOf = <const T extends string>(values: readonly T[]): TUnion<TLiteral<T>[]> =>
  Type.Union(values.map((value) => Type.Literal(value)));

export const nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);
