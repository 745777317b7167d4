import { systemClock } from '../../core/clock.ts';
import { AppError } from '../../core/errors.ts';
import { oneAtATime } from '../../core/one-at-a-time.ts';
import { siblingModule } from '../../core/process/module-file.ts';
import type { DoctorFinding } from '../../operations/doctor/finding.ts';
import type { Context } from '../../wiring/context.ts';
import { runInChild } from '../child-process.ts';
import type { DoctorJob } from './doctor-job.ts';

/** The checks are ended if they take longer than this, for example because a service or a folder does not answer. */
const MAX_SECONDS = 60;

/** The results of one run of the checks. */
export interface Examination {
  /** The results of the checks, the worst first. */
  findings: readonly DoctorFinding[];
  atMs: number;
}

const WEIGHT: Readonly<Record<DoctorFinding['status'], number>> = { fail: 0, warn: 1, ok: 2 };

/** Creates an object that runs the checks of `usage-ledger doctor`, one run at a time. */
export function createDoctor(context: Context): { examine(): Promise<Examination> } {
  const examination = oneAtATime(async (): Promise<Examination> => {
    const { file } = context.config;
    const findings = await findingsOf({ file, cwd: process.cwd() });
    const sorted = findings.toSorted((a, b) => WEIGHT[a.status] - WEIGHT[b.status]);
    return { findings: sorted, atMs: context.clock.now() };
  });
  return { examine: () => examination.run() };
}

async function findingsOf(job: DoctorJob): Promise<DoctorFinding[]> {
  const limit = new AbortController();
  const cancel = systemClock.after(MAX_SECONDS * 1000, () => limit.abort(), { background: true });
  try {
    const { findings } = await runInChild<{ findings: DoctorFinding[] }>({
      file: siblingModule(import.meta.url, 'doctor-process'),
      job,
      stopping: limit.signal,
      crashed: 'doctor_crashed',
      does: 'examines the program',
    });
    return findings;
  } catch (error) {
    if (!limit.signal.aborted) throw error;
    throw new AppError('doctor_timeout', `the examination took more than ${MAX_SECONDS} s and was ended`, {
      hint: 'run `usage-ledger doctor` on the machine',
    });
  } finally {
    cancel();
  }
}
