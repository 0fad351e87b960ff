/**
 * How many manifests that others have published run here. Takes the folder that PODLOOP_PUBLIC_MANIFESTS names, in which
 * each folder is a collection, and writes docs/results/public-manifests.md. Without it, only the counting is tested. A file that
 * PODLOOP_PUBLIC_DETAILS names gets the result of each object; what ran by that file is not run again.
 *
 * @module
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { cpus, release, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { readManifests } from '../../../src/node/desired/manifests/manifest-reader.js';
import { findClusterBinaries } from '../../cluster/harness/cluster-binaries.js';
import { ControlPlane } from '../../cluster/harness/control-plane.js';
import { untilNobodyNames } from '../processes-naming.js';
import { collectManifests, KINDS_WITH_PODS, type PublicObject } from './collect-manifests.js';
import { NodeStandIn } from './node-stand-in.js';
import { type CaseResult, renderResults, toReason } from './results-of-manifests.js';
import { StandInRunner } from './run-stand-ins.js';
import { type StandIn, toStandIn } from './stand-in.js';

const given = process.env['PODLOOP_PUBLIC_MANIFESTS'];
const details = process.env['PODLOOP_PUBLIC_DETAILS'];
const PAGE = fileURLToPath(new URL('../../../docs/results/public-manifests.md', import.meta.url));
const HOURS = 4 * 60 * 60_000;

describe('reasons of public manifests', () => {
  it('are counted together when only names and numbers differ', () => {
    const one = toReason('spec.containers[3].ports[0]: Invalid value: "m12-abc": use 5 of /var/lib/x');
    expect(one).toBe('spec.containers[].ports[]: Invalid value: "…": use 0 of /…');
  });
});

describe.skipIf(given === undefined)('public manifests', () => {
  it('run, as far as they can', { timeout: HOURS }, async () => {
    const found = await collectManifests(given!);
    const { objects } = found;
    const known = await readKnown(objects.length);
    const isAsked = known?.every(({ isTaken }) => isTaken !== undefined) === true;
    const taken = isAsked ? undefined : await askApiServer(objects);
    const folder = await mkdtemp(join(tmpdir(), 'podloop-public-'));
    try {
      await using node = await NodeStandIn.make(folder);
      const refusals = new Map<number, string>();
      const standIns = new Map<number, StandIn>();
      for (const [index, object] of objects.entries()) {
        const why = findRefusal(object.value);
        const before = known?.[index];
        const hasRun = before !== undefined && before.failure === undefined;
        if (why !== undefined) refusals.set(index, why);
        else if (!hasRun) standIns.set(index, await toStandIn(object, index, node));
      }
      const failures = await runAll(folder, standIns, node);
      const results = objects.map(({ collection, kind }, index): CaseResult => {
        const isTaken = known?.[index]?.isTaken ?? taken?.has(index);
        return { collection, kind, isTaken, refusal: refusals.get(index), failure: failures.get(index) };
      });
      const machine = `${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GiB, Linux ${release()}, Node ${process.version}`;
      const date = new Date().toISOString().slice(0, 10);
      await writeFile(PAGE, renderResults(results, found, { date, machine }));
      if (details !== undefined)
        await writeFile(
          details,
          JSON.stringify(results.map((each, index) => ({ ...each, ...objects[index]! }))),
        );
      expect(results.length).toBeGreaterThan(0);
    } finally {
      await untilNobodyNames(folder);
      await rm(folder, { recursive: true });
    }
  });
});

/** What an earlier run has found of as many objects. */
async function readKnown(count: number): Promise<readonly CaseResult[] | undefined> {
  if (details === undefined) return undefined;
  const text = await readFile(details, 'utf8').catch(() => '[]');
  const results = JSON.parse(text) as readonly CaseResult[];
  return results.length === count ? results : undefined;
}

async function runAll(
  folder: string,
  standIns: ReadonlyMap<number, StandIn>,
  node: NodeStandIn,
): Promise<Map<number, string | undefined>> {
  await using runner = await StandInRunner.start(folder, node);
  return await runner.run(standIns);
}

/** Why podloop does not take an object: the first reason. */
function findRefusal(value: object): string | undefined {
  const { problems } = readManifests(JSON.stringify(value), { file: 'x.json', nodeName: 'n1' });
  const [first] = problems;
  return first === undefined ? undefined : `${first.path}: ${first.message}`;
}

/** The numbers of those that an API server takes; undefined where there is none. */
async function askApiServer(objects: readonly PublicObject[]): Promise<Set<number> | undefined> {
  const binaries = findClusterBinaries();
  if ('missing' in binaries) return undefined;
  // That a service account or a class is not there yet is no fault of a manifest.
  const apiServer = ['--disable-admission-plugins=ServiceAccount,Priority,RuntimeClass'];
  await using plane = await ControlPlane.start({ ...binaries, args: { apiServer } });
  const taken = new Set<number>();
  for (const [index, { kind, value }] of objects.entries()) {
    const metadata = { ...(value['metadata'] as object | undefined), namespace: 'default' };
    const path = KINDS_WITH_PODS[kind]!;
    const query = { dryRun: 'All', fieldValidation: 'Strict' };
    const body = { ...value, metadata };
    await plane.admin.request({ method: 'POST', path, query, body }).then(
      () => taken.add(index),
      () => undefined,
    );
  }
  return taken;
}
