import { expect, it } from 'vitest';
import { type Toleration } from '#kube/pod/pod.js';
import { aNodePod } from '#support/builders/node-pod-builder.js';
import { mirrorTolerations } from './mirror-tolerations.js';

const FOR_EVER: Toleration = { operator: 'Exists', effect: 'NoExecute' };
const OF_DISK: Toleration = { key: 'disk', operator: 'Equal', value: 'slow', effect: 'NoExecute' };

it.each<[string, Toleration[], Toleration[]]>([
  ['nothing', [], [FOR_EVER]],
  ['something', [OF_DISK], [OF_DISK, FOR_EVER]],
  ['the same', [FOR_EVER, OF_DISK], [FOR_EVER, OF_DISK]],
  ['the same for a while', [OF_DISK, { ...FOR_EVER, tolerationSeconds: 3 }], [OF_DISK, FOR_EVER]],
  ['everything of any effect', [{ operator: 'Exists' }], [{ operator: 'Exists' }, FOR_EVER]],
])('mirror pods of static pods that tolerate %s are driven off by nobody', (_, tolerations, expected) => {
  const pod = aNodePod();
  expect(mirrorTolerations({ ...pod, spec: { ...pod.spec, tolerations } })).toEqual(expected);
  expect(mirrorTolerations(pod)).toEqual([FOR_EVER]);
});
