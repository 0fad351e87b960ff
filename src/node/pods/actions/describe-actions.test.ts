import { expect, it } from 'vitest';
import { aPodActionsScene, aBareContainer } from '#support/harness/pod-actions-scene.js';
import { computePodActions } from './compute-actions.js';
import { describeActions } from './describe-actions.js';

it('names containers and shows nothing of what they are given', () => {
  const env = [{ name: 'PASSWORD', value: 'for nobody to read' }];
  const scene = aPodActionsScene({ spec: { containers: [aBareContainer('web', { env })] } });
  const described = describeActions(computePodActions(scene));
  expect(JSON.stringify(described)).not.toContain('nobody');
  expect(described['containersToStart']).toMatchObject([{ kind: 'regular', name: 'web', index: 0 }]);
});
