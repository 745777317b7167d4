import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

test('the tables are loaded within little memory: imported, Drizzle would take 200 MB for a moment', () => {
  const tables = fileURLToPath(new URL('../../../../build/publish/replica/mirrors.js', import.meta.url));
  const script = `await import(${JSON.stringify(tables)}); console.log(process.resourceUsage().maxRSS)`;
  const kilobytes = Number(
    execFileSync(process.execPath, ['--input-type=module', '--eval', script], { encoding: 'utf8' }),
  );
  expect(kilobytes).toBeGreaterThan(10_000);
  expect(kilobytes).toBeLessThan(150_000);
});
