import { z } from 'zod';
import { notes, workspaceSettings } from '../schema/workspace-settings.ts';

/** The commented `usage-ledger.yml`. With the variables of `sampleEnv` set it loads without a fault. */
export function sampleConfig(): string {
  return `# usage-ledger.yml
#
# \${NAME} and \${NAME:-default} come from the environment and from the .env beside this file; $\${ is a literal \${.
# After a change: \`usage-ledger doctor\`, then \`usage-ledger reload\`. Paths are relative to this file.

ledger:
  path: ./data/ledger.db
  # reader_group: finance              # a group that may read the ledger
  # checkpoint_key_file: ./keys/checkpoint.key   # default: beside the ledger
  retention_days: 400                  # of sent messages, failed runs and proofs; usage stays

redis_url: \${REDIS_URL:-}              # rediss://user:password@host:port; empty: the daemon starts redis-server
# redis_allow_plain: true               # for redis:// to another machine

workers: 64                            # syncs under way at once

http:                                  # the daemon's pages, health and metrics
  host: 127.0.0.1
  port: 9464                           # 0: off
  # token: \${USAGE_LEDGER_HTTP_TOKEN}   # default: the daemon makes one
  # token_file: ./keys/http-token      # the one that it makes; default: beside the ledger
  # metrics: open                      # /metrics without the token
  # ready_when_stale: 10%              # /readyz may be ready with so many workspaces stale
  # public_url: https://usage.example.com   # for links in messages

# proxy: http://proxy.example.com:3128   # instead of HTTPS_PROXY; none: no proxy

# s3:                                  # for \`to:\` below and \`backup s3://...\`
#   region: eu-central-1
#   # endpoint: https://s3.example.com # other than Amazon's
#   access_key_id: \${S3_ACCESS_KEY_ID}
#   secret_access_key: \${S3_SECRET_ACCESS_KEY}
#   # ca_file: ./s3-ca.pem             # its authorities, instead of the public ones

# backup:                              # copies of the ledger, made by the daemon
#   cron: "0 2 * * *"                  # five fields, UTC
#   keep: 7                            # older ones are deleted
#   folder: ./backups                  # default: backups beside the ledger
#   # to: s3://our-bucket/ledger-1     # instead of a folder; a prefix for each ledger

# publish:                             # a copy in Postgres
#   url: postgres://ledger:\${PGPASSWORD}@db.example.com:5432/finance
#   schema: usage_ledger               # the daemon makes it; one for all ledgers
#   tls: verify                        # verify | require (any certificate) | off (this machine)
#   ca_file: ./postgres-ca.pem         # its authorities, instead of the public ones
#   stale_minutes: 30                  # then an alert comes
#   unready_when_stale: false          # true: /readyz fails, too

# exports:                             # files, written by the daemon
#   - name: charges-of-the-month       # of its files; a-z, digits, - and _
#     view: charges                    # a view without its finance_, or focus
#     format: csv                      # csv | json | ndjson | xlsx | parquet
#     after: close                     # a file for each closed month
#   - name: usage-daily
#     view: usage
#     format: parquet
#     cron: "0 6 * * *"                # instead of after
#     period: current                  # current | previous; default: all months
#     # workspace: ws-123              # default: all
#     folder: ./exports                # default: exports beside the ledger
#     # to: s3://our-bucket/exports    # instead of a folder
#     keep: 30                         # older ones are deleted
#   - name: focus
#     view: focus
#     after: close

# outlets:                             # usage on to billing systems; docs/billing-systems.md
#   - name: billing                    # it keeps it for good; a-z, digits, - and _
#     type: webhook                    # CloudEvents
#     url: https://example.com/usage   # a public address, unless allow_private
#     secret: \${OUTLET_SECRET}
#     # secrets: ["\${OUTLET_SECRET}", "\${OUTLET_OLD_SECRET}"]  # while it changes
#     send: credits                    # credits | requests
#     customer: tenant_id              # tenant_id | external_ref | label:NAME
#     from_period: 2026-10             # or outlets begin --from
#     # workspaces: [ws-123]           # default: all
#     events_per_request: 100
#     requests_per_second: 20
#     remembers_hours: 168             # for so long it counts an id once only
#     allow_private: false             # true: an address in your network
#     timeout_seconds: 30              # 1 to 120
#     # ca_file: ./our-ca.pem          # its authorities, instead of the public ones
#   - name: stripe
#     type: stripe                     # or metronome, openmeter (with its url), lago
#     token: \${OUTLET_TOKEN}
#     meter: mtr_1234                  # its id, slug or code there
#     customer: external_ref

# rates:                               # what credits cost; docs/prices.md
#   - name: standard
#     from_period: 2026-01             # the first month
#     # to_period: 2026-12            # the last one
#     # workspace: ws-123              # default: all
#     # tenant: acme-*                 # an id or a pattern; default: all
#     # priority: 1                    # of two patterns that fit, the higher one counts
#     currency: EUR
#     price_per_credit: "0.0125"       # in quotes; or one of the next three
#     # graduated:                     # each tier at its own price
#     #   - up_to: 10000
#     #     price_per_credit: "0.0125"
#     #   - price_per_credit: "0.01"
#     # volume:                        # all credits at the price of the tier they reach
#     #   - price_per_credit: "0.01"
#     # package:                       # for each package begun
#     #   credits: 1000
#     #   price: "9.50"
#     # price_per_request: "0.001"     # of requests, beside credits or alone
#     included_credits: 0              # free; tiers begin after them
#     # credit_negative: true          # credits below 0 are paid back; default: they cost 0
#     minimum: "50.00"                 # of a tenant with a record in the month
#     # minimum_needs_usage: true      # none where no credits were used
#     discount_percent: "0"            # off the usage, before the minimum
#     rounding: half_even              # half_even | half_up (away from zero), once a line

# costs:                               # what the provider charges for it, by cards of the same form; no tenant is told
#   - name: provider
#     from_period: 2026-01
#     currency: EUR
#     price_per_credit: "0.006"

# close:
#   max_change: 25%                    # or "500.00": a larger difference to the month before needs --accept-change

# statement:                           # frozen by each close
#   number: "2026-{seq:0000}"          # of statements; default: none
#   letterhead:
#     name: Reseller Ltd
#     address: [1 Main Street, Springfield]
#     logo: logo.svg                   # PNG, JPEG or SVG, at most 64 KiB
#     footer: IBAN DE00 0000 0000 0000 0000 00
#     language: en                     # en | de

# focus:                               # names in FOCUS files
#   issuer: Reseller Ltd               # who bills; default: the workspace's name
#   publisher: Papermap                # who runs the service
#   service_name: Papermap
#   service_category: Analytics        # of the FOCUS specification
#   service_subcategory: Business Intelligence

log_level: info                        # fatal | error | warn | info | debug | trace | silent

defaults:                              # of all workspaces; each can stand below one, too
${workspaceDefaults()}

workspaces:
  - id: \${USAGE_API_WORKSPACE_ID}
    name: Production
    base_url: https://prod.dataapi.papermap.ai
    embed_url: https://papermap.ai
    api_key_id: \${USAGE_API_KEY_ID}
    secret_key: \${USAGE_API_SECRET_KEY}
    # secret_key_file: ./secret-key    # instead of secret_key
    # keys: [{ api_key_id: ak_2, secret_key_file: ./key-2 }, { api_key_id: ak_1, secret_key_file: ./key-1 }]
    #                                  # instead of both: the next is used when one is refused
    # secret_key_command: [vault, read, -field=key, secret/usage]   # or what a program prints
    # ca_file: ./our-ca.pem            # its authorities, instead of the public ones
    signing:                           # the defaults
      payload: "{workspace_id}{valid_until}"   # also {api_key_id} {method} {path} {query} {body_sha256} \\n
      encoding: hex                    # hex | base64 | base64url
      valid_until: unix_seconds        # unix_seconds | unix_millis | iso8601
      valid_for_seconds: 300
    alerts:                            # a jump: credits >= max(ratio * previous, previous + min_credits)
      ratio: 1.5
      min_credits: 1000
      # baseline: same_month_last_year # previous | same_month_last_year
      # min_amount: 50                 # no forecast of a lesser increase is told, in the currency of the tenant's rate card
      # pace_min_fraction: 0.1         # of a month, before its forecast counts
      # tenants:                       # an id wins, then the longest pattern
      #   - match: trial-*
      #     min_credits: 5000

# budgets:                             # of a month
#   - credits: 5000000                 # of the workspace as a whole
#     at: [50, 80, 100]                # percent; the default
#   - tenant: trial-*                  # of each such tenant; an id wins, then the longest pattern
#     workspace: \${USAGE_API_WORKSPACE_ID}  # default: all
#     credits: 20000
#   - tenant: acme                     # in money, by its rate card
#     amount: '500.00'
#     currency: EUR

alerts:
  channels:
    - type: log                        # a line of the log
      # severities: [critical]         # warning, critical; default: both. All filters must fit
      # rules: [jump, budget]          # default: all
      # workspaces: [ws-123, eu-*]     # default: all
      # tenants: [acme]                # nothing but these; default: all
      # not: { tenants: [test-*] }     # left out: rules, workspaces, tenants
      # digest_hour: 7                 # UTC: all but critical ones once a day; default: at once
      # follow_ups: at_once            # ends of alerts; default: with the daily summary
      # remind_after_hours: 4          # of critical ones that nobody acknowledged
    # - type: webhook
    #   name: on-call                  # default: webhook-2, by its place
    #   url: https://example.com/hook  # a public address, unless allow_private
    #   secret: \${ALERT_WEBHOOK_SECRET}
    #   # secrets: ["\${ALERT_WEBHOOK_SECRET}", "\${ALERT_WEBHOOK_OLD_SECRET}"]  # while it changes
    #   allow_private: false           # true: an address in your network
    #   timeout_seconds: 10            # 1 to 30
    #   # ca_file: ./our-ca.pem        # its authorities, instead of the public ones
    # - type: slack                    # name, allow_private, timeout_seconds, ca_file as above
    #   url: \${ALERT_SLACK_URL}       # of an incoming webhook
    # - type: teams
    #   url: \${ALERT_TEAMS_URL}       # of a workflow
    # - type: pagerduty                # follow_ups is at_once here
    #   routing_key: \${ALERT_PAGERDUTY_KEY}  # of an Events API v2 integration
    #   url: https://events.pagerduty.com/v2/enqueue
    # - type: email
    #   host: smtp.example.com
    #   port: 587
    #   tls: starttls                  # starttls | implicit (the default on port 465)
    #   allow_insecure: false          # true: without TLS, or with any certificate
    #   user: \${ALERT_SMTP_USER}      # default: no login
    #   password: \${ALERT_SMTP_PASSWORD}
    #   from: Usage Ledger <alerts@example.com>
    #   to:
    #     - oncall@example.com
    # - type: heartbeat                # while all is well: a watcher notices silence
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
  return `# Copy to .env, chmod 600 .env, fill in. The environment overrules it. A # in a value needs quotes: NAME="a#b".

USAGE_API_WORKSPACE_ID=
USAGE_API_KEY_ID=
USAGE_API_SECRET_KEY=

# Empty: the daemon starts redis-server.
REDIS_URL=

# For what usage-ledger.yml has commented out:
# USAGE_LEDGER_HTTP_TOKEN=
# ALERT_WEBHOOK_SECRET=
# ALERT_WEBHOOK_OLD_SECRET=
# ALERT_SLACK_URL=
# ALERT_TEAMS_URL=
# ALERT_PAGERDUTY_KEY=
# ALERT_SMTP_USER=
# ALERT_SMTP_PASSWORD=
# HEARTBEAT_URL=
# OUTLET_SECRET=
# OUTLET_OLD_SECRET=
# OUTLET_TOKEN=
# PGPASSWORD=

# Without a usage-ledger.yml, for one workspace:
# USAGE_API_BASE_URL=https://prod.dataapi.papermap.ai
# USAGE_API_EMBED_URL=https://papermap.ai
# USAGE_LEDGER_PATH=./data/ledger.db
`;
}
