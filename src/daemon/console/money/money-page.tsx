import { formatMinor } from '../../../core/money.ts';
import { counted } from '../../../core/text/words.ts';
import type { StoredCard } from '../../../ledger/journal/charges/card-store.ts';
import type { CardSide } from '../../../ledger/store/schema/billing-tables.ts';
import { checkRates } from '../../../operations/rates/compare-rates.ts';
import { formatDecimal, formatInteger } from '../../../reports/formats/columns.ts';
import type { BudgetUse, MarginMonth } from '../../../reports/queries/margin-months.ts';
import { ChangeForm, FileField } from '../shell/form.tsx';
import { linkTo, monthName, tenantLink } from '../shell/formats.ts';
import { Layout } from '../shell/layout.tsx';
import { Badge, Card, Empty, Table, Time } from '../shell/parts.tsx';
import { may, type Visit } from '../shell/visit.ts';
import { LinesCard, type LinesCardProps } from './lines-card.tsx';
import { priceText } from './price-text.ts';

export const RATES_FORM = 'rates';

/** A rate card and its side: the prices that tenants pay, or the provider's costs. */
export interface ShownCard extends StoredCard {
  side: CardSide;
}

interface MoneyPageProps extends LinesCardProps {
  cards: readonly ShownCard[];
  /** A note if the configured rate cards differ from the active ones; null if they are the same. */
  otherRates: string | null;
  margins: readonly MarginMonth[];
  budgets: readonly BudgetUse[];
}

/**
 * The page about money. It answers: which prices apply, what is the margin, which budgets are used up, and what was
 * charged by hand?
 */
export function MoneyPage({ cards, otherRates, margins, budgets, ...lines }: MoneyPageProps) {
  const { visit } = lines;
  return (
    <Layout visit={visit} place="money" title="Money">
      <div class="head">
        <h1>Money</h1>
        <p>{cardsText(cards)}</p>
      </div>
      {otherRates === null ? null : <div class="notice odd">{otherRates}</div>}
      <Cards visit={visit} cards={cards} />
      <div class="columns">
        <div>
          <Margin margins={margins} hasCosts={cards.some(({ side }) => side === 'cost')} />
          <LinesCard {...lines} />
        </div>
        <div>
          <Budgets budgets={budgets} />
        </div>
      </div>
    </Layout>
  );
}

function cardsText(cards: readonly ShownCard[]): string {
  const costs = cards.filter(({ side }) => side === 'cost').length;
  const prices = cards.length - costs;
  if (prices === 0) return 'No rate card is in force: nothing is charged';
  const both = costs === 0 ? '' : ` and ${counted(costs, 'cost card')}`;
  return `${counted(prices, 'rate card')}${both} ${cards.length === 1 ? 'is' : 'are'} in force`;
}

function Cards({ visit, cards }: { visit: Visit; cards: readonly ShownCard[] }) {
  const heads = [
    { label: 'Card' },
    { label: 'Applies to', wide: true },
    { label: 'Months', wide: true },
    { label: 'Price' },
    { label: 'Source', wide: true },
  ];
  return (
    <Card title="Rate cards">
      {cards.length === 0 ? (
        <Empty>No rate cards.</Empty>
      ) : (
        <Table label="Rate cards" heads={heads}>
          {cards.map((card) => (
            <tr key={card.cardKey}>
              <th scope="row">
                {card.name} {card.side === 'cost' ? <Badge tone="quiet">cost</Badge> : null}
                <small class="narrow-only">
                  {card.tenant ?? 'all tenants'}, from {card.fromPeriod}
                </small>
              </th>
              <td class="wide-only">
                {card.tenant ?? 'all tenants'}
                {card.workspace === null ? null : <small>{card.workspace}</small>}
              </td>
              <td class="wide-only nowrap">
                from {card.fromPeriod}
                {card.toPeriod === null ? null : <small>to {card.toPeriod}</small>}
              </td>
              <td>
                {priceText(card)} <span class="quiet">{card.currency}</span>
              </td>
              <td class="wide-only">
                {card.source === 'configuration' ? 'configuration' : 'applied'}
                <small>
                  <Time at={card.recordedAt} />
                </small>
              </td>
            </tr>
          ))}
        </Table>
      )}
      {may(visit, checkRates) ? (
        <details class="inside" open={visit.draft?.form === RATES_FORM}>
          <summary>See what other cards would charge</summary>
          <ChangeForm visit={visit} form={RATES_FORM} action="/money/rates" submit="Compare" main upload anonymous>
            <FileField
              label="Rate cards: YAML or JSON with a list below rates:, costs: or both"
              accept=".yml,.yaml,.json"
            />
          </ChangeForm>
        </details>
      ) : null}
    </Card>
  );
}

