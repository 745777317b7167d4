import { ENTRY_COLUMNS } from '../../reports/queries/tenant.ts';
import { USAGE_COLUMNS } from '../../reports/queries/usage.ts';
import { COMPARED_COLUMNS, MONTH_COLUMNS } from '../finance/compare-rates.ts';
import { CARD_COLUMNS } from '../finance/rates.ts';
import { RECONCILE_COLUMNS } from '../finance/reconcile.ts';
import { TENANT_COLUMNS } from '../finance/tenants.ts';
import { ALERT_ANSWERS } from './alert-answers.ts';
import { list, object, one, openObject, orNull, rowOf, type Schema } from './schema.ts';
import { statementAnswer, tenantStatementAnswer } from './statement-answers.ts';

const STATES = one('open', 'settling', 'closed');
const usageRow = rowOf(USAGE_COLUMNS, { state: STATES });

const figures = object({ credits_used: 'credits', request_count: 'count' });
const compared = object({
  ...{ period: 'text', ledger: orNull(figures), service: orNull(figures), credits_difference: 'credits', same: 'flag' },
});
const failure = object({ code: 'text', message: 'text', hint: 'text?' });
const tenantAnswer = object({
  tenant_id: 'id',
  workspaces: list(
    object({
      ...{ workspace_id: 'id', display_name: 'text?', usage: list(usageRow), entries: list(rowOf(ENTRY_COLUMNS)) },
      live: orNull({ anyOf: [object({ complete: 'flag', periods: list(compared) }), object({ error: failure })] }),
    }),
  ),
});

const comparison = {
  months: list(rowOf(MONTH_COLUMNS)),
  tenants: list(rowOf(COMPARED_COLUMNS)),
  unpriced: list(object({ workspace_id: 'id', tenant_id: 'id', period: 'text', why: 'text' })),
};

const applyAnswer = object({
  ...{ applied: 'flag', cards: 'count', added: list('text'), retired: list('text') },
  ...comparison,
});

const reconcileAnswer = object({
  ...{ workspace_id: 'id', period: 'text', state: STATES, currency: 'text?' },
  totals: object({
    tenants: object({ matched: 'count', missing: 'count', extra: 'count', different: 'count' }),
    ...{ ledger_amount: 'amount?', invoice_amount: 'amount?' },
    amounts: list(object({ currency: 'text', ledger: 'amount', invoice: 'amount' })),
  }),
  rows: list(rowOf(RECONCILE_COLUMNS)),
});

const closeAnswer = object({
  ...{ action: one('close', 'reopen'), workspace_id: 'id', period: 'text', at: 'date', tenants: 'count' },
  ...{ credits_used: 'credits', request_count: 'count', overridden: list('text'), reversed_adjustments: 'count' },
  ...{ event_seq: 'count', digest: 'id' },
});

const verifyStatementAnswer = object({
  ...{ authentic: 'flag', agrees: 'flag', anchors: list(object({ kind: 'text', holds: 'flag' })) },
  superseded_by: orNull(openObject({ action: one('close', 'reopen'), at: 'date', actor: 'text' })),
  ...{ 'reason?': 'text', 'workspace_id?': 'id', 'period?': 'text', 'closed_at?': 'date', 'close_digest?': 'id' },
  ...{ 'tenants?': 'count', 'tenants_in_period?': 'count?' },
});

const faults = list(object({ check: 'text', run_id: 'id?', entry_id: 'count?', message: 'text' }));
const replaced = orNull(object({ path: 'text', head_digest: 'id?' }));
const counted = { runs: 'count', entries: 'count', keys: 'count', head_digest: 'id?' } as const;
const workspaceStatus = openObject({
  ...{ workspace_id: 'id', name: 'text', configured: 'flag', state: 'text', open_alerts: 'count' },
  ...{ last_complete_run_at: 'date?', last_attempt_at: 'date?', last_status: 'text?', next_attempt_at: 'date?' },
});
const statusAnswer = object({
  ledger: object({ path: 'text', ledger_id: 'id', locked_by: 'text?' }),
  ...{ workspaces: list(workspaceStatus), open_alerts: 'count' },
  outbox: object({ pending: 'count', held: 'count', dead: 'count' }),
  disabled_channels: list(object({ name: 'text', disabled_at: 'date', reason: 'text' })),
  queue: openObject({ status: one('not_running', 'unavailable', 'running') }),
  times_ahead: orNull(object({ count: 'count', latest_at: 'date' })),
  ...{ exports: list(openObject({ name: 'text', last_file_at: 'date?' })), replica: orNull(openObject()) },
});

