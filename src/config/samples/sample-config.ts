import { z } from 'zod';
import { notes, workspaceSettings } from '../schema/workspace-settings.ts';

/** The commented `usage-ledger.yml`. With the variables of `sampleEnv` set it loads without a fault. */
export function sampleConfig(): string {
  return `# usage-ledger.yml
#
# \${NAME} and \${NAME:-default} are taken from the environment and from the .env beside this file.
# $\${ stands for a literal \${. Unknown settings are errors. \`usage-ledger doctor\` checks all of it. After a change
# \`usage-ledger reload\` has the daemon read this file again.

ledger:
  path: ./data/ledger.db               # relative to this file
  # reader_group: finance              # its members may read the ledger, also when nothing runs; absent: only this user
  # checkpoint_key_file: ./keys/checkpoint.key   # signs each head of the ledger; absent: beside the ledger
  retention_days: 400                  # of sent notifications, failed runs and proofs of runs without a change; never of usage

redis_url: \${REDIS_URL:-}              # redis:// or rediss://user:password@host:port; empty: the daemon starts its own redis-server
# redis_allow_plain: true               # redis:// to another machine, over a network that is yours alone

workers: 64                            # syncs under way at once

http:                                  # pages, health and metrics of the daemon: plain HTTP
  host: 127.0.0.1
  port: 9464                           # 0: off
  # token: \${USAGE_LEDGER_HTTP_TOKEN}   # what the pages ask for; absent: one that the daemon makes, \`usage-ledger open\` says it
  # token_file: ./keys/http-token      # where that one lies; absent: beside the ledger
  # metrics: open                      # /metrics without the token, for Prometheus; absent: with it
  # ready_when_stale: 10%              # /readyz says ready while no more of the workspaces are stale; absent: none
  # public_url: https://usage.example.com   # where people reach the pages: messages of alerts link to it

# proxy: http://proxy.example.com:3128   # http://user:password@host:port; for https, instead of HTTPS_PROXY; none: no proxy

# s3:                                  # a store of objects, for \`to:\` below and \`backup s3://...\`; absent: none
#   region: eu-central-1
#   # endpoint: https://s3.example.com # a service other than Amazon's; http:// for this machine only
#   access_key_id: \${S3_ACCESS_KEY_ID}
#   secret_access_key: \${S3_SECRET_ACCESS_KEY}
#   # ca_file: ./s3-ca.pem             # authorities (PEM) that it is trusted by, instead of the public ones

# backup:                              # a checked copy of the ledger, made by the daemon; absent: none
#   cron: "0 2 * * *"                  # five fields, UTC
#   keep: 7                            # older ones are deleted
#   folder: ./backups                  # relative to this file; without it: backups beside the ledger
#   # to: s3://our-bucket/ledger-1     # they stay there instead, one prefix for each ledger; needs s3

# publish:                             # a copy in Postgres, which everybody reads; absent: none
#   url: postgres://ledger:\${PGPASSWORD}@db.example.com:5432/finance
#   schema: usage_ledger               # made by the daemon; one for all ledgers
#   tls: verify                        # verify | require: whoever answers | off: this machine only
#   ca_file: ./postgres-ca.pem         # authorities (PEM) that the server is trusted by, instead of the public ones
#   stale_minutes: 30                  # an alert when something has waited for longer
#   unready_when_stale: false          # true: /readyz fails then, too

# exports:                             # files for other tools, made by the daemon; absent: none
#   - name: charges-of-the-month       # the files are called after it; small letters, digits, - and _
#     view: charges                    # any view of the ledger, without its finance_; or focus
#     format: csv                      # csv | json | ndjson | xlsx | parquet
#     after: close                     # the closed month, once it is closed
#   - name: usage-daily
#     view: usage
#     format: parquet
#     cron: "0 6 * * *"                # five fields, UTC; instead of after
#     period: current                  # current | previous; without it: all months
#     # workspace: ws-123              # without it: every workspace
#     folder: ./exports                # relative to this file; without it: exports beside the ledger
#     # to: s3://our-bucket/exports    # they stay there instead; needs s3
#     keep: 30                         # older ones are deleted
#   - name: focus
#     view: focus
#     after: close

# rates:                               # what credits cost; absent: the cards in force stay, see \`usage-ledger rates\`
#   - name: standard
#     from_period: 2026-01             # priced from this month on; to_period: the last one
#     # to_period: 2026-12
#     # workspace: ws-123              # without it: every workspace
#     # tenant: acme-*                 # an id or a pattern, the most specific card wins; without it: every tenant
#     # priority: 1                    # of two patterns that fit, the higher one counts
#     currency: EUR
#     price_per_credit: "0.0125"       # decimals in quotes, exact; instead of it one of the following
#     # graduated:                     # each tier at its own price; volume: all at that of the tier it reaches
#     #   - up_to: 10000
#     #     price_per_credit: "0.0125"
#     #   - price_per_credit: "0.01"
#     # volume:
#     #   - price_per_credit: "0.01"
#     # package:                       # each package that was begun is charged whole
#     #   credits: 1000
#     #   price: "9.50"
#     included_credits: 0
#     # credit_negative: true          # credits below 0 are paid back from the first on, whatever is included; without it they are priced as 0
#     minimum: "50.00"                 # what a tenant with a record in the month pays at least
#     # minimum_needs_usage: true      # not a tenant that has used no credits
#     discount_percent: "0"
#     rounding: half_even              # half_even | half_up, once a line

# close:
#   max_change: 25%                    # a month that differs more from the one before wants --accept-change; or an amount: "500.00"

# focus:                               # names in FOCUS files
#   issuer: Reseller Ltd               # who bills; without it: the workspace's name
#   publisher: Papermap                # who runs the service
#   service_name: Papermap
#   service_category: Analytics        # as the FOCUS specification has them
#   service_subcategory: Business Intelligence

log_level: info                        # fatal | error | warn | info | debug | trace | silent

defaults:                              # for every workspace; any of these can also stand under one
${workspaceDefaults()}

workspaces:
  - id: \${USAGE_API_WORKSPACE_ID}
    name: Production
    base_url: https://prod.dataapi.papermap.ai
    embed_url: https://papermap.ai
    api_key_id: \${USAGE_API_KEY_ID}
    secret_key: \${USAGE_API_SECRET_KEY}
    # secret_key_file: ./secret-key    # instead of secret_key; relative to this file
    # keys: [{ api_key_id: ak_2, secret_key_file: ./key-2 }, { api_key_id: ak_1, secret_key_file: ./key-1 }]
    #                                  # instead of both while keys overlap: the next is used when one is refused
    # secret_key_command: [vault, read, -field=key, secret/usage]   # or what a program prints
    # ca_file: ./our-ca.pem            # a service with a private CA: trusted by these certificates only; for all below defaults
    signing:                           # these are the defaults
      payload: "{workspace_id}{valid_until}"   # also {api_key_id} {method} {path} {query} {body_sha256}, text, \\n
      encoding: hex                    # hex | base64 | base64url
      valid_until: unix_seconds        # unix_seconds | unix_millis | iso8601
      valid_for_seconds: 300
    alerts:                            # a jump: credits >= max(ratio * previous, previous + min_credits)
      ratio: 1.5
      min_credits: 1000
      # baseline: same_month_last_year # previous | same_month_last_year
      # pace_min_fraction: 0.1         # of an open month, before its pace is judged
      # tenants:                       # an exact id wins, then the longest pattern
      #   - match: trial-*
      #     min_credits: 5000

# budgets:                             # credits of a month, told of by the rule budget
#   - credits: 5000000                 # of the workspace as a whole
#     at: [50, 80, 100]                # percent that are told of, the default
#   - tenant: trial-*                  # of each tenant that fits; an exact id wins, then the longest pattern
#     workspace: \${USAGE_API_WORKSPACE_ID}  # without it: in every workspace
#     credits: 20000
#   - tenant: acme                     # in money, by the rate card of the tenant
#     amount: '500.00'
#     currency: EUR

alerts:
  channels:
    - type: log                        # every alert as a line of the log
      # severities: [critical]         # which alerts it gets: warning, critical; without it: both. All filters must fit
      # rules: [jump, budget]          # without it: every rule
      # workspaces: [ws-123, eu-*]     # patterns; without it: every workspace
      # tenants: [acme]                # patterns; of nothing but these tenants; without it: every tenant
      # not: { tenants: [test-*] }     # what it is not told of, whatever fits: rules, workspaces, tenants
      # digest_hour: 7                 # UTC; critical goes at once, the rest once a day; without it: at once, but follow_ups
      # follow_ups: at_once            # ends of alerts: with the daily summary (the default), or at once
      # remind_after_hours: 4          # an alert is repeated so often while it is critical and nobody has acknowledged it
    # - type: webhook
    #   name: on-call                  # without one: webhook-2, by its place in the list
    #   url: https://example.com/hook  # public addresses only, unless allow_private
    #   secret: \${ALERT_WEBHOOK_SECRET}
    #   # secrets: ["\${ALERT_WEBHOOK_SECRET}", "\${ALERT_WEBHOOK_OLD_SECRET}"]  # instead, while the secret is changed
    #   allow_private: false           # true: the address is inside your own network
    #   timeout_seconds: 10            # for one attempt, 1 to 30
    #   # ca_file: ./our-ca.pem        # trusted by these certificates only
    # - type: slack                    # allow_private, timeout_seconds, ca_file are for every type but log
    #   url: \${ALERT_SLACK_URL}       # of an incoming webhook
    # - type: teams
    #   url: \${ALERT_TEAMS_URL}       # of a workflow that posts what it receives
    # - type: pagerduty                # ends go at once here unless follow_ups says otherwise
    #   routing_key: \${ALERT_PAGERDUTY_KEY}  # of an Events API v2 integration
    #   url: https://events.pagerduty.com/v2/enqueue
    # - type: email
    #   host: smtp.example.com
    #   port: 587
    #   tls: starttls                  # starttls | implicit (the default on port 465)
    #   allow_insecure: false          # true: also without TLS, or with a certificate that cannot be verified
    #   user: \${ALERT_SMTP_USER}      # without user and password: no login
    #   password: \${ALERT_SMTP_PASSWORD}
    #   from: Usage Ledger <alerts@example.com>
    #   to:
    #     - oncall@example.com
    # - type: heartbeat                # asked as long as all is well, so that silence is noticed elsewhere
    #   url: \${HEARTBEAT_URL}
    #   every_minutes: 5
`;
}

