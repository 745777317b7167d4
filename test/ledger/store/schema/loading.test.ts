import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

test('the tables are loaded within little memory: imported, Drizzle would take 200 MB for a moment', () => {
  const tables = fileURLToPath(new URL('../../../../build/ledger/store/schema/ledger-tables.js', import.meta.url));
  // Linux counts the parent as it was at the fork into `resourceUsage().maxRSS`, and not into this.
  const script = `await import(${JSON.stringify(tables)});
    console.log((await import('node:fs')).readFileSync('/proc/self/status', 'utf8'))`;
  const status = execFileSync(process.execPath, ['--input-type=module', '--eval', script], { encoding: 'utf8' });
  const kilobytes = Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]);
  expect(kilobytes).toBeGreaterThan(10_000);
  expect(kilobytes).toBeLessThan(150_000);
});
