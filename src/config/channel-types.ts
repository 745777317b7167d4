import type { RuleName, Severity } from '../core/text/alert-words.ts';

export type ChannelConfig = LogConfig | WebhookConfig | SlackConfig | TeamsConfig | PagerdutyConfig | EmailConfig;

interface LogConfig {
  type: 'log';
  /** `name`: `log-1` and so on by default. */
  name: string;
  /**
   * `timezone`: time zone of the daily summary, reminders and dates; by default the top-level `timezone`; absent: UTC.
   */
  timezone?: string;
  /** Which alerts the channel gets and when; absent: all of them, at once. */
  route?: RouteConfig;
}

/** Settings of channels that send over the network. */
interface SendingConfig {
  /** `name`; by default the channel's type and position, such as `slack-2`. */
  name: string;
  /**
   * `timezone`: time zone of the daily summary, reminders and dates; by default the top-level `timezone`; absent: UTC.
   */
  timezone?: string;
  /** Which alerts the channel gets and when; absent: all of them, at once. */
  route?: RouteConfig;
  /** `allow_private`: true if the address may be in a private network; false by default. */
  allowPrivate: boolean;
  /** `timeout_seconds`, in milliseconds; 10 s by default. */
  timeoutMs: number;
  /** `ca_file`: PEM certificates that are trusted instead of the public authorities; absent: the public ones. */
  ca?: string;
}

export interface WebhookConfig extends SendingConfig {
  type: 'webhook';
  url: string;
  /** `secrets`, or `secret`: each message is signed with each of them; empty: messages are not signed. */
  secrets: string[];
}

export interface SlackConfig extends SendingConfig {
  type: 'slack';
  url: string;
}

export interface TeamsConfig extends SendingConfig {
  type: 'teams';
  url: string;
}

export interface PagerdutyConfig extends SendingConfig {
  type: 'pagerduty';
  url: string;
  /** `routing_key` */
  routingKey: string;
}

export interface EmailConfig extends SendingConfig {
  type: 'email';
  host: string;
  /** `port`: 587 by default, or 465 with `implicit`. */
  port: number;
  /** `tls`: `implicit` for port 465, else `starttls`, by default. */
  tls: 'implicit' | 'starttls';
  /** `allow_insecure`: false by default. */
  allowInsecure: boolean;
  /** `user` and `password`; null if the mail server requires no login. */
  login: { user: string; password: string } | null;
  from: string;
  to: string[];
}

/** The alerts that a channel gets, and when. */
export interface RouteConfig {
  /** `severities`: both by default. */
  severities: readonly Severity[];
  /** `rules`: all by default; for a channel limited to some tenants, all except `margin`. */
  rules: readonly RuleName[];
  /** `workspaces`: patterns; absent: all. */
  workspaces?: readonly string[];
  /** `tenants`: patterns; absent: all. */
  tenants?: readonly string[];
  /** `not`: alerts that the channel does not get; absent: no exceptions. */
  not?: { rules?: readonly RuleName[]; workspaces?: readonly string[]; tenants?: readonly string[] };
  /** `digest_hour`: hour of the daily summary (0 to 23) in the channel's time zone; null: no daily summary. */
  digestHour: number | null;
  /**
   * `follow_ups`: whether later messages about an alert wait for the daily summary; `digest` by default, `at_once` for
   * PagerDuty.
   */
  followUps: 'digest' | 'at_once';
  /** `remind_after_hours`, in milliseconds; absent: no reminders. */
  remindAfterMs?: number;
  /** `remind_weekdays`: days of reminders, such as `mon-fri`; absent: every day. */
  remindWeekdays?: string;
  /** `remind_hours`: hours of reminders, such as `08:00-18:00`; absent: all hours. */
  remindHours?: string;
}

export interface HeartbeatConfig {
  /** `name`; by default the channel's type and position, such as `slack-2`. */
  name: string;
  url: string;
  /** `every_minutes`, in milliseconds; 5 min by default. */
  everyMs: number;
  /** `timeout_seconds`, in milliseconds; 10 s by default. */
  timeoutMs: number;
  /** `allow_private`: true if the address may be in a private network; false by default. */
  allowPrivate: boolean;
  /** `ca_file`: PEM certificates that are trusted instead of the public authorities; absent: the public ones. */
  ca?: string;
}
