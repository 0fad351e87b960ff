import { expect, it } from 'vitest';
import { ContainerConfig } from '../watch/cri/generated/runtime/v1/cri.js';
import { type Container } from './container/container.js';
import { toContainer, toContainerStatus } from './messages.js';

const ID = `sha256:${'1'.repeat(64)}`;

function aContainer(userSpecifiedImage: string): Container {
  const config = ContainerConfig.fromPartial({ image: { image: ID, userSpecifiedImage } });
  const user = { uid: 0, gid: 0, groups: [] };
  return {
    record: { id: 'c', imageId: ID, createdAtNs: 1n, logPath: '', imageVolumes: [], config, user },
    ...{ state: 1, startedAtNs: 0n, stopSignal: 'SIGTERM' },
  } as unknown as Container;
}

it.each([
  ['busybox:1.36', 'docker.io/library/busybox:1.36'],
  ['registry.example:5000/team/app', 'registry.example:5000/team/app:latest'],
  [`busybox:1@sha256:${'2'.repeat(64)}`, `docker.io/library/busybox@sha256:${'2'.repeat(64)}`],
  ['podloop.local/host', 'podloop.local/host:latest'],
  // Without a name there is the id alone.
  ['', ID],
  ['No Name', ID],
])('the status of a container of the image %j shows it as %j', (asked, shown) => {
  const container = aContainer(asked);
  expect(toContainerStatus(container)).toMatchObject({
    ...{ image: { image: shown, userSpecifiedImage: asked } },
    ...{ imageRef: ID, imageId: ID },
  });
  expect(toContainer(container).image?.image).toBe(ID);
});
