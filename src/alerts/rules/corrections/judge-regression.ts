import { clear, holds, type Judgement, UNDECIDED } from '../../measures/judgement.ts';

/** A fall below a hundredth of the figure is the jitter of a service that answers from several copies. */
const TELLING_PART = 100n;

/** The counter of a tenant fell on so many of so many days before: it falls as usual. */
export const USUAL_DAYS = 3;
export const DAYS_OF_FALLS = 14;

export interface RegressionInput {
  /** What this run has taken off the counter, and what it had shown before; null when it took nothing. */
  fall: { missing: bigint; before: bigint } | null;
  /** What is told to be lost already and counts on: an alert is open, and with a fall it is less than a day old; else zero. */
  lost: bigint;
  /** Since the last fall a reading has brought back what was told, and it has stayed. */
  restored: boolean;
  /** Credits below which a fall is no news. */
  floor: bigint;
  /** The most that it fell by in the days before, when it falls as usual; else null. */
  usual: bigint | null;
}

/**
 * The counter of an open period fell, though usage only adds up: somebody corrected it, or lost something. It ends when
 * one run brings the credits back; that the counter grows on says nothing about what it has lost. A second fall within a day adds to
 * the first. A counter that falls night after night is told once, and again when it falls by half as much again.
 */
export function judgeRegression({ fall, lost, restored, usual, floor }: RegressionInput): Judgement {
  if (fall === null) return restored ? clear(true) : fallen(lost);
  const { missing, before } = fall;
  const isUsual = usual !== null && missing * 2n < usual * 3n;
  const isLittle = missing * TELLING_PART < before || missing < floor || missing <= 0n;
  return isUsual || isLittle ? UNDECIDED : fallen(lost + missing);
}

/** Whether a reading has brought back nine tenths of what is missing, and stands out from what is used in such a time. */
export function bringsBack(gained: bigint, { fell, usual }: { fell: bigint; usual: bigint }): boolean {
  return (gained - usual) * 10n >= fell * 9n && gained >= 2n * usual;
}

function fallen(measure: bigint): Judgement {
  return holds({ level: 'happened', severity: 'warning', threshold: null, measure });
}
