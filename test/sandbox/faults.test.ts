import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SandboxCall } from '../../src/sandbox/requests/call.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/server.ts';
import { call, type Item, rawGet, scenarioWith, testClock, usagePath } from './client.ts';

let sandbox: Sandbox;
beforeEach(async () => {
  const usage = [1, 2, 3].map((n) => ({
    tenant_id: `t-${n}`,
    period: '2026-01',
    credits_used: 2n ** 60n + 1n,
    request_count: n,
  }));
  sandbox = await startSandbox({ scenario: scenarioWith({ usage }), clock: testClock() });
});
afterEach(() => sandbox.close());

describe('faults', () => {
  it('answers with a status and headers as often as told, then as ever', async () => {
    sandbox.faults.push({ times: 2, action: { type: 'status', status: 503, headers: { 'Retry-After': '2' } } });
    for (let round = 0; round < 2; round += 1) {
      const answer = await call(sandbox, usagePath());
      expect(answer.status).toBe(503);
      expect(answer.headers['retry-after']).toBe('2');
      expect(answer.body).toEqual({ success: false, message: expect.any(String), data: null });
    }
    expect(sandbox.faults.pending).toBe(0);
    expect((await call(sandbox, usagePath())).status).toBe(200);
  });

  it('strikes only what it matches', async () => {
    sandbox.faults.push({ when: { endpoint: 'workspace_usage', page: 2 }, action: { type: 'status', status: 500 } });
    sandbox.faults.push({ when: ({ tenantId }) => tenantId === 't-2', action: { type: 'status', status: 502 } });
    expect((await call(sandbox, usagePath('?page=1'))).status).toBe(200);
    expect((await call(sandbox, usagePath('?page=2', 't-1'))).status).toBe(200);
    expect(sandbox.faults.pending).toBe(2);
    expect((await call(sandbox, usagePath('?page=2'))).status).toBe(500);
    expect((await call(sandbox, usagePath('', 't-2'))).status).toBe(502);
    expect(sandbox.faults.pending).toBe(0);
  });

  it('stays for ever when told so, until it is cleared', async () => {
    sandbox.faults.push({ times: Number.POSITIVE_INFINITY, action: { type: 'status', status: 500 } });
    for (let round = 0; round < 3; round += 1) expect((await call(sandbox, usagePath())).status).toBe(500);
    sandbox.faults.clear();
    expect((await call(sandbox, usagePath())).status).toBe(200);
  });

  it('destroys the socket and keeps no status', async () => {
    sandbox.faults.push({ action: { type: 'reset' } });
    await expect(call(sandbox, usagePath())).rejects.toMatchObject({
      code: expect.stringMatching(/UND_ERR_SOCKET|ECONNRESET/),
    });
    expect(sandbox.requests.records.map((record) => record.status)).toEqual([null]);
  });

  it('breaks off in the middle of a body', async () => {
    sandbox.faults.push({ action: { type: 'truncate' } });
    const { announced, text, whole } = await rawGet(sandbox, usagePath());
    expect(whole).toBe(false);
    expect(text).toHaveLength(Math.floor(announced / 2));
  });

  it('sends a body that is not JSON', async () => {
    sandbox.faults.push({ action: { type: 'body', body: '<html>gateway</html>' } });
    const response = await fetch(`${sandbox.url}${usagePath()}`);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toContain('text/html');
    expect(await response.text()).toBe('<html>gateway</html>');
  });

  it('changes an envelope without rounding what it leaves alone', async () => {
    const types: string[] = [];
    sandbox.faults.push({
      action: {
        type: 'mutate',
        mutate: ({ message: _, ...rest }) => {
          const [item] = (rest.data?.usage ?? []) as Item[];
          types.push(typeof item?.credits_used, typeof item?.request_count);
          return { ...rest, data: { ...rest.data, total_records: 99 } };
        },
      },
    });
    const { body, text } = await call(sandbox, usagePath());
    expect(types).toEqual(['bigint', 'number']);
    expect(body).not.toHaveProperty('message');
    expect(body.data?.total_records).toBe(99);
    expect(text).toContain('"credits_used":1152921504606846977');
  });

  it('waits and lets the test change the data between two pages', async () => {
    sandbox.faults.push({ when: { page: 2 }, action: { type: 'delay', delayMs: 20 } });
    sandbox.faults.push({
      when: { page: 2 },
      action: { type: 'before', run: () => void sandbox.workspace().remove('t-1', '2026-01') },
    });
    const ids = async (page: number) =>
      (await call(sandbox, usagePath(`?per_page=1&page=${page}`))).usage.map((item) => item.tenant_id);
    expect(await ids(1)).toEqual(['t-1']);
    const before = performance.now();
    expect(await ids(2)).toEqual(['t-3']);
    expect(performance.now() - before).toBeGreaterThanOrEqual(19);
  });

  it('tells a hook which request it strikes', async () => {
    const seen: string[] = [];
    const note = (when: string, { workspaceId, page }: SandboxCall) => seen.push(`${when} ${workspaceId} ${page}`);
    sandbox.faults.push({ times: 2, action: { type: 'before', run: (asked) => void note('before', asked) } });
    const mutate = (envelope: unknown, asked: SandboxCall) => {
      note('after', asked);
      return envelope;
    };
    sandbox.faults.push({ times: 2, action: { type: 'mutate', mutate } });
    await call(sandbox, usagePath('?per_page=1&page=3'));
    await call(sandbox, usagePath());
    expect(seen).toEqual(['before ws-1 3', 'after ws-1 3', 'before ws-1 1', 'after ws-1 1']);
  });

  it('answers 500 when a hook of the test fails', async () => {
    sandbox.faults.push({
      action: {
        type: 'before',
        run: () => {
          throw new Error('broken hook');
        },
      },
    });
    const answer = await call(sandbox, usagePath());
    expect(answer.status).toBe(500);
    expect(answer.body.message).toContain('broken hook');
  });

  it('does not let a waiting request hold up the close', async () => {
    sandbox.faults.push({ action: { type: 'delay', delayMs: 60_000 } });
    const waiting = expect(call(sandbox, usagePath())).rejects.toBeInstanceOf(Error);
    await expect.poll(() => sandbox.requests.count, { interval: 2 }).toBe(1);
    await sandbox.close();
    await sandbox.close();
    await waiting;
  });
});

describe('latency', () => {
  it('is added to every answer', async () => {
    const slow = await startSandbox({ scenario: scenarioWith(), clock: testClock(), latencyMs: 30 });
    try {
      const before = performance.now();
      await Promise.all([call(slow, usagePath()), call(slow, usagePath()), call(slow, usagePath())]);
      // A timer may be early by a millisecond.
      expect(performance.now() - before).toBeGreaterThanOrEqual(29);
      expect(slow.requests.peakInFlight).toBeGreaterThan(1);
    } finally {
      await slow.close();
    }
  });
});
