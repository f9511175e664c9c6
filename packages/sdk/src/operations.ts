/** The operations of the API as functions, in the order of its description. */
import { bodyOf, type Email } from './content.js';
import { jsonOf, pathOf, sender, type CallOptions, type ClientOptions, type Query } from './http.js';
import { listOf, type List } from './lists.js';
import type * as T from './types.gen.js';

/** The body of a webhook; `event` says which kind it is. */
export type WebhookEvent = T.Webhooks['body'];

type Options = CallOptions;
type Operation = Readonly<{ url: string; path?: unknown; query?: unknown; body?: unknown }>;
type QueryOf<D extends Operation> = NonNullable<D['query']>;
/** Pages are turned by the list. */
type Filters<D extends Operation> = Omit<QueryOf<D>, 'page' | 'cursor'>;
type BodyOf<D extends Operation> = NonNullable<D['body']>;
type Place = Readonly<Record<string, string | number>>;
type Rest = Readonly<{ path?: Place; query?: Query | undefined; body?: unknown; isKeyed?: boolean }>;
type PageOf = Readonly<{ data: readonly unknown[]; meta?: Readonly<{ nextCursor?: string | null }> }>;

/** A dry run answers what would happen, any other bulk send its batch. */
type SendBulk = {
  (body: T.SendBulkRequest & Readonly<{ dryRun: true }>, options?: Options): Promise<T.BulkDryRun>;
  (body: T.SendBulkRequest & Readonly<{ dryRun?: false }>, options?: Options): Promise<T.AcceptedBatch>;
  (body: T.SendBulkRequest, options?: Options): Promise<T.SendBulkResponse>;
};

export type Client = ReturnType<typeof createClient>;

/**
 * In: where the service is, and the key. Out: its operations as functions, which reject with a SealpostError. Throws a
 * TypeError for an address or a key that cannot be one.
 */
