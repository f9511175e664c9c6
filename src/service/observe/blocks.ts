/** Tells which domains block mail of this service: one log line and one count for each domain of a refused delivery or report. */
import type { Logger } from '../../domain/ports/logger.js';
import type { Mailer, RecipientOutcome } from '../../domain/ports/mailer.js';
import type { NoteBlocked } from '../../commands/recipients/needs.js';

/** `count` is absent if nothing is measured. */
export const openBlocks =
  ({ logger, count }: Readonly<{ logger: Logger; count: NoteBlocked | undefined }>): NoteBlocked =>
  (domain, reason, recipients) => {
    logger.warn({ domain, reason, recipients }, 'a domain blocks our mail');
    count?.(domain, reason, recipients);
  };

/** The mailer, with each reply that blames the sender noted by the domain of its recipient. */
export const watchedForBlocks = (mailer: Mailer, note: NoteBlocked | undefined): Mailer =>
  note === undefined
    ? mailer
    : {
        ...mailer,
        send: (delivery) => {
          let to: readonly string[] = [];
          return mailer.send({
            ...delivery,
            begin: async () => {
              const dialogue = await delivery.begin();
              to = dialogue?.message.envelope.to ?? [];
              return dialogue;
            },
            end: (outcome) => {
              noteEach(to, outcome.recipients, note);
              return delivery.end(outcome);
            },
          });
        },
      };

const noteEach = (to: readonly string[], outcomes: readonly RecipientOutcome[], note: NoteBlocked): void => {
  const blocks = new Map<string, { domain: string; reason: string; recipients: number }>();
  outcomes.forEach(({ result, rule: reason }, index) => {
    if (result !== 'blocked') return;
    const domain = domainOf(to[index] ?? '');
    const block = blocks.get(`${domain} ${reason}`) ?? { domain, reason, recipients: 0 };
    block.recipients += 1;
    blocks.set(`${domain} ${reason}`, block);
  });
  for (const { domain, reason, recipients } of blocks.values()) note(domain, reason, recipients);
};

const domainOf = (address: string): string => address.slice(address.lastIndexOf('@') + 1).toLowerCase();

/** Domains that are counted under their own name; all others are `other`, so that the figure stays small. */
const DOMAINS_MAX = 200;

/** Names at most `DOMAINS_MAX` domains: those that came first. */
export const openDomainLabels = (): ((domain: string) => string) => {
  const named = new Set<string>();
  return (domain) => {
    if (named.has(domain)) return domain;
    if (named.size >= DOMAINS_MAX) return 'other';
    named.add(domain);
    return domain;
  };
};
