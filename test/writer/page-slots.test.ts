import { expect, test } from 'vitest';
import { type PagePlace, PageSlots } from '../../src/writer/page-slots.ts';

test('a page lies in its slot, joined from its pieces, until the slot is given back', () => {
  const slots = new PageSlots();
  const textAt = ({ offset, length }: PagePlace) => Buffer.from(slots.memory, offset, length).toString();
  const put = (...pieces: string[]) => slots.put(pieces.map((piece) => Buffer.from(piece)));
  const places: PagePlace[] = [];
  for (let page = put('page ', '0'); page !== null; page = put('page ', `${places.length}`)) places.push(page);

  expect(places.length).toBeGreaterThanOrEqual(64);
  expect(places.map(textAt)).toEqual(places.map((_, index) => `page ${index}`));
  slots.release(places[3] as PagePlace);
  expect(textAt(put('an', 'other') as PagePlace)).toBe('another');
  expect(textAt(places[4] as PagePlace)).toBe('page 4');
  expect(put('one too many')).toBeNull();
});

test('a page that is longer than a slot gets none', () => {
  const slots = new PageSlots();
  expect(slots.put([Buffer.alloc(65_536)])).toMatchObject({ length: 65_536 });
  expect(slots.put([Buffer.alloc(65_000), Buffer.alloc(537)])).toBeNull();
});
