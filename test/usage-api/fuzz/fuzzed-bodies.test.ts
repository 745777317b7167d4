import { expect, test } from 'vitest';
import { ApiError } from '../../../src/usage-api/public.ts';
import { MemoryDispatcher } from '../memory-dispatcher.ts';
import { clientOf } from '../service-double.ts';
import { makeBody, randomFrom, type Sent } from './bodies.ts';
import { type Judgement, judgePage } from './page-checker.ts';

const BODIES = Number(process.env.FUZZ_BODIES ?? 2_000);
const SEED = Number(process.env.FUZZ_SEED ?? 1);

type Found = Pick<Judgement, 'records' | 'totalRecords' | 'totalPages'>;

/** What the client makes of an answer, or the code of the error that it names. */
async function read({ tenantId, ...sent }: Sent): Promise<Found | string> {
  const client = clientOf('https://service.test', { retries: 0, dispatcher: new MemoryDispatcher(() => sent) });
  try {
    const { usage, total_records, total_pages } = await (tenantId === null
      ? client.getWorkspaceUsage()
      : client.getTenantUsage(tenantId));
    const records = usage.map((item) => ({
      ...{ tenant: item.tenant_id, period: item.period, start: item.period_start, end: item.period_end },
      ...{ credits: String(item.credits_used), requests: String(item.request_count) },
    }));
    return { records, totalRecords: String(total_records), totalPages: String(total_pages) };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return error.code;
  }
}

test('any body is read exactly or rejected with a named field, in agreement with an independent checker', async () => {
  const random = randomFrom(SEED);
  const counts = { right: 0, wrong: 0, openAndRead: 0, openAndRefused: 0, otherStatus: 0, unpackable: 0 };
  for (let index = 0; index < BODIES; index += 1) {
    const sent = makeBody(random);
    const found = await read(sent);
    const isRead = typeof found !== 'string';
    const judged = judgePage(sent.body, 'ws-1', sent.tenantId);
    const where = `body ${index} of seed ${SEED}, ${judged.verdict} (${judged.because}), status ${sent.status}, tenant ${sent.tenantId}: ${sent.body}`;
    if (sent.status >= 300) {
      counts.otherStatus += 1;
      expect(isRead, where).toBe(false);
    } else if (!sent.packedRightly) {
      counts.unpackable += 1;
      expect(['invalid_response', 'network'], where).toContain(found);
    } else if (isRead) {
      counts[judged.verdict === 'right' ? 'right' : 'openAndRead'] += 1;
      expect(judged.verdict, where).not.toBe('wrong');
      const { records, totalRecords, totalPages } = judged;
      expect(found, where).toEqual({ records, totalRecords, totalPages });
    } else {
      counts[judged.verdict === 'wrong' ? 'wrong' : 'openAndRefused'] += 1;
      expect(judged.verdict, where).not.toBe('right');
      expect(found, where).toBe('invalid_response');
    }
  }
  // Each kind has happened, and none is all that there was.
  for (const [kind, count] of Object.entries(counts)) expect(count, kind).toBeGreaterThan(BODIES / 200);
  expect(counts.right).toBeGreaterThan(BODIES / 4);
  expect(counts.wrong).toBeGreaterThan(BODIES / 10);
}, 1_800_000);
