import type { Planted } from './all.ts';

// cspell:ignore nobodys

/** How messages reach their receivers. */
export const MESSAGES: Planted = {
  'src/alerts/outbox/deliveries.ts': {
    'claims-for-ever': [
      'what a sender that died had in hand is sent days later',
      'dueAt: isoTime(nowMs + CLAIM_MS)',
      'dueAt: isoTime(nowMs + 10_000 * CLAIM_MS)',
    ],
    'in-nobodys-hands': [
      'the command `sync` sends what the daemon is sending just then',
      'dueAt: isoTime(nowMs + CLAIM_MS)',
      'dueAt: isoTime(nowMs)',
    ],
    'patience-lost-with-the-message': [
      'a receiver that is away is asked every five seconds, because each attempt makes another message',
      'scheduled_at = @now, failures = coalesce(@failures, failures)\n',
      'scheduled_at = @now, failures = 0\n',
    ],
    'first-of-a-group': [
      'of a group the first counts as told: the others are told again and again',
      'event, notifiedCount, revision } of members) {',
      'event, notifiedCount, revision } of members.slice(0, 1)) {',
    ],
  },
  'src/alerts/outbox/due.ts': {
    'retries-forgotten': [
      'what has perhaps arrived at the first attempt is never tried again',
      "AND (state <> 'fresh' OR",
      "AND state <> 'possible' AND (state <> 'fresh' OR",
    ],
  },
  'src/alerts/outbox/delivery-states.ts': {
    'delivered-without-an-answer': [
      'a message that its receiver has refused counts as delivered',
      "    refused: { state: 'refused', members: 'freed' },\n",
      '    refused: DELIVERED,\n',
    ],
    'told-before-it-is-taken': [
      'what was refused counts as told, so that nobody hears of it, or of its end only',
      "    refused: { state: 'refused', members: 'freed' },\n",
      "    refused: { state: 'refused', members: 'notified' },\n",
    ],
    'newer-overtakes': [
      'an end goes before a beginning of which nobody knows whether it has arrived',
      "    refused: { state: 'refused', members: 'freed' },\n    unknown: STAYS_POSSIBLE,\n",
      "    refused: { state: 'refused', members: 'freed' },\n    unknown: { state: 'refused', members: 'freed' },\n",
    ],
  },
  'src/alerts/channels/deliver.ts': {
    'retry-after-ignored': [
      'a receiver that asks for two minutes of peace is asked again at once',
      'const waitMs = Math.max(delayMs, result.retryAfterMs ?? 0);',
      'const waitMs = delayMs;',
    ],
  },
  'src/alerts/pipeline/backoff.ts': {
    'impatient-retries': [
      'a receiver that is away is asked every five seconds for three days',
      'return Math.round(plannedDelayMs(attempt) *',
      'return Math.round(plannedDelayMs(1) *',
    ],
    'given-up-early': [
      'a message is given up after an hour',
      'export const GIVE_UP_AFTER_MS = 72 * HOUR_MS;',
      'export const GIVE_UP_AFTER_MS = HOUR_MS;',
    ],
  },
  'src/alerts/outbox/notify-channels.ts': {
    'overtaken-by-news': [
      'a message about an alert is sent while another one is on its way',
      'if (deliveryKey !== null) {',
      'if (deliveryKey !== null && revision < 0) {',
    ],
  },
  'src/alerts/outbox/compose-due.ts': {
    'revisions-stand-still': [
      'a receiver that ignores what is older ignores what is new',
      'Math.max(due.revision + 1, Math.floor(this.#nowMs / 1000));',
      'Math.max(due.revision, Math.floor(this.#nowMs / 10_000_000) * 10_000);',
    ],
    'sent-though-outdated': [
      'what was made before a crash is sent after it, whatever is so by then',
      '      dropOutdated(connection, nowMs);\n',
      '',
    ],
  },
  'src/alerts/pipeline/group.ts': {
    'waits-for-its-like': [
      'that a second workspace cannot be read is told ten hours later, to be in one message with a third',
      'const SERVICE_GROUP_MS = 10 * 60_000;',
      'const SERVICE_GROUP_MS = 10 * 60 * 60_000;',
    ],
  },
  'src/core/text/redact.ts': {
    'secrets-told': [
      'a service that echoes a secret has it told to every receiver',
      'forms.reduce(replaceForm, withoutEncoded(text, short));',
      'forms.filter(({ text: form }) => form.length > 200).reduce(replaceForm, withoutEncoded(text, short));',
    ],
  },
};

/** The same, as weeks show it. */
export const MESSAGES_OF_WEEKS: Planted = {
  'src/alerts/outbox/deliveries.ts': {
    'given-up-for-good': [
      'what a channel has refused is not told when it works again',
      "  if (event === 'accepted') freeGivenUp(connection, channel, nowMs);\n",
      '',
    ],
  },
};
