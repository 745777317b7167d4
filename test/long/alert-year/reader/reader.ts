import { periodIndex } from '../../../../src/core/period.ts';
import { type Complaint, rounded, same, type Word } from './checks.ts';
import { SENTENCES } from './sentences.ts';
import type { Answer, Truth } from './truth.ts';
import { monthOf, nameOf, numberOf, sentence } from './words.ts';

/** A message as a receiver got it: about one alert, a group in one or more parts, or a daily summary. */
export interface ReadMessage extends Omit<Word, 'alert_id' | 'evidence'> {
  alert_id?: string;
  evidence?: Word['evidence'];
  parts?: number;
  credits_change?: number | null;
  alert_count?: number;
  firing_count?: number;
  resolved_count?: number;
  alerts?: (Word & { notifications?: Word[] })[];
}

const SEVERAL = sentence(
  '(?:{count:n} of {tenants:n} tenants of {place:who} {what:text}|{more:n}(?: more)? tenants of {where:who} {how:text}, {inAll:n} of {all:n} in all)(?:, (?:{isForecast:forecast} )?{sum:s} credits together)?(?: \\(part {part:n} of {parts:n}\\))?\\.(?: {settled:m} has settled\\.)?(?: (?:Grown|The difference has grown|More has been lost) since the last message\\.)?(?: Figures as of [^.]*\\.)? Largest: {largest:text}\\.',
);
const ENDS = sentence(
  '{month:m} {title:text} of {count:n} tenants of {place:who} (?:closed|no longer sent here)(?: \\(part {part:n} of {parts:n}\\))?\\.(?: {why:text}\\.)? Largest: {largest:text}\\.',
);
const SUMMARY = sentence(
  'Daily summary of {when:text} UTC(?:, part {part:n} of {parts:n})?: (?:{firing:n} alerts? open)?(?:(?:, )?{resolved:n}(?: alerts?)? closed)?\\.',
);

const LARGEST =
  /(?<who>"(?:\\.|[^"\\])*"|[^\s"(),;:]+) (?<foretold>forecast )?(?<now>-?\d[\d,]*\d|-?\d)(?: to (?<high>[\d,]+))?(?: \((?<base>[^()]*) (?<was>-?[\d,]+)\))?/g;
/** Rules that compare settled months. */
const SETTLE = ['jump', 'workspace_jump', 'drop'];

/** The form of a message: a title, at most three lines, and both of them in the summary. */
function formOf({ title = '', lines = [], summary }: Word): Complaint[] {
  return [
    same('title and lines', [`${title}.`, ...lines].join(' '), summary),
    lines.length <= 3 ? null : `there are ${lines.length} lines`,
    title.length <= 100 ? null : `the title has ${title.length} characters`,
  ];
}

/** Reads every message of a world back, and holds what it says against what the service had answered by then. */
export class Reader {
  readonly #truth: Truth;
  readonly #before = new Map<string, Word[]>();
  /** What could not be read, or is not so. */
  readonly wrong: string[] = [];
  sentences = 0;

  constructor(truth: Truth) {
    this.#truth = truth;
  }

  /** Takes what a run was answered. */
  take(answer: Answer): void {
    this.#truth.take(answer);
  }

