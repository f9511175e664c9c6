/**
 * The first steps of a team, ticked by what is there. They fold away when all are done, or when the person hides them,
 * which the browser keeps for each team.
 */
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import type {
  ListDomainsData,
  ListDomainsResponse,
  ListTemplateAnalyticsData,
  ListTemplateAnalyticsResponse,
  ListTemplatesData,
  ListTemplatesResponse,
  ListWebhookDeliveriesData,
  ListWebhookDeliveriesResponse,
  ListWebhooksData,
  ListWebhooksResponse,
} from '#api';
import { operation } from '../../api/client';
import { meQuery, type Team } from '../../api/queries';
import { keptName, ownPath, serviceUrl, values } from '../../api/values';
import { Button, Spinner, TextLink } from '../../ui/controls';
import { cx } from '../../ui/cx';
import { CheckIcon } from '../../ui/icons';
import { pagePath } from '../../ui/links';
import styles from './overview.module.css';
import { dayOf } from './period';

const listDomains = operation<ListDomainsData, ListDomainsResponse>('GET', '/api/domains');
const listTemplates = operation<ListTemplatesData, ListTemplatesResponse>('GET', '/api/templates');
const sentByTemplate = operation<ListTemplateAnalyticsData, ListTemplateAnalyticsResponse>(
  'GET',
  '/api/analytics/templates',
);
const WEBHOOKS = '/api/v1/webhook-subscriptions';
const listWebhooks = operation<ListWebhooksData, ListWebhooksResponse>('GET', WEBHOOKS);
const listDeliveries = operation<ListWebhookDeliveriesData, ListWebhookDeliveriesResponse>(
  'GET',
  `${WEBHOOKS}/{id}/deliveries`,
);

/** Templates of mails about accounts, which sealpost sends by itself. */
const ACCOUNT = 'account-';
const SENT_DAYS = 366;
/** The webhooks that are asked whether they were answered. */
const WEBHOOKS_ASKED = 5;
const LOOK_EVERY_MS = 15_000;

type State = 'done' | 'open' | 'unknown' | 'loading';

type Step = Readonly<{ id: string; state: State; title: string; text: ReactNode; links: readonly StepLink[] }>;
type StepLink = Readonly<{ href: string; name: string }>;

export type Steps = Readonly<{
  /** Empty where the role may do none of them. */
  steps: readonly Step[];
  isShown: boolean;
  /** A button opens it. */
  isFolded: boolean;
  show: (isShown: boolean) => void;
}>;

/** The browser keeps that the person has hidden the list, or that everything was done. */
type Kept = 'hidden' | 'done' | null;

const keptAs = (team: Team): string => keptName(`steps ${team.id}`);

const keptOf = (team: Team): Kept => {
  const kept = localStorage.getItem(keptAs(team));
  return kept === 'hidden' || kept === 'done' ? kept : null;
};

/** Reads what the steps depend on, as long as the list is shown. */
export const useSteps = (team: Team): Steps => {
  const [kept, setKept] = useState(() => keptOf(team));
  const [isOpened, setIsOpened] = useState(false);
  const isWanted = kept === null || isOpened;
  const steps = useFacts(team, isWanted);
  const isLoading = steps.some(({ state }) => state === 'loading');
  const isAllDone = steps.length > 0 && steps.every(({ state }) => state === 'done');
  const isSeen = useRef(false);
  if (isWanted && !isLoading && !isAllDone) isSeen.current = true;
  const keep = (now: 'hidden' | 'done'): void => {
    localStorage.setItem(keptAs(team), now);
    setKept(now);
  };
  useEffect(() => {
    if (!isAllDone || kept !== null) return;
    keep('done');
    // A person who sees the last tick keeps the list until the next visit.
    if (isSeen.current) setIsOpened(true);
  }, [isAllDone, kept]);
  return {
    steps,
    isShown: isWanted && !isLoading,
    isFolded: !isWanted,
    show: (isShown) => {
      setIsOpened(isShown);
      if (!isShown) keep(isAllDone ? 'done' : 'hidden');
    },
  };
};

const mayAll = ({ permissions }: Team, ...needed: readonly Team['permissions'][number][]): boolean =>
  needed.every((one) => permissions.includes(one));

