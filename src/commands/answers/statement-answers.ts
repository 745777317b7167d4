import { STATEMENT_COLUMNS } from '../../reports/statement/statement-lines.ts';
import { type Fields, list, object, one, orNull, rowOf } from './schema.ts';

/** A line's columns from its kind on; whose it is stands above it. */
const line = rowOf(STATEMENT_COLUMNS.slice(STATEMENT_COLUMNS.findIndex(({ name }) => name === 'kind')), {
  kind: one('usage', 'discount', 'minimum', 'correction'),
  amount_minor: 'credits?',
  entry_id: 'count?',
});
const totals = list(object({ currency: 'text', amount_minor: 'credits', amount: 'amount' }));
const leaf = object({ index: 'count', leaf: 'text', path: list('id') });

const figures: Fields = {
  ...{ tenant_id: 'id', display_name: 'text?', external_ref: 'id?', credits_used: 'credits', request_count: 'count' },
  ...{ projected_credits: 'credits?', 'projected_totals?': totals, totals, lines: list(line) },
};

const place: Fields = {
  ...{ format: 'text', workspace_id: 'id', period: 'text', state: one('open', 'settling', 'closed') },
  ...{ estimate: 'flag', as_of: 'date?' },
};

export const statementAnswer = object({
  ...place,
  certificate: orNull(object({ run_id: 'id', finished_at: 'date', records: 'count', digest: 'id' })),
  ...{ head_digest: 'id?', tenants_in_period: 'count', credits_used: 'credits', totals },
  ...{ 'projected_credits?': 'credits', 'projected_totals?': totals },
  tenants: list(object({ ...figures, proof: orNull(leaf) })),
  proof: orNull(
    object({
      ...{ close: 'text', 'internal?': 'text', 'nonce?': 'id', close_digest: 'id', root: 'id', leaves: 'count' },
      period: leaf,
    }),
  ),
});

/** What `--for-tenant` gives. */
export const tenantStatementAnswer = object({
  ...place,
  ...figures,
  proof: orNull(object({ close: 'text', close_digest: 'id', root: 'id', tenant: leaf })),
});
