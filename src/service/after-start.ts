/** What a service does once its workers have started, without anybody waiting for it. */
import type { Config } from './settings/config.js';
import type { Engine } from './engine.js';
import { expectDocuments } from './ready-documents.js';
import type { Runner } from '../projections/core/runner.js';
import { sayImpliedDeletes } from './start-notices.js';

/** Answers at once; what fails is in the log. */
export const afterStart = ({ roles }: Config, engine: Engine, runners: ReadonlyMap<string, Runner>, signal: AbortSignal): void => {
  if (roles.includes('http') || roles.includes('process')) void expectDocuments(engine);
  if (roles.includes('project')) void sayImpliedDeletes(engine, runners, signal);
};
