/** A minute of a zone, as its clock shows it. */
export interface WallMinute {
  /** The moment, in milliseconds since the epoch. */
  ms: number;
  /** `YYYY-MM-DD`. */
  day: string;
  /** `HH:MM`. */
  time: string;
  /** 0 is Sunday. */
  weekday: number;
}

const WEEKDAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];

/** Lists what the clock of a zone shows in each minute of a span, by Intl alone. */
export function wallMinutes(timeZone: string, fromMs: number, toMs: number): WallMinute[] {
  const format = new Intl.DateTimeFormat('en-GB', {
    ...({ timeZone, hourCycle: 'h23', weekday: 'short', year: 'numeric' } as const),
    ...({ month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit' } as const),
  });
  return Array.from({ length: Math.floor((toMs - fromMs) / 60_000) }, (_, minute) => {
    const ms = fromMs + minute * 60_000;
    const part = Object.fromEntries(format.formatToParts(ms).map(({ type, value }) => [type, value]));
    return {
      ms,
      day: `${part.year}-${part.month}-${part.day}`,
      time: `${part.hour}:${part.minute}`,
      weekday: WEEKDAYS.indexOf(part.weekday ?? ''),
    };
  });
}

/** Lists where a clock does not move by one minute: the time before, and the time that it shows instead of the next. */
export function changesOf(shown: readonly WallMinute[]): string[] {
  return shown.flatMap((after, index) => {
    const before = shown[index - 1];
    if (before === undefined) return [];
    const movedMs = Date.parse(`${after.day}T${after.time}Z`) - Date.parse(`${before.day}T${before.time}Z`);
    return movedMs === 60_000 ? [] : [`${before.day} ${before.time} -> ${after.time}`];
  });
}

/** Zones with the days on which their clocks change in 2026, and how; `null`: they never do. */
export const ZONES = [
  { zone: 'UTC', spring: '2026-03-29', autumn: '2026-10-25', forward: null, back: null },
  { zone: 'Asia/Kathmandu', spring: '2026-03-29', autumn: '2026-10-25', forward: null, back: null },
  {
    zone: 'Europe/Berlin',
    ...{ spring: '2026-03-29', forward: '2026-03-29 01:59 -> 03:00' },
    ...{ autumn: '2026-10-25', back: '2026-10-25 02:59 -> 02:00' },
  },
  {
    zone: 'America/New_York',
    ...{ spring: '2026-03-08', forward: '2026-03-08 01:59 -> 03:00' },
    ...{ autumn: '2026-11-01', back: '2026-11-01 01:59 -> 01:00' },
  },
  {
    zone: 'Australia/Lord_Howe',
    ...{ spring: '2026-10-04', forward: '2026-10-04 01:59 -> 02:30' },
    ...{ autumn: '2026-04-05', back: '2026-04-05 01:59 -> 01:30' },
  },
  {
    zone: 'America/Santiago',
    ...{ spring: '2026-09-06', forward: '2026-09-05 23:59 -> 01:00' },
    ...{ autumn: '2026-04-05', back: '2026-04-04 23:59 -> 23:00' },
  },
];
