/** Routes of a team's sender domains: list, add, read, verify, rotate keys, delete, restore. */
import { DeletedSchema, DeleteQuerySchema, idParams } from '../../api/core/common.js';
import {
  AddDomainRequestSchema,
  DomainListQuerySchema,
  DomainListSchema,
  DomainRecordSchema,
  SetTrackingDomainRequestSchema,
} from '../../api/domains.js';
import { addDomainExamples, trackingDomainExamples } from '../../api/examples.js';
import { parseSenderDomainId, type SenderDomainId } from '../../domain/core/ids.js';
import { domainNotFound } from '../../domain/domains/decider.js';
import { callerOf, type App, type HttpDeps } from '../server/context.js';
import { coerceQuery } from '../server/validation.js';

type Deps = Pick<HttpDeps, 'commands'>;

const tags = ['Sender domains'];
const params = idParams('Id of the sender domain');
const access = 'domains:manage';
const unknownId = 'DOMAIN_NOT_FOUND';

/** Throws DOMAIN_NOT_FOUND for a malformed id. */
const domainIdOf = (text: string): SenderDomainId => {
  const id = parseSenderDomainId(text);
  if (id === undefined) throw domainNotFound();
  return id;
};

/** Registers the routes under /api/domains. */
export const domainRoutes = (app: App, deps: Deps): void => {
  collectionRoutes(app, deps);
  domainRoute(app, deps);
  changingRoutes(app, deps);
};

const collectionRoutes = (app: App, { commands }: Deps): void => {
  app.get(
    '/api/domains',
    {
      config: { access, command: 'listDomains' },
      preValidation: coerceQuery(DomainListQuerySchema),
      schema: {
        summary: 'List sender domains',
        operationId: 'listDomains',
        tags,
        querystring: DomainListQuerySchema,
        response: { 200: DomainListSchema },
      },
    },
    (request) => commands.listDomains(callerOf(request), request.query),
  );

  app.post(
    '/api/domains',
    {
      config: { access, command: 'addDomain', examples: addDomainExamples },
      schema: {
        summary: 'Add a sender domain',
        description:
          'Makes keys for DKIM, RSA and Ed25519, and answers with the DNS records to set. The domain counts once those of the keys are seen.',
        operationId: 'addDomain',
        tags,
        body: AddDomainRequestSchema,
        response: { 201: DomainRecordSchema },
      },
    },
    async (request, reply) => {
      const added = await commands.addDomain(callerOf(request), request.body);
      reply.code(201);
      return added;
    },
  );
};

const domainRoute = (app: App, { commands }: Deps): void => {
  app.get(
    '/api/domains/:id',
    {
      config: { access, command: 'getDomain', unknownId },
      schema: {
        summary: 'Read a sender domain',
        operationId: 'getDomain',
        tags,
        params,
        response: { 200: DomainRecordSchema },
      },
    },
    (request) => commands.getDomain(callerOf(request), domainIdOf(request.params.id)),
  );

  app.delete(
    '/api/domains/:id',
    {
      config: { access, command: 'deleteDomain', unknownId },
      preValidation: coerceQuery(DeleteQuerySchema),
      schema: {
        summary: 'Delete a sender domain',
        description:
          'Mails that wait already leave without its signature. For 30 days `POST /api/domains/{id}/restore` takes it back; then its keys are destroyed.',
        operationId: 'deleteDomain',
        tags,
        params,
        querystring: DeleteQuerySchema,
        response: { 200: DeletedSchema },
      },
    },
    async (request) => {
      const id = domainIdOf(request.params.id);
      await commands.deleteDomain(callerOf(request), id, request.query);
      return { id, deleted: true as const };
    },
  );
};

const changingRoutes = (app: App, { commands }: Deps): void => {
  app.post(
    '/api/domains/:id/verify',
    {
      config: { access, command: 'verifyDomain', unknownId },
      schema: {
        summary: 'Verify a sender domain',
        description:
          'Looks its DNS records up now. It is verified where all records of its keys are right; every domain is looked up daily, too.',
        operationId: 'verifyDomain',
        tags,
        params,
        response: { 200: DomainRecordSchema },
      },
    },
    (request) => commands.verifyDomain(callerOf(request), domainIdOf(request.params.id)),
  );

  app.post(
    '/api/domains/:id/rotate',
    {
      config: { access, command: 'rotateDomainKeys', unknownId },
      schema: {
        summary: 'Rotate the keys of a sender domain',
        description:
          'Makes new keys. They sign once their DNS records are seen; the records of those before are needed for seven more days.',
        operationId: 'rotateDomainKeys',
        tags,
        params,
        response: { 200: DomainRecordSchema },
      },
    },
    (request) => commands.rotateDomainKeys(callerOf(request), domainIdOf(request.params.id)),
  );

  app.put(
    '/api/domains/:id/tracking-domain',
    {
      config: { access, command: 'setTrackingDomain', unknownId, examples: trackingDomainExamples },
      schema: {
        summary: 'Set the domain of links',
        description:
          'Tracked links, the pixel and unsubscribe links of mails of this sender domain lead to that name once its CNAME record is seen.',
        operationId: 'setTrackingDomain',
        tags,
        params,
        body: SetTrackingDomainRequestSchema,
        response: { 200: DomainRecordSchema },
      },
    },
    (request) =>
      commands.setTrackingDomain(callerOf(request), domainIdOf(request.params.id), request.body.trackingDomain),
  );

  app.delete(
    '/api/domains/:id/tracking-domain',
    {
      config: { access, command: 'setTrackingDomain', unknownId },
      schema: {
        summary: 'Remove the domain of links',
        description:
          'Links of mails that are accepted from now on lead to the public URL. Keep the record for links already sent.',
        operationId: 'removeTrackingDomain',
        tags,
        params,
        response: { 200: DomainRecordSchema },
      },
    },
    (request) => commands.setTrackingDomain(callerOf(request), domainIdOf(request.params.id), null),
  );

  app.post(
    '/api/domains/:id/restore',
    {
      config: { access, command: 'restoreDomain', unknownId },
      schema: {
        summary: 'Restore a deleted sender domain',
        description:
          'Within 30 days of its deletion, with the keys that it had. Its mails are signed again once its DNS records are seen.',
        operationId: 'restoreDomain',
        tags,
        params,
        response: { 200: DomainRecordSchema },
      },
    },
    (request) => commands.restoreDomain(callerOf(request), domainIdOf(request.params.id)),
  );
};
