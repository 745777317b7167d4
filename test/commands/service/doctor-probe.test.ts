import { describe, expect, it } from 'vitest';
import type { Envelope, SandboxRequest } from '../../../src/sandbox/requests/call.ts';
import type { FaultAction } from '../../../src/sandbox/world/faults.ts';
import { type Check, examine } from '../examine.ts';
import { createWorld, FIRST, type World } from '../world.ts';

const ASSUMPTIONS = ['figures', 'order', 'filter', 'bounds', 'page size', 'pages', 'beyond', 'history', 'absent'];

async function probe(world: World): Promise<{ code: number; checks: Check[] }> {
  const { code, checks } = await examine(world, {}, '--probe');
  return { code, checks: checks.filter(({ check }) => check.startsWith('probe')) };
}

type Row = Record<string, unknown>;
interface Listing {
  usage: Row[];
  total_records: number;
  total_pages: number;
}
type Break = (listing: Listing, call: SandboxRequest, count: number) => void;

/** A service that breaks one of its habits in each answer. */
async function worldThat(breaks: Break): Promise<World> {
  const world = await createWorld(FIRST);
  let count = 0;
  const mutate = (envelope: Envelope, call: SandboxRequest) => {
    count += 1;
    if (envelope.data !== null) breaks(envelope.data as unknown as Listing, call, count);
    return envelope;
  };
  strike(world, { type: 'mutate', mutate });
  return world;
}

function strike({ sandbox }: World, action: FaultAction, when?: (call: SandboxRequest) => boolean): void {
  sandbox.faults.push({ times: Infinity, action, ...(when === undefined ? {} : { when }) });
}

const keep = (listing: Listing, isKept: (row: Row) => boolean): void => {
  listing.usage = listing.usage.filter(isKept);
  listing.total_records = listing.usage.length;
  listing.total_pages = Math.min(1, listing.usage.length);
};
const asked = (call: SandboxRequest, name: string) => call.query.get(name);
const periodOf = (row: Row | undefined) => String(row?.period);

const BROKEN: [assumption: string, what: string, status: string, message: RegExp, breaks: Break][] = [
  [
    'order',
    'reverses the rows',
    'warn',
    /a different order/,
    ({ usage }, _, count) => void (count % 2 && usage.reverse()),
  ],
  [
    'filter',
    'ignores the requested months',
    'fail',
    /a request for 2025-12 also returns 2026-01/,
    (listing, call) => {
      if (asked(call, 'from_period') !== null) listing.usage.push({ ...listing.usage[0], period: '2026-01' });
      for (const row of listing.usage) Object.assign(row, monthOf(periodOf(row)));
    },
  ],
  [
    'filter',
    'counts records that were not requested',
    'fail',
    /total_records is 6 for .*, but there are 2/,
    (listing) => {
      listing.total_records = 6;
    },
  ],
  [
    'bounds',
    'leaves from_period out',
    'fail',
    /2025-12 is missing when it is from_period$/,
    (listing, call) => keep(listing, (row) => periodOf(row) > (asked(call, 'from_period') ?? '')),
  ],
  [
    'bounds',
    'leaves to_period out',
    'fail',
    /2025-12 is missing when it is to_period$/,
    (listing, call) => keep(listing, (row) => periodOf(row) < (asked(call, 'to_period') ?? '9')),
  ],
  [
    'page size',
    'returns at most two records',
    'warn',
    /a page has 2 records; 100 were requested/,
    (listing) => {
      listing.usage.splice(2);
      listing.total_pages = Math.ceil(listing.total_records / 2);
    },
  ],
  [
    'page size',
    'announces pages that cannot exist',
    'fail',
    /total_pages is 9 for 6 records, but the first page has 6/,
    (listing) => {
      listing.total_pages = 9;
    },
  ],
  [
    'pages',
    'ignores per_page',
    'fail',
    /with per_page=1, page 2 has 2 records/,
    (listing, call) => void (asked(call, 'per_page') === '1' && listing.usage.push({ ...listing.usage[0] })),
  ],
  [
    'pages',
    'returns a different page',
    'fail',
    /a record other than the second/,
    (listing, call) =>
      void (call.page === 2 && Object.assign(listing.usage[0] ?? {}, { tenant_id: 'acme', credits_used: 1 })),
  ],
  [
    'pages',
    'reports other totals on the second page',
    'fail',
    /with per_page=1, page 2 reports 7 records on 7 pages/,
    (listing, call) =>
      void (asked(call, 'per_page') === '1' && Object.assign(listing, { total_records: 7, total_pages: 7 })),
  ],
  [
    'beyond',
    'repeats its last page',
    'warn',
    /repeats 1 record/,
    (listing, call) => {
      if (call.page === 2 && listing.usage.length === 0) listing.usage = [{ ...record('acme', '2026-02') }];
    },
  ],
  [
    'history',
    'forgets months of one tenant',
    'fail',
    /history lacks 2025-12/,
    (listing, call) => void (call.tenantId !== null && keep(listing, (row) => periodOf(row) > '2025-12')),
  ],
  [
    'history',
    'reports other credits for one tenant',
    'warn',
    /a tenant's history has different credits for 2025-12 than the workspace listing/,
    (listing, call) => void (call.tenantId !== null && Object.assign(listing.usage[0] ?? {}, { credits_used: 1 })),
  ],
  [
    'absent',
    'invents tenants',
    'fail',
    /an unknown tenant has records/,
    (listing, call) => {
      if (call.tenantId !== null && listing.usage.length === 0) listing.usage = [record(call.tenantId, '2026-02')];
    },
  ],
];

