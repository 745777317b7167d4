import { describe, expect, it } from 'vitest';
import { copiesOf } from '../../commands/world.ts';
import { ledgerOfOperations } from '../../operations/ledger-of-operations.ts';
import { probeOf } from '../http/served.ts';
import { textOf } from './page-text.ts';
import { serveConsole } from './served-console.ts';

const world = copiesOf(ledgerOfOperations);

describe('the overview', () => {
  it('shows freshness, the month to date with its forecast, and the open alerts with their worth', async () => {
    const served = await world();
    const { signIn } = await serveConsole(served);
    const { status, body } = await (await signIn()).get('/');
    expect(status).toBe(200);
    const [sum] = served.query(
      "SELECT format('%,d', sum(credits_used)) AS credits FROM finance_usage WHERE period = '2026-02'",
    ) as { credits: string }[];
    expect(body).toContain(`>${sum?.credits}<`);
    expect(body).toContain('February 2026 to date');
    expect(body).toMatch(/Open alerts<\/h2><p class="figure[^"]*">1</);
    expect(body).toContain('<a href="/alerts/alert_');
    expect(body).toContain('acme (Acme Ltd, ws-1): 60,000 credits');
  });

  it('lists what needs attention with a link, the worst first', async () => {
    const probe = probeOf({
      redisUp: () => false,
      redisFault: () => ({ reason: 'connection refused', hint: 'start it' }),
      outbox: () => ({ pending: 0, held: 0, dead: 3 }),
    });
    const { signIn } = await serveConsole(await world(), { probe });
    const { body } = await (await signIn()).get('/');
    expect(body).toContain('<title>Needs attention');
    expect(body).toContain('<a href="/system">Redis is not available: connection refused</a>');
    expect(body).toContain('3 notifications could not be delivered');
    expect(body.indexOf('Redis is not')).toBeLessThan(body.indexOf('/alerts/alert_'));
  });

  it('is read with a token in the request, and then has no form', async () => {
    const { url } = await serveConsole(await world());
    const answer = await fetch(url, { headers: { authorization: 'Bearer read-token-of-the-console-123456' } });
    expect(answer.status).toBe(200);
    expect(await answer.text()).not.toContain('<form');
  });

  it('loads its own style sheet and script only, which a browser may keep', async () => {
    const { url, signIn } = await serveConsole(await world());
    const { body, headers } = await (await signIn()).get('/');
    expect(headers['content-security-policy']).toContain("default-src 'none'; script-src 'self'; style-src 'self'");
    expect(headers['content-security-policy']).not.toContain('unsafe');
    expect(headers['referrer-policy']).toBe('same-origin');
    const assets = [...body.matchAll(/(?:href|src)="(\/console\/[^"]+)"/g)].map(([, path]) => path);
    expect(assets).toHaveLength(2);
    for (const path of assets) {
      const asset = await fetch(`${url}${path}`);
      expect([asset.status, asset.headers.get('cache-control')]).toEqual([200, 'public, max-age=31536000, immutable']);
    }
    expect(body).not.toMatch(/ style="| on\w+="|<script(?! type="module" src=)/);
  });

  it('is where a page that does not exist sends people; a program gets a code', async () => {
    const { signIn } = await serveConsole(await world());
    const visitor = await signIn('read');
    const { status, body } = await visitor.get('/no/such/page');
    expect(status).toBe(404);
    expect(textOf(body)).toContain('This page does not exist. Check its address, or begin at the overview.');
    const program = await visitor.get('/no/such/page', { accept: 'application/json' });
    expect([program.status, JSON.parse(program.body)]).toMatchObject([404, { error: 'not_found' }]);
  });
});
