/**
 * Incidents that need a node with systemd, a file server and a network disk, beside a real kubelet on the machine's containerd with the
 * systemd cgroup driver; see test/incidents for all others.
 *
 * @module
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ofTheNode } from '../../incidents/harness/incident.js';
import { IncidentNode } from '../../incidents/harness/incident-node.js';
import { clear, playIncident } from '../../incidents/harness/play-incident.js';
import { STOCK_NODE_INCIDENTS } from '../../incidents/incidents/stock-node.js';
import { RELEASE } from './node-containerd.js';

const KUBELET = path.join(process.env['KUBEBUILDER_ASSETS'] ?? '', 'kubelet');

describe('beside a kubelet on a stock node', () => {
  let node: IncidentNode;
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'podloop-incidents-'));
    node = await IncidentNode.start(RELEASE, KUBELET, folder, 'systemd');
  });

  afterAll(async () => {
    await node[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  it('the doctor blames nothing while nothing is wrong', async () => {
    await Promise.all(['web', 'db'].map((name) => node.run({ name })));
    const { findings } = await node.examine();
    await clear(node, ['web', 'db']);
    expect(ofTheNode(findings)).toEqual([]);
  });

  it.each(STOCK_NODE_INCIDENTS)('the doctor names: $name', async (incident) => {
    const { verdict, why } = await playIncident(node, incident, RELEASE);
    expect([verdict, why].join(': ')).toBe('right: ');
  });
});
