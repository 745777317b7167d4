import { expect, it } from 'vitest';
import { startDaemonProcess } from '../support/daemon-process.ts';
import { eventually } from '../support/eventually.ts';
import { asFinance, createShared, readAsFinance } from './finance-reader.ts';

it('reads the ledger while the daemon runs, after a stop, after a kill, and during a restart', {
  timeout: 120_000,
}, async () => {
  const world = await createShared();
  const daemon = startDaemonProcess(world.folder);
  await daemon.line('run applied');
  expect(readAsFinance(world)).toBe('6');
  daemon.child.kill('SIGTERM');
  expect(await daemon.exit()).toBe(0);
  expect(readAsFinance(world)).toBe('6');
  const second = startDaemonProcess(world.folder);
  const seen = new Set<string>();
  await eventually(() => {
    seen.add(readAsFinance(world));
    if (!second.lines.some(({ msg }) => msg === 'ready')) throw new Error('not ready yet');
  });
  second.child.kill('SIGKILL');
  await second.exit();
  seen.add(readAsFinance(world));
  const third = startDaemonProcess(world.folder);
  await third.line('ready');
  seen.add(readAsFinance(world));
  expect([...seen]).toEqual(['6']);
  const redis = `${world.ledgerPath}.redis`;
  expect(asFinance('ls', redis).status).not.toBe(0);
});
