import { describe, expect, it } from 'vitest';
import {
  type ChannelPolicy,
  type CurrentAlert,
  decideNotification,
  type LastNotification,
} from '../../../src/alerts/pipeline/decide.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const NOW = Date.UTC(2026, 2, 20, 12);

const HOLDS: CurrentAlert = {
  ...{
    holding: true,
    episode: 1,
    level: 'happened',
    severity: 'critical',
    magnitude: 16_000n,
    isBitMask: false,
    acknowledged: false,
    isImmaterial: false,
    isFromForecast: true,
    isFinal: false,
    isClearing: false,
    system: null,
  },
};
const TOLD: LastNotification = {
  ...{
    event: 'opened',
    episode: 1,
    level: 'happened',
    severity: 'critical',
    notifiedCount: 0,
    magnitude: 16_000n,
    open: true,
  },
  ...{ atMs: NOW - 3 * DAY_MS, atOnce: true },
};
const IMMATERIAL: Partial<CurrentAlert> = { isImmaterial: true, severity: 'warning' };
const FINAL: Partial<CurrentAlert> = { level: 'settled', isFinal: true, severity: 'warning' };
const OPEN: ChannelPolicy = {
  ...{ routed: true, inhibitedBy: null, silence: null, passedLimits: [] },
  ...{ remindAfterMs: null, remindFromMs: (atMs: number) => atMs },
};
const SILENCE = { id: 'silence_1', untilMs: NOW + DAY_MS };

/** What a receiver hears, as one word; in brackets why it hears nothing. */
function hears(
  alert: Partial<CurrentAlert>,
  told: Partial<LastNotification> | null,
  policy: Partial<ChannelPolicy> = {},
): string {
  const before = told === null ? null : { ...TOLD, ...told };
  const said = decideNotification({ ...HOLDS, ...alert }, before, { ...OPEN, ...policy }, NOW);
  return said.event ?? `(${said.reason})`;
}

/** A fault of ours that began so many minutes ago, each time, and changed last when it says. */
const fault = (begins: number[], changed: number) => ({
  magnitude: null,
  system: { begins: begins.map((minutes) => NOW - minutes * 60_000), changedMs: NOW - changed * 60_000 },
});
const FAULT_TOLD: Partial<LastNotification> = { magnitude: null, atMs: NOW - HOUR_MS };

