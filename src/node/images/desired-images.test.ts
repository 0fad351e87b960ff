import { expect, it } from 'vitest';
import { aNodePod } from '#support/builders/node-pod-builder.js';
import { desiredImagesOf } from './desired-images.js';

it('images that are wanted are those of pods that may start something', () => {
  const pod = (name: string, source: string) =>
    aNodePod({
      ...{ name, source },
      spec: {
        containers: [{ name: 'main', image: `${name}:1` }],
        initContainers: [{ name: 'init', image: `${name}:0` }],
      },
    });
  const pods = [pod('web', 'api'), pod('done', 'api'), pod('edited', 'file')];
  expect(desiredImagesOf(pods, (uid) => uid !== 'uid-web')).toEqual([
    'web:0',
    'web:1',
    'edited:0',
    'edited:1',
  ]);
});