/** What `--replica` gives. */
const replicaStatusAnswer = object({
  schema: 'text',
  ledgers: list(
    object({
      ...{ ledger_id: 'id', published_by: 'text', published_at: 'date', age_seconds: 'count', position: 'count' },
      ...{ head_digest: 'id', head_at: 'date?', workspaces: 'count', never_complete: 'count', failing: 'count' },
      oldest_complete_run_at: 'date?',
    }),
  ),
});

/** What each command answers with `--json`, by its name; `error` is the answer of any that fails. */
export const ANSWERS: Readonly<Record<string, Schema>> = {
  error: object({ error: openObject({ code: 'text', message: 'text', hint: 'text?' }) }),
  usage: object({
    'as_of?': 'date',
    filters: object({ workspace_id: 'id?', tenant_id: 'id?', period: 'text?', from: 'text?', to: 'text?' }),
    rows: list(usageRow),
  }),
  tenant: tenantAnswer,
  export: object({ name: 'text', rows: list(openObject()) }),
  statement: { anyOf: [statementAnswer, tenantStatementAnswer] },
  'statement verify': verifyStatementAnswer,
  reconcile: reconcileAnswer,
  close: closeAnswer,
  reopen: closeAnswer,
  'rates list': object({ rows: list(rowOf(CARD_COLUMNS)) }),
  'rates check': object(comparison),
  'rates apply': applyAnswer,
  'rates clear': applyAnswer,
  'tenants list': object({
    rows: list(rowOf(TENANT_COLUMNS, { labels: { type: 'object', additionalProperties: { type: 'string' } } })),
  }),
  'tenants import': object({
    ...{ workspace_id: 'id', dry_run: 'flag', added: list('id'), changed: list('id'), unchanged: 'count' },
    ...{ unknown: list('id'), missing: list('id') },
  }),
  'tenants forget': object({
    ...{ workspace_id: 'id', tenant_id: 'id', dry_run: 'flag', forgotten: 'count', named_in: list('text') },
  }),
  sync: object({ dry_run: 'flag', workspaces: list(openObject({ workspace_id: 'id', status: 'text' })) }),
  status: { anyOf: [statusAnswer, replicaStatusAnswer] },
  doctor: object({
    ok: 'flag',
    checks: list(object({ check: 'text', subject: 'text?', status: 'text', message: 'text', remedy: 'text?' })),
  }),
  verify: openObject({ ok: 'flag', ...counted, faults }),
  backup: object({ path: 'text', size_bytes: 'count', ...counted }),
  restore: openObject({ ledger: 'text', runs: 'count', entries: 'count', head_digest: 'id?', replaced }),
  migrate: object({ ledger: 'text', outcome: 'text', migrations_applied: 'count', backup: 'text?' }),
  init: object({ written: list('text'), kept: list('text') }),
  ...ALERT_ANSWERS,
  publish: object({
    ...{ from: 'count', to: 'count', head_digest: 'id', entries: 'count', rows: 'count', seconds: 'percent' },
    ...{ mended: list('text'), uncounted: list('text') },
  }),
  'workspace export': object({
    ...{ workspace_id: 'id', path: 'text', size_bytes: 'count', runs: 'count', entries: 'count', head_digest: 'id' },
    ...{ exported_before: 'flag', waiting_notifications: 'count' },
  }),
  'workspace import': object({
    ...{ workspace_id: 'id', from: object({ ledger_id: 'id', position: 'count', head_digest: 'id' }), links: 'count' },
    ...{ entries: 'count', tenants: 'count', periods: 'count', alerts: 'count', head_digest: 'id' },
  }),
  'workspace keep': object({ workspace_id: 'id', kept: 'flag' }),
  'dashboard create': openObject({ dashboard_id: 'id', title: 'text', workspace_id: 'id' }),
  'embed-token': object({ token: 'text', expires_at: 'date' }),
};
