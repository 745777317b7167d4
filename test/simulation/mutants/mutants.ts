import { stripTypeScriptTypes } from 'node:module';
import { parseAst } from 'vitest/node';

/** One change of one place of a source, which the tests should notice. */
export interface Mutant {
  line: number;
  start: number;
  end: number;
  /** What stands there, and what is put in its place. */
  was: string;
  becomes: string;
}

type Node = { type: string; start: number; end: number } & Record<string, unknown>;

const OPERATORS: Record<string, readonly string[]> = {
  ...{ '<': ['<=', '>='], '<=': ['<', '>'], '>': ['>=', '<='], '>=': ['>', '<'], '===': ['!=='], '!==': ['==='] },
  ...{ '+': ['-'], '-': ['+'], '*': ['/'], '/': ['*'], '%': ['*'], '&&': ['||'], '||': ['&&'] },
  ...{ '+=': ['-='], '-=': ['+='], '||=': ['&&='], '??=': ['&&='] },
};
const METHODS: Record<string, string> = {
  every: 'some',
  some: 'every',
  min: 'max',
  max: 'min',
  floor: 'ceil',
  ceil: 'floor',
};
const SQL = /\b(?:SELECT|INSERT|UPDATE|DELETE) /;
/** What stands in SQL, and what is put in its place. A `=` after SET assigns, to change that would be no SQL. */
const SQL_CHANGES: readonly [RegExp, (found: string) => string][] = [
  [
    /(?<=\s)(?:<>|<=|>=|=|<|>)(?=\s)/g,
    (found) => ({ '=': '<>', '<>': '=', '<': '<=', '<=': '<', '>': '>=' })[found] ?? '>',
  ],
  [/(?<=\s)[+-](?=\s)/g, (found) => (found === '+' ? '-' : '+')],
  [/\b(?:AND|OR)\b(?! IGNORE)/g, (found) => (found === 'AND' ? 'OR' : 'AND')],
  [/\b(?:min|max)(?=\()/g, (found) => (found === 'min' ? 'max' : 'min')],
  [/(?<== )[01]\b/g, (found) => (found === '0' ? '1' : '0')],
  [/\bIS NULL\b/g, () => 'IS NOT NULL'],
  [/\bLEFT JOIN\b/g, () => 'JOIN'],
];

/** Words, which are for people: what a message says is no behaviour, and left as it is. */
const WORDS = /[a-z,] [a-z$]/;

/** Every mutant of a source by these operators. */
export function mutantsOf(source: string): Mutant[] {
  const found: Mutant[] = [];
  const add = (start: number, end: number, ...replacements: string[]): void => {
    const line = source.slice(0, start).split('\n').length;
    for (const becomes of replacements) found.push({ line, start, end, was: source.slice(start, end), becomes });
  };
  const addSql = (start: number, end: number): void => {
    const text = source.slice(start, end);
    for (const [pattern, change] of SQL_CHANGES) {
      for (const { 0: was, index } of text.matchAll(pattern)) {
        const clause = text
          .slice(0, index)
          .match(/\b(?:SET|WHERE|ON|WHEN|SELECT)\b/g)
          ?.at(-1);
        if (was !== '=' || clause !== 'SET') add(start + index, start + index + was.length, change(was));
      }
    }
  };
  const visit = (node: Node): void => {
    if (node.type === 'ImportDeclaration') return;
    const { type, start, end } = node;
    const child = (name: string): Node => node[name] as Node;
    if (['BinaryExpression', 'LogicalExpression', 'AssignmentExpression'].includes(type)) {
      const operator = String(node.operator);
      const at = source.indexOf(operator, child('left').end);
      if (operator === '??') add(at, end, '');
      else add(at, at + operator.length, ...(OPERATORS[operator] ?? []));
    } else if (type === 'UnaryExpression' && ['!', '-'].includes(String(node.operator))) {
      add(start, child('argument').start, '');
    } else if (type === 'IfStatement' || type === 'ConditionalExpression') {
      add(child('test').start, child('test').end, 'true', 'false');
    } else if (type === 'ExpressionStatement' || type === 'ThrowStatement') {
      add(start, end, ';');
    } else if (type === 'Literal' && typeof node.value === 'boolean') {
      add(start, end, String(!node.value));
    } else if (type === 'Literal' && typeof node.value === 'number') {
      add(start, end, String(node.value + 1));
    } else if (type === 'Literal' && source[start] === '/') {
      for (const edge of ['^', '$']) {
        const at = source.indexOf(edge, start);
        if (at >= 0 && at < end) add(at, at + 1, '');
      }
    } else if (type === 'MemberExpression' && node.computed === false) {
      const { name, start: from, end: to } = child('property') as Node & { name: string };
      if (METHODS[name] !== undefined) add(from, to, METHODS[name]);
    } else if (type === 'TemplateLiteral' || (type === 'Literal' && typeof node.value === 'string')) {
      const text = source.slice(start, end);
      if (SQL.test(text)) addSql(start, end);
      else if (!WORDS.test(text)) {
        // A tag may stand before a template.
        const quote = text[0] === '`' ? '`' : "'";
        add(start, end, text.length > 2 ? `${quote}${quote}` : `${quote}?${quote}`);
      }
    }
    for (const [name, value] of Object.entries(node)) {
      if (name === 'key' && node.computed === false) continue;
      for (const one of Array.isArray(value) ? value : [value]) {
        if (typeof one?.type === 'string') visit(one);
      }
    }
  };
  visit(parseAst(stripTypeScriptTypes(source)) as unknown as Node);
  return found.sort((a, b) => a.start - b.start);
}

/** So many of them, which a seed decides. */
export function drawn<T>(all: readonly T[], count: number, seed: number): T[] {
  let state = seed;
  const keyed = all.map((one) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return { one, key: state };
  });
  const chosen = new Set(keyed.toSorted((a, b) => a.key - b.key).slice(0, count));
  return keyed.filter((each) => chosen.has(each)).map(({ one }) => one);
}
