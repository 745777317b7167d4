import { once } from 'node:events';
import { copyFileSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../../support/temporary-folder.ts';
import { forkRestore, headOf, prepare } from './restore-setup.ts';

test('killed before any step of the swap, the old or the new ledger is in place, and the other is available', async () => {
  const { ledgerPath, backup, heads } = await prepare();
  const saved = join(temporaryFolder(), 'saved.db');
  copyFileSync(ledgerPath, saved);
  const ends: string[] = [];
  for (let step = 1; ; step += 1) {
    const child = forkRestore(backup, ledgerPath, 'kill-at', String(step));
    const [code, killedBy] = await once(child, 'exit');
    const inPlace = headOf(ledgerPath);
    expect([heads.backup, heads.ledger], `step ${step}`).toContain(inPlace);
    ends.push(inPlace === heads.ledger ? 'old' : 'new');
    if (inPlace === heads.backup) {
      const folder = dirname(ledgerPath);
      const kept = readdirSync(folder).filter((name) => name.startsWith('ledger.db.replaced-'));
      expect(kept, `step ${step}`).toHaveLength(1);
      expect(headOf(join(folder, kept[0] ?? ''))).toBe(heads.ledger);
      for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true });
      copyFileSync(saved, ledgerPath);
    }
    if (killedBy === null) {
      expect(code).toBe(0);
      break;
    }
  }
  expect(ends.length).toBeGreaterThan(8);
  expect(ends.join(' ')).toMatch(/^(old )+(new ?)+$/);
});
