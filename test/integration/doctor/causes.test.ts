/**
 * The causes of docs/guides/pleg-is-not-healthy.md: each row of its table is played, and the built `podloop doctor`
 * has to name that cause, the call, and the pod.
 *
 * @module
 */
import { describe, expect, it, vi } from 'vitest';
import { formatPod } from '#kube/pod/pod-ref.js';
import { type SyntheticRuntimeOptions } from '#testing/synthetic-runtime/index.js';
import { type GuideRow, readGuide } from './guide.js';
import { SickNode } from './sick-node.js';

/** What a cause needs besides its rule. */
interface Scene {
  /** (default: ten pods of one container) */
  readonly pods?: SyntheticRuntimeOptions;
  readonly flags?: readonly string[];
  /** Whether the pod that the rule names has to be named by the doctor. */
  readonly namesPod?: boolean;
  /** What follows from the cause, and may be said behind it. */
  readonly follows?: readonly string[];
  /** Done before the doctor comes. */
  readonly before?: (sick: SickNode) => Promise<void>;
  /** Done while the doctor looks. */
  readonly meanwhile?: (sick: SickNode) => Promise<void>;
}

const SCENES: Readonly<Record<string, Scene>> = {
  'Slow runtime': { pods: { pods: 3, containersPerPod: 1 }, flags: ['--timeout', '10s'] },
  'Hung runtime': {},
  'Runtime that is not there': {},
  'Deadlock in the runtime': {},
  'Image store that is locked': {},
  'Slow lists': { flags: ['--timeout', '10s'] },
  'Slow status calls': { pods: { pods: 3, containersPerPod: 1 }, flags: ['--timeout', '10s'] },
  'One slow pod': { pods: { pods: 3, containersPerPod: 1 }, flags: ['--timeout', '10s'], namesPod: true },
  'One stuck container': { namesPod: true },
  'Many stuck pods': { pods: { pods: 5, containersPerPod: 1 } },
  'A container that cannot be asked for': { namesPod: true },
  'Too many pods': { pods: { pods: 160, containersPerPod: 1 } },
  'Dead containers that nobody removes': { pods: { pods: 10, containersPerPod: 101, state: 'exited' } },
  'Messages over the limit': { flags: ['--timeout', '10s'] },
  'Lost events': { flags: ['--for', '5s'], meanwhile: killSome },
  'Events that break off': {},
  'Restart loop of the runtime': { flags: ['--for', '6s'], follows: ['EventStreamBreaks'] },
  'IO pressure': {
    before: (sick) =>
      sick.write(
        'proc/pressure/io',
        'some avg10=91.00 avg60=80.00 avg300=9.00 total=9\nfull avg10=72.40 avg60=60.10 avg300=9.00 total=9\n',
      ),
  },
  'CNI is not ready': {},
  'CNI that hangs': {
    before: async (sick) => {
      await sick.write('proc/uptime', '1000.00 900.00\n');
      await sick.write('proc/5/stat', statLine(5, 'containerd', 1, 100));
      // It runs since the ninetieth second.
      await sick.write('proc/6/stat', statLine(6, 'calico', 5, 9_000));
      await sick.write('proc/6/environ', 'CNI_COMMAND=ADD\0CNI_CONTAINERID=abc\0');
    },
  },
};

/** A line of /proc/PID/stat. */
function statLine(pid: number, command: string, parent: number, startTicks: number): string {
  return `${pid} (${command}) S ${parent} ${pid} ${pid} 0 -1 0 0 0 0 0 1 2 3 4 20 0 1 0 ${startTicks} 9 9\n`;
}

/** Ends three containers once the doctor has listed them. */
async function killSome({ node }: SickNode): Promise<void> {
  await vi.waitFor(
    async () => expect((await node.control.counters()).calls['PodSandboxStatus'] ?? 0).toBeGreaterThan(0),
    { timeout: 45_000, interval: 20 },
  );
  await node.control.kill({ count: 3 });
}

const rows = await readGuide();

describe('podloop doctor', () => {
  it('blames nothing on a healthy node', async () => {
    await using sick = await SickNode.start({ pods: 30, containersPerPod: 2 });
    const { code, diagnosis } = await sick.examine();
    expect(diagnosis.findings).toEqual([]);
    expect(code).toBe(0);
    expect(diagnosis.facts.runtime.inspections).toMatchObject({
      known: true,
      value: { asked: 30, calls: 90 },
    });
  });

  it('has a test for every cause that the guide has', () => {
    expect(rows.map(({ cause }) => cause)).toEqual(Object.keys(SCENES));
  });

  it.each(rows.map((row): [string, GuideRow] => [row.cause, row]))(
    'names the cause: %s',
    async (cause, row) => {
      const { pods = { pods: 10, containersPerPod: 1 }, flags = [], ...scene } = SCENES[cause]!;
      await using sick = await SickNode.start(pods);
      const [web] = await sick.node.control.pods();
      if (row.rules !== undefined)
        sick.node.replaceRules(row.rules.replaceAll('default/web', formatPod(web!)));
      await scene.before?.(sick);
      const [{ code, diagnosis }] = await Promise.all([sick.examine(...flags), scene.meanwhile?.(sick)]);

      const [first, ...others] = diagnosis.findings;
      expect(first, JSON.stringify(diagnosis.facts.runtime)).toMatchObject({ code: row.code });
      expect(first!.call).toBe(row.call);
      if (scene.namesPod === true) expect(first!.pod).toMatchObject({ uid: web!.uid, name: web!.name });
      expect(others.map((finding) => finding.code).filter((each) => !scene.follows?.includes(each))).toEqual(
        [],
      );
      expect(code).toBe(first!.severity === 'critical' ? 2 : 1);
      expect(diagnosis.exitCode).toBe(code);
    },
  );
});
