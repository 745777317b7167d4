import { z } from 'zod';
import { pauseEvery } from '../../core/clock.ts';
import { checkMoney } from '../../ledger/audit/money/verify-money.ts';
import { verifyLedgerFile } from '../../ledger/audit/verify/verify.ts';
import { retiredWorkspaces } from '../../ledger/journal/retired-workspaces.ts';
import {
  type MonthEndPart,
  type MonthEndSubject,
  monthEndOf,
  monthEndParts,
  readMonthEnd,
} from '../../reports/queries/month-end.ts';
import { monthEndSchema } from '../../reports/queries/month-end-record.ts';
import { ledgerWorkspaces } from '../../reports/queries/usage.ts';
import { documentOperation, type Scope } from '../operation.ts';
import { idText, periodText } from '../schemas.ts';
import { chooseWorkspace } from '../workspace-choice.ts';

/** While workspaces are read, other work can run after each interval of this many milliseconds. */
const TURN_MS = 5;

export const planMonth = documentOperation({
  name: 'periods.plan',
  summary: 'Show what blocks closing a month, and what it totals',
  details:
    'Use it for month-end questions: can the month be closed, what stops it and what fixes that, what does it total compared with the previous month. It verifies the whole ledger first, which takes seconds. For totals alone use periods_list.',
  role: 'read',
  input: z.strictObject({
    period: periodText.describe('the month'),
    workspace: z.array(idText).max(1000).optional().describe('only these workspaces'),
    verify: z
      .boolean()
      .optional()
      .describe('false skips verifying the ledger, which takes most of the time; closing always verifies it'),
  }),
  output: monthEndSchema,
  http: { method: 'GET', path: '/periods/{period}' },
  command: 'month-end',
  isSlow: true,
  async run(scope, { period, workspace: ids, verify = true }) {
    const { connection, context } = scope;
    const { config, clock } = context;
    const verified = verify ? await verifyBooks(scope) : null;
    const workspaces = ids?.map((id) => chooseWorkspace(config, id)) ?? subjectsOf(scope);
    const request = { period, workspaces, maxChange: config.close.maxChange, verified, nowMs: clock.now() };
    if (verified !== null) return connection.transaction(() => readMonthEnd(connection, request))();
    const parts: MonthEndPart[] = [];
    const pause = pauseEvery(TURN_MS);
    for (const part of monthEndParts(connection, request)) {
      parts.push(part);
      await pause();
    }
    return monthEndOf(connection, request, parts);
  },
});

/** Verifies the ledger, including the amounts of money in it. */
export function verifyBooks({ connection }: Pick<Scope, 'connection'>) {
  return verifyLedgerFile(connection, [checkMoney]);
}

/** Returns the configured workspaces, and those in the ledger that are no longer configured but have not been ended. */
function subjectsOf({ connection, context }: Scope): MonthEndSubject[] {
  const { workspaces } = context.config;
  const configured = new Set(workspaces.map(({ id }) => id));
  const ended = new Set(retiredWorkspaces(connection));
  const unconfigured = ledgerWorkspaces(connection).filter((id) => !configured.has(id) && !ended.has(id));
  return [...workspaces, ...unconfigured.map((id) => ({ id, settleHours: null }))];
}
