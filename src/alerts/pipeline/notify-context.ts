import type { CreditPricer } from '../../ledger/journal/charges/credit-pricer.ts';
import type { EvaluationContext } from '../state/alert-change.ts';
import type { ChannelRoute } from './route.ts';

/** The context of an evaluation that also notifies channels. */
export interface NotifyContext extends EvaluationContext {
  runId: string | null;
  /** True if the workspace is being retired: its open alerts end because the workspace is no longer read. */
  ending?: boolean;
  /** The channels that are notified. */
  routes: readonly ChannelRoute[];
  /** Prices credits; absent or null if no amounts of money are shown. */
  priceOf?: CreditPricer | null;
}
