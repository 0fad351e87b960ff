import assert from 'node:assert/strict';

import { type CaseScope } from './case-scope.js';

/** What a runtime must make of changes that come twice, at the wrong time, or for what is in use. */
export const CHANGE_CASES: Readonly<Record<string, (scope: CaseScope) => Promise<void>>> = {
  'kills a running container that is removed, and nothing beside it': async (scope) => {
    const pod = await scope.makePod();
    const removed = await scope.runContainer(pod);
    const kept = await scope.runContainer(pod, { name: 'other' });
    await scope.driver.removeContainer(removed);
    const { containers, sandboxes } = await scope.getListed(pod);
    assert.deepEqual(
      [...sandboxes, ...containers].map(({ id, state }) => [id, state]),
      [
        [pod.sandboxId, 'running'],
        [kept, 'running'],
      ],
    );
  },

  'takes a stop or a removal that comes again for done': async (scope) => {
    const pod = await scope.makePod();
    const id = await scope.runContainer(pod);
    await scope.driver.killContainer(id);
    await scope.awaitState(pod, id, 'exited');
    await scope.driver.killContainer(id);
    await scope.driver.removeContainer(id);
    await scope.driver.removeContainer(id);
    await scope.driver.stopSandbox(pod.sandboxId);
    await scope.driver.stopSandbox(pod.sandboxId);
    await scope.removePod(pod);
    await scope.driver.removeSandbox(pod.sandboxId);
  },

  'refuses to start what runs or has ended, and changes nothing': async (scope) => {
    const pod = await scope.makePod();
    const running = await scope.runContainer(pod, { name: 'runs' });
    const ended = await scope.runToItsEnd(pod, 3);
    const before = await scope.getStatus(pod);
    await assert.rejects(scope.driver.startContainer(running));
    await assert.rejects(scope.driver.startContainer(ended));
    assert.deepEqual(await scope.getStatus(pod), before);
  },

  'refuses a second container of the same name and attempt, and changes nothing': async (scope) => {
    const pod = await scope.makePod();
    const id = await scope.runContainer(pod);
    await assert.rejects(scope.createContainer(pod));
    const { containers } = await scope.getListed(pod);
    assert.deepEqual(
      containers.map((container) => [container.id, container.state]),
      [[id, 'running']],
    );
  },

  'gives a name free that was removed': async (scope) => {
    const pod = await scope.makePod();
    const first = await scope.runToItsEnd(pod, 0);
    await scope.driver.removeContainer(first);
    const second = await scope.runContainer(pod);
    assert.notEqual(second, first);
    await scope.awaitState(pod, second, 'running');
  },

  'starts nothing in a pod that was stopped': async (scope) => {
    const pod = await scope.makePod();
    const id = await scope.createContainer(pod);
    await scope.driver.stopSandbox(pod.sandboxId);
    await assert.rejects(scope.driver.startContainer(id));
    const { containers } = await scope.getListed(pod);
    assert.ok(
      containers.every(({ state }) => state !== 'running'),
      'a container of the stopped pod runs',
    );
  },

  'gives each pod of a network of its own an address of its own, and none once it is stopped': async (
    scope,
  ) => {
    const pods = [await scope.makePod(), await scope.makePod()];
    const addresses: string[] = [];
    for (const pod of pods) {
      const { ips } = await scope.getStatus(pod);
      addresses.push(...ips);
      await scope.driver.stopSandbox(pod.sandboxId);
      assert.deepEqual((await scope.getStatus(pod)).ips, []);
    }
    const least = scope.driver.podsHaveAddresses ? pods.length : 0;
    assert.ok(addresses.length >= least, `only ${addresses.join()} for ${pods.length} pods`);
    if (least === 0) assert.deepEqual(addresses, []);
    assert.equal(new Set(addresses).size, addresses.length, `${addresses.join()}: one address twice`);
  },
};
