import type { z } from 'zod';
import type { resolveConfig } from './resolve-config.ts';
import type { routeSchema } from './schema/channels.ts';
import type { FileConfig } from './schema/file-schema.ts';
import type { DEFAULT_ALERT_RULES } from './schema/workspace-settings.ts';

/** The configuration as the program takes it; where a setting is described, its meaning stands. */
export type Config = ReturnType<typeof resolveConfig>;
export type WorkspaceConfig = Config['workspaces'][number];

/**
 * How a walk is proven complete: `twice` wants two walks in a row with one key set, `counted` repeats a walk only when
 * it shows a sign of movement, `auto` is `twice` up to 50 pages and `counted` beyond.
 */
export type Consistency = WorkspaceConfig['consistency'];

export type AlertSettings = WorkspaceConfig['alerts'];
export type AlertRuleSettings = typeof DEFAULT_ALERT_RULES;

export type Budget = NonNullable<AlertSettings['budgets']>[number];

export type ChannelConfig = Config['alerts']['channels'][number];
export type WebhookConfig = Extract<ChannelConfig, { type: 'webhook' }>;
export type HeartbeatConfig = Config['heartbeats'][number];
export type SlackConfig = Extract<ChannelConfig, { type: 'slack' }>;
export type TeamsConfig = Extract<ChannelConfig, { type: 'teams' }>;
export type PagerdutyConfig = Extract<ChannelConfig, { type: 'pagerduty' }>;
export type EmailConfig = Extract<ChannelConfig, { type: 'email' }>;
export type RouteConfig = z.output<typeof routeSchema>;

export type S3Access = NonNullable<Config['s3']>;
export type BackupConfig = NonNullable<Config['backup']>;
/** Where files go that leave this machine. */
export type S3Place = NonNullable<BackupConfig['to']>;
export type PublishConfig = NonNullable<Config['publish']>;
export type OutletConfig = Config['outlets'][number];
export type ExportConfig = Config['exports'][number];
export type FocusConfig = FileConfig['focus'];
