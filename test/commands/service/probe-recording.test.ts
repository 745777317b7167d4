import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Recorder } from '../../../src/commands/doctor/probe/recorder.ts';
import { loadRecording } from '../../../src/sandbox/replay/recording.ts';
import type { Envelope } from '../../../src/sandbox/requests/reply.ts';
import { startSandbox } from '../../../src/sandbox/server.ts';
import type { FaultAction } from '../../../src/sandbox/world/faults.ts';
import { clockThat } from '../../support/time/test-clock.ts';
import { createWorld, FIRST, NOON, parseJson, row, SECOND, type World } from '../world.ts';

interface Check {
  check: string;
  subject: string;
  status: string;
  message: string;
}

/** What the doctor says of the service, without what no two answers have in common. */
async function probe(world: World, ...argv: string[]): Promise<Check[]> {
  const { out } = await world.run('doctor', '--probe', '--json', ...argv);
  const { checks } = parseJson(out) as { checks: Check[] };
  const ofService = checks.filter(({ check }) => /^(service|clock|probe)/.test(check));
  return ofService.map(({ check, status, message, subject }) => ({
    ...{ check, status },
    subject: subject.replace(/^(ws|workspace)-/, ''),
    message: message
      .replace(/^http\S+ answered in \d+ ms/, 'answered')
      .replace(/(answered 403): .*/, '$1')
      .replaceAll(/ws-|workspace-/g, ''),
  }));
}

const NAMES = ['Müller & Söhne', '4711', 'a/b', 'Ace'];
const NAMED = {
  ...FIRST,
  usage: NAMES.flatMap((name) => ['2025-12', '2026-01', '2026-02'].map((period) => row(name, period, 2n ** 53n + 7n))),
};
const mutate = (change: (data: Record<string, unknown>) => void): FaultAction => {
  let count = 0;
  return {
    type: 'mutate',
    mutate: (envelope: Envelope) => {
      count += 1;
      if (envelope.data !== null && count > 1) change(envelope.data);
      return envelope;
    },
  };
};

const SERVICES: Record<string, FaultAction | null> = {
  'keeps to everything': null,
  'turns the rows round each time': mutate(({ usage }) => (usage as unknown[]).reverse()),
  'gives fractions': mutate(({ usage }) => Object.assign((usage as object[])[0] ?? {}, { credits_used: 0.5 })),
  'gives numbers as names': mutate(({ usage }) => Object.assign((usage as object[])[0] ?? {}, { tenant_id: 0 })),
  'refuses everything': { type: 'status', status: 403, message: `${NAMES[0]} may not` },
  'answers with a page for people': { type: 'body', body: `<p>Dear ${NAMES[0]}</p>` },
};

describe('doctor --probe --record', () => {
  it.each(Object.entries(SERVICES))('lets the sandbox play a service that %s', async (_, action) => {
    const world = await createWorld(NAMED, SECOND);
    world.clock.serviceMs = NOON + 61_000;
    if (action !== null) world.sandbox.faults.push({ times: Infinity, when: { workspaceId: 'ws-1' }, action });
    const found = await probe(world, '--record', 'probe.json');
    const file = join(world.folder, 'probe.json');
    expect(statSync(file).mode & 0o777).toBe(0o600);

    const recording = loadRecording(file);
    const replayed = await startSandbox({ replay: recording, clock: clockThat(() => NOON) });
    onTestFinished(() => replayed.close());
    const workspaces = replayed.scenario.workspaces.map(({ id, api_key_id, secret_key }) => {
      return { id, base_url: replayed.url, embed_url: replayed.url, api_key_id, secret_key };
    });
    world.configure({ workspaces });
    expect(await probe(world)).toEqual(found);
    expect(await probe(world), 'once more').toEqual(found);
  });

  it('keeps figures and months, and no name, secret, address or text', async () => {
    const world = await createWorld(NAMED, SECOND);
    const echo = mutate((data) => {
      Object.assign(data, { note: NAMED.secret_key, billed_to: NAMES[0] });
      for (const item of data.usage as object[])
        Object.assign(item, { owner: NAMES[0], period_end: '2026-01-31T00:00:00' });
    });
    world.sandbox.faults.push({ times: Infinity, when: { workspaceId: 'ws-1' }, action: echo });
    const { err } = await world.run('doctor', '--probe', '--record', 'probe.json');
    expect(err).toContain('probe.json has the answers: figures and months, and neither secrets nor names');
    const text = readFileSync(join(world.folder, 'probe.json'), 'utf8');
    expect(text).toContain('9007199254740999');
    expect(text).toContain('2026-01-31T00:00:00');
    const known = [NAMED, SECOND].flatMap(({ id, api_key_id, secret_key }) => [id, api_key_id, secret_key]);
    for (const word of [...known, ...NAMES, 'acme', 'initech', world.sandbox.url, 'owner', 'note', 'billed_to']) {
      expect(text.includes(word), word).toBe(false);
    }
  });

  it('keeps nothing of a canary, wherever a service puts it', () => {
    const canary = fc.constantFrom('Canary', '7777777', 'Canary-7777777').chain((word) =>
      fc.oneof(
        fc.constant(word),
        fc.string().map((around) => `${around}${word}${around}`),
      ),
    );
    const names = ['message', 'success', 'data', 'workspace_id', 'tenant_id', 'usage', 'period', 'period_start'];
    const key = fc.oneof(fc.constantFrom(...names, 'credits_used', 'total_pages'), canary);
    const leaf = fc.oneof(canary, fc.dictionary(key, canary, { maxKeys: 3 }), fc.array(canary, { maxLength: 2 }));
    const tree = fc.oneof(leaf, fc.dictionary(key, leaf, { maxKeys: 4 }), page(leaf));
    fc.assert(
      fc.property(tree, (body) => {
        const recorder = new Recorder('Canary', 1, (text) => text.replaceAll(/7777777/g, '[redacted]'));
        const answer = { status: 200, skewMs: 0, body: Buffer.from(JSON.stringify(body)) };
        recorder.add({ tenantId: 'Canary-7777777', page: 1 }, answer);
        expect(JSON.stringify(recorder.recorded)).not.toMatch(/canary|7777777/i);
      }),
      { numRuns: 1000 },
    );
  });

  it('wants --probe beside it, and the sandbox a recording', async () => {
    const world = await createWorld(FIRST);
    expect(await world.run('doctor', '--record', 'x.json')).toMatchObject({
      code: 2,
      err: expect.stringContaining('add --probe'),
    });
    writeFileSync(join(world.folder, 'x.json'), '{"format":"usage-ledger-probe-2","workspaces":[]}');
    expect(await world.run('sandbox', '--replay', 'x.json')).toMatchObject({
      code: 2,
      err: expect.stringContaining('x.json is no recording'),
    });
    expect(await world.run('sandbox', '--replay', 'x.json', '--scenario', 'y.yml')).toMatchObject({ code: 2 });
  });
});

function page(inner: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  const item = fc.record({
    tenant_id: inner,
    period: inner,
    period_end: inner,
    credits_used: inner,
    request_count: inner,
  });
  const data = fc.record({
    workspace_id: inner,
    tenant_id: inner,
    usage: fc.array(item, { maxLength: 3 }),
    total_records: inner,
  });
  return fc.record({ message: inner, success: inner, data });
}