function workspaceDefaults(): string {
  const lines = Object.entries(workspaceSettings).flatMap(([key, schema]) => {
    if (!(schema instanceof z.ZodDefault)) return [];
    const text = String(schema.def.defaultValue);
    const line = `  ${key}: ${text.includes('*') ? `"${text}"` : text}`;
    const note = notes.get(schema)?.note ?? '';
    return [note === '' ? line : `${line.padEnd(39)}# ${note}`];
  });
  return lines.join('\n');
}

export function sampleEnv(): string {
  return `# Copy this file to .env, fill it in and keep it private: chmod 600 .env
# Variables that are set in the environment win over the ones in .env. A value with a # needs quotes: NAME="a#b".

USAGE_API_WORKSPACE_ID=
USAGE_API_KEY_ID=
USAGE_API_SECRET_KEY=

# Empty: the daemon starts a private redis-server.
REDIS_URL=

# Used by the parts of usage-ledger.yml that are commented out:
# USAGE_LEDGER_HTTP_TOKEN=
# ALERT_WEBHOOK_SECRET=
# ALERT_WEBHOOK_OLD_SECRET=
# ALERT_SLACK_URL=
# ALERT_TEAMS_URL=
# ALERT_PAGERDUTY_KEY=
# ALERT_SMTP_USER=
# ALERT_SMTP_PASSWORD=
# HEARTBEAT_URL=
# PGPASSWORD=

# Without a usage-ledger.yml, one workspace can be given here alone, together with the variables above:
# USAGE_API_BASE_URL=https://prod.dataapi.papermap.ai
# USAGE_API_EMBED_URL=https://papermap.ai
# USAGE_LEDGER_PATH=./data/ledger.db
`;
}
