import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createLogger } from '../../src/core/logger.ts';
import { startDaemon } from '../../src/daemon/daemon.ts';
import type { FaultAction } from '../../src/sandbox/world/faults.ts';
import { eventually } from '../support/eventually.ts';
import { startFixture } from '../support/sandbox-fixture.ts';

const SECRETS = ['sk_canary_first+secret/0123456789', 'sk_canary_other=secret?abcdef'];
const [FIRST = '', OTHER = ''] = SECRETS;
const FORMS = SECRETS.flatMap((secret) => {
  const bytes = Buffer.from(secret);
  return [
    ...[secret, encodeURIComponent(secret), bytes.toString('base64'), bytes.toString('base64url')],
    ...[bytes.toString('hex'), bytes.toString('hex').toUpperCase(), bytes.toString('base64').replace(/=+$/, '')],
  ];
});
/** Everything that a service has been sent and could know, in one text that no cut leaves whole. */
const ECHO = `you sent ${FORMS.join(' and ')}`;
const NOT_FOUND = { status: 404, headers: { Location: `https://${'x'.repeat(9)}.example/${FIRST}?${OTHER}` } };

const FAULTS: Record<string, FaultAction> = {
  'a failure that repeats what was sent': { type: 'status', status: 401, message: ECHO },
  'a message that a cut would split': { type: 'status', status: 400, message: `${'.'.repeat(280)} ${FIRST}` },
  'a success that is none': { type: 'mutate', mutate: (envelope) => ({ ...envelope, success: false, message: ECHO }) },
  'another workspace': {
    type: 'mutate',
    mutate: (envelope) => ({ ...envelope, data: { ...(envelope.data as object), workspace_id: OTHER } }),
  },
  'another workspace with a long name': {
    type: 'mutate',
    mutate: (envelope) => ({ ...envelope, data: { ...(envelope.data as object), workspace_id: `${ECHO}` } }),
  },
  'a redirect': { type: 'status', ...NOT_FOUND, status: 302 },
  'a body that is not JSON': { type: 'body', body: ECHO },
};

test.each(Object.entries(FAULTS))(
  '%s carries no secret and no signature into log, Redis, ledger or notification',
  async (_, action) => {
    const signatures = new Set<string>();
    const fixture = await startFixture({
      workspaces: SECRETS.map((secret_key) => ({ secret_key })),
      settings: { cron: '0 0 1 1 *', reconcileCron: '0 0 1 1 *' },
      channels: [{ type: 'log', name: 'log' }],
    });
    const lines: string[] = [];
    // Without the log's own redactor: what comes here has to be clean already.
    const logger = createLogger({ level: 'trace', destination: { write: (line) => void lines.push(line) } });
    const echoing: FaultAction =
      action.type !== 'status' || action.message !== ECHO
        ? action
        : { ...action, message: `${ECHO} ${'ab'.repeat(32)} ${Buffer.alloc(32, 9).toString('base64')}` };
    signatures.add('ab'.repeat(32)).add(Buffer.alloc(32, 9).toString('base64'));
    fixture.sandbox.faults.push({ times: Number.POSITIVE_INFINITY, action: echoing });
    const context = fixture.another(undefined, { logger });
    const daemon = await startDaemon(context);
    onTestFinished(() => daemon.stop());
    await eventually(() => {
      const failed = lines.filter((line) => line.includes('run failed')).length;
      expect(failed, lines.join('')).toBeGreaterThanOrEqual(2);
    });
    await daemon.queue.counts();
    await daemon.stop();
    await context.close();

    const folder = dirname(fixture.config.ledger.path);
    const places = [lines.join(''), ...filesOf(folder).map((file) => readFileSync(file, 'latin1'))];
    expect(places.length).toBeGreaterThan(2);
    for (const canary of [...FORMS, ...signatures, 'canary_first', 'canary_other']) {
      for (const place of places) expect(place.includes(canary), `${canary} in ${excerpt(place, canary)}`).toBe(false);
    }
  },
  30_000,
);

function filesOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile());
}

function excerpt(text: string, canary: string): string {
  const at = text.indexOf(canary);
  return at < 0 ? '' : text.slice(Math.max(0, at - 200), at + 200);
}
