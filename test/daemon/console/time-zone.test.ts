import { describe, expect, it } from 'vitest';
import { copiesOf } from '../../commands/world.ts';
import { ledgerOfOperations } from '../../operations/ledger-of-operations.ts';
import { serveConsole } from './served-console.ts';
import { workspacesOf } from './sign-in/sign-in-provider.ts';

const world = copiesOf(ledgerOfOperations);

/** The first time in the list of runs, and its zone as the foot says it. */
function shownIn(body: string): { time: string | undefined; iso: string | undefined; zone: string | undefined } {
  const [, iso, time] = /<time class="nowrap" datetime="([^"]+)">(\d[^<]*, \d\d:\d\d)</.exec(body) ?? [];
  const [, zone] = /<option value="([^"]*)" selected/.exec(body.slice(body.indexOf('class="foot"'))) ?? [];
  return { time, iso, zone };
}

/** What the wall clock of a zone shows, without the program. */
const clockOf = (iso: string, timeZone: string): string => {
  const parts = new Intl.DateTimeFormat('en-GB', { timeZone, dateStyle: 'medium', timeStyle: 'short' }).format(
    new Date(iso),
  );
  return parts;
};

describe('times in the console', () => {
  it('are in the zone of the configuration, or in the one that the reader chooses, and the page says which', async () => {
    const own = await world();
    own.configure({ timezone: 'Asia/Kolkata', workspaces: workspacesOf(own) });
    const { signIn } = await serveConsole(own);
    const visitor = await signIn('read');
    const first = shownIn((await visitor.get('/runs')).body);
    expect(first).toMatchObject({ zone: 'Asia/Kolkata', time: clockOf(first.iso ?? '', 'Asia/Kolkata') });
    const answer = await visitor.post('/time-zone', { zone: 'America/New_York', back: '/runs?page=1' });
    expect([answer.status, answer.headers.location]).toEqual([303, '/runs?page=1']);
    expect(answer.headers['set-cookie']?.[0]).toBe(
      'usage_ledger_zone=America%2FNew_York; Path=/; HttpOnly; SameSite=Lax; Max-Age=31536000',
    );
    const second = shownIn((await visitor.get('/runs')).body);
    expect(second).toEqual({ ...first, zone: 'America/New_York', time: clockOf(first.iso ?? '', 'America/New_York') });
    await visitor.post('/time-zone', { zone: 'UTC' });
    expect(shownIn((await visitor.get('/runs')).body)).toMatchObject({
      zone: 'UTC',
      time: clockOf(first.iso ?? '', 'UTC'),
    });
    await visitor.post('/time-zone', { zone: '' });
    expect(shownIn((await visitor.get('/runs')).body)).toEqual(first);
  });

  it('ignore a zone that no clock knows, in the form and in the cookie', async () => {
    const { signIn } = await serveConsole(await world());
    const visitor = await signIn('read');
    for (const zone of ['Europe/Nowhere', 'europe/berlin', '+01:00', '"><script>', 'UTC\r\nx: y']) {
      expect([zone, (await visitor.post('/time-zone', { zone })).status]).toEqual([zone, 400]);
    }
    const { cookie } = visitor;
    for (const zone of ['Europe%2FNowhere', '%', '%2F', '%22%3E', 'a'.repeat(100)]) {
      visitor.cookie = `${cookie}; usage_ledger_zone=${zone}`;
      expect([zone, shownIn((await visitor.get('/runs')).body).zone]).toEqual([zone, 'UTC']);
    }
  });
});
