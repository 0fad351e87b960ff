import { expect, it } from 'vitest';
import { somePodActionInputs, aBareContainer } from '#support/builders/pod-action-inputs.js';
import { computePodActions } from './compute-actions.js';
import { describeActions } from './describe-actions.js';

it('names containers and shows nothing of what they are given', () => {
  const env = [{ name: 'PASSWORD', value: 'for nobody to read' }];
  const scene = somePodActionInputs({ spec: { containers: [aBareContainer('web', { env })] } });
  const described = describeActions(computePodActions(scene));
  expect(JSON.stringify(described)).not.toContain('nobody');
  expect(described['containersToStart']).toMatchObject([{ kind: 'regular', name: 'web', index: 0 }]);
});
