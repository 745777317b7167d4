import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { CLI } from '../support/daemon-process.ts';
import { createWorld, FIRST } from './world.ts';

function start(cwd: string, ...argv: string[]): ChildProcess & { words: { out: string; err: string } } {
  return startNode(cwd, CLI, ...argv);
}

function startNode(cwd: string, ...argv: string[]): ReturnType<typeof start> {
  const child = spawn(process.execPath, argv, { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const words = { out: '', err: '' };
  child.stdout.on('data', (chunk: Buffer) => (words.out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (words.err += chunk.toString()));
  return Object.assign(child, { words });
}

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
        out: expect.stringContaining('ws-demo: 18 opened'),
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

describe('sync', () => {
  it.each([
    { pages: 'few pages', tenants: 10, keptSmall: false },
    { pages: 'many pages', tenants: 900, keptSmall: true },
  ])('of $pages: whether the young generation is kept from growing', async ({ tenants, keptSmall }) => {
    const generate = { seed: 1, tenants, months: 12 };
    const world = await createWorld({ id: 'ws-1', api_key_id: 'ak', secret_key: 'sk_x_not_a_secret', generate });
    Object.assign(world.clock, { nowMs: Date.now(), serviceMs: Date.now() });
    const spy = join(world.folder, 'spy.cjs');
    writeFileSync(
      spy,
      `const { isMainThread, resourceLimits } = require('node:worker_threads');
       const { writeSync } = require('node:fs');
       if (!isMainThread) writeSync(1, 'thread ' + resourceLimits.maxYoungGenerationSizeMb + '\\n');
       const v8 = require('node:v8');
       const set = v8.setFlagsFromString;
       v8.setFlagsFromString = (flag) => { writeSync(1, flag + '\\n'); set(flag); };
       require('node:module').syncBuiltinESMExports();`,
    );
    const child = startNode(world.folder, '--require', spy, CLI, 'sync');
    expect(await once(child, 'close')).toEqual([0, null]);
    expect(child.words.out).toMatch(/^thread 12$/m);
    expect(child.words.out.includes('--semi-space-growth-factor=1\n')).toBe(keptSmall);
  });
});
