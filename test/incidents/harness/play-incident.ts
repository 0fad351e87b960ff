import { setTimeout as sleep } from 'node:timers/promises';
import { toDiagnosisLines } from '../../../src/cli/commands/doctor/diagnosis-text.js';
import { type Incident, judge, ofTheNode, type Result, type Scene, type Verdict } from './incident.js';
import { type IncidentNode } from './incident-node.js';
import { findTraces } from './kubelet-traces.js';
import { lockMachine } from './machine-lock.js';

/** Examinations of an incident, and what lies between two of them. */
const ROUNDS = 3;
const BETWEEN_MS = 20_000;
const USUAL_AGE_MS = 2_000;

/** A result, before it is kept. */
type Finished = Omit<Result, 'date' | 'commit'>;

/**
 * Makes an incident, examines the node until the doctor is right or has had its rounds, and undoes it. What was found is printed.
 * @param containerd its release, for the result
 */
export async function playIncident(
  node: IncidentNode,
  incident: Incident,
  containerd: string,
): Promise<Finished> {
  await using _lock = await lockMachine(incident.isOfMachine === true ? 'alone' : 'shared');
  const undos: (() => unknown)[] = [];
  const names = (incident.pods ?? []).map(({ name }) => name);
  try {
    const pods = await Promise.all((incident.pods ?? []).map((pod) => node.run(pod)));
    return await examine(incident, { node, pods, atEnd: (undo) => undos.push(undo) }, containerd);
  } finally {
    for (const undo of undos.reverse()) await undo();
    await node.runc.release();
    await clear(node, names);
  }
}

async function examine(incident: Incident, scene: Scene, containerd: string): Promise<Finished> {
  const { node } = scene;
  const before = await node.readTraces();
  const expected = await incident.make(scene);
  await sleep(incident.ageMs ?? USUAL_AGE_MS);
  let first = '';
  for (let round = 1; ; round++) {
    const examination = await node.examine();
    const { verdict, why } = judge(examination.findings, expected, examination.tookMs);
    const lines = toDiagnosisLines(examination, false);
    console.log(
      `${containerd}, ${incident.name}: ${verdict} ${why} (${(examination.tookMs / 1_000).toFixed(1)} s)\n${lines.join('\n')}`,
    );
    if (round === 1) first = why;
    if (verdict !== 'right' && round < ROUNDS) {
      await sleep(BETWEEN_MS);
      continue;
    }
    const whole: Verdict = verdict === 'right' && round > 1 ? 'late' : verdict;
    const kubelet = findTraces(before, await node.readTraces(), Date.now());
    const said = ofTheNode(examination.findings, expected.codes)[0];
    return {
      ...{ incident: incident.name, containerd, verdict: whole, why: first },
      ...{
        tookS: examination.tookMs / 1_000,
        said: said === undefined ? '' : `${said.code}: ${said.message}`,
      },
      kubelet,
    };
  }
}

/** Takes all pods away that an incident left. */
export async function clear(node: IncidentNode, names: readonly string[]): Promise<void> {
  await node.unwantAll();
  for (const name of names) await node.gone(name);
}