describe('a channel is sent', () => {
  it.each<[string, string, Partial<CurrentAlert>, Partial<LastNotification> | null, Partial<ChannelPolicy>?]>([
    ['a beginning, once', 'opened', {}, null],
    ['nothing more of what it knows', '(notified)', {}, {}],
    ['the end of what it was told', 'closed', { holding: false }, {}],
    ['the end once', '(not_notified)', { holding: false }, { open: false, event: 'closed' }],
    ['no end of what it was not told', '(not_notified)', { holding: false }, null],
    ['the end whatever is muted', 'closed', { holding: false }, {}, { silence: SILENCE }],
    ['the end whatever the routes are', 'closed', { holding: false }, {}, { routed: false }],
    ['that it hears no more', 'closed', {}, {}, { routed: false }],
    ['nothing that is not for it', '(unrouted)', {}, null, { routed: false }],
    ['nothing while a fault of ours explains it', '(inhibited:alert_9)', {}, null, { inhibitedBy: 'alert_9' }],
    ['nothing that is silenced', '(silence:silence_1)', {}, null, { silence: SILENCE }],
    ['after a silence what still holds', 'opened', {}, null],
    ['of a second time, a day later', 'again', { episode: 2 }, { open: false, event: 'closed' }],
    ['of a second time that it was not told the end of', 'again', { episode: 2 }, {}],
    [
      'nothing more at this level within a day',
      '(daily)',
      { episode: 2 },
      { open: false, event: 'closed', atMs: NOW - HOUR_MS },
    ],
    [
      'more at once when a digest has told it',
      'again',
      { episode: 2 },
      { open: false, atMs: NOW - HOUR_MS, atOnce: false },
    ],
    ['more at once when a clock ahead has told it', 'again', { episode: 2 }, { open: false, atMs: NOW + 40 * DAY_MS }],
    ['what is sure now, within a day', 'worse', {}, { level: 'likely', atMs: NOW - HOUR_MS }],
    ['what is less sure now', 'eased', { level: 'likely', magnitude: 12_000n }, {}],
    ['that not within a day', '(daily)', { level: 'likely' }, { atMs: NOW - HOUR_MS }],
    ['the final figures as the end', 'closed', FINAL, {}],
    ['that whatever is muted', 'closed', FINAL, {}, { silence: SILENCE }],
    ['of settled figures that nobody was sent before', 'opened', FINAL, null],
    ['that again after an end', 'again', { ...FINAL, episode: 2 }, { open: false, event: 'closed' }],
    ['nothing after the final figures', '(final)', FINAL, { level: 'settled', open: false, event: 'closed' }],
    ['nothing after a message that was final', '(final)', { ...FINAL, holding: false }, { level: 'settled' }],
    ['no growth of final figures', '(final)', { ...FINAL, magnitude: 90_000n }, { level: 'settled' }],
    ['nothing of settled figures that were a baseline', '(final)', FINAL, { event: 'baseline', open: false }],
    ['of them if the baseline was a forecast', 'worse', FINAL, { event: 'baseline', open: false, level: 'likely' }],
    ['immaterial growth, once', 'opened', IMMATERIAL, null],
    ['nothing when its forecast comes true', '(immaterial)', IMMATERIAL, { level: 'likely', severity: 'warning' }],
    ['nothing when it grows', '(immaterial)', { ...IMMATERIAL, magnitude: 90_000n }, { severity: 'warning' }],
    [
      'it once if it was there before',
      'grown',
      { ...IMMATERIAL, magnitude: 24_000n },
      { event: 'baseline', open: false, severity: 'warning' },
    ],
    ['it once it is material', 'worse', {}, { severity: 'warning' }],
    ['it when it comes true after it was material', 'worse', IMMATERIAL, { level: 'likely' }],
    [
      'it when it is no longer probably something else',
      'worse',
      { ...IMMATERIAL, isFromForecast: false },
      { level: 'likely', severity: 'warning' },
    ],
    ['a correction of it', 'eased', { ...IMMATERIAL, level: 'likely' }, { severity: 'warning' }],
    ['its final figures', 'closed', { ...IMMATERIAL, ...FINAL }, { severity: 'warning' }],
    [
      'it when it comes true beyond a plan',
      'worse',
      { ...IMMATERIAL, magnitude: 18_500n },
      { level: 'likely', severity: 'warning' },
      { passedLimits: [18_000n] },
    ],
    ['growth by half', 'grown', { magnitude: 24_000n }, {}],
    ['no less growth', '(notified)', { magnitude: 23_999n }, {}],
    ['then growth to twice as much', '(notified)', { magnitude: 24_000n }, { notifiedCount: 1 }],
    ['growth of what somebody looks after', 'grown', { magnitude: 24_000n, acknowledged: true }, {}],
    [
      'nothing else of what somebody looks after',
      '(acknowledged)',
      { acknowledged: true },
      {},
      { remindAfterMs: HOUR_MS },
    ],
    ['each fact of a set once', 'grown', { isBitMask: true, magnitude: 3n }, { magnitude: 2n }],
    ['no fact twice', '(notified)', { isBitMask: true, magnitude: 2n }, { magnitude: 3n }],
    [
      'what goes beyond a plan at once',
      'grown',
      { magnitude: 18_500n },
      { atMs: NOW - HOUR_MS },
      { passedLimits: [18_000n] },
    ],
    ['that once', '(notified)', { magnitude: 19_000n }, { magnitude: 18_500n }, { passedLimits: [18_000n] }],
    ['a reminder', 'reminder', {}, {}, { remindAfterMs: 4 * HOUR_MS }],
    ['no reminder before its time', '(notified)', {}, { atMs: NOW - HOUR_MS }, { remindAfterMs: 4 * HOUR_MS }],
    ['nothing of what was there before', '(notified)', {}, { event: 'baseline', open: false }],
    ['growth of what was there before', 'grown', { magnitude: 24_000n }, { event: 'baseline', open: false }],
    ['no end of what was there before', '(not_notified)', { holding: false }, { event: 'baseline', open: false }],
    ['a beginning after what was there before', 'opened', { episode: 2 }, { event: 'baseline', open: false }],
    [
      'a second outage at once',
      'again',
      { episode: 2, ...fault([90, 5], 5) },
      { ...FAULT_TOLD, open: false, event: 'closed' },
    ],
    [
      'four of them',
      'again',
      { episode: 4, ...fault([90, 70, 40, 5], 5) },
      { ...FAULT_TOLD, open: false, event: 'closed', episode: 3 },
    ],
    [
      'the fifth in six hours as one that comes and goes',
      'flapping',
      { episode: 5, ...fault([350, 90, 70, 40, 5], 5) },
      { ...FAULT_TOLD, open: false, event: 'closed', episode: 4 },
    ],
    [
      'the fifth in more than six hours as it is',
      'again',
      { episode: 5, ...fault([361, 90, 70, 40, 5], 5) },
      { ...FAULT_TOLD, open: false, event: 'closed', episode: 4 },
    ],
    ['no beginning of what one run has found gone', '(clearing)', { isClearing: true }, null],
    [
      'nothing of one that comes and goes and is muted',
      '(silence:silence_1)',
      { episode: 5, ...fault([350, 90, 70, 40, 5], 5) },
      { ...FAULT_TOLD, open: false, event: 'closed' },
      { silence: SILENCE },
    ],
    [
      'nothing more of that',
      '(flapping)',
      { holding: false, episode: 5, ...fault([350, 90, 70, 40, 5], 3) },
      { ...FAULT_TOLD, event: 'flapping', episode: 5 },
    ],
    [
      'after a steady hour that it holds',
      'again',
      { episode: 6, ...fault([200, 90, 80, 70, 65, 60], 60) },
      { ...FAULT_TOLD, event: 'flapping', episode: 5 },
    ],
    [
      'after a steady hour that it is over',
      'closed',
      { holding: false, episode: 6, ...fault([200, 90, 80, 70, 65, 62], 60) },
      { ...FAULT_TOLD, event: 'flapping', episode: 5 },
    ],
  ])('%s: %s', (_, expected, alert, told, policy) => {
    expect(hears(alert, told, policy)).toBe(expected);
  });
});