const useFacts = (team: Team, isShown: boolean): readonly Step[] => {
  const read = <Fact,>(name: string, isWanted: boolean, fact: (signal: AbortSignal) => Promise<Fact>) => ({
    queryKey: ['steps', team.id, name],
    enabled: isShown && isWanted,
    staleTime: LOOK_EVERY_MS / 2,
    refetchInterval: LOOK_EVERY_MS,
    queryFn: ({ signal }: Readonly<{ signal: AbortSignal }>) => fact(signal),
  });
  const teamId = team.id;
  const isOperator = useQuery(meQuery).data?.operator === true;
  const managesDomains = mayAll(team, 'domains:manage');
  const writes = mayAll(team, 'templates:read', 'templates:write');
  const sends = mayAll(team, 'emails:send', 'templates:read', 'analytics:read');
  const managesWebhooks = mayAll(team, 'webhooks:manage');
  const domains = useQuery(
    read('domains', managesDomains, async (signal) => (await listDomains({}, { teamId, signal })).data),
  );
  const templates = useQuery(read('templates', writes, (signal) => templateCount(teamId, signal)));
  const sent = useQuery(read('sent', sends, (signal) => hasSent(teamId, signal)));
  const webhooks = useQuery(read('webhooks', managesWebhooks, (signal) => webhooksOf(teamId, signal)));
  return [
    ...(managesDomains ? [relayStep(isOperator), domainStep(domains)] : []),
    ...(writes ? [templateStep(templates)] : []),
    ...(sends ? [sentStep(sent, mayAll(team, 'api-keys:manage'))] : []),
    ...(managesWebhooks ? [webhookStep(webhooks)] : []),
  ];
};

/** The team has at least so many templates beside those of account mails. */
const templateCount = async (teamId: string, signal: AbortSignal): Promise<number> => {
  const options = { teamId, signal };
  const [all, ofAccounts] = await Promise.all([
    listTemplates({ query: { limit: 1 } }, options),
    accountTemplates(teamId, signal),
  ]);
  return Math.max(0, (all.meta.total ?? all.data.length) - ofAccounts.size);
};

const accountTemplates = async (teamId: string, signal: AbortSignal): Promise<ReadonlySet<string>> => {
  const { data } = await listTemplates({ query: { search: ACCOUNT, limit: 100 } }, { teamId, signal });
  return new Set(data.filter(({ slug }) => slug.startsWith(ACCOUNT)).map(({ id }) => id));
};

/** Whether an email was sent in the last year, other than those about accounts. */
const hasSent = async (teamId: string, signal: AbortSignal): Promise<boolean> => {
  const startDate = dayOf(new Date(Date.now() - (SENT_DAYS - 1) * 86_400_000));
  const [{ data }, ofAccounts] = await Promise.all([
    sentByTemplate({ query: { startDate, sort: 'sent', limit: 100 } }, { teamId, signal }),
    accountTemplates(teamId, signal),
  ]);
  return data.some(({ templateId, totals }) => totals.sent > 0 && !ofAccounts.has(templateId));
};

type Webhooks = Readonly<{ first: string | undefined; isAnswered: boolean }>;

const webhooksOf = async (teamId: string, signal: AbortSignal): Promise<Webhooks> => {
  const options = { teamId, signal };
  const { data } = await listWebhooks({ query: { limit: WEBHOOKS_ASKED } }, options);
  const answered = await Promise.all(
    data.map(async ({ id }) => {
      const { deliveries } = await listDeliveries({ path: { id }, query: { status: 'success', limit: 1 } }, options);
      return deliveries.length > 0;
    }),
  );
  return { first: data[0]?.id, isAnswered: answered.includes(true) };
};

type Fact<Value> = Readonly<{ data: Value | undefined; isError: boolean }>;

const stateOf = <Value,>({ data, isError }: Fact<Value>, isDone: (value: Value) => boolean): State =>
  data !== undefined ? (isDone(data) ? 'done' : 'open') : isError ? 'unknown' : 'loading';

/** The service delivers either by a relay or to its mailbox. */
const relayStep = (isOperator: boolean): Step => ({
  id: 'relay',
  state: 'done',
  ...(values.hasMailbox
    ? {
        title: 'Mail goes to the built-in mailbox',
        text: (
          <>
            You see every mail, and nothing leaves this machine. To deliver, start sealpost with{' '}
            <code>SEALPOST_SMTP_URL</code>, the address of your relay.
          </>
        ),
        links: [{ href: ownPath('/mailbox'), name: 'Open the mailbox' }],
      }
    : {
        title: 'Mail leaves by a relay',
        text: 'The relay of this installation delivers it.',
        links: isOperator ? [{ href: pagePath('/system'), name: 'Relays' }] : [],
      }),
});

