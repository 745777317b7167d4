import { z } from 'zod';
import { InputError } from '../../core/errors.ts';
import { readOutletEvents } from '../../ledger/journal/outlets/outlet-book.ts';
import type { Column } from '../../reports/formats/columns.ts';
import { actorText, changeOperation, listOperation, type RowKey, rowsAfter, type Scope } from '../operation.ts';
import { idText, noteText, periodText, rowSchema } from '../schemas.ts';
import { requireStartedOutlet } from './started-outlet.ts';

type EventRow = ReturnType<typeof readOutletEvents>[number];

export const EVENT_COLUMNS: readonly Column<EventRow>[] = [
  { name: 'entry_id', kind: 'count', header: 'Entry' },
  { name: 'state', kind: 'text', header: '' },
  { name: 'workspace_id', kind: 'id', header: 'Workspace' },
  { name: 'tenant_id', kind: 'id', header: 'Tenant' },
  { name: 'period', kind: 'text', header: 'Month' },
  { name: 'credits_delta', kind: 'credits', header: 'Credits' },
  { name: 'requests_delta', kind: 'count', header: 'Requests' },
  { name: 'reason', kind: 'text', header: 'Reason' },
  { name: 'since', kind: 'date' },
];

/** The states of events that the receiver lacks and that nobody has marked as settled. */
export const EXCEPTION_STATES = ['late', 'refused', 'held'] as const;
const MAX_ENTRIES = 1000;

const filters = {
  name: idText.describe('the outlet'),
  entries: z.array(z.int().min(1)).max(MAX_ENTRIES).optional().describe('only these entries'),
  tenant: idText.optional().describe('only this tenant'),
  period: periodText.optional().describe('only this month'),
  state: z.enum(EXCEPTION_STATES).optional().describe('only events in this state'),
};

const filterInput = z.strictObject(filters);

export const listEvents = listOperation({
  name: 'outlets.events',
  summary: 'List events that the receiver of an outlet does not have',
  details:
    'Use it for events that need a person: refused, late or held ones, with the reason. outlets_list has their number for each outlet.',
  role: 'read',
  input: filterInput,
  http: { method: 'GET', path: '/outlets/{name}/events' },
  command: 'outlets settle',
  title: 'events',
  member: 'rows',
  head: z.strictObject({ name: z.string() }),
  row: rowSchema(EVENT_COLUMNS, []),
  columns: EVENT_COLUMNS,
  keyOf,
  run: (scope, input, page) => ({ head: { name: input.name }, rows: rowsAfter(eventsOf(scope, input), keyOf, page) }),
});

function keyOf({ entry_id }: EventRow): RowKey {
  return [entry_id];
}

function eventsOf(scope: Scope, { name, entries, tenant, period, state }: z.output<typeof filterInput>): EventRow[] {
  requireStartedOutlet(scope, name);
  return readOutletEvents(scope.connection, { outlet: name, tenant, period, state }).filter(
    ({ entry_id: id }) => entries === undefined || entries.includes(id),
  );
}

export const settleEvents = changeOperation({
  name: 'outlets.settle',
  summary: 'Settle events that the receiver does not have, or send them again',
  role: 'finance',
  input: z.strictObject({
    ...filters,
    note: noteText.optional().describe('how they were settled, such as the number of a credit note'),
    resend: z.boolean().optional().describe('send them again, after the cause was fixed'),
  }),
  output: z.strictObject({
    name: z.string(),
    events: z.int().describe('the number of events'),
    note: z.string().nullable(),
    by: z.string(),
  }),
  http: { method: 'POST', path: '/outlets/{name}/settle' },
  command: 'outlets settle',
  async run(scope, { note, resend = false, ...wanted }) {
    if ((note === undefined) !== resend) {
      throw new InputError(
        (nameOf) =>
          resend ? `${nameOf('note')} conflicts with ${nameOf('resend')}` : 'nothing says how to settle the events',
        (nameOf) => `use one of ${nameOf('note')} and ${nameOf('resend')}`,
      );
    }
    const { context, actor } = scope;
    const { name } = wanted;
    const entryIds = eventsOf(scope, wanted).map(({ entry_id: id }) => id);
    const by = actorText(actor);
    const writer = await context.existingWriter();
    const request = { name, entryIds, note: note ?? null, by, nowMs: context.clock.now() };
    const events = await writer.settleEvents(request);
    return { applied: true, document: { name, events, note: note ?? null, by }, notes: [] };
  },
});
