import { periodIndex } from '../../../../src/core/period.ts';
import { DAY_MS } from '../calendar.ts';
import { isDrop, silenceOf, thresholdOf } from '../oracle/month-rules.ts';
import { boundsOf } from '../oracle/seen.ts';
import {
  beside,
  causes,
  changeAfter,
  changed,
  foretold,
  isSo,
  lostIn,
  named,
  near,
  none,
  of,
  overIt,
  type Read,
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
/** Begins a title: `acme (prod): `, or `prod: ` for a workspace. */
const WHO = '{who}(?: \\({place:who}\\))?: ';
const FORECAST = '{low:n}(?: to {high:n})?';

const limitOf = (read: Read) => same('the limit', numberOf(read.said.limit), read.truth.limit(read.tenant, read.month));
const isOlder = ({ said, month, atMs }: Read) => same('the month', monthOf(said.month, atMs), month);

/** The titles and sentences that docs/alert-rules.md defines, each with its checks. */
export const SENTENCES: readonly Sentence[] = [
  // Jumps.
  of(JUMPS, `${WHO}{month:m} forecast ${FORECAST} credits, limit {limit:n}\\.`, (read) => [
    ...subjectOnly(read),
    ...foretold(read),
    limitOf(read),
    isSo('it is still below it', read.truth.credits(read.tenant, read.month) < numberOf(read.said.limit)),
    isSo('its forecast reaches it', numberOf(read.said.high ?? read.said.low) >= numberOf(read.said.limit)),
  ]),
  of(JUMPS, `${WHO}{n} credits in {month:m}, limit {limit:n}\\.`, (read) => [
    ...subject(read),
    limitOf(read),
    ...overIt(read),
  ]),
  of(JUMPS, '{n} so far, {times:n}x the same point in {base:m}\\.', (read) => {
    const { truth, tenant, month, said, atMs } = read;
    const then = truth.creditsAt(tenant, month - 1, boundsOf(month - 1)[0] + truth.nowMs - boundsOf(month)[0]);
    const times = truth.credits(tenant, month) / then;
    return [
      ...used(read),
      same('the month before', monthOf(said.base, atMs), month - 1),
      near('how many times', numberOf(said.times), times, Math.max(0.06, times * 0.1)),
    ];
  }),
  of(JUMPS, '{n} so far\\.', used),
  of(JUMPS, 'Limit passed by {day:d}\\.', ({ truth, tenant, month, said, atMs }) => {
    const day = dayOf(said.day, atMs);
    const limit = truth.limit(tenant, month) ?? 0;
    return [same('its month', day.month, month), same('the day', day.day, truth.reachedBy(tenant, month, limit))];
  }),
  of(ANY, '{base:m}: {was:n}\\.', beside),
  of(ANY, `Forecast: ${FORECAST}\\.`, foretold),
  of(ANY, 'Since {day:d}: {now:n} a day, before: {was:n}\\.', changed),
  of(ANY, '{month:m} has settled\\.', (read) => [
    isOlder(read),
    isSo('it has settled', read.truth.hasSettled(read.month)),
  ]),
  of(
    JUMPS,
    'The limit follows from the first {days:n} days of readings, with {daily:n} credits a day\\.',
    ({ truth, tenant, said }) => {
      const [firstMs = 0] = truth.seen.runsMs;
      const days = numberOf(said.days);
      const own = truth.seen.tenants.get(tenant ?? '');
      const all = own === undefined ? null : truth.seen.used(own, firstMs, firstMs + days * DAY_MS);
      return [isSo('they were two weeks', days >= 14), near('credits a day', numberOf(said.daily), (all ?? 0) / days)];
    },
  ),
  of(ANY, 'Planned: up to {bounds:text}\\.', ({ truth, tenant, month, said }) => {
    const bounds = (said.bounds ?? '').split(/, | and /).map(numberOf);
    const plans = truth.order.plansOf(tenant ?? '', month);
    return bounds.flatMap((bound) => [
      isSo(`a plan up to ${bound}`, plans.includes(bound)),
      isSo(`it is beyond ${bound}`, truth.credits(tenant, month) > bound),
    ]);
  }),
  of(JUMPS, 'More requests, and each costs more\\.', (read) => causes(read, ['requests', 'each'])),
  of(JUMPS, 'More requests\\.', (read) => causes(read, ['requests'])),
  of(JUMPS, 'Each request costs more\\.', (read) => causes(read, ['each'])),
  of(['workspace_jump'], 'Largest increases: {largest:text}\\.', ({ truth, month, word, said }) => {
    const largest = [...(said.largest ?? '').matchAll(/(\S+) ([+-][\d,]+)(?:, |$)/g)];
    const comes = (word.evidence.projection?.credits ?? truth.credits(null, month)) / truth.credits(null, month);
    const more = (id: string) => truth.credits(id, month) * Math.max(1, comes) - truth.credits(id, month - 1);
    const all = [...truth.seen.tenants.keys()]
      .map(more)
      .filter((credits) => credits > 0)
      .sort((a, b) => b - a);
    return [
      same('so many', largest.length, Math.min(3, all.length)),
      ...largest.flatMap(([, id = '', by], place) => [
        near(`the increase of ${id}`, numberOf(by), more(nameOf(id))),
        near(`its place`, more(nameOf(id)), all[place] ?? 0),
      ]),
    ];
  }),
  of(
    ['workspace_jump'],
    'More than half of its tenants (?:have reached|{open:text} reach) at least {times:n}x {base:m}\\.',
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

  // The difference from earlier messages.
  of(ANY, '(?:Grown|{difference}) since the last message\\.', ({ word, before, said }) => [
    isSo('it was told before', before.length > 0 && word.event === 'grown'),
    same('what has grown', said.difference !== undefined, word.rule === 'restatement'),
    isSo('it is no loss', word.rule !== 'regression'),
    word.level !== 'likely' || word.evidence.projection === null
      ? null
      : isSo(
          'its forecast was lower',
          word.evidence.projection.credits > (before.at(-1)?.evidence.projection?.credits ?? Number.NaN),
        ),
  ]),
  of(['regression'], 'More has been lost since the last message\\.', ({ before, word }) => [
    isSo('it was less then', lostIn(before.at(-1)) < lostIn(word)),
  ]),
  of(ANY, 'It had ended and holds again\\.', ({ before }) => [
    isSo('its end was told', before.at(-1)?.type === 'alert.resolved'),
  ]),
  of(ANY, 'Corrected since the last message\\.', ({ word }) => [same('the event', word.event, 'eased')]),
  of(JUMPS, 'Corrected: now it is only a forecast again\\.', (read) => [
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

  // Falls.
  of(['drop'], `${WHO}no usage for {days:n} days\\.`, (read) => {
    const { truth, tenant, month, said } = read;
    const own = truth.seen.tenants.get(tenant ?? '');
    const silence = own === undefined ? null : silenceOf(truth.seen, own, month);
    const days = silence === null ? Number.NaN : Math.round((truth.nowMs - silence.sinceMs) / DAY_MS);
    return [...named(read), same('the days', numberOf(said.days), days)];
  }),
  of(['drop'], 'Longer than any pause in the four weeks before\\.', ({ truth, tenant, month }) => {
    const own = truth.seen.tenants.get(tenant ?? '');
    return [isSo('it is silent', own !== undefined && silenceOf(truth.seen, own, month) !== null)];
  }),
  of(['drop'], '{month:m} so far: {n}\\.', (read) => [isOlder(read), ...used(read)]),
  of(['drop'], `${WHO}{n} credits in {month:m}(?:, down {less:n}%)?\\.`, (read) => {
    const { truth, tenant, month, said } = read;
    const [now, was] = [truth.credits(tenant, month), truth.credits(tenant, month - 1)];
    return [
      ...subject(read),
      said.less === undefined ? null : near('the part', numberOf(said.less), ((was - now) / was) * 100, 0.06),
      isSo('no part is more than all of it', said.less === undefined || numberOf(said.less) <= 100),
    ];
  }),
  of(['drop'], 'Alerts at {most:n} or less\\.', ({ truth, tenant, month, said }) => {
    const [now, was] = [truth.credits(tenant, month), truth.credits(tenant, month - 1)];
    const [most, order] = [numberOf(said.most), truth.order];
    return [
      isSo('so much is a fall', thresholdOf(most, order) <= was && thresholdOf(most + 1, order) > was && now <= most),
    ];
  }),

  // New spend.
  of(['new_spend'], `${WHO}(?:new|{back}), {n} credits in {month:m}, limit {limit:n}\\.`, (read) => [
    ...subject(read),
    same('it is back', read.said.back !== undefined, lastUse(read) !== null),
    same('the limit', numberOf(read.said.limit), read.truth.order.minCredits),
    ...overIt(read),
    same('nothing in the month before', read.truth.credits(read.tenant, read.month - 1), 0),
  ]),
  of(['new_spend'], 'Last credits in {last:m}\\.', (read) => [
    same('its last use', monthOf(read.said.last, read.atMs), lastUse(read)),
  ]),
  of(['new_spend'], `${WHO}probably the new id of {former:who}, {n} credits in {month:m}\\.`, (read) => [
    ...subject(read),
    isSo('that one is known', read.truth.seen.tenants.has(nameOf(read.said.former))),
    same('nothing in the month before', read.truth.credits(read.tenant, read.month - 1), 0),
  ]),
  of(['new_spend'], '{former:who}: {daily:n} a day, nothing since {day:d}\\.', ({ truth, said, atMs, month }) => {
    const former = truth.seen.tenants.get(nameOf(said.former));
    const last = former === undefined ? null : truth.lastChange(former.id, former.first, month);
    const { month: lastMonth, day } = dayOf(said.day, atMs);
    const daily =
      former === undefined || last === null
        ? 0
        : (truth.seen.used(former, last.atMs - 28 * DAY_MS, last.atMs) ?? 0) / 28;
    return [
      same('the day', boundsOf(lastMonth)[0] + (day - 1) * DAY_MS, Math.floor((last?.atMs ?? 0) / DAY_MS) * DAY_MS),
      near('its credits a day', numberOf(said.daily), daily, daily * 0.04),
    ];
  }),
  of(['new_spend'], '{self:who}: {daily:n} a day since it began\\.', ({ said, tenant }) => [
    same('the name', nameOf(said.self), tenant),
  ]),
  of(['new_spend'], 'Not the new id of another tenant: that one uses credits again\\.', ({ before, truth, month }) => {
    const named = before
      .map(({ summary }) => /new id of ("(?:\\.|[^"\\])*"|[^\s,]+),/.exec(summary)?.[1])
      .findLast((id) => id !== undefined);
    const last = named === undefined ? null : truth.lastChange(nameOf(named), month - 1, month + 1);
    return [
      isSo('that one has used some lately', last !== null && last.by > 0 && truth.nowMs - last.atMs < 4 * DAY_MS),
    ];
  }),

  // Corrections.
  of(['regression'], `${WHO}lost {lost:n} credits of {month:m}, {n} left\\.`, (read) => {
    const { truth, tenant, month, said } = read;
    const falls = truth.changes(tenant ?? '', month).flatMap(({ by }) => (by < 0 ? [-by] : []));
    const sums = falls.map((_, from) => falls.slice(from).reduce((sum, fall) => sum + fall, 0));
    return [...subject(read), isSo('so much was lost', falls.concat(sums).includes(numberOf(said.lost)))];
  }),
  of(['regression'], '{was:n} without the loss\\.', ({ truth, tenant, month, said, word }) => [
    same('what it was without', numberOf(said.was), truth.credits(tenant, month) + lostIn(word)),
  ]),
  of(['restatement'], `${WHO}{how:text} {month:m} changed by {by:s} to {n} credits\\.`, (read) => {
    const { truth, tenant, month, said } = read;
    const was = said.how === 'closed' || said.how === 'settled' ? truth.stated(tenant ?? '', month, said.how) : null;
    return [...subject(read), same('the difference', numberOf(said.by), truth.credits(tenant, month) - (was ?? 0))];
  }),
  of(['restatement'], '{was:n} when it (?:was|had) {how:text}\\.', ({ truth, tenant, month, said }) => {
    const was = said.how === 'closed' || said.how === 'settled' ? truth.stated(tenant ?? '', month, said.how) : null;
    return [same('what it was then', numberOf(said.was), was)];
  }),
  // True also of a month that was reopened.
  of(['restatement'], 'While {month:m} is closed, the difference is booked as an adjustment\\.', () => []),
  of(['restatement'], '{month:m} is not closed\\.', ({ truth, month }) => [
    same('it is closed', false, truth.isClosed(month)),
  ]),
  of(['withdrawn'], `${WHO}no longer listed in {month:m}, it had {was:n} credits\\.`, (read) => {
    const { truth, tenant, month, said } = read;
    return [
      ...subjectOnly(read),
      isSo('it is not listed', truth.isWithdrawn(tenant ?? '', month)),
      same('what it had', numberOf(said.was), -(truth.changes(tenant ?? '', month).at(-1)?.by ?? 0)),
    ];
  }),
  of(['regression'], `${WHO}lost credits of {month:m} are back, {n} credits\\.`, (read) => {
    const last = read.truth.changes(read.tenant ?? '', read.month).at(-1);
    return [...subject(read), isSo('they are back', last !== undefined && last.by > 0)];
  }),
  of(['restatement'], `${WHO}{how:text} {month:m} is unchanged again, {n} credits\\.`, (read) => {
    const { truth, tenant, month, said } = read;
    const was = said.how === 'closed' || said.how === 'settled' ? truth.stated(tenant ?? '', month, said.how) : null;
    return [...subject(read), same('the figure of then', truth.credits(tenant, month), was)];
  }),
  of(['withdrawn'], `${WHO}listed again in {month:m}, {n} credits\\.`, (read) => [
    ...subject(read),
    isSo('it is listed', !read.truth.isWithdrawn(read.tenant ?? '', read.month)),
  ]),
  of(
    ['regression', 'restatement', 'withdrawn'],
    '(?:They were lost|It changed|It was missing) more than once, so the alert ends after a week without a change\\.',
    () => [],
  ),

  // Ends.
  of(JUMPS, `${WHO}{month:m} jump closed, forecast ${FORECAST} credits, limit {limit:n}\\.`, (read) => [
    ...subjectOnly(read),
    ...foretold(read),
    limitOf(read),
  ]),
  of(JUMPS, `${WHO}{month:m} jump closed, {n} credits(?:, limit {limit:n})?\\.`, (read) => [
    ...subject(read),
    read.said.limit === undefined ? null : limitOf(read),
  ]),
  of(['new_spend'], `${WHO}{month:m} new spend closed, {n} credits, limit {limit:n}\\.`, (read) => [
    ...subject(read),
    same('the limit', numberOf(read.said.limit), read.truth.order.minCredits),
  ]),
  of(ANY, `${WHO}{month:m} {title:text} closed(?:, {n} credits)?\\.`, (read) => [
    ...subjectOnly(read),
    ...(read.said.n === undefined ? [] : used(read)),
  ]),
  of(JUMPS, 'Under the limit\\.', (read) => [
    isSo('it is', read.truth.credits(read.tenant, read.month) < (read.truth.limit(read.tenant, read.month) ?? 0)),
  ]),
  of(JUMPS, 'It (?:will probably|may) stay under the limit\\.', (read) => [
    isSo(
      'it is under it',
      read.truth.credits(read.tenant, read.month) < (read.truth.limit(read.tenant, read.month) ?? 0),
    ),
  ]),
  of(JUMPS, 'No growth is expected any more\\.', ({ word, truth, tenant, month }) => [
    isSo('its forecast is no more', (word.evidence.projection?.credits ?? 0) <= truth.credits(tenant, month - 1)),
  ]),
  of(JUMPS, 'No growth\\.', ({ truth, tenant, month }) => [
    isSo('it is no more', truth.credits(tenant, month) <= truth.credits(tenant, month - 1)),
  ]),
  of(JUMPS, 'There is no earlier month to compare with any more\\.', (read) => [
    same('the limit', null, read.truth.limit(read.tenant, read.month)),
  ]),
  of(['drop'], 'It uses credits again\\.', (read) => [
    isSo('what changed last was use', (changeAfter(read)?.by ?? 0) > 0),
    isSo('it was lately', truth4Days(read)),
  ]),
  of(['drop'], 'No longer reported as stopped\\.', (read) => [
    isSo('it has used none', (changeAfter(read)?.by ?? 0) <= 0),
  ]),
  of(['drop'], 'No longer far below the month before\\.', (read) => {
    const own = read.truth.seen.tenants.get(read.tenant ?? '');
    return [isSo('it is no fall', own === undefined || !isDrop(read.truth.seen, own, read.month, read.truth.order))];
  }),
  of(['new_spend'], 'Under the limit for new tenants\\.', ({ truth, tenant, month }) => [
    isSo('it is under it', truth.credits(tenant, month) < truth.order.minCredits),
  ]),
  of(['new_spend'], 'It had credits in {base:m} after all\\.', (read) => [
    ...none(read).slice(0, 1),
    isSo('it had some', read.truth.credits(read.tenant, read.month - 1) > 0),
  ]),
  of(['regression'], 'The lost credits are back\\.', ({ truth, tenant, month, before }) => {
    const changes = truth.changes(tenant ?? '', month);
    const fell = changes.findLastIndex(({ by }) => by < 0);
    const lost = lostIn(before.at(-1));
    return [
      isSo(
        'they came back',
        changes.slice(fell + 1).some(({ by }) => by * 10 >= lost * 9),
      ),
    ];
  }),
  of(['regression'], '{month:m} has settled without the lost {lost:n}\\.', (read) => [
    isOlder(read),
    isSo('it has settled', read.truth.hasSettled(read.month)),
    same('what was lost', numberOf(read.said.lost), lostIn(read.before.at(-1))),
  ]),
  of(['restatement'], 'The figures are as they were before\\.', ({ truth, tenant, month }) => [
    isSo(
      'it is',
      ['closed' as const, 'settled' as const].some(
        (how) => truth.stated(tenant ?? '', month, how) === truth.credits(tenant, month),
      ),
    ),
  ]),
  of(['restatement'], '{was:n} before \\({by:s}\\)\\.', ({ truth, tenant, month, said }) => [
    same('the difference', numberOf(said.by), truth.credits(tenant, month) - numberOf(said.was)),
  ]),
  of(['withdrawn'], 'It is listed again\\.', ({ truth, tenant, month }) => [
    isSo('it is listed', !truth.isWithdrawn(tenant ?? '', month)),
  ]),
  of(ANY, '{month:m} has left the alert window\\.', (read) => {
    const current = periodIndex(new Date(read.atMs).toISOString().slice(0, 7));
    return [isOlder(read), isSo('it is not', read.month < current - read.truth.order.lookback)];
  }),
];

/** The latest month with credits before a new one; null without one. */
function lastUse({ truth, tenant, month }: Read): number | null {
  const months = [...(truth.seen.tenants.get(tenant ?? '')?.months.keys() ?? [])];
  const used = months.filter((each) => each < month && truth.credits(tenant, each) > 0);
  return used.length === 0 ? null : Math.max(...used);
}