const domainStep = (fact: Fact<ListDomainsResponse['data']>): Step => {
  const waiting = fact.data?.[0];
  return {
    id: 'domain',
    state: stateOf(fact, (domains) => domains.some(({ status }) => status === 'verified')),
    title: 'Verify your sender domain',
    text: 'Mail that your domain signs is trusted by receiving hosts. Copy a few records to its DNS.',
    links: [
      waiting === undefined
        ? { href: pagePath('/domains/new'), name: 'Add a domain' }
        : { href: pagePath(`/domains/${encodeURIComponent(waiting.id)}`), name: `Records of ${waiting.domain}` },
    ],
  };
};

const templateStep = (fact: Fact<number>): Step => ({
  id: 'template',
  state: stateOf(fact, (count) => count > 0),
  title: 'Have a template',
  text: 'A template is a mail with places for your values. The samples are a beginning.',
  links: [{ href: pagePath('/templates'), name: 'Templates' }],
});

const sentStep = (fact: Fact<boolean>, makesKeys: boolean): Step => ({
  id: 'sent',
  state: stateOf(fact, (hasAny) => hasAny),
  title: 'Send the first mail',
  text: 'Your program posts the name of a template and its values, with an API key.',
  links: [
    { href: serviceUrl.href, name: 'A call to copy' },
    ...(makesKeys ? [{ href: pagePath('/api-keys'), name: 'API keys' }] : []),
    ...(fact.data === true ? [{ href: pagePath('/emails'), name: 'Emails' }] : []),
  ],
});

const webhookStep = (fact: Fact<Webhooks>): Step => {
  const first = fact.data?.first;
  return {
    id: 'webhook',
    state: stateOf(fact, ({ isAnswered }) => isAnswered),
    title: 'Hear of bounces by a webhook',
    text:
      first !== undefined && fact.data?.isAnswered === false
        ? 'The webhook is there, and your program has answered no event with success yet.'
        : 'sealpost posts to your program what became of each mail. It is done when your program has answered.',
    links: [
      first === undefined
        ? { href: pagePath('/webhooks/new'), name: 'Add a webhook' }
        : { href: pagePath(`/webhooks/${encodeURIComponent(first)}`), name: 'The webhook' },
    ],
  };
};

/** Opens the list that was folded away. */
export const StepsButton = ({ steps: { steps, isFolded, show } }: Readonly<{ steps: Steps }>) =>
  !isFolded || steps.length === 0 ? null : (
    <Button look="quiet" isSmall onPress={() => show(true)}>
      First steps
    </Button>
  );

export const StepsSection = ({ steps: { steps, isShown, show } }: Readonly<{ steps: Steps }>) => {
  if (!isShown || steps.length === 0) return null;
  const done = steps.filter(({ state }) => state === 'done').length;
  return (
    <section className={styles['steps']} aria-labelledby="steps">
      <div className={styles['sectionHead']}>
        <h2 id="steps">
          First steps{' '}
          <span className={styles['soft']}>
            {done} of {steps.length} done
          </span>
        </h2>
        <Button look="quiet" isSmall aria-label="Hide the first steps" onPress={() => show(false)}>
          Hide
        </Button>
      </div>
      <ol>
        {steps.map((step) => (
          <li key={step.id} className={cx(styles['step'], step.state === 'done' && styles['isDone'])}>
            <Mark state={step.state} />
            <div>
              <h3>{step.title}</h3>
              <p className={styles['soft']}>
                {step.state === 'unknown' ? 'Whether it is done could not be read. ' : null}
                {step.text}
              </p>
            </div>
            <span className={styles['stepLinks']}>
              {step.links.map(({ href, name }) => (
                <TextLink key={href} href={href}>
                  {name}
                </TextLink>
              ))}
            </span>
          </li>
        ))}
      </ol>
    </section>
  );
};

const names: Readonly<Record<Exclude<State, 'loading'>, string>> = {
  done: 'Done',
  open: 'Not done yet',
  unknown: 'Unknown',
};

const Mark = ({ state }: Readonly<{ state: State }>) =>
  state === 'loading' ? (
    <Spinner label="Looking" />
  ) : (
    <span className={cx(styles['mark'], styles[state])} role="img" aria-label={names[state]}>
      {state === 'done' ? <CheckIcon size={13} /> : state === 'unknown' ? '?' : null}
    </span>
  );
