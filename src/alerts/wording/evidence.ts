/** What stands behind an alert, field by field as receivers get it. Credits are exact integers. */
export interface Evidence {
  threshold: ThresholdEvidence | null;
  /** Of an open period: the credits it comes to, by the tenant's own past where the rule looks at it, else at the rate so far. */
  projection: {
    credits: bigint;
    /** Between these, by its own past; null where that says nothing, absent in notifications of before. */
    low_credits?: bigint | null;
    high_credits?: bigint | null;
    elapsed_fraction: number;
  } | null;
  /** The tenant's part of what the workspace as a whole has grown by, in percent; null unless both grew. */
  share_of_increase_percent: number | null;
  /** The tenant's part of what the workspace has used in the period, in percent. */
  share_of_workspace_percent: number | null;
  /** Credits by which the period differs from what it is compared with; of an open one, what that comes to. */
  at_stake_credits: bigint | null;
  /** What these credits cost by the rate card of the period; null where no card prices the tenant. */
  at_stake_money: StakeMoney | null;
  /** The tenant's days; null for alerts about the workspace or ourselves. */
  course: Course | null;
  /** The change of credits in two parts: more requests at the old rate, and the change of the rate. */
  split: { volume_credits: bigint; intensity_credits: bigint } | null;
  entries: EvidenceEntry[];
  /** How many entries there are in all. */
  entry_count: number;
  /** Up to what growth was planned at most, when it has gone beyond; null without such a plan. */
  planned_credits: bigint | null;
  /** The bounds of all plans that it has gone beyond, the lowest first. */
  planned_bounds: bigint[];
  /** The tenants of an incident, those with the most credits at stake first; null for other rules. */
  tenants: string[] | null;
  tenant_count: number | null;
  /** Whose new id the tenant probably is; null when nobody's. */
  former_tenant: FormerTenant | null;
  /** What went wrong, for alerts about ourselves. */
  detail: string | null;
}

export interface FormerTenant {
  tenant_id: string;
  /** Credits a day: what the former one used in its last four weeks, and the new one since its first. */
  daily_credits: bigint;
  new_daily_credits: bigint;
  /** ISO. */
  last_day: string;
}

export interface StakeMoney {
  /** A plain decimal of the currency. */
  amount: string;
  amount_minor: bigint;
  currency: string;
}

export interface ThresholdEvidence {
  credits: bigint;
  baseline_credits: bigint;
  baseline_periods: string[];
  ratio: number;
  min_credits: number;
  min_increase: number | null;
  per_day: boolean;
}

export interface EvidenceEntry {
  entry_id: number;
  run_id: string;
  period: string;
  credits_delta: bigint;
  credits_after: bigint;
}

/** How a tenant used its credits day by day, in a period and the one before, and what that says; as receivers get it. */
export interface Course {
  /** The day from which on the daily rate was another one, `YYYY-MM-DD`; null when no day stands out. */
  since: string | null;
  /** Credits a day before `since`; without one, over the whole period before. Null when that is not known. */
  usual_daily_credits: bigint | null;
  /** Credits a day from `since` on; without one, over the period so far. */
  recent_daily_credits: bigint | null;
  /** What the period before had come to at the same point; null when nobody looked then. */
  previous_same_point: bigint | null;
  /** Credits used by the end of each day, the last one the newest reading; null for days on which nobody looked. */
  days: { previous: (bigint | null)[]; current: (bigint | null)[] };
}
