/** Small builders of TypeBox schemas. */
import { Type, type TLiteral, type TSchema, type TUnion } from '@sinclair/typebox';

/** One of the given texts, as a union of literals, which the compiler of TypeBox can check too. */
export const oneOf = <const T extends string>(values: readonly T[]): TUnion<TLiteral<T>[]> =>
  Type.Union(values.map((value) => Type.Literal(value)));

export const nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);
