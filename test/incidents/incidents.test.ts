import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { toDiagnosisLines } from '../../src/cli/commands/doctor/diagnosis-text.js';
import { findClusterBinaries } from '../cluster/harness/cluster-binaries.js';
import { churn } from './harness/churn.js';
import { type Incident, judge, ofTheNode, type Scene, type Verdict } from './harness/incident.js';
import { IncidentNode } from './harness/incident-node.js';
import { findTraces } from './harness/kubelet-traces.js';
import { describeCommit, writeResult } from './harness/results.js';
import { CERTIFICATE_INCIDENTS } from './incidents/certificates.js';
import { DAEMON_INCIDENTS } from './incidents/daemons.js';
import { DISK_INCIDENTS } from './incidents/disks.js';
import { MOUNT_INCIDENTS } from './incidents/mounts.js';
import { OCI_INCIDENTS } from './incidents/oci-runtime.js';
import { SANDBOX_INCIDENTS } from './incidents/sandboxes.js';
import { SHIM_INCIDENTS } from './incidents/shims.js';

const INCIDENTS: readonly Incident[] = [
  ...SHIM_INCIDENTS,
  ...OCI_INCIDENTS,
  ...DAEMON_INCIDENTS,
  ...MOUNT_INCIDENTS,
  ...DISK_INCIDENTS,
  ...SANDBOX_INCIDENTS,
  ...CERTIFICATE_INCIDENTS,
];
const RELEASES = (process.env['PODLOOP_RELEASES'] ?? '1.7,2.1').split(',') as ('1.7' | '2.1')[];
const ONLY = process.env['PODLOOP_INCIDENTS'] ?? '';
/** Examinations of an incident, and what lies between two of them. */
const ROUNDS = 3;
const BETWEEN_MS = 20_000;
const USUAL_AGE_MS = 2_000;
const CHURN_MINUTES = Number(process.env['PODLOOP_CHURN_MINUTES'] ?? 1);

const found = findClusterBinaries();
const kubelet = 'binaries' in found ? found.binaries.kubelet : undefined;
if (kubelet === undefined)
  throw new Error(
    `no kubelet to test beside: ${'missing' in found ? found.missing : 'KUBEBUILDER_ASSETS lacks it'}`,
  );

describe.each(RELEASES)('beside a kubelet on containerd %s', (release) => {
  let node: IncidentNode;
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'podloop-incidents-'));
    node = await IncidentNode.start(release, kubelet, folder);
  });

  afterAll(async () => {
    await node[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  it('blames nothing while nothing is wrong', async () => {
    await Promise.all(['web', 'db', 'cache'].map((name) => node.run({ name })));
    const { findings } = await node.examine();
    await clear(node, ['web', 'db', 'cache']);
    expect(ofTheNode(findings)).toEqual([]);
  });

  it(
    `blames nothing in ${CHURN_MINUTES} min of pods that come and go and daemons that are restarted`,
    { timeout: (CHURN_MINUTES + 5) * 60_000 },
    async () => {
      const { wrong, said, tookMs } = await churn(node, CHURN_MINUTES);
      await writeResult({
        ...{ incident: `nothing: ${CHURN_MINUTES} min of churn`, containerd: release },
        ...{ verdict: wrong.length === 0 ? 'right' : 'missed', why: wrong.slice(0, 3).join('; ') },
        ...{ tookS: tookMs / 1_000, said },
        ...{ date: new Date().toISOString().slice(0, 10), commit: describeCommit() },
      });
      expect(wrong).toEqual([]);
    },
  );

  it.each(INCIDENTS.filter(({ name }) => new RegExp(ONLY).test(name)))('names: $name', async (incident) => {
    const undos: (() => unknown)[] = [];
    const names = (incident.pods ?? []).map(({ name }) => name);
    try {
      const pods = await Promise.all((incident.pods ?? []).map((pod) => node.run(pod)));
      const scene: Scene = { node, pods, atEnd: (undo) => undos.push(undo) };
      const { verdict, why } = await play(incident, scene);
      expect({ verdict, why }).toEqual({ verdict: 'right', why: '' });
    } finally {
      for (const undo of undos.reverse()) await undo();
      await node.runc.release();
      await clear(node, names);
    }
  });

  async function play(incident: Incident, scene: Scene): Promise<{ verdict: Verdict; why: string }> {
    const before = await node.readTraces();
    const expected = await incident.make(scene);
    await sleep(incident.ageMs ?? USUAL_AGE_MS);
    let first = '';
    for (let round = 1; ; round++) {
      const examination = await node.examine();
      const { verdict, why } = judge(examination.findings, expected, examination.tookMs);
      const lines = toDiagnosisLines(examination, false);
      console.log(
        `${release}, ${incident.name}: ${verdict} ${why} (${(examination.tookMs / 1_000).toFixed(1)} s)\n${lines.join('\n')}`,
      );
      if (round === 1) first = why;
      if (verdict !== 'right' && round < ROUNDS) {
        await sleep(BETWEEN_MS);
        continue;
      }
      const whole: Verdict = verdict === 'right' && round > 1 ? 'late' : verdict;
      const kubelet = findTraces(before, await node.readTraces(), Date.now());
      const said = ofTheNode(examination.findings, expected.codes)[0];
      await writeResult({
        ...{ incident: incident.name, containerd: release, verdict: whole, why: first },
        ...{
          tookS: examination.tookMs / 1_000,
          said: said === undefined ? '' : `${said.code}: ${said.message}`,
        },
        ...{ kubelet, date: new Date().toISOString().slice(0, 10), commit: describeCommit() },
      });
      return { verdict: whole, why: first };
    }
  }
});

/** Takes all pods away that an incident left. */
async function clear(node: IncidentNode, names: readonly string[]): Promise<void> {
  await node.unwantAll();
  for (const name of names) await node.gone(name);
}