export const createClient = (client: ClientOptions) => {
  const send = sender(client);

  const answer =
    (method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE') =>
    async <D extends Operation, Answer>(url: D['url'], rest: Rest, options?: Options): Promise<Answer> => {
      const { path, ...call } = rest;
      const response = await send({ method, path: pathOf(url, path), ...call }, options);
      return (await jsonOf(response, options?.signal)) as Answer;
    };
  const get = answer('GET');
  const post = answer('POST');
  const put = answer('PUT');
  const patch = answer('PATCH');
  const del = answer('DELETE');

  const file = async <D extends Operation>(url: D['url'], rest: Rest, options?: Options): Promise<Blob> =>
    (await send({ method: 'GET', path: pathOf(url, rest.path), query: rest.query }, options)).blob();

  const list = <D extends Operation, P extends PageOf>(
    url: D['url'],
    filters: Filters<D> | undefined,
    options: Options | undefined,
    path?: Place,
  ): List<P> =>
    listOf<P>(
      (cursor, how) => get<D, P>(url, { ...(path === undefined ? {} : { path }), query: { ...filters, cursor } }, how),
      options,
    );

  const emails = {
    /** Queues one email. It is stored durably when the promise resolves. */
    send: async (email: Email, options?: Options): Promise<T.SendEmailResponse> =>
      post<T.SendEmailData, T.SendEmailResponse>(
        '/api/emails/send',
        { body: await bodyOf(email), isKeyed: true },
        options,
      ),
    /** Queues up to 100 different emails; each has its own result. */
    sendMany: async (
      batch: Omit<T.SendEmailsRequest, 'emails'> & Readonly<{ emails: readonly Email[] }>,
      options?: Options,
    ): Promise<T.SendEmailsResponse> =>
      post<T.SendEmailsData, T.SendEmailsResponse>(
        '/api/emails/batch',
        { body: { ...batch, emails: await Promise.all(batch.emails.map(bodyOf)) }, isKeyed: true },
        options,
      ),
    /** Queues one email for each of up to 1,000 recipients; `dryRun` tells what would happen. */
    sendBulk: ((body: T.SendBulkRequest, options?: Options) =>
      post<T.SendBulkData, T.SendBulkResponse>('/api/emails/send/bulk', { body, isKeyed: true }, options)) as SendBulk,
    list: (filters?: Filters<T.ListEmailsData>, options?: Options) =>
      list<T.ListEmailsData, T.ListEmailsResponse>('/api/emails', filters, options),
    count: (filters?: QueryOf<T.CountEmailsData>, options?: Options) =>
      get<T.CountEmailsData, T.CountEmailsResponse>('/api/emails/counts', { query: filters }, options),
    get: (id: string, query?: QueryOf<T.GetEmailData>, options?: Options) =>
      get<T.GetEmailData, T.GetEmailResponse>('/api/emails/{id}', { path: { id }, query }, options),
    timeline: (id: string, query?: QueryOf<T.GetEmailTimelineData>, options?: Options) =>
      get<T.GetEmailTimelineData, T.GetEmailTimelineResponse>(
        '/api/emails/{id}/timeline',
        { path: { id }, query },
        options,
      ),
    /** Subject, HTML, text and header fields as they were sent. */
    content: (id: string, query?: QueryOf<T.GetEmailContentData>, options?: Options) =>
      get<T.GetEmailContentData, T.GetEmailContentResponse>(
        '/api/emails/{id}/content',
        { path: { id }, query },
        options,
      ),
    /** The whole message (message/rfc822). */
    source: (id: string, query?: QueryOf<T.GetEmailSourceData>, options?: Options) =>
      file<T.GetEmailSourceData>('/api/emails/{id}/source', { path: { id }, query }, options),
    attachment: (id: string, index: number, query?: QueryOf<T.GetEmailAttachmentData>, options?: Options) =>
      file<T.GetEmailAttachmentData>('/api/emails/{id}/attachments/{index}', { path: { id, index }, query }, options),
    /** Sends a copy, with what `changes` names. */
    resend: (id: string, changes: BodyOf<T.ResendEmailData> = {}, options?: Options) =>
      post<T.ResendEmailData, T.ResendEmailResponse>(
        '/api/emails/{id}/resend',
        { path: { id }, body: changes, isKeyed: true },
        options,
      ),
    retry: (id: string, options?: Options) =>
      post<T.RetryEmailData, T.RetryEmailResponse>('/api/emails/{id}/retry', { path: { id }, isKeyed: true }, options),
    retryMany: (body: T.RetryEmailsRequest, options?: Options) =>
      post<T.RetryEmailsData, T.RetryEmailsResponse>('/api/emails/retry', { body }, options),
    reschedule: (id: string, body: T.RescheduleEmailRequest, options?: Options) =>
      patch<T.RescheduleEmailData, T.RescheduleEmailResponse>('/api/emails/{id}', { path: { id }, body }, options),
    cancel: (id: string, options?: Options) =>
      post<T.CancelEmailData, T.CancelEmailResponse>(
        '/api/emails/{id}/cancel',
        { path: { id }, isKeyed: true },
        options,
      ),
    delete: (id: string, options?: Options) =>
      del<T.DeleteEmailData, T.DeleteEmailResponse>('/api/emails/{id}', { path: { id } }, options),
    deleteMany: (body: T.DeleteEmailsRequest, options?: Options) =>
      del<T.DeleteEmailsData, T.DeleteEmailsResponse>('/api/emails/bulk', { body }, options),
    queue: (options?: Options) => get<T.QueueStatsData, T.QueueStatsResponse>('/api/emails/queue/stats', {}, options),
  };

  return {
    /** `emails.send` */
    send: emails.send,
    /** `emails.sendBulk` */
    sendBulk: emails.sendBulk,
    emails,
    /** Sends that a person decides on in the dashboard. */
    approvals: {
      /** Asks a person to approve one email, checked as by `send`. Nothing is sent meanwhile. */
      ask: async (email: Email, options?: Options): Promise<T.RequestApprovalResponse> =>
        post<T.RequestApprovalData, T.RequestApprovalResponse>(
          '/api/approvals',
          { body: await bodyOf(email), isKeyed: true },
          options,
        ),
      list: (filters?: Filters<T.ListApprovalsData>, options?: Options) =>
        list<T.ListApprovalsData, T.ListApprovalsResponse>('/api/approvals', filters, options),
      /** `emailId` names the email once a person has approved it. */
      get: (id: string, options?: Options) =>
        get<T.GetApprovalData, T.GetApprovalResponse>('/api/approvals/{id}', { path: { id } }, options),
      /** Subject, HTML, text and header fields as they would leave. */
      content: (id: string, options?: Options) =>
        get<T.GetApprovalContentData, T.GetApprovalContentResponse>(
          '/api/approvals/{id}/content',
          { path: { id } },
          options,
        ),
      attachment: (id: string, index: number, options?: Options) =>
        file<T.GetApprovalAttachmentData>('/api/approvals/{id}/attachments/{index}', { path: { id, index } }, options),
      withdraw: (id: string, options?: Options) =>
        post<T.WithdrawApprovalData, T.WithdrawApprovalResponse>(
          '/api/approvals/{id}/withdraw',
          { path: { id } },
          options,
        ),
    },
    batches: {
      list: (filters?: Filters<T.ListBatchesData>, options?: Options) =>
        list<T.ListBatchesData, T.ListBatchesResponse>('/api/emails/batches', filters, options),
      get: (batchId: string, options?: Options) =>
        get<T.GetBatchStatusData, T.GetBatchStatusResponse>(
          '/api/emails/batch/{batchId}/status',
          { path: { batchId } },
          options,
        ),
      /** One line for each recipient, as JSON lines or CSV. */
      results: (batchId: string, query?: QueryOf<T.GetBatchResultsData>, options?: Options) =>
        file<T.GetBatchResultsData>('/api/emails/batch/{batchId}/results', { path: { batchId }, query }, options),
      cancel: (batchId: string, options?: Options) =>
        post<T.CancelBatchData, T.CancelBatchResponse>(
          '/api/emails/batch/{batchId}/cancel',
          { path: { batchId }, isKeyed: true },
          options,
        ),
    },
    templates: {
      list: (filters?: Filters<T.ListTemplatesData>, options?: Options) =>
        list<T.ListTemplatesData, T.ListTemplatesResponse>('/api/templates', filters, options),
      get: (id: string, options?: Options) =>
        get<T.GetTemplateData, T.GetTemplateResponse>('/api/templates/{id}', { path: { id } }, options),
      create: (body: T.CreateTemplateRequest, options?: Options) =>
        post<T.CreateTemplateData, T.CreateTemplateResponse>('/api/templates', { body }, options),
      update: (id: string, body: T.UpdateTemplateRequest, options?: Options) =>
        patch<T.UpdateTemplateData, T.UpdateTemplateResponse>('/api/templates/{id}', { path: { id }, body }, options),
      delete: (id: string, options?: Options) =>
        del<T.DeleteTemplateData, T.DeleteTemplateResponse>('/api/templates/{id}', { path: { id } }, options),
      restore: (id: string, body: BodyOf<T.RestoreTemplateData> = {}, options?: Options) =>
        post<T.RestoreTemplateData, T.RestoreTemplateResponse>(
          '/api/templates/{id}/restore',
          { path: { id }, body },
          options,
        ),
      publish: (id: string, options?: Options) =>
        post<T.PublishTemplateData, T.PublishTemplateResponse>(
          '/api/templates/{id}/publish',
          { path: { id } },
          options,
        ),
      /** Creates the template or changes the one with its slug. */
      import: (body: T.ImportTemplateRequest, options?: Options) =>
        post<T.ImportTemplateData, T.ImportTemplateResponse>('/api/templates/import', { body }, options),
      versions: (id: string, options?: Options) =>
        get<T.ListTemplateVersionsData, T.ListTemplateVersionsResponse>(
          '/api/templates/{id}/versions',
          { path: { id } },
          options,
        ),
      version: (id: string, version: number, options?: Options) =>
        get<T.GetTemplateVersionData, T.GetTemplateVersionResponse>(
          '/api/templates/{id}/versions/{version}',
          { path: { id, version } },
          options,
        ),
      restoreVersion: (id: string, version: number, options?: Options) =>
        post<T.RestoreTemplateVersionData, T.RestoreTemplateVersionResponse>(
          '/api/templates/{id}/versions/{version}/restore',
          { path: { id, version } },
          options,
        ),
      preview: (id: string, body: T.PreviewRequest, options?: Options) =>
        post<T.PreviewTemplateData, T.PreviewTemplateResponse>(
          '/api/templates/{id}/preview',
          { path: { id }, body },
          options,
        ),
      /** Renders and checks a template that is not stored. */
      check: (body: T.PreviewUnsavedTemplateRequest, options?: Options) =>
        post<T.PreviewUnsavedTemplateData, T.PreviewUnsavedTemplateResponse>(
          '/api/templates/preview',
          { body },
          options,
        ),
      /** Converts a mail of another service to a template that is not stored. */
      convert: (body: T.ConvertTemplateRequest, options?: Options) =>
        post<T.ConvertTemplateData, T.ConvertTemplateResponse>('/api/templates/convert', { body }, options),
      sendTest: (id: string, body: BodyOf<T.TestTemplateData> = {}, options?: Options) =>
        post<T.TestTemplateData, T.TestTemplateResponse>('/api/templates/{id}/test', { path: { id }, body }, options),
    },
    attachmentTemplates: {
      list: (filters?: Filters<T.ListAttachmentTemplatesData>, options?: Options) =>
        list<T.ListAttachmentTemplatesData, T.ListAttachmentTemplatesResponse>(
          '/api/templates/attachment',
          filters,
          options,
        ),
      get: (id: string, options?: Options) =>
        get<T.GetAttachmentTemplateData, T.GetAttachmentTemplateResponse>(
          '/api/templates/attachment/{id}',
          { path: { id } },
          options,
        ),
      create: (body: T.CreateAttachmentTemplateRequest, options?: Options) =>
        post<T.CreateAttachmentTemplateData, T.CreateAttachmentTemplateResponse>(
          '/api/templates/attachment',
          { body },
          options,
        ),
      update: (id: string, body: T.UpdateAttachmentTemplateRequest, options?: Options) =>
        patch<T.UpdateAttachmentTemplateData, T.UpdateAttachmentTemplateResponse>(
          '/api/templates/attachment/{id}',
          { path: { id }, body },
          options,
        ),
      delete: (id: string, options?: Options) =>
        del<T.DeleteAttachmentTemplateData, T.DeleteAttachmentTemplateResponse>(
          '/api/templates/attachment/{id}',
          { path: { id } },
          options,
        ),
      restore: (id: string, body: BodyOf<T.RestoreAttachmentTemplateData> = {}, options?: Options) =>
        post<T.RestoreAttachmentTemplateData, T.RestoreAttachmentTemplateResponse>(
          '/api/templates/attachment/{id}/restore',
          { path: { id }, body },
          options,
        ),
      publish: (id: string, options?: Options) =>
        post<T.PublishAttachmentTemplateData, T.PublishAttachmentTemplateResponse>(
          '/api/templates/attachment/{id}/publish',
          { path: { id } },
          options,
        ),
      /** Creates the template or changes the one with its slug. */
      import: (body: T.ImportAttachmentTemplateRequest, options?: Options) =>
        post<T.ImportAttachmentTemplateData, T.ImportAttachmentTemplateResponse>(
          '/api/templates/attachment/import',
          { body },
          options,
        ),
      versions: (id: string, options?: Options) =>
        get<T.ListAttachmentTemplateVersionsData, T.ListAttachmentTemplateVersionsResponse>(
          '/api/templates/attachment/{id}/versions',
          { path: { id } },
          options,
        ),
      version: (id: string, version: number, options?: Options) =>
        get<T.GetAttachmentTemplateVersionData, T.GetAttachmentTemplateVersionResponse>(
          '/api/templates/attachment/{id}/versions/{version}',
          { path: { id, version } },
          options,
        ),
      restoreVersion: (id: string, version: number, options?: Options) =>
        post<T.RestoreAttachmentTemplateVersionData, T.RestoreAttachmentTemplateVersionResponse>(
          '/api/templates/attachment/{id}/versions/{version}/restore',
          { path: { id, version } },
          options,
        ),
      /** The PDF or the sheet, made from sample values. */
      preview: (id: string, query?: QueryOf<T.PreviewAttachmentTemplateData>, options?: Options) =>
        file<T.PreviewAttachmentTemplateData>(
          '/api/templates/attachment/{id}/preview',
          { path: { id }, query },
          options,
        ),
      /** Renders and checks a template that is not stored. */
      check: (body: T.PreviewUnsavedAttachmentRequest, options?: Options) =>
        post<T.PreviewUnsavedAttachmentTemplateData, T.PreviewUnsavedAttachmentTemplateResponse>(
          '/api/templates/attachment/preview',
          { body },
          options,
        ),
    },
    blocks: {
      list: (filters?: Filters<T.ListBlocksData>, options?: Options) =>
        list<T.ListBlocksData, T.ListBlocksResponse>('/api/blocks', filters, options),
      get: (id: string, options?: Options) =>
        get<T.GetBlockData, T.GetBlockResponse>('/api/blocks/{id}', { path: { id } }, options),
      create: (body: T.CreateBlockRequest, options?: Options) =>
        post<T.CreateBlockData, T.CreateBlockResponse>('/api/blocks', { body }, options),
      update: (id: string, body: T.UpdateBlockRequest, options?: Options) =>
        patch<T.UpdateBlockData, T.UpdateBlockResponse>('/api/blocks/{id}', { path: { id }, body }, options),
      delete: (id: string, options?: Options) =>
        del<T.DeleteBlockData, T.DeleteBlockResponse>('/api/blocks/{id}', { path: { id } }, options),
      restore: (id: string, body: BodyOf<T.RestoreBlockData> = {}, options?: Options) =>
        post<T.RestoreBlockData, T.RestoreBlockResponse>('/api/blocks/{id}/restore', { path: { id }, body }, options),
      publish: (id: string, body: BodyOf<T.PublishBlockData> = {}, options?: Options) =>
        post<T.PublishBlockData, T.PublishBlockResponse>('/api/blocks/{id}/publish', { path: { id }, body }, options),
      /** Creates the block or changes the one with its slug. */
      import: (body: T.ImportBlockRequest, options?: Options) =>
        post<T.ImportBlockData, T.ImportBlockResponse>('/api/blocks/import', { body }, options),
      versions: (id: string, options?: Options) =>
        get<T.ListBlockVersionsData, T.ListBlockVersionsResponse>(
          '/api/blocks/{id}/versions',
          { path: { id } },
          options,
        ),
      version: (id: string, version: number, options?: Options) =>
        get<T.GetBlockVersionData, T.GetBlockVersionResponse>(
          '/api/blocks/{id}/versions/{version}',
          { path: { id, version } },
          options,
        ),
      restoreVersion: (id: string, version: number, options?: Options) =>
        post<T.RestoreBlockVersionData, T.RestoreBlockVersionResponse>(
          '/api/blocks/{id}/versions/{version}/restore',
          { path: { id, version } },
          options,
        ),
      /** Renders and checks a block that is not stored. */
      check: (body: T.PreviewUnsavedBlockRequest, options?: Options) =>
        post<T.PreviewUnsavedBlockData, T.PreviewUnsavedBlockResponse>('/api/blocks/preview', { body }, options),
      /** The templates that name it. */
      usage: (id: string, options?: Options) =>
        get<T.BlockUsageData, T.BlockUsageResponse>('/api/blocks/{id}/usage', { path: { id } }, options),
      /** The templates that a publish of its draft would change, and how. */
      impact: (id: string, options?: Options) =>
        get<T.BlockImpactData, T.BlockImpactResponse>('/api/blocks/{id}/impact', { path: { id } }, options),
    },
    assets: {
      list: (filters?: Filters<T.ListAssetsData>, options?: Options) =>
        list<T.ListAssetsData, T.ListAssetsResponse>('/api/assets', filters, options),
      get: (id: string, options?: Options) =>
        get<T.GetAssetData, T.GetAssetResponse>('/api/assets/{id}', { path: { id } }, options),
      create: (body: T.CreateAssetRequest, options?: Options) =>
        post<T.CreateAssetData, T.CreateAssetResponse>('/api/assets', { body }, options),
      content: (id: string, options?: Options) =>
        file<T.GetAssetContentData>('/api/assets/{id}/content', { path: { id } }, options),
      delete: (id: string, query?: QueryOf<T.DeleteAssetData>, options?: Options) =>
        del<T.DeleteAssetData, T.DeleteAssetResponse>('/api/assets/{id}', { path: { id }, query }, options),
      restore: (id: string, options?: Options) =>
        post<T.RestoreAssetData, T.RestoreAssetResponse>('/api/assets/{id}/restore', { path: { id } }, options),
    },
    suppressions: {
      list: (filters?: Filters<T.ListSuppressionsData>, options?: Options) =>
        list<T.ListSuppressionsData, T.ListSuppressionsResponse>('/api/suppressions', filters, options),
      add: (body: T.AddSuppressionRequest, options?: Options) =>
        post<T.AddSuppressionData, T.AddSuppressionResponse>('/api/suppressions', { body }, options),
      check: (query: QueryOf<T.CheckSuppressionData>, options?: Options) =>
        get<T.CheckSuppressionData, T.CheckSuppressionResponse>('/api/suppressions/check', { query }, options),
      remove: (id: string, options?: Options) =>
        del<T.RemoveSuppressionData, T.RemoveSuppressionResponse>('/api/suppressions/{id}', { path: { id } }, options),
      /** In: a CSV file. */
      import: (csv: Blob, options?: Options) => {
        const body = new FormData();
        body.set('file', csv, 'suppressions.csv');
        return post<T.ImportSuppressionsData, T.ImportSuppressionsResponse>(
          '/api/suppressions/import',
          { body },
          options,
        );
      },
      /** All of them, as CSV. */
      export: (options?: Options) => file<T.ExportSuppressionsData>('/api/suppressions/export', {}, options),
    },
    recipients: {
      /** One address: its last emails, suppressions, erasures. */
      get: (address: string, options?: Options) =>
        get<T.GetRecipientData, T.GetRecipientResponse>('/api/recipients/{address}', { path: { address } }, options),
    },
    privacy: {
      erase: (body: T.DataSubjectRequest, options?: Options) =>
        post<T.EraseAddressData, T.EraseAddressResponse>('/api/privacy/erase', { body }, options),
      erasure: (id: string, options?: Options) =>
        get<T.GetErasureData, T.GetErasureResponse>('/api/privacy/erasures/{id}', { path: { id } }, options),
      /** All that is kept of an address, as JSON lines. */
      export: async (body: T.DataSubjectRequest, options?: Options): Promise<Blob> =>
        (await send({ method: 'POST', path: '/api/privacy/export', body }, options)).blob(),
    },
    usage: {
      get: (options?: Options) =>
        get<T.GetUsageStatsData, T.GetUsageStatsResponse>('/api/emails/usage/stats', {}, options),
      days: (query?: QueryOf<T.GetUsageByDayData>, options?: Options) =>
        get<T.GetUsageByDayData, T.GetUsageByDayResponse>('/api/emails/usage/days', { query }, options),
      months: (query?: QueryOf<T.GetUsageByMonthData>, options?: Options) =>
        get<T.GetUsageByMonthData, T.GetUsageByMonthResponse>('/api/emails/usage/months', { query }, options),
      addCredits: (body: T.AddCreditsRequest, options?: Options) =>
        post<T.AddCreditsData, T.AddCreditsResponse>('/api/credits', { body }, options),
    },
    domains: {
      list: (filters?: QueryOf<T.ListDomainsData>, options?: Options) =>
        get<T.ListDomainsData, T.ListDomainsResponse>('/api/domains', { query: filters }, options),
      get: (id: string, options?: Options) =>
        get<T.GetDomainData, T.GetDomainResponse>('/api/domains/{id}', { path: { id } }, options),
      add: (body: T.AddSenderDomainRequest, options?: Options) =>
        post<T.AddDomainData, T.AddDomainResponse>('/api/domains', { body }, options),
      verify: (id: string, options?: Options) =>
        post<T.VerifyDomainData, T.VerifyDomainResponse>('/api/domains/{id}/verify', { path: { id } }, options),
      /** Makes new keys for DKIM. */
      rotate: (id: string, options?: Options) =>
        post<T.RotateDomainKeysData, T.RotateDomainKeysResponse>('/api/domains/{id}/rotate', { path: { id } }, options),
      setTrackingDomain: (id: string, body: T.SetTrackingDomainRequest, options?: Options) =>
        put<T.SetTrackingDomainData, T.SetTrackingDomainResponse>(
          '/api/domains/{id}/tracking-domain',
          { path: { id }, body },
          options,
        ),
      removeTrackingDomain: (id: string, options?: Options) =>
        del<T.RemoveTrackingDomainData, T.RemoveTrackingDomainResponse>(
          '/api/domains/{id}/tracking-domain',
          { path: { id } },
          options,
        ),
      delete: (id: string, query?: QueryOf<T.DeleteDomainData>, options?: Options) =>
        del<T.DeleteDomainData, T.DeleteDomainResponse>('/api/domains/{id}', { path: { id }, query }, options),
      restore: (id: string, options?: Options) =>
        post<T.RestoreDomainData, T.RestoreDomainResponse>('/api/domains/{id}/restore', { path: { id } }, options),
    },
    analytics: {
      overview: (query?: QueryOf<T.GetAnalyticsOverviewData>, options?: Options) =>
        get<T.GetAnalyticsOverviewData, T.GetAnalyticsOverviewResponse>('/api/analytics/overview', { query }, options),
      timeSeries: (query?: QueryOf<T.GetAnalyticsTimeSeriesData>, options?: Options) =>
        get<T.GetAnalyticsTimeSeriesData, T.GetAnalyticsTimeSeriesResponse>(
          '/api/analytics/timeseries',
          { query },
          options,
        ),
      templates: (filters?: Filters<T.ListTemplateAnalyticsData>, options?: Options) =>
        list<T.ListTemplateAnalyticsData, T.ListTemplateAnalyticsResponse>(
          '/api/analytics/templates',
          filters,
          options,
        ),
      tags: (filters?: Filters<T.ListTagAnalyticsData>, options?: Options) =>
        list<T.ListTagAnalyticsData, T.ListTagAnalyticsResponse>('/api/analytics/tags', filters, options),
      domains: (filters?: Filters<T.ListDomainAnalyticsData>, options?: Options) =>
        list<T.ListDomainAnalyticsData, T.ListDomainAnalyticsResponse>('/api/analytics/domains', filters, options),
      summary: (options?: Options) =>
        get<T.GetDashboardSummaryData, T.GetDashboardSummaryResponse>('/api/dashboard/summary', {}, options),
    },
    webhooks: {
      list: (filters?: Filters<T.ListWebhooksData>, options?: Options) =>
        list<T.ListWebhooksData, T.ListWebhooksResponse>('/api/v1/webhook-subscriptions', filters, options),
      get: (id: string, options?: Options) =>
        get<T.GetWebhookData, T.GetWebhookResponse>('/api/v1/webhook-subscriptions/{id}', { path: { id } }, options),
      create: (body: T.CreateWebhookRequest, options?: Options) =>
        post<T.CreateWebhookData, T.CreateWebhookResponse>('/api/v1/webhook-subscriptions', { body }, options),
      update: (id: string, body: T.UpdateWebhookRequest, options?: Options) =>
        patch<T.UpdateWebhookData, T.UpdateWebhookResponse>(
          '/api/v1/webhook-subscriptions/{id}',
          { path: { id }, body },
          options,
        ),
      delete: (id: string, query?: QueryOf<T.DeleteWebhookData>, options?: Options) =>
        del<T.DeleteWebhookData, T.DeleteWebhookResponse>(
          '/api/v1/webhook-subscriptions/{id}',
          { path: { id }, query },
          options,
        ),
      restore: (id: string, options?: Options) =>
        post<T.RestoreWebhookData, T.RestoreWebhookResponse>(
          '/api/v1/webhook-subscriptions/{id}/restore',
          { path: { id } },
          options,
        ),
      rotateSecret: (id: string, body: BodyOf<T.RotateWebhookSecretData> = {}, options?: Options) =>
        post<T.RotateWebhookSecretData, T.RotateWebhookSecretResponse>(
          '/api/v1/webhook-subscriptions/{id}/rotate-secret',
          { path: { id }, body, isKeyed: true },
          options,
        ),
      test: (id: string, options?: Options) =>
        post<T.TestWebhookData, T.TestWebhookResponse>(
          '/api/v1/webhook-subscriptions/{id}/test',
          { path: { id } },
          options,
        ),
      deliveries: (id: string, filters?: Filters<T.ListWebhookDeliveriesData>, options?: Options) =>
        listOf(async (cursor, how) => {
          const { deliveries: data, nextCursor } = await get<
            T.ListWebhookDeliveriesData,
            T.ListWebhookDeliveriesResponse
          >('/api/v1/webhook-subscriptions/{id}/deliveries', { path: { id }, query: { ...filters, cursor } }, how);
          return { data, meta: { nextCursor } };
        }, options),
      retryDelivery: (id: string, deliveryId: string, options?: Options) =>
        post<T.RetryWebhookDeliveryData, T.RetryWebhookDeliveryResponse>(
          '/api/v1/webhook-subscriptions/{id}/deliveries/{deliveryId}/retry',
          { path: { id, deliveryId } },
          options,
        ),
      /** The newest events, as they were signed. */
      events: (id: string, query?: QueryOf<T.ListWebhookEventsData>, options?: Options) =>
        get<T.ListWebhookEventsData, T.ListWebhookEventsResponse>(
          '/api/v1/webhook-subscriptions/{id}/events',
          { path: { id }, query },
          options,
        ),
      replay: (id: string, body: T.ReplayWebhookRequest, options?: Options) =>
        post<T.ReplayWebhookData, T.ReplayWebhookResponse>(
          '/api/v1/webhook-subscriptions/{id}/replay',
          { path: { id }, body },
          options,
        ),
    },
    apiKeys: {
      list: (filters?: Filters<T.ListApiKeysData>, options?: Options) =>
        list<T.ListApiKeysData, T.ListApiKeysResponse>('/api/api-keys', filters, options),
      get: (id: string, options?: Options) =>
        get<T.GetApiKeyData, T.GetApiKeyResponse>('/api/api-keys/{id}', { path: { id } }, options),
      /** The answer shows the key, once. */
      create: (body: T.CreateApiKeyRequest, options?: Options) =>
        post<T.CreateApiKeyData, T.CreateApiKeyResponse>('/api/api-keys', { body }, options),
      update: (id: string, body: T.ChangeApiKeyRequest, options?: Options) =>
        patch<T.ChangeApiKeyData, T.ChangeApiKeyResponse>('/api/api-keys/{id}', { path: { id }, body }, options),
      revoke: (id: string, query?: QueryOf<T.RevokeApiKeyData>, options?: Options) =>
        del<T.RevokeApiKeyData, T.RevokeApiKeyResponse>('/api/api-keys/{id}', { path: { id }, query }, options),
    },
    audit: {
      list: (filters?: Filters<T.ListAuditLogsData>, options?: Options) =>
        list<T.ListAuditLogsData, T.ListAuditLogsResponse>('/api/audit-logs', filters, options),
      get: (id: string, options?: Options) =>
        get<T.GetAuditLogData, T.GetAuditLogResponse>('/api/audit-logs/{id}', { path: { id } }, options),
      export: (query?: QueryOf<T.ExportAuditLogsData>, options?: Options) =>
        file<T.ExportAuditLogsData>('/api/audit-logs/export', { query }, options),
    },
    requestLogs: {
      /** The calls of keys and apps, and how each was answered. */
      list: (filters?: Filters<T.ListRequestLogsData>, options?: Options) =>
        list<T.ListRequestLogsData, T.ListRequestLogsResponse>('/api/request-logs', filters, options),
    },
    /** How long each kind of data is kept. */
    retention: (options?: Options) => get<T.GetRetentionData, T.GetRetentionResponse>('/api/retention', {}, options),
    teams: {
      list: (filters?: Filters<T.ListTeamsData>, options?: Options) =>
        list<T.ListTeamsData, T.ListTeamsResponse>('/api/teams', filters, options),
      get: (teamId: string, options?: Options) =>
        get<T.GetTeamData, T.GetTeamResponse>('/api/teams/{teamId}', { path: { teamId } }, options),
      update: (teamId: string, body: T.UpdateTeamRequest, options?: Options) =>
        patch<T.UpdateTeamData, T.UpdateTeamResponse>('/api/teams/{teamId}', { path: { teamId }, body }, options),
      members: (teamId: string, options?: Options) =>
        get<T.ListMembersData, T.ListMembersResponse>('/api/teams/{teamId}/members', { path: { teamId } }, options),
      invite: (teamId: string, body: T.InviteMemberRequest, options?: Options) =>
        post<T.InviteMemberData, T.InviteMemberResponse>(
          '/api/teams/{teamId}/invitations',
          { path: { teamId }, body },
          options,
        ),
      invitations: (teamId: string, options?: Options) =>
        get<T.ListInvitationsData, T.ListInvitationsResponse>(
          '/api/teams/{teamId}/invitations',
          { path: { teamId } },
          options,
        ),
      activity: (teamId: string, filters?: Filters<T.ListTeamActivityData>, options?: Options) =>
        list<T.ListTeamActivityData, T.ListTeamActivityResponse>('/api/teams/{teamId}/activity', filters, options, {
          teamId,
        }),
    },
    tracking: {
      get: (options?: Options) => get<T.GetTrackingData, T.GetTrackingResponse>('/api/tracking', {}, options),
      set: (body: T.TrackingSettings, options?: Options) =>
        put<T.SetTrackingData, T.SetTrackingResponse>('/api/tracking', { body }, options),
    },
    health: (options?: Options) => get<T.ReadyData, T.ReadyResponse>('/health/ready', {}, options),
  };
};
