import type { SuppressionReason } from '../domain/suppression/state.js';

export type SuppressionFilter = Readonly<{ reason?: SuppressionReason; list?: string }>;
