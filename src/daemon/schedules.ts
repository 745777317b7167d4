import type { Config, WorkspaceConfig } from '../config/types.ts';

type SlotKind = 'scheduled' | 'reconcile';

/** A cron expression of a workspace and what it stands for. */
export interface WorkspaceSchedule {
  key: string;
  cron: string;
  workspaceId: string;
  kind: SlotKind;
}

export function schedulesOf({ workspaces }: Pick<Config, 'workspaces'>): WorkspaceSchedule[] {
  const kinds: SlotKind[] = ['scheduled', 'reconcile'];
  return workspaces.flatMap((workspace) =>
    kinds.map((kind) => ({
      key: scheduleKey(workspace.id, kind),
      cron: cronOf(workspace, kind),
      workspaceId: workspace.id,
      kind,
    })),
  );
}

export function scheduleKey(workspaceId: string, kind: SlotKind): string {
  return `${workspaceId} ${kind}`;
}

export function cronOf({ cron, reconcileCron }: WorkspaceConfig, kind: SlotKind): string {
  return kind === 'scheduled' ? cron : reconcileCron;
}
