import { Fragment } from 'preact';
import { counted, formatDuration } from '../../../core/text/words.ts';
import { replayMessages } from '../../../operations/alerts/replay-messages.ts';
import { testChannel } from '../../../operations/alerts/test-channel.ts';
import { verifyLedger } from '../../../operations/system/verify-ledger.ts';
import { formatInteger } from '../../../reports/formats/columns.ts';
import { LAST_BACKUP_CHECK } from '../../doctor/doctor-job.ts';
import type { Examination } from '../../doctor/run-doctor.ts';
import { QUEUE_BOARD_PATH } from '../../http/queue-board.ts';
import { sentence } from '../shell/fault-text.ts';
import { ChangeForm } from '../shell/form.tsx';
import { alertLink } from '../shell/formats.ts';
import { Layout } from '../shell/layout.tsx';
import { Badge, Card, Empty, Table, Time } from '../shell/parts.tsx';
import { may, type Visit } from '../shell/visit.ts';
import { DoctorCard } from './doctor-card.tsx';
import { OutletsCard } from './outlets-card.tsx';
import type { SystemView } from './read-system.ts';

interface SystemPageProps {
  visit: Visit;
  system: SystemView;
  /** The latest result of the doctor's checks since the daemon started; null if there is none. */
  examination: Examination | null;
}

/**
 * The page about the system. It answers: does the daemon work, what is waiting to be sent, and do receivers accept what
 * is sent?
 */
export function SystemPage({ visit, system, examination }: SystemPageProps) {
  const { faults } = system;
  return (
    <Layout visit={visit} place="system" title="System">
      <div class="head">
        <h1>System</h1>
        <p>
          {faults.length === 0 ? (
            <Badge tone="good">ready</Badge>
          ) : (
            <Badge tone="bad">{counted(faults.length, 'fault')}</Badge>
          )}
        </p>
      </div>
      {faults.map((fault) => (
        <div key={fault} class="notice bad">
          {fault}
        </div>
      ))}
      <div class="columns">
        <div>
          <DoctorCard visit={visit} examination={examination} />
          <Channels visit={visit} system={system} />
          <Undelivered visit={visit} system={system} />
          <OutletsCard visit={visit} outlets={system.outlets} />
          <Exports system={system} />
        </div>
        <div>
          <Ledger visit={visit} system={system} />
          <Backups system={system} examination={examination} />
          <Copy system={system} />
          <Queue system={system} />
          <Configuration system={system} />
        </div>
      </div>
    </Layout>
  );
}

function Channels({ visit, system: { channels, outbox } }: { visit: Visit; system: SystemView }) {
  const canTest = may(visit, testChannel);
  const heads = [{ label: 'Channel' }, { label: 'State' }, ...(canTest ? [{ label: 'Test' }] : [])];
  const note = `${formatInteger(outbox.pending)} waiting, ${formatInteger(outbox.held)} for the daily summary`;
  return (
    <Card title="Channels" note={note}>
      <Table label="Channels" heads={heads} stacked>
        {channels.map(({ name, type, fault }) => (
          <tr key={name}>
            <th scope="row">
              {name}
              <small>{type}</small>
            </th>
            <td>
              <Badge tone={fault === null ? 'good' : 'bad'}>{fault === null ? 'works' : 'fails'}</Badge>
              {fault === null ? null : <small>{fault}</small>}
            </td>
            {canTest ? (
              <td>
                <ChangeForm
                  visit={visit}
                  form={`test ${name}`}
                  action="/system/test-channel"
                  submit="Send a test"
                  submitName={`Send a test to ${name}`}
                >
                  <input type="hidden" name="channel" value={name} />
                </ChangeForm>
              </td>
            ) : null}
          </tr>
        ))}
      </Table>
    </Card>
  );
}

function Undelivered({ visit, system: { undelivered } }: { visit: Visit; system: SystemView }) {
  if (undelivered.length === 0) return null;
  const heads = [{ label: 'Created' }, { label: 'Channel' }, { label: 'Reason' }];
  return (
    <Card title="Undelivered messages" note={counted(undelivered.length, 'message')}>
      <Table label="Undelivered messages" heads={heads} stacked>
        {undelivered.slice(0, SHOWN_MESSAGES).map(({ notification_id, channel, created_at, last_error }) => (
          <tr key={`${notification_id} ${channel}`}>
            <td>
              <Time at={created_at} />
            </td>
            <th scope="row">{channel}</th>
            <td>{last_error}</td>
          </tr>
        ))}
      </Table>
      {may(visit, replayMessages) ? (
        <div class="actions">
          <ChangeForm visit={visit} form="replay" action="/system/replay" submit="Send all again with current figures">
            {null}
          </ChangeForm>
        </div>
      ) : null}
    </Card>
  );
}

const SHOWN_MESSAGES = 20;

function Exports({ system: { exports } }: { system: SystemView }) {
  if (exports.length === 0) return null;
  return (
    <Card title="Scheduled exports">
      <Table
        label="Scheduled exports"
        heads={[{ label: 'Export' }, { label: 'Last file' }, { label: 'State' }]}
        stacked
      >
        {exports.map(({ name, failing, lastAtMs }) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td data-label="Last file">
              <Time at={lastAtMs === null ? null : new Date(lastAtMs).toISOString()} />
            </td>
            <td>
              <Badge tone={failing ? 'bad' : 'good'}>{failing ? 'fails' : 'works'}</Badge>
            </td>
          </tr>
        ))}
      </Table>
    </Card>
  );
}

