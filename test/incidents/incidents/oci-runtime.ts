import { type Delay } from '../harness/hanging-runc.js';
import { type Incident } from '../harness/incident.js';
import { until } from '../harness/incident-node.js';

const FOR_EVER: Delay = { seconds: 100_000 };
const FIFO: Delay = { fifo: true };
const PROBE = { exec: { command: ['/bin/true'] }, periodSeconds: 2, timeoutSeconds: 1 };

const expectCall = (operation: string, pod: string, container?: string) => ({
  ...{ codes: ['OciRuntimeHangs'], operation: `runc ${operation}`, pods: [pod], hasSince: true },
  ...{ remedy: /kill -9 \d+/, ...(container === undefined ? {} : { container }) },
});

/** Calls of runc that do not end, or that are slow. */
export const OCI_INCIDENTS: readonly Incident[] = [
  ...[FOR_EVER, FIFO].map((delay): Incident => ({
    name: `runc create hangs for one pod (${delay === FIFO ? 'at a fifo' : 'it sleeps'})`,
    pods: [{ name: 'db' }],
    ageMs: 14_000,
    make: async ({ node, atEnd }) => {
      await node.runc.delay('create', 'stuck', delay);
      await node.want({ name: 'stuck' });
      atEnd(() => node.unwant('stuck'));
      return expectCall('create', node.fullNameOf('stuck'));
    },
  })),
  {
    name: 'runc exec of a probe hangs',
    pods: [{ name: 'web' }, { name: 'db' }],
    ageMs: 20_000,
    make: async ({ node }) => {
      await node.runc.delay('exec', 'probed', FOR_EVER);
      await node.run({ name: 'probed', container: { readinessProbe: PROBE } });
      return expectCall('exec', node.fullNameOf('probed'), 'app');
    },
  },
  {
    name: 'runc kill of a pod that is deleted hangs',
    pods: [{ name: 'web' }, { name: 'db' }],
    ageMs: 18_000,
    make: async ({ node }) => {
      await node.runc.delay('kill', 'web', FIFO);
      await node.unwant('web');
      return expectCall('kill', node.fullNameOf('web'));
    },
  },
  {
    name: 'runc delete of a pod that is deleted hangs',
    pods: [{ name: 'web' }, { name: 'db' }],
    ageMs: 18_000,
    make: async ({ node }) => {
      await node.runc.delay('delete', 'web', FOR_EVER);
      await node.unwant('web');
      // containerd 2 ends the call after ten seconds, and what that left behind still holds up the shim.
      return {
        codes: ['OciRuntimeHangs', 'ShimHangs'],
        pods: [node.fullNameOf('web')],
        remedy: /kill -9 \d+/,
      };
    },
  },
  {
    name: 'runc is slow for all, six pods are made',
    ageMs: 0,
    make: async ({ node, atEnd }) => {
      const names = ['a', 'b', 'c', 'd', 'e', 'f'].map((letter) => `slow-${letter}`);
      await node.runc.delay('create', 'all', { seconds: 7 });
      for (const name of names) await node.want({ name });
      atEnd(() => Promise.all(names.map((name) => node.unwant(name))));
      await until('runc is at work', 60_000, async () => (await node.runc.countHeldUp()) >= names.length);
      return { codes: ['OciRuntimeSlow'], remedy: /none of them is to blame/ };
    },
  },
];
