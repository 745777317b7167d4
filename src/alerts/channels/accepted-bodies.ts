import type { DeliveryResult } from './channel.ts';

/** A function that finds a failure in the body of a 2xx response; null if the message was delivered. */
export type ResponseBodyReader = (body: string) => Failure | null;

/** A failure that a body reports, as the HTTP status that it stands for or as the result of the delivery. */
export type Failure = { reason: string; status: number } | Exclude<DeliveryResult, { outcome: 'delivered' }>;

/** Teams answers 200 even if its endpoint failed; the text contains the endpoint's status, as Microsoft documents. */
const TEAMS_FAILURE = /delivery failed with error/i;
const TEAMS_STATUS = /HTTP error (\d{3})\b/i;
const THROTTLED = /\b429\b|throttl|too many requests|rate.?limit/i;

/**
 * Finds a failure in a response of Teams; null if there is none. A workflow answers 202 with an empty body or one that
 * its author defined. A connector answers 200 with `1`, or with a failure as text, of which only the status is used.
 */
export function readTeamsBody(body: string): Failure | null {
  if (TEAMS_FAILURE.test(body)) {
    const status = Number(TEAMS_STATUS.exec(body)?.[1] ?? (THROTTLED.test(body) ? 429 : 502));
    return { reason: `HTTP 200, but Teams reports HTTP ${status} in its body`, status };
  }
  const error = jsonOf(body)?.error;
  if (error === undefined || error === null || error === false) return null;
  const status = THROTTLED.test(JSON.stringify(error)) ? 429 : 400;
  return { reason: 'HTTP 200, but the workflow reports an error in its body', status };
}

/** Errors of Slack's incoming webhooks and Web API that are temporary. */
const SLACK_TEMPORARY: readonly string[] = [
  'rate_limited',
  'ratelimited',
  'message_limit_exceeded',
  'rollup_error',
  'internal_error',
  'fatal_error',
  'service_unavailable',
  'request_timeout',
  'team_added_to_org',
];
/** Remedies for errors of Slack that persist until a person grants a permission or corrects the channel's address. */
const SLACK_REMEDIES: Readonly<Record<string, string>> = {
  action_prohibited: 'let an administrator of the workspace allow the app to post there',
  posting_to_general_channel_denied: 'let an administrator allow the app to post there, or choose another channel',
  channel_not_found: 'recreate the webhook for an existing channel, and set `url`',
  channel_is_archived: 'unarchive the channel, or create a webhook for another channel and set `url`',
  is_archived: 'unarchive the channel, or create a webhook for another channel and set `url`',
  no_service: 'recreate the webhook, and set `url` to its address',
  no_service_id: 'recreate the webhook, and set `url` to its address',
  no_team: 'recreate the webhook, and set `url` to its address',
  team_disabled: 'let an administrator enable the workspace',
  invalid_token: 'recreate the webhook, and set `url` to its address',
  token_revoked: 'recreate the webhook, and set `url` to its address',
  account_inactive: 'recreate the webhook, and set `url` to its address',
  not_in_channel: 'invite the app to the channel',
  missing_scope: 'give the app the scope `incoming-webhook` or `chat:write`',
};

/**
 * Finds a failure in a response of Slack; null if there is none. On success an incoming webhook answers `ok` and the
 * Web API `{"ok":true}`. A body with neither of these nor an error code did not come from Slack.
 */
export function readSlackBody(body: string): Failure | null {
  const text = body.trim();
  const json = jsonOf(text);
  if (text === 'ok' || json?.ok === true) return null;
  const error = json === null ? text : json.error;
  const code = typeof error === 'string' && /^[a-z][a-z_]{1,63}$/.test(error) ? error : null;
  if (code === null) {
    const reason =
      'HTTP 200 without the `ok` of Slack; correct `url`, or check for a proxy that answers instead of Slack';
    return { outcome: 'retry', reason, retryAfterMs: null, unknown: true };
  }
  const reason = `HTTP 200, but Slack reports ${code}`;
  if (SLACK_TEMPORARY.includes(code)) return { outcome: 'retry', reason, retryAfterMs: null, unknown: false };
  const remedy = SLACK_REMEDIES[code];
  if (remedy === undefined) return { outcome: 'rejected', reason };
  return { outcome: 'retry', reason: `${reason}; ${remedy}`, retryAfterMs: null, unknown: false, isDenial: true };
}

function jsonOf(body: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}
