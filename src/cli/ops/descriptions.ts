/**
 * `sealpost openapi` and `sealpost schema KIND`: descriptions of the API and of the files that make templates, for
 * programs and editors.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startApp } from '../../service/app.js';
import { readConfig } from '../../service/settings/config.js';
import { openApiDocument } from '../../http/index.js';
import { print } from '../core/output.js';
import { templateJsonSchema, templateKinds } from '../../api/templates/json-schema.js';

/** The description comes from the routes of a server that is built for it and never listens. */
export const openapi = async (): Promise<void> => {
  const publicUrl = readConfig().publicUrl;
  const dataDir = mkdtempSync(join(tmpdir(), 'sealpost-openapi-'));
  const config = readConfig({
    SEALPOST_DATA_DIR: dataDir,
    SEALPOST_PUBLIC_URL: publicUrl,
    SEALPOST_ROLES: 'http',
    SEALPOST_LOG_LEVEL: 'silent',
  });
  const app = await startApp(config);
  try {
    await app.server.ready();
    print(JSON.stringify(openApiDocument(app.server), undefined, 2));
  } finally {
    await app.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
};

export const schema = (kind: string): void => {
  const known = templateKinds.find((name) => name === kind);
  if (known === undefined)
    throw new Error(`"${kind}" is no kind of template: it must be one of ${templateKinds.join(', ')}`);
  print(JSON.stringify(templateJsonSchema(known), undefined, 2));
};