  /** Reads a message that came of the last run. */
  hear(message: ReadMessage): void {
    const { type, alerts = [] } = message;
    if (type === 'alert.digest') {
      const said = SUMMARY.exec(message.summary)?.groups;
      SUMMARY.lastIndex = 0;
      this.#note(message.summary, [
        said === undefined ? 'cannot be read' : null,
        numberOf(said?.firing ?? '0') + numberOf(said?.resolved ?? '0') === alerts.length
          ? null
          : 'their number is another',
        numberOf(said?.resolved ?? '0') ===
        alerts.filter((each) => each.notifications?.[0]?.type === 'alert.resolved').length
          ? null
          : 'other ones have ended',
      ]);
      for (const { notifications = [] } of alerts) for (const word of notifications) this.#word(word);
    } else if (type === 'alert.group') {
      this.#note(message.summary, this.complaintsOfGroup(message));
      for (const word of alerts) this.#word(word);
    } else this.#word(message as Word);
  }

  #word(word: Word): void {
    if (word.period !== null) this.#note(word.summary, [...this.complaintsOf(word), ...formOf(word)]);
    this.#before.set(word.alert_id, [...(this.#before.get(word.alert_id) ?? []), word]);
  }

  /** What is wrong with a message about one alert, should it come now. */
  complaintsOf(word: Word): Complaint[] {
    const { summary, tenant_id: tenant, rule } = word;
    const before = this.#before.get(word.alert_id) ?? [];
    const atMs = Date.parse(word.created_at);
    const complaints: Complaint[] = [];
    let rest = summary;
    while (rest !== '') {
      const found = SENTENCES.flatMap(({ pattern, rules, check }) => {
        pattern.lastIndex = 0;
        const match = rules.length === 0 || rules.includes(rule) ? pattern.exec(rest) : null;
        return match === null || match[0].length < 2 ? [] : [{ match, check }];
      });
      const [first] = found;
      if (first === undefined) return [...complaints, `cannot be read from here on: ${rest}`];
      const month = periodIndex(word.period ?? '');
      const read = { truth: this.#truth, word, before, tenant, month, atMs, said: first.match.groups ?? {} };
      complaints.push(...first.check(read));
      this.sentences += 1;
      rest = rest.slice(first.match[0].length).trimStart();
    }
    return complaints;
  }

  /** What is wrong with what a message says of several at once. */
  complaintsOfGroup(message: ReadMessage): Complaint[] {
    const words = message.alerts ?? [];
    const [first] = words;
    // The last message about settled figures says what they are.
    const isEnd = words.some(({ event, closed_because }) => event === 'closed' && closed_because !== 'settled');
    const pattern = isEnd ? ENDS : SEVERAL;
    pattern.lastIndex = 0;
    const said = pattern.exec(message.summary)?.groups;
    if (first === undefined || said === undefined) return ['cannot be read'];
    const month = periodIndex(first.period ?? '');
    const isWhole = message.parts === 1;
    const of = (each: Word) => this.#truth.credits(each.tenant_id, month);
    const compared = (each: Word) => this.#truth.credits(each.tenant_id, month - 1);
    const isLikely = words.every(({ level, evidence }) => level === 'likely' && evidence.projection !== null);
    const sum = words.reduce((total, each) => total + of(each) - compared(each), 0);
    const inAll = ['jump'].includes(first.rule) && !isLikely ? this.#truth.overLimit(month).length : null;
    const over = numberOf(said.inAll ?? said.count);
    const least = isEnd ? 0 : this.#heardOf(first, words);
    return [
      nameOf(said.place ?? said.where) === first.workspace_id ? null : 'another workspace is named',
      !isWhole || numberOf(said.count ?? said.more) === words.length ? null : 'their number is another',
      isEnd || numberOf(said.tenants ?? said.all) === this.#truth.tenantsIn(month)
        ? null
        : `there are ${this.#truth.tenantsIn(month)} tenants`,
      (said.settled !== undefined) ===
      (!isEnd && SETTLE.includes(first.rule) && words.every(({ level }) => level === 'settled'))
        ? null
        : `it is said to have settled: ${said.settled}`,
      ...this.#largest(message, said.largest ?? '', isLikely),
      over >= least ? null : `it was told of ${least} that it is so`,
      said.settled === undefined || this.#truth.hasSettled(month) ? null : 'the month has not settled',
      / since the last message\./.test(message.summary) === (message.event === 'grown')
        ? null
        : 'what has grown is another',
      isEnd || inAll === null || words.some(({ level }) => level === 'likely') || over === inAll
        ? null
        : `it is so of ${inAll} in all`,
      said.sum === undefined ||
      !isWhole ||
      isLikely ||
      !['jump', 'new_spend'].includes(first.rule) ||
      numberOf(said.sum) === sum
        ? null
        : `together they differ by ${sum}`,
      said.sum === undefined
        ? same('the sum in the JSON', message.credits_change ?? null, null)
        : said.isForecast === undefined
          ? same('the sum in the JSON', message.credits_change, numberOf(said.sum))
          : rounded('the sum', numberOf(said.sum), message.credits_change),
    ];
  }

  /** The largest ones, each with its figure beside that of the month before; of a loss beside what it was without. */
  #largest({ alerts = [], created_at }: ReadMessage, text: string, isLikely: boolean): Complaint[] {
    return [...text.matchAll(LARGEST)].flatMap((found) => {
      const { who, foretold, now, high, base, was } = found.groups ?? {};
      const word = alerts.find(({ tenant_id }) => tenant_id === nameOf(who));
      if (word === undefined) return [];
      const month = periodIndex(word.period ?? '');
      const { projection } = word.evidence;
      const isBeside = base !== undefined && base !== 'before';
      return [
        same(`what ${who} is told by`, foretold !== undefined, isLikely),
        ...(!isLikely
          ? [same(`the figure of ${who}`, numberOf(now), this.#truth.credits(word.tenant_id, month))]
          : high === undefined
            ? [rounded(`the forecast of ${who}`, numberOf(now), projection?.credits, 0.01)]
            : [
                rounded(`the low end of ${who}`, numberOf(now), projection?.low_credits),
                rounded(`the high end of ${who}`, numberOf(high), projection?.high_credits),
              ]),
        isBeside ? same('the month before', monthOf(base, Date.parse(created_at)), month - 1) : null,
        isBeside ? same(`what ${who} had`, numberOf(was), this.#truth.credits(word.tenant_id, month - 1)) : null,
      ];
    });
  }

  /** Of how many the receiver has been told the same, with these, and of no end. */
  #heardOf(first: Word, words: readonly Word[]): number {
    const isLikely = (word: Word) => word.level === 'likely';
    const kinds = new Set(words.map(isLikely));
    const open = [...this.#before.values()].flatMap((told) => told.at(-1) ?? []);
    const same = open.filter((word) => {
      const isOfAll = word.rule === first.rule && word.period === first.period;
      return isOfAll && word.type !== 'alert.resolved' && kinds.has(isLikely(word));
    });
    return new Set([...same, ...words].map(({ alert_id }) => alert_id)).size;
  }

  #note(summary: string, complaints: readonly Complaint[]): void {
    for (const complaint of complaints) if (complaint !== null) this.wrong.push(`${complaint} -- ${summary}`);
  }
}
