import { describe, expect, test } from 'vitest';
import { closedLedger, written } from './proven-statement.ts';
import { verifyText } from './verify-text.ts';

describe('the statement of a closed period', () => {
  test('fails if any single digit changes', async () => {
    const text = written(await closedLedger(), 'acme');
    const digits = [...text.matchAll(/\d/g)].map(({ index }) => index);
    expect(digits.length).toBeGreaterThan(300);
    for (const at of digits) {
      const digit = text[at] === '9' ? '8' : String(Number(text[at]) + 1);
      const changed = text.slice(0, at) + digit + text.slice(at + 1);
      expect((await verifyText(changed)).isConsistent, `${changed.slice(at - 40, at + 40)}`).toBe(false);
    }
  });
});