function monthOf(period: string): Row {
  const { period_start, period_end } = record('x', period);
  return { period_start, period_end };
}

function record(tenant: string, period: string): Row {
  const lastDay = new Date(Date.UTC(Number(period.slice(0, 4)), Number(period.slice(5)), 0)).getUTCDate();
  return {
    ...{ tenant_id: tenant, period, credits_used: 1, request_count: 1 },
    ...{ period_start: `${period}-01T00:00:00`, period_end: `${period}-${lastDay}T23:59:59` },
  };
}

describe('doctor --probe', () => {
  it('passes every assumption on the sandbox, and sends probe requests only with --probe', async () => {
    const world = await createWorld(FIRST);
    const { code, checks } = await probe(world);
    expect(code).toBe(0);
    expect(checks.map(({ check, subject, status }) => [check, subject, status])).toEqual(
      ASSUMPTIONS.map((assumption) => [`probe ${assumption}`, 'ws-1', 'ok']),
    );
    expect(checks[0]?.message).toContain('6 records are whole numbers; 3 records beyond 2^53, read exactly');
    const before = world.sandbox.requests.count;
    expect((await world.run('doctor')).out).not.toContain('probe');
    expect(world.sandbox.requests.count).toBe(before + 1);
  });

  it.each(BROKEN)('reports %j when the service %s', async (assumption, _, status, message, breaks) => {
    const { code, checks } = await probe(await worldThat(breaks));
    expect(checks.map(({ check }) => check)).toEqual(ASSUMPTIONS.map((name) => `probe ${name}`));
    const found = checks.find(({ check }) => check === `probe ${assumption}`);
    expect(found).toMatchObject({
      status,
      message: expect.stringMatching(message),
      remedy: expect.stringMatching(/./),
    });
    expect(code).toBe(checks.some((check) => check.status === 'fail') ? 4 : 0);
  });

  it.each<[string, Row]>([
    ['fractions', { credits_used: 1.5 }],
    ['text for a number', { request_count: '7' }],
    ['billing from the 15th', { period_start: '2025-12-15T00:00:00' }],
  ])('names the field when a service returns %s', async (_, fields) => {
    const { code, checks } = await probe(
      await worldThat(({ usage }) => {
        Object.assign(usage[0] ?? {}, fields);
      }),
    );
    expect(code).toBe(4);
    expect(checks).toMatchObject([
      { check: 'probe', status: 'fail', message: expect.stringContaining(Object.keys(fields)[0] ?? '') },
    ]);
  });

  it('continues after a rejected request, and accepts a rejected page beyond the last and a rejected unknown tenant', async () => {
    const world = await createWorld(FIRST);
    strike(world, { type: 'status', status: 400 }, (call) => call.page === 2 && asked(call, 'per_page') === '100');
    strike(world, { type: 'status', status: 404 }, ({ tenantId }) => tenantId?.startsWith('usage-ledger') === true);
    strike(world, { type: 'status', status: 403, message: 'no histories' }, ({ tenantId }) => tenantId !== null);
    const { code, checks } = await probe(world);
    expect(code).toBe(4);
    expect(checks.filter(({ status }) => status !== 'ok')).toMatchObject([
      { check: 'probe history', status: 'fail', message: expect.stringContaining('403') },
    ]);
  });

  it('reports that a service without records cannot be tested', async () => {
    const { code, checks } = await probe(await createWorld({ ...FIRST, usage: [] }));
    expect([code, checks]).toEqual([0, [expect.objectContaining({ check: 'probe', status: 'warn' })]]);
  });

  it('fits a terminal of 80 columns with every finding', async () => {
    const world = await worldThat((listing, call, count) => {
      for (const [, , , , breaks] of BROKEN.slice(-5)) breaks(listing, call, count);
    });
    const { out } = await world.runOnTerminal(80, 'doctor', '--probe');
    expect(out).toContain('FAIL  probe history ws-1: ');
    for (const line of out.split('\n')) expect(line.length, line).toBeLessThanOrEqual(80);
  });
});
