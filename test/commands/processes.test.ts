import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { start } from './command-process.ts';
import { createWorld, FIRST } from './world.ts';

describe('sandbox', () => {
  it.each(['SIGINT', 'SIGTERM'] as const)(
    'prints a configuration that works as it is, and ends with 0 on %s',
    async (signal) => {
      const world = await createWorld(FIRST);
      writeFileSync(
        join(world.folder, 'scenario.yml'),
        'workspaces: [{id: ws-demo, api_key_id: ak_demo, secret_key: sk_demo_not_a_secret, generate: {tenants: 3}}]',
      );
      const child = start(world.folder, 'sandbox', '--scenario', 'scenario.yml');
      await expect.poll(() => child.words.err).toContain('Ctrl-C');
      writeFileSync(join(world.folder, 'usage-ledger.yml'), child.words.out, { mode: 0o600 });
      world.clock.nowMs = Date.now();
      expect(await world.run('sync')).toMatchObject({
        code: 0,
        out: expect.stringContaining('ws-demo: recorded 18 entries: 18 opened'),
      });

      const exited = once(child, 'exit');
      child.kill(signal);
      expect(await exited).toEqual([0, null]);
    },
  );

  it.each([
    [['--port', '70000'], '--port "70000" is out of range'],
    [['--scenario', 'none.yml'], 'none.yml'],
  ])('refuses %j with exit code 2', async (argv, message) => {
    const world = await createWorld(FIRST);
    const { code, out, err } = await world.run('sandbox', ...argv);
    expect(code).toBe(2);
    expect(out).toBe('');
    expect(err).toContain(message);
  });
});

describe('standard output', () => {
  it('may be closed by its reader at any time, and the command ends quietly', async () => {
    const tenants = { seed: 1, tenants: 200, months: 12 };
    const world = await createWorld({
      id: 'ws-1',
      api_key_id: 'ak',
      secret_key: 'sk_x_not_a_secret',
      generate: tenants,
    });
    await world.run('sync');
    const child = start(world.folder, 'usage', '--format', 'csv');
    child.stdout?.once('data', () => child.stdout?.destroy());
    const [code] = await once(child, 'close');
    expect(child.words.err).toBe('');
    expect(code).toBe(0);
  });
});
