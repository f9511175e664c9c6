/** The rule of one endpoint. `general`: it has no line in the table, so burst and concurrency are bounded too. */
export type RatePolicy = Readonly<{ endpoint: string; perMinute: number; general: boolean }>;
