import type { SuppressionReason } from '../../domain/recipients/suppression.js';

export type SuppressionFilter = Readonly<{ reason?: SuppressionReason; list?: string }>;
