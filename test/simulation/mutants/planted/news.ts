import type { Planted } from './all.ts';

/** What receivers are told, and what stays the last word although it is not so any more: weeks show it. */
export const NEWS: Planted = {
  'src/alerts/outbox/notify-channels.ts': {
    'ends-lost-in-the-first-run': [
      'who was told that a workspace cannot be read never hears that it can, when its first run ends that',
      '    if (seeding && !isSystemRule(rule)) {',
      '    if (seeding) {',
    ],
    'one-receiver-told': [
      'of all receivers that are to hear of a fault the first one does',
      'for (const route of routes) {',
      'for (const route of routes.slice(0, 1)) {',
    ],
  },
  'src/alerts/pipeline/decide.ts': {
    'ends-kept-quiet': [
      'who was told that a workspace cannot be read never hears that it can',
      "if (!alert.holding) return last?.open === true ? send('closed') : suppress('not_notified');",
      "if (!alert.holding) return suppress('not_notified');",
    ],
    'ends-of-what-nobody-heard': [
      'a receiver that was away hears the end of what it never heard of',
      "if (!alert.holding) return last?.open === true ? send('closed') : suppress('not_notified');",
      "if (!alert.holding) return last?.event !== 'closed' ? send('closed') : suppress('not_notified');",
    ],
    'second-outage-waits-for-a-day': [
      'of a second outage on one day nobody hears',
      'const waitMs = alert.system !== null || change.isUrgent ? 0',
      'const waitMs = change.isUrgent ? 0',
    ],
  },
  'src/alerts/state/alert-store.ts': {
    'ends-not-looked-for': [
      'what has ended is asked for by nobody, so that nobody hears of its end',
      'AND (n.open = 1 OR n.due_at IS NOT NULL))`;',
      'AND n.due_at IS NOT NULL)`;',
    ],
  },
  'src/alerts/pipeline/pipeline.ts': {
    'reminded-too-often': [
      'a reminder every four hours comes every half hour',
      '(route.remindAfterMs ?? null) : null,',
      '(route.remindAfterMs ?? Number.NaN) / 8 || null : null,',
    ],
  },
  'src/alerts/pipeline/silence.ts': {
    'planned-and-told': [
      'what grows as somebody has planned is told',
      'const row = rows.find((each) => silenceCovers(each, subject));',
      "const row = rows.find((each) => each.kind === 'silence' && silenceCovers(each, subject));",
    ],
    'silenced-and-told': [
      'what somebody has silenced is told',
      'const row = rows.find((each) => silenceCovers(each, subject));',
      "const row = rows.find((each) => each.kind === 'plan' && silenceCovers(each, subject));",
    ],
  },
  'src/alerts/outbox/evaluate-due.ts': {
    'renamed-and-untold': [
      'a channel that was renamed hears of open faults only when something else is asked',
      '      scheduleNewDecisions(connection, null, nowMs);\n',
      '',
    ],
  },
};

/** The same, as weeks show it. */
export const NEWS_OF_WEEKS: Planted = {
  'src/alerts/pipeline/silence.ts': {
    'muted-for-ever': [
      'what a silence has muted is told to nobody when it ends',
      "and(hasBegun, gt(silences.until, sql.placeholder('now')), isNull(silences.endedAt))",
      'and(hasBegun, isNull(silences.endedAt))',
    ],
  },
  'src/alerts/pipeline/decide.ts': {
    'unrouted-and-open': [
      'a channel that takes an alert no more never hears its end',
      "if (!policy.routed) return last?.open === true ? send('closed') : suppress('unrouted');",
      "if (!policy.routed) return suppress('unrouted');",
    ],
    'episodes-told-once': [
      'what has ended and begins again is told to nobody who heard of the first time',
      "if (last === null || last.episode < alert.episode || (!last.open && last.event !== 'baseline')) {",
      'if (last === null) {',
    ],
    'levels-untold': [
      'who heard that something is likely never hears that it has happened',
      "  if (levelChange > 0) return { event: 'worse', notifiedCount: 0, isProgress: alert.isFromForecast && !passesPlan };\n",
      '',
    ],
    'reminded-of-what-is-in-hand': [
      'who has acknowledged a fault is reminded of it day and night',
      "  if (acknowledged) return suppress('acknowledged');\n",
      '',
    ],
  },
  'src/alerts/outbox/notify-channels.ts': {
    'acknowledged-and-closed': [
      'who acknowledges an alert has everybody told that it is over',
      "holding: state === 'firing' || state === 'acknowledged',",
      "holding: state === 'firing',",
    ],
  },
};