function Margin({ margins, hasCosts }: { margins: readonly MarginMonth[]; hasCosts: boolean }) {
  const heads = [
    { label: 'Month' },
    { label: 'Revenue', number: true },
    { label: 'Cost', number: true },
    { label: 'Margin', number: true },
  ];
  return (
    <Card title="Margin">
      {margins.length === 0 ? (
        <Empty>{hasCosts ? 'No costs in the latest months.' : 'No cost cards, so there is no margin.'}</Empty>
      ) : (
        <Table label="Margin" heads={heads} stacked>
          {margins.map(({ period, currency, revenue, cost, without }) => {
            const margin = revenue - cost;
            return (
              <tr key={`${period} ${currency}`}>
                <th scope="row">
                  <a href={`/months/${period}`}>{monthName(period)}</a> <span class="quiet">{currency}</span>
                  {without === 0n ? null : <small>{formatInteger(without)} tenants without a margin</small>}
                </th>
                <td class="number" data-label="Revenue">
                  {amountText(revenue, currency)}
                </td>
                <td class="number" data-label="Cost">
                  {amountText(cost, currency)}
                </td>
                <td class={`number ${margin < 0n ? 'bad' : ''}`} data-label="Margin">
                  {amountText(margin, currency)}
                  <small>{revenue > 0n ? `${((Number(margin) / Number(revenue)) * 100).toFixed(1)}%` : ''}</small>
                </td>
              </tr>
            );
          })}
        </Table>
      )}
    </Card>
  );
}

function amountText(minor: bigint, currency: string): string {
  return formatDecimal(formatMinor(minor, currency));
}

function Budgets({ budgets }: { budgets: readonly BudgetUse[] }) {
  const heads = [{ label: 'Budget' }, { label: 'Used', number: true }, { label: 'Part', number: true }];
  return (
    <Card title="Budgets">
      {budgets.length === 0 ? (
        <Empty>No budgets in open months.</Empty>
      ) : (
        <Table label="Budgets" heads={heads}>
          {budgets.map((budget) => {
            const { workspace_id, tenant_id, period, used_percent } = budget;
            const href =
              tenant_id === null
                ? linkTo('/tenants', { workspace: workspace_id, period })
                : linkTo(tenantLink(workspace_id, tenant_id), { period });
            return (
              <tr key={JSON.stringify([workspace_id, tenant_id, period, budget.currency])}>
                <th scope="row">
                  <a href={href}>{tenant_id ?? workspace_id}</a>
                  <small>{tenant_id === null ? monthName(period) : `${workspace_id}, ${monthName(period)}`}</small>
                </th>
                <td class="number">
                  {useText(budget)[0]}
                  <small>of {useText(budget)[1]}</small>
                </td>
                <td class="number">
                  {used_percent === null ? (
                    ''
                  ) : (
                    <Badge tone={used_percent >= 100 ? 'bad' : used_percent >= 80 ? 'odd' : 'good'}>
                      {Math.floor(used_percent)}%
                    </Badge>
                  )}
                </td>
              </tr>
            );
          })}
        </Table>
      )}
    </Card>
  );
}

/** Formats the used part of a budget and the whole budget. */
function useText({ budget_minor, used_minor, currency, credits_used, budget_credits }: BudgetUse): [string, string] {
  if (budget_minor !== null && currency !== null) {
    const used = used_minor === null ? 'no price' : amountText(used_minor, currency);
    return [used, `${amountText(budget_minor, currency)} ${currency}`];
  }
  return [formatInteger(credits_used ?? 0n), `${formatInteger(budget_credits ?? 0n)} credits`];
}
