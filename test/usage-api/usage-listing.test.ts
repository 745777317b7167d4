import { describe, expect, it } from 'vitest';
import { releaseAfterEach, setup } from './client-setup.ts';
import { answer, item, page } from './service-double.ts';

releaseAfterEach();

const totals = { total_records: 3, total_pages: 2 };

function listed(first: object[], second: object[], changed: object = {}) {
  return [answer(200, page(first, totals)), answer(200, page(second, { ...totals, ...changed }))];
}

describe('client.usage', () => {
  it('iterates over all records of all pages, and over the pages', async () => {
    const replies = () => listed([item({ tenant_id: 'a' }), item({ tenant_id: 'b' })], [item({ tenant_id: 'c' })]);
    const { client, service } = await setup([...replies(), ...replies()]);
    const listing = client.usage({ fromPeriod: '2026-01', perPage: 2 });
    const tenants: string[] = [];
    for await (const { tenant_id } of listing) tenants.push(tenant_id);
    expect(tenants).toEqual(['a', 'b', 'c']);
    const sizes: number[] = [];
    for await (const { usage } of listing.pages()) sizes.push(usage.length);
    expect(sizes).toEqual([2, 1]);
    expect(service.received.map(({ url }) => url?.split('?')[1])).toEqual(
      Array.from({ length: 2 }, () => [1, 2].map((number) => `from_period=2026-01&page=${number}&per_page=2`)).flat(),
    );
  });

  it('returns every figure as a bigint with `exact`', async () => {
    const replies = listed([item({ credits_used: 5 }), item({ tenant_id: 'b' })], [item({ tenant_id: 'c' })]);
    const { client } = await setup(replies);
    for await (const { credits_used, request_count } of client.usage({ exact: true })) {
      expect([typeof credits_used, typeof request_count]).toEqual(['bigint', 'bigint']);
    }
  });

  it('fails if the listing changes during the iteration', async () => {
    const { client } = await setup(listed([item(), item({ tenant_id: 'b' })], [item()], { total_records: 4 }));
    const reading = (async () => {
      for await (const _ of client.usage());
    })();
    await expect(reading).rejects.toMatchObject({ code: 'listing_moved', retryable: true });
  });

  it('asks for no further page after an empty one, as a service may announce pages without end', async () => {
    const empty = answer(200, page([], { total_records: 9, total_pages: 1_000_000 }));
    const { client, service } = await setup([empty]);
    const reading = (async () => {
      for await (const _ of client.usage());
    })();
    await expect(reading).rejects.toMatchObject({
      code: 'listing_moved',
      message: 'the listing changed while it was read: page 1 of 1000000 was empty',
    });
    expect(service.received).toHaveLength(1);
  });
});

describe('extra fields of a body', () => {
  it("are sent with the client's fields and cannot replace them", async () => {
    const created = answer(200, { success: true, data: { dashboard_id: 'd-1' } });
    const { client, service } = await setup([created]);
    await client.createDashboard({ title: 'x', extra: { theme: 'dark' } });
    expect(JSON.parse(service.received[0]?.body ?? '')).toMatchObject({ title: 'x', theme: 'dark' });
    await expect(client.createDashboard({ title: 'x', extra: { title: 'y' } })).rejects.toMatchObject({
      code: 'invalid_request',
    });
    expect(service.received).toHaveLength(1);
  });
});
