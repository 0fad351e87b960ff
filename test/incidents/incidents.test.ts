import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { churn } from './harness/churn.js';
import { type Incident, ofTheNode } from './harness/incident.js';
import { IncidentNode } from './harness/incident-node.js';
import { clear, playIncident } from './harness/play-incident.js';
import { NodeWitness } from './harness/node-witness.js';
import { writeResult } from './harness/results.js';
import { now, RELEASES, requireKubelet } from './harness/settings.js';
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
const ONLY = process.env['PODLOOP_INCIDENTS'] ?? '';
const CHURN_MINUTES = Number(process.env['PODLOOP_CHURN_MINUTES'] ?? 1);

const kubelet = requireKubelet();

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
      await using observer = await NodeWitness.start(node, path.join(folder, 'observe'));
      const { wrong, said, tookMs } = await churn(node, CHURN_MINUTES);
      const { deaths, missing, twice } = await observer.compareDeaths();
      await writeResult({
        ...{ incident: `nothing: ${CHURN_MINUTES} min of churn`, containerd: release },
        ...{ verdict: wrong.length === 0 ? 'right' : 'missed', why: wrong.slice(0, 3).join('; ') },
        ...{ tookS: tookMs / 1_000, ...now() },
        said: `${said}; of ${deaths} deaths in the kubelet’s log podloop observe has ${deaths - missing.length} on record, ${twice.length} of them twice`,
      });
      expect(wrong).toEqual([]);
      expect(deaths).toBeGreaterThan(0);
      expect({ missing, twice }).toEqual({ missing: [], twice: [] });
    },
  );

  it.each(INCIDENTS.filter(({ name }) => new RegExp(ONLY).test(name)))('names: $name', async (incident) => {
    const result = await playIncident(node, incident, release);
    await writeResult({ ...result, ...now() });
    const { verdict, why } = result;
    expect({ verdict, why }).toEqual({ verdict: 'right', why: '' });
  });
});
