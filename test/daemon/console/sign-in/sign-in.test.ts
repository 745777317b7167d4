import { describe, expect, it } from 'vitest';
import { copiesOf } from '../../../commands/world.ts';
import { ledgerOfOperations } from '../../../operations/ledger-of-operations.ts';
import { PAGES_TOKEN } from '../../http/serve-world.ts';
import { serveConsole, TOKENS, Visitor } from '../served-console.ts';

const world = copiesOf(ledgerOfOperations);
const HOUR_MS = 3_600_000;
const [reader] = TOKENS;

describe('sign-in', () => {
  it('shows the page that asks for a token instead of any page, and then that page', async () => {
    const { url } = await serveConsole(await world());
    const visitor = new Visitor(url);
    const refused = await visitor.get('/?after=1');
    expect(refused.status).toBe(401);
    expect(refused.headers['www-authenticate']).toBeUndefined();
    expect(refused.body).toContain('name="next" value="/?after=1"');
    const wrong = await visitor.ask('/sign-in', { method: 'POST', form: { token: 'guess', next: '/' } });
    expect([wrong.status, visitor.cookie]).toEqual([401, null]);
    expect(wrong.body).toContain('This token is not valid.');
    expect(wrong.body).not.toContain('guess');
    const form = { token: reader?.token ?? '', person: 'Ada', next: '/?after=1' };
    const signedIn = await visitor.ask('/sign-in', { method: 'POST', form });
    expect([signedIn.status, signedIn.headers.location]).toEqual([303, '/?after=1']);
    expect(signedIn.headers['set-cookie']?.[0]).toMatch(
      /^usage_ledger_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=43200$/,
    );
    const page = await visitor.get('/');
    expect(page.status).toBe(200);
    expect(page.body).toContain('Ada (read)');
  });

  it('keeps the path to return to on this site', async () => {
    const { url } = await serveConsole(await world());
    for (const next of [
      '//evil.example',
      '/\\evil.example',
      'https://evil.example/',
      '/a//b\r\nx: y',
      'javascript:1',
      '',
    ]) {
      const form = { token: reader?.token ?? '', next };
      const answer = await new Visitor(url).ask('/sign-in', { method: 'POST', form });
      expect([next, answer.headers.location]).toEqual([next, '/']);
    }
  });

  it('starts a session by the link of `open`, and never with an id that the browser brings', async () => {
    const { url } = await serveConsole(await world());
    const visitor = new Visitor(url);
    const planted = `usage_ledger_session=${'a'.repeat(43)}`;
    visitor.cookie = planted;
    const answer = await visitor.get(`/?token=${PAGES_TOKEN}`);
    expect([answer.status, answer.headers.location]).toEqual([303, '/']);
    expect(visitor.cookie).not.toBe(planted);
    expect(`${visitor.cookie}`).not.toContain(PAGES_TOKEN);
    const first = visitor.cookie;
    await visitor.get(`/?token=${PAGES_TOKEN}`);
    const other = new Visitor(url);
    other.cookie = first;
    // Signing in again ends the session before.
    expect((await other.get('/')).status).toBe(401);
    expect((await visitor.get('/')).status).toBe(200);
  });

  it('ends after twelve hours, by signing out, and when the token is removed', async () => {
    const tokens = [...TOKENS];
    const { signIn, sessionClock } = await serveConsole(await world(), { apiTokens: () => tokens });
    const visitor = await signIn('operate');
    sessionClock.nowMs += 12 * HOUR_MS - 1;
    expect((await visitor.get('/')).status).toBe(200);
    sessionClock.nowMs += 1;
    expect((await visitor.get('/')).status).toBe(401);
    const leaving = await signIn('operate');
    const { cookie } = leaving;
    expect((await leaving.post('/sign-out', {})).status).toBe(303);
    leaving.cookie = cookie;
    expect((await leaving.get('/')).status).toBe(401);
    const removed = await signIn('operate');
    tokens.splice(1, 1);
    expect((await removed.get('/')).status).toBe(401);
  });

  it('refuses more than ten attempts a minute', async () => {
    const { url } = await serveConsole(await world());
    const visitor = new Visitor(url);
    const statuses: number[] = [];
    for (let attempt = 0; attempt < 12; attempt += 1) {
      statuses.push((await visitor.ask('/sign-in', { method: 'POST', form: { token: 'guess' } })).status);
    }
    expect(statuses).toEqual([...Array(10).fill(401), 429, 429]);
  });

  it('refuses forms of other sites, of other sessions, and without a session', async () => {
    const { url, signIn } = await serveConsole(await world());
    const visitor = await signIn();
    const { cookie } = visitor;
    const foreign = [
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { origin: url.replace(/:\d+$/, ':1') },
      { origin: url.replace('http:', 'https:').replace('127.0.0.1', '127.0.0.1.evil.example') },
    ];
    for (const headers of foreign) {
      expect([headers, (await visitor.post('/sign-out', {}, { headers })).status]).toEqual([headers, 403]);
    }
    expect((await visitor.post('/sign-out', { form_token: 'wrong' })).status).toBe(403);
    const other = await signIn();
    const page = await other.get('/');
    const [, form_token = ''] = /name="form_token" value="([^"]*)"/.exec(page.body) ?? [];
    expect((await visitor.post('/sign-out', { form_token })).status).toBe(403);
    visitor.cookie = cookie;
    expect((await visitor.get('/')).status).toBe(200);
    const stranger = new Visitor(url);
    expect((await stranger.ask('/sign-out', { method: 'POST', form: {} })).status).toBe(401);
  });

  it('sets the cookie for HTTPS only behind a proxy that speaks HTTPS', async () => {
    const { url } = await serveConsole(await world());
    const answer = await new Visitor(url).ask(`/?token=${PAGES_TOKEN}`, { headers: { 'x-forwarded-proto': 'https' } });
    expect(answer.headers['set-cookie']?.[0]).toMatch(/; Secure$/);
  });
});
