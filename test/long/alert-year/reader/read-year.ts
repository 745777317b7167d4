import { periodFromIndex, periodIndex } from '../../../../src/core/period.ts';
import { messages } from '../../../support/messages.ts';
import { DAY_MS } from '../calendar.ts';
import { boundsOf } from '../oracle/seen.ts';
import { LOOKBACK, YEAR_ORACLE } from '../play.ts';
import type { World } from '../world.ts';
import { Reader, type ReadMessage } from './reader.ts';
import { type Answer, Truth } from './truth.ts';

/** Reads all messages of the year whose ledger is at `path`; `seen` is asked before each is read. */
export function readYear(
  world: World,
  path: string,
  answers: readonly Answer[],
  seen: (reader: Reader, message: ReadMessage) => void = () => {},
): Reader {
  const { closedTo, plans } = world.incidents;
  const truth = new Truth({
    ...YEAR_ORACLE,
    lookback: LOOKBACK,
    closedAtMs: (month) => (periodFromIndex(month) <= closedTo ? boundsOf(month)[1] + 9 * DAY_MS : null),
    plansOf: (tenant, month) =>
      plans.flatMap((plan) => (plan.tenant === tenant && periodIndex(plan.period) === month ? [plan.upTo] : [])),
  });
  const reader = new Reader(truth);
  const told = Map.groupBy(messages(path), ({ createdAt }) => Date.parse(createdAt));
  for (const answer of answers) {
    reader.take(answer);
    for (const { payload } of told.get(answer.atMs) ?? []) {
      seen(reader, payload);
      reader.hear(payload);
    }
  }
  return reader;
}
