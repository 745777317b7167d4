import { createHash } from 'node:crypto';
import { counted } from '../core/text/counted.ts';

/** Which part of the workspaces of one configuration a daemon does: those that hash to `index` of `of`, or a list. */
export type Shard = { index: number; of: number } | { only: readonly string[] };

/** What of a configuration other daemons do. */
export interface ShardConfig {
  /** Such as `1 of 3`, or `2 workspaces by name`. */
  label: string;
  /** Ids of the workspaces that are done elsewhere, in the order of the configuration. */
  elsewhere: readonly string[];
}

/**
 * The shard of a workspace, from 0 to `of` - 1, by rendezvous hashing: the one whose SHA-256 over the index as text, a
 * line feed and the id is the greatest. One shard more takes its share from all others, and moves nothing between them.
 */
export function shardOfWorkspace(workspaceId: string, of: number): number {
  let best = 0;
  let most = '';
  for (let index = 0; index < of; index += 1) {
    const weight = createHash('sha256').update(`${index}\n${workspaceId}`).digest('hex');
    if (weight <= most) continue;
    most = weight;
    best = index;
  }
  return best;
}

/** Whether a daemon of this shard does the workspace; without a shard it does all. */
export function isInShard(workspaceId: string, shard: Shard | null): boolean {
  if (shard === null) return true;
  return 'only' in shard ? shard.only.includes(workspaceId) : shardOfWorkspace(workspaceId, shard.of) === shard.index;
}

/** How people call a shard. */
export function shardLabel(shard: Shard): string {
  if (!('only' in shard)) return `${shard.index} of ${shard.of}`;
  return `${counted(shard.only.length, 'workspace')} by name`;
}
