export type Box = Readonly<{ top: number; right: number; bottom: number; left: number }>;

export type Border = Readonly<{ width: number; style: 'solid' | 'dashed' | 'dotted' | 'none'; color: string }>;

/** Points, a share of what is there, or as much as is left. */
export type Width = Readonly<{ points: number }> | Readonly<{ percent: number }> | 'auto' | 'rest';
