import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { REDIS_ROWS } from './redis-refusals.ts';
import { cellsOf, measureAll, type RefusalCell, refusalTable } from './refusal-harness.ts';

const only = process.env.REFUSAL_ONLY;
const rows = REDIS_ROWS.filter(({ name }) => only === undefined || name.includes(only));
const cells = cellsOf(rows);
let measured: (RefusalCell | Error)[] = [];

beforeAll(async () => {
  measured = await measureAll(rows);
}, 900_000);

afterAll(() => {
  process.stdout.write(`\n${refusalTable(measured)}\n`);
});

describe.each(cells.map(({ row, phase }, index) => [row.name, phase, index] as const))(
  '%s, %s',
  (_name, _phase, index) => {
    const cell = (): RefusalCell => {
      const one = measured[index];
      if (one instanceof Error) throw one;
      return one as RefusalCell;
    };

    test('the daemon is not ready, and /readyz, log and doctor name the refusal and the remedy', () => {
      const { row, readiness, log, doctor } = cell();
      expect(JSON.parse(readiness).reasons[0].message).toMatch(row.readyReason as RegExp);
      const warning = log.find((line) => row.logWords.test(JSON.parse(line).reason));
      expect(JSON.parse(warning ?? '{}').hint).toMatch(row.remedyWords);
      expect(doctor).toMatch(row.doctorWords);
      expect(doctor).toMatch(row.remedyWords);
      expect(log.join('\n')).not.toContain('"ready"');
    });

    test('it uses less than 5% of a processor and writes at most ten lines a minute', () => {
      const { processorPercent, linesInWindow } = cell();
      expect(processorPercent).toBeLessThan(5);
      expect(linesInWindow).toBeLessThanOrEqual(10);
    });

    test('it becomes ready and syncs when Redis serves again', () => {
      const { recoveredMs, syncedMs, phase } = cell();
      expect(recoveredMs).toBeLessThan(35_000);
      if (phase === 'start') expect(syncedMs).toBeLessThan(60_000);
    });

    test('SIGTERM ends it in time while Redis refuses commands', () => {
      const { stoppedMs, exit } = cell();
      expect(exit).toBe(0);
      expect(stoppedMs).toBeLessThan(5_000);
    });
  },
);
