import type { Planted } from './planted.ts';

/** What receivers are told. */
export const OUTBOX: readonly Planted[] = [
  {
    name: 'ends-lost-in-the-first-run',
    harm: 'who was told that a workspace cannot be read never hears that it can, when its first run ends that',
    edits: [
      {
        file: 'src/alerts/book/alert-book.ts',
        from: '      if (seeding && !isSelfRule(rule)) {',
        to: '      if (seeding) {',
      },
    ],
  },
  {
    name: 'claims-for-ever',
    harm: 'what a sender that died had in hand is never sent',
    edits: [
      {
        file: 'src/alerts/outbox/outbox.ts',
        from: 'or(isNull(outbox.claimedUntil), lte(outbox.claimedUntil, now))',
        to: 'or(isNull(outbox.claimedUntil), lte(outbox.claimedUntil, isoTime(0)))',
      },
    ],
  },
  {
    name: 'delivered-without-an-answer',
    harm: 'a message counts as delivered whatever its receiver said',
    edits: [
      {
        file: 'src/alerts/outbox/outbox.ts',
        from: '          state: record.state,\n          attempts',
        to: "          state: 'delivered',\n          attempts",
      },
    ],
  },
  {
    name: 'retries-forgotten',
    harm: 'what was not delivered at the first attempt is never tried again',
    edits: [
      {
        file: 'src/alerts/outbox/outbox.ts',
        from: "FROM outbox WHERE state = 'pending')",
        to: "FROM outbox WHERE state = 'pending' AND attempts = 0)",
      },
    ],
  },
  {
    name: 'secrets-told',
    harm: 'a service that echoes a secret has it told to every receiver',
    edits: [
      {
        file: 'src/usage-api/client.ts',
        from: 'redact: (text) => own(others(text)),',
        to: 'redact: (text) => (own(others(text)) === null ? own(text) : text),',
      },
    ],
  },
  {
    name: 'two-senders',
    harm: 'two daemons send each message twice',
    edits: [
      {
        file: 'src/alerts/outbox/outbox.ts',
        from: 'isPending, lte(outbox.nextAttemptAt, now), isFree)',
        to: 'isPending, lte(outbox.nextAttemptAt, now), or(isFree, isPending))',
      },
    ],
  },
  {
    name: 'retry-after-ignored',
    harm: 'a receiver that asks for two minutes of peace is asked again at once',
    edits: [
      {
        file: 'src/alerts/outbox/deliver.ts',
        from: 'delayMs: Math.max(delayMs, result.retryAfterMs ?? 0)',
        to: 'delayMs: Math.max(delayMs, 0)',
      },
    ],
  },
  {
    name: 'impatient-retries',
    harm: 'a receiver that is away is asked every five seconds for three days',
    edits: [
      {
        file: 'src/alerts/tell/backoff.ts',
        from: 'return Math.round(plannedDelayMs(attempt) * (1 - JITTER * random()));',
        to: 'return Math.round(plannedDelayMs(1) * (1 - JITTER * random()));',
      },
    ],
  },
  {
    name: 'given-up-early',
    harm: 'a message is given up after an hour',
    edits: [
      {
        file: 'src/alerts/tell/backoff.ts',
        from: 'const GIVE_UP_AFTER_MS = 72 * HOUR_MS;',
        to: 'const GIVE_UP_AFTER_MS = HOUR_MS;',
      },
    ],
  },
  {
    name: 'ends-kept-quiet',
    harm: 'who was told that a workspace cannot be read never hears that it can',
    edits: [
      {
        file: 'src/alerts/tell/news.ts',
        from: "if (!alert.holding) return told?.open === true ? say('closed') : nothing('unheard');",
        to: "if (!alert.holding) return nothing('unheard');",
      },
    ],
  },
  {
    name: 'one-receiver-told',
    harm: 'of all receivers that are to hear of a fault the first one does',
    edits: [
      {
        file: 'src/alerts/tell/teller.ts',
        from: '    for (const route of this.#routes) {',
        to: '    for (const route of this.#routes.slice(0, 1)) {',
      },
    ],
  },
  {
    name: 'ends-of-what-nobody-heard',
    harm: 'a receiver that was away hears the end of what it never heard of',
    edits: [
      {
        file: 'src/alerts/tell/news.ts',
        from: "if (!alert.holding) return told?.open === true ? say('closed') : nothing('unheard');",
        to: "if (!alert.holding) return told?.event !== 'closed' ? say('closed') : nothing('unheard');",
      },
    ],
  },
  {
    name: 'newer-overtakes',
    harm: 'an end goes before a beginning of which nobody knows whether it has arrived',
    edits: [
      {
        file: 'src/alerts/tell/messages.ts',
        from: 'isFixed: sent.unknownAttempts > 0,',
        to: 'isFixed: sent.unknownAttempts > 99,',
      },
    ],
  },
  {
    name: 'told-before-it-is-taken',
    harm: 'what was refused counts as told, so that nobody hears of it, or of its end only',
    edits: [
      {
        file: 'src/alerts/outbox/outbox.ts',
        from: "if (state === 'delivered' || (state",
        to: "if (state !== 'dead' || (state",
      },
    ],
  },
  {
    name: 'second-outage-waits-for-a-day',
    harm: 'of a second outage on one day nobody hears',
    edits: [
      {
        file: 'src/alerts/tell/news.ts',
        from: 'const waitMs = alert.own !== null || change.passed ? 0',
        to: 'const waitMs = change.passed ? 0',
      },
    ],
  },
  {
    name: 'planned-and-told',
    harm: 'what grows as somebody has planned is told',
    edits: [
      {
        file: 'src/alerts/track/mutes.ts',
        from: 'const row = rows.find((each) => mutes(each, subject));',
        to: "const row = rows.find((each) => each.kind === 'silence' && mutes(each, subject));",
      },
    ],
  },
  {
    name: 'silenced-and-told',
    harm: 'what somebody has silenced is told',
    edits: [
      {
        file: 'src/alerts/track/mutes.ts',
        from: 'const row = rows.find((each) => mutes(each, subject));',
        to: "const row = rows.find((each) => each.kind === 'plan' && mutes(each, subject));",
      },
    ],
  },
  {
    name: 'given-up-by-a-stranger',
    harm: 'a daemon gives up what is for a channel that only the other one knows',
    edits: [
      {
        file: 'src/daemon/deliveries.ts',
        from: 'const waitMs = this.#options.knows(channel) ? meantMs : GIVE_UP_AFTER_MS;',
        to: 'const waitMs = meantMs;',
      },
    ],
  },
  {
    name: 'stale-words-elsewhere',
    harm: 'a channel that only another daemon knows is told what is muted, or over, by the time it hears of it',
    edits: [
      {
        file: 'src/alerts/tell/teller.ts',
        from: '      if (!isNews(channel)) this.#drop(message);',
        to: "      if (channel === '' && !isNews(channel)) this.#drop(message);",
      },
    ],
  },
];
