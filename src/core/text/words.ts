/** A count with its noun: `1 alert`, `1,200 alerts`. `many` is the plural where it is not the noun with an s. */
export function counted(count: number | bigint, one: string, many = `${one}s`): string {
  return `${withThousands(String(count))} ${Number(count) === 1 ? one : many}`;
}

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** A duration in words, rounded down to one unit: `3 min`, `2 h`, `1 day`. */
export function inOneUnit(durationMs: number): string {
  if (durationMs < MINUTE_MS) return `${Math.floor(durationMs / SECOND_MS)} s`;
  if (durationMs < HOUR_MS) return `${Math.floor(durationMs / MINUTE_MS)} min`;
  if (durationMs < DAY_MS) return `${Math.floor(durationMs / HOUR_MS)} h`;
  return counted(Math.floor(durationMs / DAY_MS), 'day');
}

/** The first of many, and how many more there are: `a, b and 1,200 more`. `count` is of all where not all are at hand. */
export function firstOf(names: readonly string[], most: number, count = names.length): string {
  const shown = names.slice(0, most).join(', ');
  return count > most ? `${shown} and ${withThousands(String(count - most))} more` : shown;
}

/** A text that was cut, up to the end of its last sentence or else clause; null where that would leave less than half of it. */
export function lastClause(cut: string): string | null {
  const [sentence, ...clauses] = ['. ', '; ', ': ', ', '].map((mark) => cut.lastIndexOf(mark)) as [number, ...number[]];
  const end = [sentence, Math.max(...clauses)].find((each) => each > cut.length / 2);
  return end === undefined ? null : cut.slice(0, end);
}

/** Whole digits with a comma at each thousand, exact at any length; a locale of Intl takes 15 ms to load for the first one. */
export function withThousands(digits: string): string {
  return digits.replace(/\B(?=(\d{3})+$)/g, ',');
}

export function shellWord(text: string): string {
  return /^[\w.,@:/+][\w.,@:/+-]*$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

const UNREAD: Readonly<Record<string, string>> = {
  ENOENT: 'it does not exist',
  EACCES: 'this user may not read it',
  EPERM: 'this user may not read it',
  EISDIR: 'it is a folder',
};

/** Why a file cannot be read, by the code of the error. */
export function whyUnread(code = 'error'): string {
  return UNREAD[code] ?? code;
}
