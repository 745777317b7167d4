import type { FileConfig } from '../schema/file-schema.ts';
import { isInShard, type Shard, type ShardConfig, shardLabel } from '../shard.ts';
import { required } from './required.ts';

/** The part of the workspaces that this machine reads; null for all of them. */
export function shardOf(shard: FileConfig['shard']): Shard | null {
  if (shard === undefined) return null;
  if (shard.only !== undefined) return { only: shard.only };
  return { index: required(shard.index, 'shard.index'), of: required(shard.of, 'shard.of') };
}

/** What is known of a shard and of the workspaces that others do. */
export function shardConfig(shard: Shard, workspaces: readonly { id: string }[]): ShardConfig {
  const elsewhere = workspaces.map(({ id }) => id).filter((id) => !isInShard(id, shard));
  return { label: shardLabel(shard), elsewhere };
}