describe('the decision is repeated', () => {
  const askAt = (...[alert, told, policy]: Parameters<typeof hears>) => {
    const before = told === null ? null : { ...TOLD, ...told };
    const said = decideNotification({ ...HOLDS, ...alert }, before, { ...OPEN, ...policy }, NOW);
    return said.event === null ? said.evaluateAtMs : undefined;
  };

  it.each<[string, number | null, ...Parameters<typeof hears>]>([
    ['when the silence ends', SILENCE.untilMs, {}, null, { silence: SILENCE }],
    ['when the day is over', NOW + 22.5 * HOUR_MS, { episode: 2 }, { atMs: NOW - HOUR_MS }],
    ['when a reminder is due', NOW + 3 * HOUR_MS, {}, { atMs: NOW - HOUR_MS }, { remindAfterMs: 4 * HOUR_MS }],
    ['when it was steady for an hour', NOW + 40 * 60_000, { ...fault([20], 20) }, { ...FAULT_TOLD, event: 'flapping' }],
    ['when something changes, else', null, {}, {}],
  ])('%s', (_, expected, alert, told, policy) => {
    expect(askAt(alert, told, policy)).toBe(expected);
  });
});

it('is sent at once when an open alert becomes critical, also within a day of the last message', () => {
  const last: LastNotification = { ...TOLD, severity: 'warning', atMs: NOW - HOUR_MS };
  expect(decideNotification(HOLDS, last, OPEN, NOW)).toEqual({ event: 'worse', notifiedCount: 0 });
  expect(decideNotification({ ...HOLDS, severity: 'warning' }, TOLD, OPEN, NOW)).toMatchObject({ event: null });
});
