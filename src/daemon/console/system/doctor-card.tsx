import type { DoctorFinding } from '../../../operations/doctor/finding.ts';
import type { Examination } from '../../doctor/run-doctor.ts';
import { sentence } from '../shell/fault-text.ts';
import { ChangeForm } from '../shell/form.tsx';
import { Ago, Badge, Card, Empty, Table, type Tone } from '../shell/parts.tsx';
import { may, type Visit } from '../shell/visit.ts';

export const DOCTOR_FORM = 'doctor';
/** The role that running the doctor's checks requires, because they connect to services and receivers. */
export const DOCTOR = { name: 'doctor', role: 'operate' } as const;

const TONES: Readonly<Record<DoctorFinding['status'], { tone: Tone; label: string }>> = {
  ok: { tone: 'good', label: 'ok' },
  warn: { tone: 'odd', label: 'look at' },
  fail: { tone: 'bad', label: 'fails' },
};

/** The findings of the latest run of the doctor's checks with their remedies, and a button that runs them again. */
export function DoctorCard({ visit, examination }: { visit: Visit; examination: Examination | null }) {
  return (
    <Card
      title="Examination"
      note={
        examination === null ? undefined : (
          <>
            <Ago at={new Date(examination.atMs).toISOString()} nowMs={visit.nowMs} />,{' '}
            {summaryText(examination.findings)}
          </>
        )
      }
    >
      {examination === null ? (
        <Empty>Not examined since the daemon started.</Empty>
      ) : (
        <Findings findings={examination.findings} />
      )}
      {may(visit, DOCTOR) ? (
        <div class="inside">
          <ChangeForm visit={visit} form={DOCTOR_FORM} action="/system/examine" submit="Examine now" anonymous>
            <p class="small quiet">
              Checks services, receivers, ledger, files, backups and Redis as the command doctor does; takes up to a
              minute.
            </p>
          </ChangeForm>
        </div>
      ) : null}
    </Card>
  );
}

function summaryText(findings: readonly DoctorFinding[]): string {
  const inStatus = (wanted: DoctorFinding['status']) => findings.filter(({ status }) => status === wanted).length;
  const failing = inStatus('fail');
  const warned = inStatus('warn');
  return failing + warned === 0 ? 'all is well' : `${failing} fail, ${warned} to look at`;
}

function Findings({ findings }: { findings: readonly DoctorFinding[] }) {
  const open = findings.filter(({ status }) => status !== 'ok');
  const good = findings.filter(({ status }) => status === 'ok');
  return (
    <>
      {open.length === 0 ? <Empty>No faults.</Empty> : <FindingTable label="Findings" findings={open} />}
      {good.length === 0 ? null : (
        <details class="inside">
          <summary>{good.length} checks are ok</summary>
          <FindingTable label="Checks that are ok" findings={good} />
        </details>
      )}
    </>
  );
}

function FindingTable({ label, findings }: { label: string; findings: readonly DoctorFinding[] }) {
  return (
    <Table label={label} heads={[{ label: 'Check' }, { label: 'Result' }, { label: 'Finding' }]} stacked>
      {findings.map(({ check, subject, status, message, remedy }) => (
        <tr key={JSON.stringify([check, subject, message])}>
          <th scope="row">
            {check}
            {subject === null ? null : <small>{subject}</small>}
          </th>
          <td>
            <Badge tone={TONES[status].tone}>{TONES[status].label}</Badge>
          </td>
          <td>
            {message}
            {remedy === null ? null : <small>{sentence(remedy)}</small>}
          </td>
        </tr>
      ))}
    </Table>
  );
}
