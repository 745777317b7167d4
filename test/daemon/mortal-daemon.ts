import { fileURLToPath } from 'node:url';
import { periodAt } from '../../src/core/period.ts';
import type { Sandbox } from '../../src/sandbox/server.ts';
import { startService } from '../support/daemon-folder.ts';

export const MORTAL_WRITER = ['--require', fileURLToPath(new URL('../support/mortal-writer.cjs', import.meta.url))];

export function sandboxOf(): Promise<Sandbox> {
  const period = periodAt(Date.now());
  return startService({ usage: [{ tenant_id: 'acme', period, credits_used: 10_000, request_count: 100 }] });
}
