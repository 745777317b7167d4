import { expect, test } from 'vitest';
import type { Word } from '../../long/alert-year/reader/checks.ts';
import { FALSE_COUNTS, FALSE_WORDS } from '../../long/alert-year/reader/false-words.ts';
import { Reader, type ReadMessage } from '../../long/alert-year/reader/reader.ts';
import { Truth } from '../../long/alert-year/reader/truth.ts';
import { messages } from '../../support/messages.ts';
import { playSpring, SPRING_ORDER } from './spring.ts';

const TOLD = [
  ...['one drop closed', 'one drop opened', 'one jump closed', 'one jump opened', 'one jump worse'],
  ...['one new_spend eased', 'one new_spend opened', 'one new_spend worse', 'one regression closed'],
  ...['one regression opened', 'one restatement closed', 'one restatement opened', 'many drop closed'],
  ...[
    'many drop opened',
    'many jump closed',
    'many jump grown',
    'many jump opened',
    'many jump worse',
    'many new_spend opened',
  ],
  ...['many regression closed', 'many regression opened'],
];

test('each sentence of a spring of stops, new ids, corrections and groups is true, and a false one is noticed', {
  timeout: 240_000,
}, async () => {
  const world = await playSpring();
  const reader = new Reader(new Truth(SPRING_ORDER));
  const told = Map.groupBy(messages(world.connection), ({ createdAt }) => Date.parse(createdAt));
  const unnoticed: string[] = [];
  const kinds = new Set<string>();
  const notice = (what: string, words: string | null, complaintsOf: (words: string) => (string | null)[]): void => {
    if (words !== null && complaintsOf(words).every((each) => each === null)) unnoticed.push(`${what}: ${words}`);
  };
  for (const answer of world.answers) {
    reader.take(answer);
    for (const { payload } of told.get(answer.atMs) ?? []) {
      const message = payload as ReadMessage;
      const words = message.alerts?.flatMap((item) => item.notifications ?? [item]) ?? [message as Word];
      for (const word of words)
        for (const [what, falsify] of Object.entries(FALSE_WORDS))
          notice(what, falsify(word), (summary) => reader.complaintsOf({ ...word, summary }));
      if (message.type === 'alert.group')
        for (const [what, falsify] of Object.entries(FALSE_COUNTS))
          notice(what, falsify(message.summary), (summary) => reader.complaintsOfGroup({ ...message, summary }));
      kinds.add(`${message.type === 'alert.group' ? 'many' : 'one'} ${message.rule} ${message.event}`);
      reader.hear(message);
    }
  }
  expect(reader.wrong).toEqual([]);
  expect(unnoticed).toEqual([]);
  expect([...kinds].sort()).toEqual(expect.arrayContaining(TOLD));
});
