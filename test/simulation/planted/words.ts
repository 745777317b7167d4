import type { Planted } from './planted.ts';

/** What stays the last word although it is not so any more: weeks show it. */
export const WORDS: readonly Planted[] = [
  {
    name: 'unrouted-and-open',
    harm: 'a channel that takes an alert no more never hears its end',
    days: 60,
    edits: [
      {
        file: 'src/alerts/tell/news.ts',
        from: "if (!policy.routed) return told?.open === true ? say('closed') : nothing('unrouted');",
        to: "if (!policy.routed) return nothing('unrouted');",
      },
    ],
  },
  {
    name: 'renamed-and-untold',
    harm: 'a channel that was renamed hears of open faults only when something else is asked',
    edits: [
      {
        file: 'src/alerts/book/keep-routes.ts',
        from: '      askSoon(connection, null, nowMs);\n',
        to: '',
      },
    ],
  },
  {
    name: 'first-daemon-decides',
    harm: 'of two daemons with other channels the first to start decides for good by which alerts are told',
    edits: [
      {
        file: 'src/alerts/book/keep-routes.ts',
        from: 'before?.by === own.by ? isSame(before) :',
        to: 'before?.by === own.by ? before !== null :',
      },
    ],
  },
  {
    name: 'episodes-told-once',
    harm: 'what has ended and begins again is told to nobody who heard of the first time',
    days: 60,
    edits: [
      {
        file: 'src/alerts/tell/news.ts',
        from: "(!told.open && told.event !== 'baseline')) {",
        to: "(!told.open && told.event === 'baseline')) {",
      },
      {
        file: 'src/alerts/tell/news.ts',
        from: 'if (told === null || told.episode < alert.episode ||',
        to: 'if (told === null || told.episode < 0 ||',
      },
    ],
  },
  {
    name: 'levels-untold',
    harm: 'who heard that something is likely never hears that it has happened',
    days: 60,
    edits: [
      {
        file: 'src/alerts/tell/news.ts',
        from: "if (steps !== 0) return { say: steps > 0 ? 'worse' : 'eased', toldTimes: 0 };",
        to: "if (steps < 0) return { say: 'eased', toldTimes: 0 };",
      },
    ],
  },
  {
    name: 'muted-for-ever',
    harm: 'what a silence has muted is told to nobody when it ends',
    days: 60,
    edits: [
      {
        file: 'src/alerts/track/mutes.ts',
        from: 'const isInForce = and(isOfWorkspace, gt(silences.until,',
        to: 'const isInForce = and(isOfWorkspace, ne(silences.until,',
      },
      {
        file: 'src/alerts/track/mutes.ts',
        from: 'import { and, asc, eq, gt, isNull,',
        to: 'import { and, asc, eq, isNull, ne,',
      },
    ],
  },
];
