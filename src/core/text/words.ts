import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../durations.ts';

/** Formats a count with its noun: `1 alert`, `1,200 alerts`. `many` is the plural of an irregular noun. */
export function counted(count: number | bigint, one: string, many = `${one}s`): string {
  return `${withThousands(String(count))} ${Number(count) === 1 ? one : many}`;
}

/** Formats a duration in one unit, rounded down: `3 min`, `2 h`, `1 day`. */
export function formatDuration(durationMs: number): string {
  if (durationMs < MINUTE_MS) return `${Math.floor(durationMs / SECOND_MS)} s`;
  if (durationMs < HOUR_MS) return `${Math.floor(durationMs / MINUTE_MS)} min`;
  if (durationMs < DAY_MS) return `${Math.floor(durationMs / HOUR_MS)} h`;
  return counted(Math.floor(durationMs / DAY_MS), 'day');
}

/**
 * Lists the first `most` names and counts the others: `a, b and 1,200 more`. `count` is the total number if `names` is
 * only a part of all names.
 */
export function firstOf(names: readonly string[], most: number, count = names.length): string {
  const shown = names.slice(0, most).join(', ');
  return count > most ? `${shown} and ${withThousands(String(count - most))} more` : shown;
}

/**
 * Shortens a text that was cut off to its last complete sentence. If that is less than half of the text, shortens it to
 * its last complete clause. Returns null if that is also less than half.
 */
export function cutAtClause(cut: string): string | null {
  const [sentence, ...clauses] = ['. ', '; ', ': ', ', '].map((mark) => cut.lastIndexOf(mark)) as [number, ...number[]];
  const end = [sentence, Math.max(...clauses)].find((each) => each > cut.length / 2);
  return end === undefined ? null : cut.slice(0, end);
}

/**
 * Inserts a comma after each thousand. The result is exact for any number of digits. Intl is not used, because loading
 * its first locale takes 15 ms.
 */
export function withThousands(digits: string): string {
  if (digits.length <= 3) return digits;
  return digits.replace(/\B(?=(\d{3})+$)/g, ',');
}

export function shellQuote(text: string): string {
  return /^[\w.,@:/+][\w.,@:/+-]*$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

const FILE_READ_FAULTS: Readonly<Record<string, string>> = {
  ENOENT: 'it does not exist',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EISDIR: 'it is a folder',
};

/** Explains why a file cannot be read, given the code of the system error, such as `ENOENT`. */
export function readFaultText(code = 'error'): string {
  return FILE_READ_FAULTS[code] ?? code;
}
