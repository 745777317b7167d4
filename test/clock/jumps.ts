import { describe, test } from 'vitest';
import { NOON } from '../support/time/test-clock.ts';

const HOUR_MS = 3_600_000;

/** A clock that is right at first, is off by `wrongMs` for one tick of work, and then by `rightMs` for good. */
export interface Jump {
  name: string;
  wrongMs: number;
  rightMs: number;
}

const JUMPS: Jump[] = [
  { name: 'nine hours ahead for one tick, then back', wrongMs: 9 * HOUR_MS, rightMs: 0 },
  { name: 'forty days ahead for one tick, then back', wrongMs: 40 * 24 * HOUR_MS, rightMs: 0 },
  { name: 'nine hours back for good', wrongMs: 0, rightMs: -9 * HOUR_MS },
];

/** What the clock shows before, during and after the wrong tick; it steps back to `right`, whichever the jump. */
export interface Shown {
  before: number;
  wrong: number;
  right: number;
}

export function shownBy({ wrongMs, rightMs }: Jump, right = NOON): Shown {
  const before = right - rightMs;
  return { before, wrong: before + wrongMs, right };
}

/** One kind of due work. */
export interface Row {
  kind: string;
  /** What must happen, and by when, once the clock has stepped back. */
  must: string;
  play(jump: Jump): Promise<void> | void;
}

/** Plays each row with each jump. */
export function playTable(rows: readonly Row[]): void {
  for (const jump of JUMPS) {
    describe(jump.name, () => {
      for (const { kind, must, play } of rows) test(`${kind}: ${must}`, async () => play(jump));
    });
  }
}
