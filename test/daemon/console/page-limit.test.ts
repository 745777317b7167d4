import { expect, it } from 'vitest';
import { copiesOf } from '../../commands/world.ts';
import { ledgerOfOperations } from '../../operations/ledger-of-operations.ts';
import { textOf } from './page-text.ts';
import { serveConsole } from './served-console.ts';

const world = copiesOf(ledgerOfOperations);

it('who opens too many pages gets a page that says when to try again, and holds up nobody else', async () => {
  const { signIn } = await serveConsole(await world(), {}, { pagesPerMinute: 3 });
  const ada = await signIn('finance');
  const grace = await signIn('finance', 'Grace Hopper');
  const answers = [];
  for (let page = 0; page < 5; page += 1) answers.push(await ada.get('/runs'));
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429, 429]);
  const [refused] = answers.slice(-1);
  expect(Number(refused?.headers['retry-after'])).toBeGreaterThan(0);
  expect(refused?.headers['content-type']).toBe('text/html; charset=utf-8');
  expect(textOf(refused?.body ?? '')).toMatch(/More than 3 pages within a minute\. Try again in \d+ (second|minute)/);
  expect((await grace.get('/runs')).status).toBe(200);
});

it('the style sheet and the script of pages count for nobody', async () => {
  const { signIn } = await serveConsole(await world(), {}, { pagesPerMinute: 3 });
  const visitor = await signIn('read');
  const [path = ''] = /\/console\/\w+\/console\.css/.exec((await visitor.get('/runs')).body) ?? [];
  const statuses = [];
  for (let time = 0; time < 5; time += 1) statuses.push((await visitor.get(path)).status);
  expect(statuses).toEqual(Array(5).fill(200));
  expect((await visitor.get('/runs')).status).toBe(200);
});
