import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { isInShard, shardOfWorkspace } from '../../src/config/shard.ts';
import { Context } from '../../src/wiring/context.ts';
import { configCases, WORKSPACE } from './config-cases.ts';

const { load, faultsOf } = configCases();

const IDS = Array.from({ length: 3_000 }, (_, at) => `ws-${at}`);
const THREE = ['ws-1', 'ws-2', 'ws-3'].map((id) => WORKSPACE.replace('ws-1', id)).join('');
const idsOf = (text: string, env = {}): string[] => load(text, env).workspaces.map(({ id }) => id);

test('every workspace is in one shard, and all shards have about as many', () => {
  for (const of of [1, 2, 3, 7]) {
    const shards = Array.from({ length: of }, (_, index) => IDS.filter((id) => isInShard(id, { index, of })));
    expect(shards.flat().sort()).toEqual([...IDS].sort());
    for (const { length } of shards) expect(Math.abs(length - IDS.length / of)).toBeLessThan(150);
  }
});

test('one shard more takes its part from all others and moves nothing between those', () => {
  const moved = IDS.filter((id) => shardOfWorkspace(id, 4) !== shardOfWorkspace(id, 3));
  expect(moved.every((id) => shardOfWorkspace(id, 4) === 3)).toBe(true);
  expect(Math.abs(moved.length - IDS.length / 4)).toBeLessThan(150);
  expect(new Set(moved.map((id) => shardOfWorkspace(id, 3)))).toEqual(new Set([0, 1, 2]));
});

test('the shard is the one with the greatest hash of its number and the id, today and in a year', () => {
  for (const id of ['ws-1', 'ws-2', 'Kunde Öst']) {
    const hashes = [0, 1, 2].map((index) =>
      BigInt(`0x${createHash('sha256').update(`${index}\n${id}`).digest('hex')}`),
    );
    const [greatest] = hashes.toSorted((a, b) => (a > b ? -1 : 1));
    expect(hashes[shardOfWorkspace(id, 3)]).toBe(greatest);
  }
  expect(['ws-1', 'ws-2', 'ws-3'].map((id) => shardOfWorkspace(id, 3))).toEqual([2, 0, 1]);
});

test('a configuration gives the workspaces of its shard, and knows which are elsewhere', () => {
  const of = (index: string): string => `shard:\n  index: ${index}\n  of: 2\nworkspaces:${THREE}`;
  const first = load(of('0'));
  const second = load(of('$' + '{SHARD}'), { SHARD: '1' });
  const ids = (config: typeof first): string[] => config.workspaces.map(({ id }) => id);
  expect([...ids(first), ...ids(second)].sort()).toEqual(['ws-1', 'ws-2', 'ws-3']);
  expect(first.shard).toEqual({ label: '0 of 2', elsewhere: ids(second) });
  expect(load(`workspaces:${THREE}`).shard).toBeNull();
  expect(idsOf(`shard: { only: [ws-3, ws-1] }\nworkspaces:${THREE}`)).toEqual(['ws-1', 'ws-3']);
});

test('a workspace of another shard is refused with the place to ask', async () => {
  const context = new Context(load(`shard: { only: [ws-2] }\nworkspaces:${THREE}`));
  expect(() => context.workspace('ws-1')).toThrow('workspace "ws-1" is not of this shard (1 workspace by name)');
  expect(() => context.workspace('ws-9')).toThrow('workspace "ws-9" is not configured');
  await context.close();
});

test('mistakes are told with their place', () => {
  const withShard = (shard: string, workspaces = THREE): string[] =>
    faultsOf(`shard: ${shard}\nworkspaces:${workspaces}`);
  expect(withShard('{ index: 3, of: 3 }')).toEqual(['shard.index: is not below shard.of: the first of 3 shards is 0']);
  expect(withShard('{ index: 0 }')).toEqual(['shard.of: is missing']);
  expect(withShard('{ of: 2 }')).toEqual(['shard.index: is missing']);
  expect(withShard('{ only: [ws-1, ws-7] }')).toEqual(['shard.only[1]: is the id of no workspace below']);
  expect(withShard('{ index: 0, of: 2, only: [ws-1] }')).toEqual([
    'shard.only: stands beside index and of, and it is unclear which counts',
  ]);
  expect(withShard('{ index: 0.5, of: 2 }')).toHaveLength(1);
  const empty = 1 - shardOfWorkspace('ws-1', 2);
  expect(withShard(`{ index: ${empty}, of: 2 }`, WORKSPACE)).toEqual([
    'shard.index: leaves this shard without a workspace',
  ]);
});
