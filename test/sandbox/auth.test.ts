import { afterEach, describe, expect, it } from 'vitest';
import { type Sandbox, startSandbox } from '../../src/sandbox/server.ts';
import { call, NOON, scenarioWith, sign, signedHeaders, testClock, usagePath } from './client.ts';

const OTHER = { id: 'ws-2', api_key_id: 'ak_other', secret_key: 'sk_other_not_a_secret' };
let sandbox: Sandbox;
afterEach(() => sandbox.close());

async function start(signing = {}): Promise<void> {
  const scenario = scenarioWith();
  sandbox = await startSandbox({
    scenario: { ...scenario, workspaces: [...scenario.workspaces, OTHER], signing },
    clock: testClock(),
  });
}

function signedUntil(validUntil: string): Record<string, string> {
  return signedHeaders({ 'X-Valid-Until': validUntil, 'X-Signature': sign(`ws-1${validUntil}`) });
}

const seconds = NOON / 1_000;
const refused: Array<[string, number, Record<string, string>]> = [
  ['no API key', 401, { 'X-API-Key-ID': '' }],
  ['no workspace', 401, { 'X-Workspace-ID': '' }],
  ['no validity', 401, { 'X-Valid-Until': '' }],
  ['no signature', 401, { 'X-Signature': '' }],
  ['an unknown API key', 401, { 'X-API-Key-ID': 'ak_nobody' }],
  ['a malformed validity', 401, signedUntil('2026-02-20T12:05:00Z')],
  ['a validity with a sign', 401, signedUntil('+1771589000')],
  ['an expired validity', 401, signedUntil(String(seconds - 1))],
  ['a validity more than a day ahead', 401, signedUntil(String(seconds + 86_401))],
  ['a validity in milliseconds', 401, signedUntil(String(NOON + 300_000))],
  ['a signature by another secret', 401, { 'X-Signature': sign(`ws-1${seconds + 300}`, 'hex', 'sk_wrong') }],
  ['a signature in upper case', 401, { 'X-Signature': sign(`ws-1${seconds + 300}`).toUpperCase() }],
  ['a signature cut short', 401, { 'X-Signature': sign(`ws-1${seconds + 300}`).slice(0, 63) }],
  ['the signature of another moment', 401, { 'X-Signature': sign(`ws-1${seconds + 299}`) }],
  ['a workspace header of another key', 403, signedHeaders({}, 'ws-2')],
];

describe('signatures', () => {
  it.each(refused)('refuses a request with %s', async (_, status, overrides) => {
    await start();
    const answer = await call(sandbox, usagePath(), { headers: signedHeaders(overrides) });
    expect(answer.status).toBe(status);
    expect(answer.body).toEqual({ success: false, message: expect.any(String), data: null });
  });

  it("refuses the path of another key's workspace", async () => {
    await start();
    for (const workspace of ['ws-2', 'ws-none']) {
      const answer = await call(sandbox, `/api/v1/external/workspaces/${workspace}/tenant-usage`);
      expect(answer.status).toBe(403);
    }
  });

  it.each([seconds, seconds + 86_400])('accepts a validity at the edge of its range (%d)', async (validUntil) => {
    await start();
    expect((await call(sandbox, usagePath(), { headers: signedUntil(String(validUntil)) })).status).toBe(200);
  });

  it('checks every validity against its own signature', async () => {
    await start();
    const fresh = signedUntil(String(seconds + 200));
    const mixed = { ...fresh, 'X-Signature': signedHeaders()['X-Signature'] ?? '' };
    const statuses: number[] = [];
    for (const headers of [signedHeaders(), mixed, fresh, signedHeaders()]) {
      statuses.push((await call(sandbox, usagePath(), { headers })).status);
    }
    expect(statuses).toEqual([200, 401, 200, 200]);
  });

  it('refuses a signature after it expires by the clock', async () => {
    const clock = testClock();
    sandbox = await startSandbox({ scenario: scenarioWith(), clock });
    expect((await call(sandbox, usagePath())).status).toBe(200);
    clock.set(NOON + 301_000);
    const late = await call(sandbox, usagePath());
    expect(late.status).toBe(401);
    expect(late.headers.date).toBe('Fri, 20 Feb 2026 12:05:01 GMT');
  });

  it.each([
    ['base64', 'unix_millis', String(NOON + 300_000)],
    ['base64url', 'iso8601', '2026-02-20T12:05:00Z'],
    ['hex', 'iso8601', '2026-02-20T13:05:00.250+01:00'],
  ] as const)('checks a scheme with %s signatures and %s', async (encoding, format, validUntil) => {
    const payload = '{valid_until}|$&|{workspace_id}';
    await start({ payload, encoding, valid_until: format });
    const signature = sign(`${validUntil}|$&|ws-1`, encoding);
    const headers = signedHeaders({ 'X-Valid-Until': validUntil, 'X-Signature': signature });
    expect((await call(sandbox, usagePath(), { headers })).status).toBe(200);
    const wrong = { ...headers, 'X-Signature': sign(`ws-1${validUntil}`, encoding) };
    expect((await call(sandbox, usagePath(), { headers: wrong })).status).toBe(401);
  });
});
