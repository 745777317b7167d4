import { isUtf8 } from 'node:buffer';
import { fieldsOf, Numeral, readJson } from './strict-json.ts';

/**
 * What the interface document says of an answer to 4.3 and 4.4, written from it alone: shares no code with the client.
 * Where the document leaves it open, the client may do either, but what it takes it must read exactly.
 */
export interface Judgement {
  verdict: 'right' | 'wrong' | 'open';
  /** The first thing that is not right. */
  because: string;
  /** Every record as it stands there; null where there is none to be read. */
  records: CheckedRecord[] | null;
  totalRecords: string;
  totalPages: string;
}

/** Figures as decimal text. */
export interface CheckedRecord {
  tenant: string;
  period: string;
  start: string;
  end: string;
  credits: string;
  requests: string;
}

const LIMIT = 2n ** 63n - 1n;
/** Section 2: a date-time by ISO 8601. Others are open: the standard has many ways to write one. */
const PLAIN_TIME = /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(Z|\.\d{3}Z)?$/;

export function judgePage(body: Uint8Array, workspaceId: string, tenantId: string | null): Judgement {
  const faults: string[] = [];
  const doubts: string[] = [];
  const found: Judgement = { verdict: 'wrong', because: '', records: null, totalRecords: '', totalPages: '' };
  const need = (isRight: boolean, fault: string): boolean => {
    if (!isRight) faults.push(fault);
    return isRight;
  };
  if (!isUtf8(body)) return { ...found, because: 'it is not UTF-8' };
  let text = Buffer.from(body).toString('utf8');
  if (text.startsWith('\ufeff')) {
    doubts.push('a byte order mark');
    text = text.slice(1);
  }
  const read = readJson(text);
  if (read === null) return { ...found, because: 'it is no JSON' };
  need(!read.ambiguous, 'a name stands twice');
  const envelope = fieldsOf(read.value);
  if (envelope === null) return { ...found, because: 'no object' };
  need(envelope.get('success') === true, 'success is not true');
  if (typeof envelope.get('message') !== 'string') doubts.push('message is no text');
  const data = fieldsOf(envelope.get('data'));
  if (data === null) return { ...found, because: 'data is no object' };
  need(data.get('workspace_id') === workspaceId, 'another workspace');
  if (tenantId !== null) need(data.get('tenant_id') === tenantId, 'another tenant');
  for (const name of ['total_records', 'total_pages']) {
    const total = data.get(name);
    const value = total instanceof Numeral ? total.whole : null;
    if (!need(value !== null && value >= 0n, `${name} is no count`)) continue;
    if (total instanceof Numeral && !/^\d{1,15}$/.test(total.source)) doubts.push(`${name} is odd`);
    found[name === 'total_records' ? 'totalRecords' : 'totalPages'] = String(value);
  }
  const usage = data.get('usage');
  if (!Array.isArray(usage)) return { ...found, because: 'usage is no array' };
  const records: CheckedRecord[] = [];
  for (const item of usage.map(fieldsOf)) {
    if (item === null) return { ...found, because: 'a record is no object' };
    const tenant = textOf(item.get('tenant_id'));
    const period = textOf(item.get('period'));
    const start = textOf(item.get('period_start'));
    const end = textOf(item.get('period_end'));
    need(tenant !== '' && (tenantId === null || tenant === tenantId), 'tenant_id');
    if (!tenant.isWellFormed() || Buffer.byteLength(tenant) > 200) doubts.push('an odd name');
    need(/^\d{4}-\d{2}$/.test(period), 'period');
    need(start !== '' && end !== '', 'no bounds');
    if (!isMonth(period, start, end)) doubts.push('bounds that are not those of the calendar month, or written oddly');
    const [credits, requests] = ['credits_used', 'request_count'].map((name) => {
      const figure = item.get(name);
      const value = figure instanceof Numeral ? figure.whole : null;
      need(value !== null && value <= LIMIT && value >= -LIMIT, name);
      if (figure instanceof Numeral && !/^(0|[1-9]\d*)$/.test(figure.source)) doubts.push(`${name} is written oddly`);
      return String(value);
    });
    records.push({ tenant, period, start, end, credits: credits ?? '', requests: requests ?? '' });
  }
  const verdict = faults.length > 0 ? 'wrong' : doubts.length > 0 ? 'open' : 'right';
  return { ...found, verdict, because: [...faults, ...doubts][0] ?? '', records };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** Written plainly, the first second of the month and its last one. */
function isMonth(period: string, start: string, end: string): boolean {
  if (!/^\d{4}-(0[1-9]|1[0-2])$/.test(period) || !PLAIN_TIME.test(start) || !PLAIN_TIME.test(end)) return false;
  const lastDay = new Date(Date.UTC(Number(period.slice(0, 4)), Number(period.slice(5)), 0)).getUTCDate();
  return start.startsWith(`${period}-01T00:00:00`) && end.startsWith(`${period}-${lastDay}T23:59:59`);
}
