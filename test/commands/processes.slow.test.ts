import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CLI } from '../support/daemon-process.ts';
import { startNode } from './command-process.ts';
import { createWorld } from './world.ts';

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
