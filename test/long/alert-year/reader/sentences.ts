import { periodIndex } from '../../../../src/core/period.ts';
import { DAY_MS } from '../calendar.ts';
import { isDrop, silenceOf, thresholdOf } from '../oracle/month-rules.ts';
import { boundsOf } from '../oracle/seen.ts';
import {
  beside,
  changeAfter,
  driver,
  foretold,
  isSo,
  lostIn,
  near,
  none,
  of,
  overIt,
  reason,
  type Sentence,
  same,
  subject,
  subjectOnly,
  truth4Days,
  used,
} from './checks.ts';
import { dayOf, monthOf, nameOf, numberOf } from './words.ts';

const JUMPS = ['jump', 'workspace_jump'];
const ANY: readonly string[] = [];

export const SENTENCES: readonly Sentence[] = [
  of([...JUMPS, 'drop'], '{who} used {n} credits in {month:m}; {base:m} was {was:n}\\.', (read) => [
    ...subject(read),
    ...beside(read),
  ]),
  of(JUMPS, 'Limit: {limit:n}(?: \\({reason:text}\\))?(?:, passed by {day:d})?\\.', (read) => {
    const { truth, tenant, month, said, atMs } = read;
    const limit = truth.limit(tenant, month);
    const day = said.day === undefined ? null : dayOf(said.day, atMs);
    return [
      same('the limit', numberOf(said.limit), limit),
      ...overIt(read),
      ...reason(read, said.reason),
      day === null ? null : same('its month', day.month, month),
      day === null ? null : same('the day by which it was passed', day.day, truth.reachedBy(tenant, month, limit ?? 0)),
    ];
  }),
  of(ANY, '{month:m} has settled\\.', ({ truth, said, month, atMs }) => [
    same('the month', monthOf(said.month, atMs), month),
    isSo('it has settled', truth.hasSettled(month)),
  ]),
  of(ANY, 'Forecast for {month:m}: {low:n}(?: to {high:n})? \\({elapsed:text}\\)\\.', (read) => [
    same('the month', monthOf(read.said.month, read.atMs), read.month),
    ...foretold(read),
  ]),
  of(
    JUMPS,
    '{who} will probably pass its {month:m} limit: forecast {low:n}(?: to {high:n})?, limit {limit:n} \\({elapsed:text}\\)\\.',
    (read) => [
      ...subjectOnly(read),
      ...foretold(read),
      same('the limit', numberOf(read.said.limit), read.truth.limit(read.tenant, read.month)),
      isSo('it is still below it', read.truth.credits(read.tenant, read.month) < numberOf(read.said.limit)),
      isSo('its forecast reaches it', numberOf(read.said.high ?? read.said.low) >= numberOf(read.said.limit)),
    ],
  ),
  of(JUMPS, 'So far it used {n} credits; {base:m} was {was:n}(?: \\(the limit is {reason:text}\\))?\\.', (read) => [
    ...used(read),
    ...beside(read),
    ...reason(read, read.said.reason),
  ]),
  of(
    JUMPS,
    'Cause: (?:{number:text} requests \\({volume:s} credits\\)(?:, and )?)?(?:each request costs {cost:text} \\({each:s} credits\\))?\\.',
    driver,
  ),
  of(['workspace_jump'], 'Largest increases: {largest:text}\\.', ({ truth, month, word, said }) => {
    const largest = [...(said.largest ?? '').matchAll(/(\S+) (\S+)(?: so far)? \(\w+(?: \d{4})? (\S+)\)(?:, |$)/g)];
    const comes = (word.evidence.projection?.credits ?? truth.credits(null, month)) / truth.credits(null, month);
    const more = (id: string) => truth.credits(id, month) * Math.max(1, comes) - truth.credits(id, month - 1);
    const all = [...truth.seen.tenants.keys()]
      .map(more)
      .filter((credits) => credits > 0)
      .sort((a, b) => b - a);
    return [
      same('so many', largest.length, Math.min(5, all.length)),
      ...largest.flatMap(([, id = '', now, was], place) => [
        same(`what ${id} used`, numberOf(now), truth.credits(nameOf(id), month)),
        same(`what ${id} used before`, numberOf(was), truth.credits(nameOf(id), month - 1)),
        near(`its place`, more(nameOf(id)), all[place] ?? 0),
      ]),
    ];
  }),
  of(
    ['workspace_jump'],
    'More than half of its tenants (?:have reached|{open:text} reach) at least {times:n} times their {base:m}; only larger growth is reported by tenant\\.',
    ({ truth, month, said, atMs }) => {
      const middle = truth.middleGrowth(month);
      const most = truth.isOver(month) ? middle : middle * 2 * truth.timesLeft(month);
      const times = numberOf(said.times);
      return [
        same('the month before', monthOf(said.base, atMs), month - 1),
        same('the month is open', said.open !== undefined, !truth.isOver(month)),
        isSo('so many have', times <= most && times >= Math.floor(middle * 10) / 10),
      ];
    },
  ),
  of(
    JUMPS,
    'It is judged by the first {days:n} days that were read, of {daily:n} credits each\\.',
    ({ truth, tenant, said }) => {
      const [firstMs = 0] = truth.seen.runsMs;
      const days = numberOf(said.days);
      const own = truth.seen.tenants.get(tenant ?? '');
      const all = own === undefined ? null : truth.seen.used(own, firstMs, firstMs + days * DAY_MS);
      return [isSo('they were two weeks', days >= 14), near('credits a day', numberOf(said.daily), (all ?? 0) / days)];
    },
  ),
  of(ANY, 'Planned was growth up to {bounds:text}\\.', ({ truth, tenant, month, said }) => {
    const bounds = (said.bounds ?? '').split(/, | and /).map(numberOf);
    const plans = truth.order.plansOf(tenant ?? '', month);
    return bounds.flatMap((bound) => [
      isSo(`a plan up to ${bound}`, plans.includes(bound)),
      isSo(`it is beyond ${bound}`, truth.credits(tenant, month) > bound),
    ]);
  }),
  of(ANY, 'The forecast has grown since the last message\\.', ({ word, before }) => {
    const earlier = before.at(-1)?.evidence.projection?.credits;
    return [isSo('it was lower then', (word.evidence.projection?.credits ?? 0) > (earlier ?? Number.NaN))];
  }),
  of(ANY, '(?:It|{difference}) has grown since the last message\\.', ({ word, before, said }) => [
    isSo('it was told before', before.length > 0 && word.event === 'grown'),
    same('what has grown', said.difference !== undefined, word.rule === 'restatement'),
    isSo('it is no loss', word.rule !== 'regression'),
  ]),
  of(['regression'], 'More has been lost since the last message\\.', ({ before, word }) => [
    isSo('it was less then', lostIn(before.at(-1)) < lostIn(word)),
  ]),
  of(ANY, 'It had ended and holds again\\.', ({ before }) => [
    isSo('its end was told', before.at(-1)?.type === 'alert.resolved'),
  ]),
  of(JUMPS, 'Correction: by the current figures and limit it has not happened\\.', (read) => [
    isSo('the last message said so', ['happened', 'settled'].includes(read.before.at(-1)?.level ?? '')),
    isSo(
      'it has not happened',
      read.truth.credits(read.tenant, read.month) < (read.truth.limit(read.tenant, read.month) ?? 0),
    ),
  ]),
  of(ANY, 'Figures as of {day:d}\\.', ({ truth, said, atMs }) => {
    const { month, day } = dayOf(said.day, atMs);
    return [same('the day', boundsOf(month)[0] + (day - 1) * DAY_MS, Math.floor(truth.nowMs / DAY_MS) * DAY_MS)];
  }),

  // Ends of jumps.
  of(
    JUMPS,
    '{who} is under its {month:m} limit of {limit:n}(?: \\({reason:text}\\))?: {n} credits; {base:m} was {was:n}\\.',
    (read) => [
      ...subject(read),
      ...beside(read),
      ...reason(read, read.said.reason),
      same('the limit', numberOf(read.said.limit), read.truth.limit(read.tenant, read.month)),
      isSo('it is under it', read.truth.credits(read.tenant, read.month) < numberOf(read.said.limit)),
    ],
  ),
  of(
    JUMPS,
    '{who} will probably stay under its {month:m} limit of {limit:n}, forecast {low:n}(?: to {high:n})? \\({elapsed:text}\\)\\.',
    (read) => [
      ...subjectOnly(read),
      ...foretold(read),
      same('the limit', numberOf(read.said.limit), read.truth.limit(read.tenant, read.month)),
      isSo('it may stay under it', numberOf(read.said.low) < numberOf(read.said.limit)),
    ],
  ),
  of(
    JUMPS,
    '{who} will probably use no more in {month:m}, forecast {low:n}(?: to {high:n})? \\({elapsed:text}\\); {base:m} was {was:n}\\.',
    (read) => [
      ...subjectOnly(read),
      ...foretold(read),
      ...beside(read),
      isSo('it may come to no more', numberOf(read.said.low) <= numberOf(read.said.was)),
    ],
  ),
  of(
    JUMPS,
    '{who} may stay under its {month:m} limit of {limit:n}(?:, forecast {low:n}(?: to {high:n})? \\({elapsed:text}\\))?\\.',
    (read) => [
      ...subjectOnly(read),
      same('the limit', numberOf(read.said.limit), read.truth.limit(read.tenant, read.month)),
      isSo('it is below it', read.truth.credits(read.tenant, read.month) < numberOf(read.said.limit)),
    ],
  ),
  of(JUMPS, '{who} used {n} credits in {month:m}, which is no growth: {base:m} was {was:n}\\.', (read) => [
    ...subject(read),
    ...beside(read),
    isSo('it is no more', numberOf(read.said.n) <= numberOf(read.said.was)),
  ]),
  of(
    JUMPS,
    '{who} no longer has a limit in {month:m}: no earlier month is left to compare its {n} credits with\\.',
    (read) => [...subject(read), same('the limit', null, read.truth.limit(read.tenant, read.month))],
  ),

  // Falls.
  of(
    ['drop'],
    '{who} has used nothing for {days:n} days, longer than it paused in the four weeks before: {n} credits in {month:m}; {base:m} was {was:n}\\.',
    (read) => {
      const { truth, tenant, month, said } = read;
      const own = truth.seen.tenants.get(tenant ?? '');
      const silence = own === undefined ? null : silenceOf(truth.seen, own, month);
      const days = silence === null ? Number.NaN : Math.round((truth.nowMs - silence.sinceMs) / DAY_MS);
      return [...subject(read), ...beside(read), same('the days', numberOf(said.days), days)];
    },
  ),
  of(
    ['drop'],
    '(?:Down {less:n}% \\()?(?:Alerts|alerts) at {most:n} or less\\)?\\.',
    ({ truth, tenant, month, said }) => {
      const [now, was] = [truth.credits(tenant, month), truth.credits(tenant, month - 1)];
      const [most, order] = [numberOf(said.most), truth.order];
      return [
        said.less === undefined ? null : near('the part', numberOf(said.less), ((was - now) / was) * 100, 0.06),
        isSo('no part is more than all of it', said.less === undefined || numberOf(said.less) <= 100),
        isSo('so much is a fall', thresholdOf(most, order) <= was && thresholdOf(most + 1, order) > was && now <= most),
      ];
    },
  ),
  of(['drop'], '{who} uses credits again; it {tense:text} {n} credits in {month:m}\\.', (read) => [
    ...subject(read),
    same('the tense', read.said.tense, read.truth.isOver(read.month) ? 'had' : 'has'),
    isSo('what changed last was use', (changeAfter(read)?.by ?? 0) > 0),
    isSo('it was lately', truth4Days(read)),
  ]),
  of(['drop'], '{who} is no longer reported as stopped; it {tense:text} {n} credits in {month:m}\\.', (read) => [
    ...subject(read),
    same('the tense', read.said.tense, read.truth.isOver(read.month) ? 'had' : 'has'),
    isSo('it has used none', (changeAfter(read)?.by ?? 0) <= 0),
  ]),
  of(['drop'], '{who} is no longer reported as a drop: {n} credits in {month:m}; {base:m} was {was:n}\\.', (read) => {
    const own = read.truth.seen.tenants.get(read.tenant ?? '');
    return [
      ...subject(read),
      ...beside(read),
      isSo('it is no fall', own === undefined || !isDrop(read.truth.seen, own, read.month, read.truth.order)),
    ];
  }),

  // New spend.
  of(
    ['new_spend'],
    '{who} is (?:new|back after its last credits in {last:m}): {n} credits in {month:m}, none in {base:m}\\.',
    (read) => {
      const { truth, tenant, month, said, atMs } = read;
      const months = [...(truth.seen.tenants.get(tenant ?? '')?.months.keys() ?? [])];
      const used = months.filter((each) => each < month && truth.credits(tenant, each) > 0);
      const last = used.length === 0 ? null : Math.max(...used);
      const named = said.last === undefined ? null : monthOf(said.last, atMs);
      return [...subject(read), ...none(read), same('its last use', named, last)];
    },
  ),
  of(
    ['new_spend'],
    '{who} is probably the new id of {former:who}, which used {daily:n} credits a day and has used nothing since {day:d}\\.',
    (read) => {
      const { truth, said, atMs, month } = read;
      const former = truth.seen.tenants.get(nameOf(said.former));
      const last = former === undefined ? null : truth.lastChange(former.id, former.first, month);
      const { month: lastMonth, day } = dayOf(said.day, atMs);
      const daily =
        former === undefined || last === null
          ? 0
          : (truth.seen.used(former, last.atMs - 28 * DAY_MS, last.atMs) ?? 0) / 28;
      return [
        same('the name', nameOf(said.who), read.tenant),
        same('the day', boundsOf(lastMonth)[0] + (day - 1) * DAY_MS, Math.floor((last?.atMs ?? 0) / DAY_MS) * DAY_MS),
        near('its credits a day', numberOf(said.daily), daily, daily * 0.04),
      ];
    },
  ),
  of(
    ['new_spend'],
    '{who} has used {daily:n} a day since it began: {n} credits in {month:m}, none in {base:m}\\.',
    (read) => [...subject(read), ...none(read)],
  ),
  of(
    ['new_spend'],
    'It is not the new id of another tenant: that one uses credits again\\.',
    ({ before, truth, month }) => {
      const named = before
        .map(({ summary }) => /new id of ("(?:\\.|[^"\\])*"|[^\s,]+),/.exec(summary)?.[1])
        .findLast((id) => id !== undefined);
      const last = named === undefined ? null : truth.lastChange(nameOf(named), month - 1, month + 1);
      return [
        isSo('that one has used some lately', last !== null && last.by > 0 && truth.nowMs - last.atMs < 4 * DAY_MS),
      ];
    },
  ),
  of(['new_spend'], 'Limit for new tenants: {limit:n}\\.', (read) => [
    same('the limit', numberOf(read.said.limit), read.truth.order.minCredits),
    ...overIt(read),
  ]),
  of(['new_spend'], '{who} has {n} credits in {month:m}, under the limit of {limit:n} for new tenants\\.', (read) => [
    ...subject(read),
    isSo('it is under it', numberOf(read.said.n) < numberOf(read.said.limit)),
  ]),
  of(['new_spend'], '{who} has {n} credits in {month:m}, and had credits in {base:m} after all\\.', (read) => [
    ...subject(read),
    isSo('it had some', read.truth.credits(read.tenant, read.month - 1) > 0),
  ]),

  // Corrections.
  of(['regression'], '{who} lost {lost:n} credits of {month:m}: {n} now, {was:n} without the loss\\.', (read) => {
    const { truth, tenant, month, said } = read;
    const falls = truth.changes(tenant ?? '', month).flatMap(({ by }) => (by < 0 ? [-by] : []));
    const sums = falls.map((_, from) => falls.slice(from).reduce((sum, fall) => sum + fall, 0));
    return [
      ...subject(read),
      isSo('so much was lost', falls.concat(sums).includes(numberOf(said.lost))),
      same('what it was without', numberOf(said.was), truth.credits(tenant, month) + numberOf(said.lost)),
    ];
  }),
  of(['regression'], 'The credits of {month:m} that {who} had lost are back: {n} now\\.', (read) => {
    const changes = read.truth.changes(read.tenant ?? '', read.month);
    const fell = changes.findLastIndex(({ by }) => by < 0);
    const lost = lostIn(read.before.at(-1));
    return [
      ...subject(read),
      isSo(
        'they came back',
        changes.slice(fell + 1).some(({ by }) => by * 10 >= lost * 9),
      ),
    ];
  }),
  of(['regression'], '{month:m} has settled at {n} credits, without the {lost:n} that {who} had lost\\.', (read) => [
    ...subject(read),
    isSo('it has settled', read.truth.hasSettled(read.month)),
    same('what was lost', numberOf(read.said.lost), lostIn(read.before.at(-1))),
  ]),
  of(
    ['restatement'],
    '{month:m} of {who} changed: {n} credits now, {was:n} when it {how:text} \\({by:s}\\)\\.',
    (read) => {
      const { truth, tenant, month, said } = read;
      const how = said.how === 'was closed' ? 'closed' : 'settled';
      const was = truth.stated(tenant ?? '', month, how);
      return [
        ...subject(read),
        same('what it was then', numberOf(said.was), was),
        same('the difference', numberOf(said.by), truth.credits(tenant, month) - (was ?? 0)),
      ];
    },
  ),
  // True also of a month that was reopened.
  of(['restatement'], 'While {month:m} is closed, the difference is booked as an adjustment\\.', () => []),
  of(['restatement'], '{month:m} is not closed\\.', ({ truth, month }) => [
    same('it is closed', false, truth.isClosed(month)),
  ]),
  of(['restatement'], '{month:m} of {who} is as it was before: {n} credits\\.', (read) => [
    ...subject(read),
    isSo(
      'it is',
      ['closed' as const, 'settled' as const].some(
        (how) => read.truth.stated(read.tenant ?? '', read.month, how) === numberOf(read.said.n),
      ),
    ),
  ]),
  of(
    ['restatement'],
    '{month:m} of {who} is no longer reported as changed: {n} credits now, {was:n} before \\({by:s}\\)\\.',
    (read) => [
      ...subject(read),
      same('the difference', numberOf(read.said.by), numberOf(read.said.n) - numberOf(read.said.was)),
    ],
  ),
  of(['withdrawn'], '{who} is no longer listed in {month:m}; it had {was:n} credits\\.', (read) => {
    const { truth, tenant, month, said } = read;
    return [
      ...subjectOnly(read),
      isSo('it is not listed', truth.isWithdrawn(tenant ?? '', month)),
      same('what it had', numberOf(said.was), -(truth.changes(tenant ?? '', month).at(-1)?.by ?? 0)),
    ];
  }),
  of(['withdrawn'], '{who} is listed again in {month:m}, with {n} credits\\.', (read) => [
    ...subject(read),
    isSo('it is listed', !read.truth.isWithdrawn(read.tenant ?? '', read.month)),
  ]),

  // Ends of all rules.
  of(ANY, 'Closed: {month:m} has left the alert window \\({title:text} of {who}\\)\\.', (read) => {
    const current = periodIndex(new Date(read.atMs).toISOString().slice(0, 7));
    return [...subjectOnly(read), isSo('it is not', read.month < current - read.truth.order.lookback)];
  }),
];
