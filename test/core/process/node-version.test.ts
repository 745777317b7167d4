import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { nodeVersionFault } from '../../../src/core/process/node-version.ts';

test.each(['22.14.0', '22.23.3', '24.0.0', '26.10.0', '100.0.0'])('Node %s is supported', (version) => {
  expect(nodeVersionFault(version)).toBeNull();
});

test.each(['0.10.48', '12.22.12', '20.20.2', '22.13.1', '22.9.0'])('Node %s is refused in one line', (version) => {
  expect(nodeVersionFault(version)).toBe(
    `usage-ledger needs Node 22.14 or newer (22, 24 and 26 are supported); this is Node ${version}`,
  );
});

test('package.json asks for the same version', () => {
  const { engines } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'));
  expect(engines.node).toBe('>=22.14');
  expect(nodeVersionFault('22.14.0')).toBeNull();
});