function Ledger({ visit, system: { head, storage } }: { visit: Visit; system: SystemView }) {
  return (
    <Card title="Ledger">
      <div class="inside fields">
        <dl class="facts">
          <dt>Head</dt>
          <dd>
            <code>{head.head_digest}</code> (link {formatInteger(head.link)})
          </dd>
          <dt>Id</dt>
          <dd>
            <code>{head.ledger_id}</code>
          </dd>
          <dt>Size</dt>
          <dd>
            {sizeText(storage.ledgerBytes)}, write-ahead log {sizeText(storage.logBytes)}
          </dd>
          <dt>Free disk</dt>
          <dd>{sizeText(storage.diskFreeBytes)}</dd>
        </dl>
        {may(visit, verifyLedger) ? (
          <ChangeForm visit={visit} form="verify" action="/system/verify" submit="Verify the ledger" anonymous>
            {null}
          </ChangeForm>
        ) : null}
      </div>
    </Card>
  );
}

function Queue({ system: { queues } }: { system: SystemView }) {
  return (
    <Card title="Queue">
      <div class="inside">
        {queues === null ? (
          <Empty>Redis is not available.</Empty>
        ) : (
          <dl class="facts">
            {Object.entries(queues).map(([name, { waiting, active, delayed, failed }]) => (
              <Fragment key={name}>
                <dt>{name}</dt>
                <dd>
                  {waiting} waiting, {active} active, {delayed} delayed, {failed} failed in the last days
                </dd>
              </Fragment>
            ))}
          </dl>
        )}
        <p>
          <a href={QUEUE_BOARD_PATH}>Jobs</a>
        </p>
      </div>
    </Card>
  );
}

/** The place of the backups, and the newest backup that the latest run of the doctor's checks found. */
function Backups({ system: { backups }, examination }: { system: SystemView; examination: Examination | null }) {
  const last = examination?.findings.find(({ check }) => check === LAST_BACKUP_CHECK);
  const newest = last === undefined ? 'shown by an examination' : last.message;
  return (
    <Card title="Backups">
      {backups === null ? (
        <Empty>The daemon makes no backups. Set backup in the configuration.</Empty>
      ) : (
        <div class="inside">
          <dl class="facts">
            <dt>Newest</dt>
            <dd class={last?.status === 'fail' ? 'bad' : ''}>
              {newest}
              {last?.remedy == null ? null : <div class="small">{sentence(last.remedy)}</div>}
            </dd>
            <dt>Schedule</dt>
            <dd>
              <code>{backups.cron}</code> ({backups.timezone}), {backups.keep} kept
            </dd>
            <dt>Place</dt>
            <dd>{backups.place}</dd>
            {backups.fault === null ? null : (
              <>
                <dt>Error</dt>
                <dd class="bad">
                  <a href={alertLink(backups.fault.alertId)}>The latest backup failed</a>
                </dd>
              </>
            )}
          </dl>
        </div>
      )}
    </Card>
  );
}

function Copy({ system: { publishing } }: { system: SystemView }) {
  if (publishing === null) return null;
  const { fault, lagLinks, lagSeconds, stale } = publishing;
  return (
    <Card title="Copy in Postgres">
      <div class="inside">
        <p>
          <Badge tone={fault !== null || stale ? 'bad' : lagLinks > 0 ? 'odd' : 'good'}>
            {fault !== null ? 'fails' : lagLinks === 0 ? 'up to date' : `${formatInteger(lagLinks)} links behind`}
          </Badge>{' '}
          {lagSeconds === 0 ? null : `for ${formatDuration(lagSeconds * 1000)}`}
        </p>
        {fault === null ? null : <p class="bad">{sentence(fault.message)}</p>}
      </div>
    </Card>
  );
}

function Configuration({ system: { configuration, settings } }: { system: SystemView }) {
  return (
    <Card title="Configuration" note="without secrets">
      <div class="inside">
        {configuration === null ? null : <ConfigurationState configuration={configuration} />}
        <dl class="facts">
          {settings.map(([setting, value]) => (
            <Fragment key={setting}>
              <dt>{setting}</dt>
              <dd>{value}</dd>
            </Fragment>
          ))}
        </dl>
      </div>
    </Card>
  );
}

function ConfigurationState({ configuration }: { configuration: NonNullable<SystemView['configuration']> }) {
  const { readAt, refused, needsRestart } = configuration;
  return (
    <>
      <p class="small quiet">
        Read <Time at={readAt} />
      </p>
      {needsRestart.length === 0 ? null : <p>These changes need a restart: {needsRestart.join(', ')}.</p>}
      {refused === null ? null : (
        <>
          <p class="bad">The latest configuration was refused.</p>
          <ul>
            {refused.faults.map(({ path, message, hint }) => (
              <li key={path}>
                {path}: {message} <span class="quiet">{hint}</span>
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}

function sizeText(bytes: number): string {
  return bytes < 1024 ** 3 ? `${(bytes / 1024 ** 2).toFixed(1)} MiB` : `${(bytes / 1024 ** 3).toFixed(1)} GiB`;
}
