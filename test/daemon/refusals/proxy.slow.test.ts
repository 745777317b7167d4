import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startConnectProxy, startTlsServer } from '../../support/net/connect-proxy.ts';
import { privateAuthority } from '../../support/net/self-signed.ts';
import { expectBars, FAILING_BACKUP, recovered } from './degraded.ts';
import type { RefusalRow } from './refusal-harness.ts';

// cspell:ignore cret

const HOST = 'hooks.test';
const REMEDIES = {
  407: /set both in `proxy` or HTTPS_PROXY/,
  403: /allow CONNECT to that host and port there/,
} as const;

interface ProxyRow {
  type: 'webhook' | 'slack' | 'teams' | 'heartbeat';
  status: keyof typeof REMEDIES;
}

const ROWS: readonly ProxyRow[] = [
  { type: 'webhook', status: 407 },
  { type: 'slack', status: 407 },
  { type: 'teams', status: 407 },
  { type: 'heartbeat', status: 407 },
  { type: 'webhook', status: 403 },
];

function rowOf({ type, status }: ProxyRow): RefusalRow {
  const name = `${status} to CONNECT for ${type}`;
  const words = new RegExp(`the proxy refused CONNECT to hooks\\.test:443 \\(${status}\\)`);
  return {
    dependency: 'proxy',
    name,
    phases: ['start'],
    async open(folder) {
      const { ca, server } = privateAuthority(HOST);
      const receiver = await startTlsServer(server, 'ok');
      const proxy = await startConnectProxy(receiver.port);
      writeFileSync(join(folder, 'ca.pem'), ca);
      const own = type === 'heartbeat' ? { every_minutes: 1 } : {};
      const channel = { type, name: 'out', url: `https://${HOST}/hook`, ca_file: './ca.pem', ...own };
      return {
        settings: {
          ...FAILING_BACKUP,
          proxy: proxy.url.replace('//', '//me:s3cret-word@'),
          alerts: { channels: [channel, { type: 'log', name: 'log' }] },
        },
        async refuse() {
          proxy.status = status;
        },
        async grant() {
          proxy.status = 200;
          await recovered(name, () => expect(receiver.paths.length).toBeGreaterThanOrEqual(1));
          if (type !== 'heartbeat') expect(receiver.paths.length).toBeLessThanOrEqual(2);
        },
        close: async () => undefined,
      };
    },
    readyReason: null,
    logWords: words,
    doctorWords: words,
    remedyWords: REMEDIES[status],
  };
}

test('a daemon refused by its proxy names the proxy and the remedy, and sends once the tunnel is allowed', async () => {
  await expectBars(ROWS.map(rowOf), ({ log }) => expect(log.join('\n')).not.toContain('s3cret-word'));
}, 400_000);
