import { ConfigError } from '../core/errors.ts';
import { readSettings } from './load.ts';
import { schemaFaults, tidyFaults } from './reading/faults.ts';
import type { FileAlerts, FileConfig } from './schema/file-schema.ts';
import { alertsSchema } from './schema/workspace-settings.ts';

/** The settings stand where a workspace's own stand, for the words of a fault. */
const PLACE = ['workspaces', 0, 'alerts'] as const;
const PREFIX = 'workspaces[0].alerts.';

/**
 * Reads alert settings that somebody wants to try: what may stand below `alerts:` of a workspace, and nothing else.
 *
 * @throws ConfigError with every fault there is, each with its place in the file and the remedy.
 */
export function loadAlertsOnTrial(file: string, env: NodeJS.ProcessEnv): FileAlerts {
  const { value, faults } = readSettings(file, {
    namedBy: '--rule-file',
    env,
    unreadable: 'Check the path and its permissions',
    empty: 'Write settings such as `ratio: 2`, one a line',
  });
  const parsed = alertsSchema.safeParse(value);
  const placed = (parsed.error?.issues ?? []).map((issue) => ({ ...issue, path: [...PLACE, ...issue.path] }));
  const all = tidyFaults([
    ...faults,
    ...schemaFaults(placed, { workspaces: [{ alerts: value }] }).map((fault) => {
      const path = fault.path.startsWith(PREFIX) ? fault.path.slice(PREFIX.length) : fault.path;
      return path === 'alerts' ? { ...fault, path, hint: 'Write only what stands below it' } : { ...fault, path };
    }),
  ]);
  if (parsed.success && all.length === 0) return parsed.data;
  throw new ConfigError(file, all);
}

/** The setting as a number when its rule allows that, else null. */
export function parseAlertNumber(setting: 'ratio' | 'min_credits', text: string): number | null {
  const parsed = alertsSchema.shape[setting].safeParse(text);
  return parsed.success && parsed.data !== undefined ? parsed.data : null;
}

/** The document with other settings in a workspace's `alerts`: a file in place of its own, and single ones over both. */
export function withAlertsOnTrial(
  document: FileConfig,
  workspaceId: string,
  { file, own }: { file: FileAlerts | null; own: FileAlerts },
): FileConfig {
  const workspaces = document.workspaces.map((workspace) =>
    workspace.id === workspaceId ? { ...workspace, alerts: { ...(file ?? workspace.alerts), ...own } } : workspace,
  );
  return { ...document, workspaces };
}
